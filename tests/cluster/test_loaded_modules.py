"""A new server loads only what its first answers need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from simkit.engine.http.certificates import ensure_certificates
from simkit.meta.free_port import free_port

UNUSED = ("simkit.simulation", "simkit.analysis", "simkit.engine.http.upgrade.switch", "wsproto", "pandas", "lark")
CODE = f"""
import sys
from simkit.cluster.assembly import fresh
from simkit.cluster.options import Options
import simkit.engine.http.serving
fresh(Options())
print([name for name in sys.modules if name.startswith({UNUSED!r}) and name != 'simkit.engine.http.upgrade'])
"""
SERVED = """
import os, signal, ssl, sys, threading, time, urllib.request
from pathlib import Path
folder = Path(sys.argv[1])
kubeconfig = folder / "kubeconfig"

def ask():
    while not kubeconfig.exists():
        time.sleep(0.02)
    port = kubeconfig.read_text().partition("https://127.0.0.1:")[2].split()[0].strip('"')
    request = urllib.request.Request(f"https://127.0.0.1:{port}/api/v1/namespaces", headers={"Authorization": "Bearer t"})
    context = ssl._create_unverified_context()
    while True:
        try:
            answer = urllib.request.urlopen(request, context=context)
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    print(answer.status, sorted(name for name in sys.modules if name in ("cryptography", "jwt", "zoneinfo")))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=ask).start()
from simkit.cli import main
files = ["--cert-dir", str(folder), "--kubeconfig-out", str(kubeconfig), "--token-auth-file", str(folder / "tokens.csv")]
main(["serve", "--secure-port", sys.argv[2], *files])
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
