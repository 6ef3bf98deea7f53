"""A terminal in front of a process: it echoes what is typed, and lets a line be mended before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simkit.engine.seams import RemoteProcess

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
