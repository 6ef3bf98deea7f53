"""Signals and interruptions: their names and numbers, and what a shell does when one comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The interruption of a program by its terminal


class Interrupted(Exception):
    """Thrown into a program at its present step, as a terminal does at Ctrl-C. Who does not catch it ends by it."""


CODE = 130
"""The exit code of a program that was interrupted."""


# Signals: their names and numbers, and what a shell does when one comes

NUMBERS: Final[Mapping[str, int]] = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14,
    "TERM": 15, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20,
}  # fmt: skip
"""The numbers of signals on Linux."""
EXIT: Final = "EXIT"
_BY_NUMBER: Final = {str(number): name for name, number in NUMBERS.items()} | {"0": EXIT}
_HARMLESS: Final = frozenset({"CHLD", "CONT", "STOP", "TSTP"})
BY_SIGNAL: Final = 128
"""The sum that is added to the number of a signal in the exit code of what it has ended."""


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
    >>> signal_named("15"), signal_named("SIGTERM"), signal_named("int"), signal_named("x")
    ('TERM', 'TERM', 'INT', None)
    """
    name = _BY_NUMBER.get(text, text.upper().removeprefix("SIG"))
    return name if name in NUMBERS or name == EXIT else None


class Signals:
    """The signals that came to a shell, and the commands of ``trap`` for them."""

    __slots__ = ("_ended_by", "_news", "pending", "traps")

    def __init__(self, traps: Mapping[str, str] | None = None) -> None:
        self.traps: dict[str, str] = dict(traps or {})
        """Commands by the name of a signal; an empty one ignores it."""
        self.pending: list[str] = []
        """Signals whose commands have not been run yet."""
        self._ended_by, self._news = 0, False

    def inherited(self) -> Signals:
        """The signals of a shell below: it ignores what this one ignores, and has no commands."""
        return Signals({name: text for name, text in self.traps.items() if not text})

    def send(self, name: str) -> None:
        """Have a signal come."""
        if name != "KILL" and name in self.traps:
            if self.traps[name] and name not in self.pending:
                self.pending.append(name)
            self._news = self._news or bool(self.traps[name])
        elif name not in _HARMLESS:
            self._ended_by = BY_SIGNAL + NUMBERS[name]

    @property
    def ended_by(self) -> int:
        """The exit code of what a signal has ended; 0 where none has."""
        return self._ended_by

    def take_news(self) -> bool:
        """True if a signal with a command has come since the last look."""
        found, self._news = self._news, False
        return found
