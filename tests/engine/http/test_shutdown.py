"""The end of a server: it serves on, unready, for a delay, and stops at once on the second signal."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simkit.meta.free_port import free_port
from tests.cli.test_serve import asked
from tests.engine.http.echo import trusting

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("delay", "signals"), [("6s", 1), ("1h", 2)])
def test_a_process_with_a_delay(tmp_path: Path, delay: str, signals: int) -> None:
    """After the signal a process still serves, unready, until its delay is over or it is told again."""
    port = free_port()
    flags = ["--secure-port", str(port), "--cert-dir", str(tmp_path), "--shutdown-delay-duration", delay]
    process = subprocess.Popen([sys.executable, "-m", "simkit.cli", "serve", *flags], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    client = http.client.HTTPSConnection("localhost", port, context=trusting(tmp_path / "ca.crt"), timeout=10)
    assert asked(client, "/readyz") == (200, b"ok")
    process.send_signal(signal.SIGTERM)
    while (ready := asked(client, "/readyz?verbose"))[0] == 200:
        assert ready[1].endswith(b"readyz check passed\n")
    assert ready[0] == 500
    assert b"[-]shutdown failed" in ready[1]
    assert asked(client, "/livez")[0] == asked(client, "/version")[0] == 200
    client.close()
    for _ in range(signals - 1):
        process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()
