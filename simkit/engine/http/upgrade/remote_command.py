"""A process at the other end of a connection: the protocols of its streams, and its exit status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakSet

import orjson

from simkit.engine.pipeline.subresources.connection_target import CommandSession
from simkit.meta.domain import api_group
from simkit.meta.turns import TURNS
from simkit.seams import RemoteProcess

# Names of the protocols that clients offer for the streams of commands and ports.
# Upstream: k8s.io/apimachinery/pkg/util/remotecommand/constants.go and
# k8s.io/apimachinery/pkg/util/portforward/constants.go, release 1.30.

PORT_FORWARD: Final = api_group("portforward")
"""Streams of ports, in its only version."""


def channel(version: str = "") -> str:
    """The protocol for streams of a command in some version; without one, the first.

    Examples
    --------
    >>> channel("v4"), channel()
    ('v4.channel.k8s.io', 'channel.k8s.io')
    """
    return api_group(f"{version}.channel" if version else "channel")


# The exit status of a command, in the error stream of a connection.
# Upstream: k8s.io/kubelet/pkg/cri/streaming/remotecommand, release 1.30.


def exit_status(process: RemoteProcess) -> bytes:
    """The Status of a process that has ended."""
    code, wrong = process.exit_code, process.failure
    if wrong:
        text = f"error executing command in container: {wrong}"
        status = _failure("InternalError", f"Internal error occurred: {text}", 500)
        status["details"] = {"causes": [{"message": text}]}
        return orjson.dumps(status)
    if code == 0:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    status = _failure("NonZeroExitCode", f"command terminated with exit code {code}", None)
    status["details"] = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    return orjson.dumps(status)


def _failure(reason: str, message: str, code: int | None) -> dict[str, Any]:
    status: dict[str, Any] = {"metadata": {}, "status": "Failure", "message": message, "reason": reason}
    return {**status, "code": code} if code is not None else status


def plain_exit(process: RemoteProcess) -> bytes:
    """The same for the protocols before the fourth: a text, and none for success."""
    if process.failure:
        return f"error executing command in container: {process.failure}".encode()
    return b"" if process.exit_code == 0 else f"command terminated with exit code {process.exit_code}".encode()


# Brings a process and the framing of its connection together.
# The framing is written in the thread of the event loop. The process runs on one of two other threads, a hundredth of a
# second at a time: what somebody has a container do keeps nobody else waiting.

_FULL: Final = 1 << 17
"""Bytes that wait for a slow client before the process has to wait too, and those that wait for a busy process."""
_SLOW: Final = 0.05
_THREADS: Final = ThreadPoolExecutor(2, thread_name_prefix="simkit-commands")
"""The threads on which processes run, one after the other; they are made when the first one runs."""
_ALONE: Final = 60.0
"""Seconds for which a process runs on after its client has left."""
_SELDOM: Final = 0.2
"""Seconds between two looks at a process without a client, which gets a hundredth of a second each time."""
_MOST_ALONE: Final = 32
"""The most processes that run on without a client; others end with theirs."""


class Framing(Protocol):
    """Writes what a process tells. An implementation must not wait."""

    def output(self, stream: str, data: bytes) -> None:
        """Send what the process wrote."""
        ...

    def ended(self) -> None:
        """Tell how it ended, and close."""
        ...

    def waiting(self) -> int:
        """Bytes that the client has not read."""
        ...


class _Seen(NamedTuple):
    """The output of a process since the last look, and its state."""

    output: Sequence[tuple[str, bytes]]
    ended: bool
    pause: float | None


class CommandDriver:
    """Drives one process: input goes in as it comes, output goes out as it is there."""

    def __init__(self, session: CommandSession, framing: Framing, loop: asyncio.AbstractEventLoop) -> None:
        self._session, self._framing, self._loop = session, framing, loop
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self._left = False
        """True if the client is gone, and the process runs on without it."""
        self._waiting: list[Callable[[], None]] = []
        """Input that the process has not been given yet."""
        self._held = 0
        """Its bytes."""
        self._busy = False
        """True while the process runs on another thread."""
        self._woke = False
        """True if it may have more to tell than when it was looked at."""
        session.process.on_change(self._woken)

    def _woken(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.pump)

    @property
    def full(self) -> bool:
        """True while so much input waits for the process that no more should be read."""
        return self._held > _FULL

    def feed(self, data: bytes) -> None:
        """Hand on input."""
        if not self._over and self._session.stdin:
            self._held += len(data)
            self._waiting.append(partial(self._session.process.feed, data))
            self.pump()

    def end_input(self) -> None:
        """Tell that no more input comes."""
        if not self._over:
            self._waiting.append(self._session.process.end_input)
            self.pump()

    def pump(self) -> None:
        """Let the process run, send what there is, and come back when there may be more."""
        if self._over:
            return
        self._woke = self._busy
        if self._busy:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._left and self._framing.waiting() > _FULL:
            self._again(_SLOW)
            return
        given, self._waiting, self._held = self._waiting, [], 0
        self._busy = True
        running = self._loop.run_in_executor(_THREADS, TURNS.within, partial(self._run, given))
        running.add_done_callback(self._ran)

    def _run(self, given: Sequence[Callable[[], None]]) -> _Seen:
        """Hand on input, and see what the process does; on another thread."""
        process = self._session.process
        for each in given:
            each()
        output = list(process.poll())
        return _Seen(output, process.exit_code is not None, process.pause())

    def _ran(self, running: asyncio.Future[_Seen]) -> None:
        self._busy = False
        if self._over or running.cancelled():
            return
        seen = running.result()
        if self._left:
            self._ran_alone(seen)
            return
        self._tell(seen.output)
        if seen.ended:
            self.stop()
            self._framing.ended()
        else:
            self._go_on(seen)

    def _ran_alone(self, seen: _Seen) -> None:
        if seen.ended or seen.output or (self._session.process.runs_by_itself and not self._waiting):
            self.stop()
        else:
            self._go_on(seen)

    def _tell(self, output: Sequence[tuple[str, bytes]]) -> None:
        session = self._session
        for stream, data in output:
            if session.tty:
                stream, data = "stdout", data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            if (stream == "stdout" and session.stdout) or (stream == "stderr" and session.stderr):
                self._framing.output(stream, data)

    def _go_on(self, seen: _Seen) -> None:
        if self._waiting or self._woke:
            self.pump()
        elif seen.pause is not None:
            self._again(max(0.0, seen.pause))

    def _again(self, seconds: float) -> None:
        self._timer = self._loop.call_later(max(seconds, _SELDOM if self._left else 0.0), self.pump)

    def leave(self) -> None:
        """Let the process read what the client has sent, and run on for a minute: the client is gone.

        As with a container runtime, a command does not end with the connection that has started it, but when it writes
        to that: its pipe is broken.
        """
        if self._over or self._left:
            return
        if len(_LEFT) >= _MOST_ALONE:
            self.stop()
            return
        self._left = True
        _LEFT.add(self)
        self._loop.call_later(_ALONE, self.stop)
        if self._session.stdin:
            self._waiting.append(self._session.process.end_input)
        self.pump()

    def stop(self) -> None:
        """Do nothing any more."""
        self._over, self._held = True, 0
        _LEFT.discard(self)
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()


_LEFT: Final = WeakSet[CommandDriver]()
"""The drivers whose clients are gone."""
