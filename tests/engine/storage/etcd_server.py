"""An etcd of its own for tests, from the system's packages."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import grpc

from simkit.meta.errors import StatusError
from simkit.meta.free_port import free_port
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints

START_SECONDS = 20.0
MISSING = "etcd is not installed (Debian's etcd-server)"


def installed() -> bool:
    """True if an etcd can be started."""
    return shutil.which("etcd") is not None


class EtcdServer:
    """One member of an etcd on loopback, whose data outlasts its process; alone unless told otherwise.

    ``endpoints`` is how the tests reach it; give others before ``start`` where plain HTTP does not do.
    """

    def __init__(self, folder: Path, *arguments: str, scheme: str = "http") -> None:
        self.folder, self._arguments = folder, arguments
        self.url, self.peer = f"{scheme}://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self.cluster = {"default": self.peer}
        self.name = "default"
        self.endpoints = EtcdEndpoints([self.url])
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it answers."""
        command = ["etcd", "--name", self.name, "--data-dir", str(self.folder), "--log-level", "error"]
        command += ["--logger", "zap", "--listen-client-urls", self.url, "--advertise-client-urls", self.url]
        command += ["--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer]
        command += ["--initial-cluster", ",".join(f"{name}={url}" for name, url in self.cluster.items())]
        self._process = subprocess.Popen(
            [*command, *self._arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if wait:
            self.wait()

    def pause(self) -> None:
        """Cut it off: its process stands still, its connections stay open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """End a pause."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

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

    def wait(self) -> None:
        """Wait until it answers."""
        client, end = EtcdClient(self.endpoints), time.monotonic() + START_SECONDS
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


def members(folder: Path, count: int = 3) -> list[EtcdServer]:
    """The members of one etcd, none of them started."""
    made = [
        EtcdServer(folder / f"m{index}", "--heartbeat-interval", "50", "--election-timeout", "300")
        for index in range(count)
    ]
    cluster = {f"m{index}": each.peer for index, each in enumerate(made)}
    for name, each in zip(cluster, made, strict=True):
        each.name, each.cluster = name, cluster
    return made
