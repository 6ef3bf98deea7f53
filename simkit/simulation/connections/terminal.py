"""Processes of containers as clients see them: over a terminal, and as a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from simkit.meta.clock import moment
from simkit.seams import RemoteProcess
from simkit.simulation.kubelet.process import Printed, Process

# The log of a container: what its process printed, line by line.
# Upstream: pkg/kubelet/kuberuntime/logs/logs.go, release 1.30.

_A_DAY: Final = 86_400.0
Line = tuple[float, bytes]


def lines(printed: Iterable[Printed]) -> Iterator[Line]:
    """Whole lines with their times; the last may have no end yet.

    Examples
    --------
    >>> list(lines([Printed(1.0, "stdout", b"a"), Printed(2.0, "stdout", b"b\\nc\\n")]))
    [(1.0, b'ab\\n'), (2.0, b'c\\n')]
    """
    begun: dict[str, Line] = {}
    for each in printed:
        for part in each.data.splitlines(keepends=True):
            since, before = begun.pop(each.stream, (each.time, b""))
            if part.endswith(b"\n"):
                yield since, before + part
            else:
                begun[each.stream] = since, before + part
    yield from begun.values()


def log_text(process: Process, options: Mapping[str, Any], now: float) -> bytes:
    """The log as the options want it."""
    found = list(_since(lines(process.printed), options, now))
    tail = options.get("tailLines")
    if tail is not None:
        found = found[-int(tail) :] if tail else []
    text = b"".join(_shown(line, options) for line in found)
    limit = options.get("limitBytes")
    return text if limit is None else text[: int(limit)]


def _since(found: Iterable[Line], options: Mapping[str, Any], now: float) -> Iterator[Line]:
    start = float("-inf")
    if options.get("sinceSeconds") is not None:
        start = now - float(options["sinceSeconds"])
    elif options.get("sinceTime"):
        start = moment(str(options["sinceTime"]))
    return (line for line in found if line[0] >= start)


def _shown(line: Line, options: Mapping[str, Any]) -> bytes:
    time, text = line
    if not options.get("timestamps"):
        return text
    return _stamp(time) + b" " + text


def _stamp(time: float) -> bytes:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


class LogStream:
    """A log that is followed; polled as a watch is."""

    def __init__(self, process: Process, options: Mapping[str, Any], now: float) -> None:
        self._process, self._options = process, options
        self._ready = [log_text(process, options, now)]
        self._seen = process.dropped + len(process.printed)
        self._callbacks: list[Callable[[], None]] = []
        self._closed = False
        self.blocks = self.computes = self.behind = False
        self.deadline: float | None = _A_DAY
        process.listen(self._tell)

    @property
    def closed(self) -> bool:
        """True if nothing more will come."""
        ended = self._process.ended is not None
        return self._closed or (ended and self._seen >= self._process.dropped + len(self._process.printed))

    def poll(self, limit: int = 512) -> list[bytes]:
        """The new output of the container."""
        found, self._ready = [part for part in self._ready if part], []
        fresh = self._process.printed[max(0, self._seen - self._process.dropped) :]
        self._seen = self._process.dropped + len(self._process.printed)
        return [*found, *(_shown(line, self._options) for line in lines(fresh))]

    def bookmark(self) -> list[bytes]:
        """No bookmark: a log has none."""
        return []

    def wait(self, timeout: float | None = None) -> bool:
        """True if there is something to read; logs of this process come while others work."""
        return bool(self._ready) or self._seen < self._process.dropped + len(self._process.printed)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Be woken when something was printed."""
        self._callbacks.append(callback)
        callback()

    def _tell(self) -> None:
        for callback in tuple(self._callbacks):
            callback()

    def close(self) -> None:
        """Follow no longer."""
        self._closed = True
        self._process.unlisten(self._tell)
        self._tell()


# A terminal in front of a process: it echoes what is typed, and lets a line be mended before it is sent

_ERASE = b"\b \b"
_RETURN, _NEWLINE, _INTERRUPT, _END, _BACKSPACES = 13, 10, 3, 4, (8, 127)


class ControlledProcess(RemoteProcess, Protocol):
    """A process that a terminal can control."""

    def interrupt(self) -> None:
        """End what it does at the moment, as Ctrl-C does."""
        ...

    def end_file(self) -> None:
        """End the input of what reads at the moment, as Ctrl-D does."""
        ...


class Terminal:
    """A process behind a terminal, as exec and attach with ``-t`` have it."""

    def __init__(self, process: ControlledProcess) -> None:
        self._process = process
        self._line, self._echoed = bytearray(), bytearray()

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code if not self._echoed else None

    @property
    def failure(self) -> str:
        return self._process.failure

    @property
    def runs_by_itself(self) -> bool:
        return self._process.runs_by_itself

    def feed(self, data: bytes) -> None:
        for byte in data:
            if byte in (_RETURN, _NEWLINE):
                self._echoed += b"\n"
                self._send(b"\n")
            elif byte in _BACKSPACES:
                self._echoed += _ERASE if self._line else b""
                del self._line[-1:]
            elif byte == _INTERRUPT:
                self._echoed += b"^C\n"
                self._line.clear()
                self._process.interrupt()
            elif byte == _END:
                if self._line:
                    self._send(b"")
                else:
                    self._process.end_file()
            else:
                self._echoed.append(byte)
                self._line.append(byte)

    def _send(self, end: bytes) -> None:
        line = bytes(self._line) + end
        self._line.clear()
        self._process.feed(line)

    def end_input(self) -> None:
        self._process.end_input()

    def poll(self) -> Sequence[tuple[str, bytes]]:
        echoed = [("stdout", bytes(self._echoed))] if self._echoed else []
        self._echoed.clear()
        return [*echoed, *self._process.poll()]

    def pause(self) -> float | None:
        return self._process.pause()

    def on_change(self, callback: Callable[[], None]) -> None:
        self._process.on_change(callback)
