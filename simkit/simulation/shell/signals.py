"""Signals and interruptions: their names and numbers, and what a shell does when one comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODE: Final = 130
"""The exit code of a program that was interrupted by its terminal."""
NUMBERS: Final[Mapping[str, int]] = {
    "HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15,
}  # fmt: skip
"""The numbers of signals on Linux."""
EXIT: Final = "EXIT"
BY_SIGNAL: Final = 128
"""The sum that is added to the number of a signal in the exit code of what it has ended."""
_BY_NUMBER: Final = {str(number): name for name, number in NUMBERS.items()} | {"0": EXIT}


class Interrupted(Exception):
    """Thrown into a program at its present step, as a terminal does at Ctrl-C. Who does not catch it ends by it."""


class Signalled(Exception):
    """Thrown into a program at its present step, as a signal comes. Who does not catch it ends by it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    @property
    def code(self) -> int:
        """The exit code of a program that ended by it."""
        return BY_SIGNAL + NUMBERS[self.name]


def signal_named(text: str) -> str | None:
    """The name of a signal that is told by name or number; ``EXIT`` for 0, None for what is none.

    Examples
    --------
    >>> signal_named("15"), signal_named("SIGTERM"), signal_named("INT"), signal_named("x")
    ('TERM', 'TERM', 'INT', None)
    """
    name = _BY_NUMBER.get(text, text.removeprefix("SIG"))
    return name if name in NUMBERS or name == EXIT else None


class Signals:
    """The signals that came to a shell, and the commands of ``trap`` for them."""

    __slots__ = ("_news", "ended_by", "pending", "traps")

    def __init__(self, traps: Mapping[str, str] | None = None) -> None:
        self.traps: dict[str, str] = dict(traps or {})
        """Commands by the name of a signal; an empty one ignores it."""
        self.pending: list[str] = []
        """Signals whose commands have not been run yet."""
        self.ended_by = 0
        """The exit code of what a signal has ended; 0 where none has."""
        self._news = False

    def inherited(self) -> Signals:
        """The signals of a shell below: it ignores what this one ignores, and has no commands."""
        return Signals({name: text for name, text in self.traps.items() if not text})

    def send(self, name: str) -> None:
        """Have a signal come."""
        if name == "KILL" or name not in self.traps:
            self.ended_by = BY_SIGNAL + NUMBERS[name]
        elif self.traps[name]:
            self._news = True
            if name not in self.pending:
                self.pending.append(name)

    def take_news(self) -> bool:
        """True if a signal with a command has come since the last look."""
        found, self._news = self._news, False
        return found
