"""An etcd of its own for tests, from the system's packages."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import grpc

from simkit.meta.errors import StatusError
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints

START_SECONDS = 20.0
MISSING = "etcd is not installed (Debian's etcd-server)"


def installed() -> bool:
    """Whether an etcd can be started."""
    return shutil.which("etcd") is not None


class EtcdServer:
    """One etcd on loopback, whose data outlasts its process."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self._arguments = folder, arguments
        self.url, self._peer = f"http://127.0.0.1:{_free_port()}", f"http://127.0.0.1:{_free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = ["etcd", "--data-dir", str(self.folder), "--log-level", "error", "--logger", "zap"]
        command += ["--listen-client-urls", self.url, "--advertise-client-urls", self.url]
        command += ["--listen-peer-urls", self._peer, "--initial-advertise-peer-urls", self._peer]
        command += ["--initial-cluster", f"default={self._peer}", *self._arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    def kill(self) -> None:
        """End it as a machine would that loses power."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def _wait(self) -> None:
        client, end = EtcdClient(EtcdEndpoints([self.url])), time.monotonic() + START_SECONDS
        try:
            while True:
                try:
                    client.version()
                    return
                except (StatusError, grpc.RpcError):
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.05)
        finally:
            client.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
