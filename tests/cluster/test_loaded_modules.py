"""A new server loads only what its first answers need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simkit.engine.http.certificates import ensure_certificates
from simkit.meta.free_port import free_port

pytestmark = pytest.mark.slow

UNUSED = ("simkit.simulation", "simkit.analysis", "simkit.engine.http.upgrade.switch", "wsproto", "pandas", "lark")
CODE = f"""
import sys
from simkit.cluster.control_plane import fresh
from simkit.cluster.options import Options
import simkit.engine.http.serving
fresh(Options())
print([name for name in sys.modules if name.startswith({UNUSED!r}) and name != 'simkit.engine.http.upgrade'])
"""
SERVED = """
import os, signal, ssl, sys, threading, time, urllib.error, urllib.request
from pathlib import Path
folder, port = Path(sys.argv[1]), sys.argv[2]
url, context = f"https://127.0.0.1:{port}/api/v1/namespaces", ssl._create_unverified_context()

def ask():
    request = urllib.request.Request(url, headers={"Authorization": "Bearer t"})
    try:
        answer = None
        while answer is None:
            try:
                answer = urllib.request.urlopen(request, context=context)
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionRefusedError):
                    raise
                time.sleep(0.02)
        print(answer.status, [name for name in ("cryptography", "jwt", "zoneinfo") if name in sys.modules], flush=True)
    finally:
        os.kill(os.getpid(), signal.SIGINT)

from simkit.cli import main
threading.Thread(target=ask).start()
main(["serve", "--secure-port", port, "--cert-dir", str(folder), "--token-auth-file", str(folder / "tokens.csv")])
"""


def test_a_new_server_loads_no_simulation_and_no_other_protocols() -> None:
    """Simulated nodes, analyses, WebSockets and the grammar of expressions are loaded when somebody wants them."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_server_whose_files_are_known_loads_no_cryptography(tmp_path: Path) -> None:
    """The second start in a folder, and an answer to a token of a file, parse no certificate and no key."""
    ensure_certificates(tmp_path)
    (tmp_path / "tokens.csv").write_text('t,root,1,"system:masters"\n')
    command = [sys.executable, "-c", SERVED, str(tmp_path), str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "200 []" in done.stdout.splitlines(), done.stderr
