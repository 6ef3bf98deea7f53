"""A process of this machine in a sandbox: its input, its output, and the signals that it gets."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from simkit.meta.errors import SimkitError
from simkit.simulation.shell.kernel import STDERR, STDOUT
from simkit.simulation.shell.signals import NUMBERS

_PART: Final = 1 << 16
_MOST_AT_ONCE: Final = 16
"""Parts of output that are taken before others have their turn."""
_STARTER: Final = ThreadPoolExecutor(1, "host-programs")
"""Starts all of them, since a sandbox ends with the thread that has started it."""


class SandboxedProcess:
    """A process in a sandbox of bubblewrap. Nothing here waits for it, but ``wait``; ``close`` ends it.

    Parameters
    ----------
    options
        What bubblewrap is told. Other users of the machine do not see it.
    command
        The path of the program and its words.
    """

    def __init__(self, options: Sequence[str], command: Sequence[str]) -> None:
        told, telling = os.pipe()
        given = os.memfd_create("sandbox")
        try:
            os.write(given, b"".join(each.encode() + b"\0" for each in options))
            os.lseek(given, 0, os.SEEK_SET)
            self._process = _STARTER.submit(_start, command, given, telling).result()
        finally:
            os.close(telling)
            os.close(given)
        with os.fdopen(told, "rb") as pipe:
            text = pipe.read()  # it ends once the sandbox is there
        self._pid = int(json.loads(text)["child-pid"]) if text else 0
        self._unwritten = bytearray()
        self.takes_input = True
        """False once its input has ended."""
        self._ending = False

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        found = self._process.poll()
        return None if found is None else found if found >= 0 else 128 - found

    def output(self) -> Iterator[tuple[str, bytes]]:
        """The output since the last time, by stream. Input that it could not take yet is tried again."""
        self._pass_on()
        for stream, pipe in ((STDOUT, self._process.stdout), (STDERR, self._process.stderr)):
            for _ in range(_MOST_AT_ONCE if self.code is None else 1 << 20):
                data = _read(pipe)
                if not data:
                    break
                yield stream, data

    def write(self, data: bytes) -> None:
        """Give it input."""
        self._unwritten += data
        self._pass_on()

    def end_input(self) -> None:
        """Tell it that no more input comes."""
        self._ending, self.takes_input = True, False
        self._pass_on()

    def _pass_on(self) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return
        try:
            while self._unwritten and (taken := pipe.write(self._unwritten[:_PART])):
                del self._unwritten[:taken]
        except BrokenPipeError:
            self._unwritten.clear()
            self._ending, self.takes_input = True, False
        if self._ending and not self._unwritten:
            with suppress(BrokenPipeError):
                pipe.close()

    def heeds(self, name: str) -> bool:
        """True if it has a handler for a signal. The first process of a container gets no others but KILL."""
        try:
            lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        except OSError:
            return False
        mask = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
        return bool(int(mask, 16) >> (NUMBERS[name] - 1) & 1)

    def send(self, name: str) -> None:
        """Send it a signal."""
        if self._pid and self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, getattr(signal, f"SIG{name}"))

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most for some seconds of real time."""
        if seconds > 0:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def close(self) -> None:
        """Kill it if it still runs. Its sandbox ends with all that it has started."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def sandbox() -> str:
    """The place of bubblewrap. Raises SimkitError where it is not installed."""
    found = shutil.which("bwrap")
    if found is None:
        raise SimkitError("programs of this machine run in a sandbox, and bwrap is not there; install bubblewrap")
    return found


def _start(command: Sequence[str], given: int, telling: int) -> subprocess.Popen[bytes]:
    """Start a command in a sandbox, with pipes that never wait.

    Its options are in one file, and it tells of itself in another. bubblewrap has no variables, which could lead it
    elsewhere.
    """
    made = subprocess.Popen(  # noqa: S603, the words are the program's alone
        [sandbox(), "--info-fd", str(telling), "--args", str(given), "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        pass_fds=(telling, given),
        bufsize=0,
    )
    for pipe in (made.stdin, made.stdout, made.stderr):
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
    return made


def _read(pipe: IO[bytes] | None) -> bytes:
    """The bytes that can be read now, at most a part."""
    return (pipe.read(_PART) or b"") if pipe is not None and not pipe.closed else b""
