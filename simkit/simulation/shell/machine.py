"""The state of a shell, and the effects of the steps of its commands, which its driver carries out."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from simkit.simulation.shell.files import Files, resolved
from simkit.simulation.shell.network import Network, NoNetwork

STDOUT, STDERR = "stdout", "stderr"
_MOST_HELD: Final = 8 << 20
"""Letters that the variables of a script may hold together."""
_PER_VARIABLE: Final = 64


class Write(NamedTuple):
    """Bytes for one of the outputs."""

    data: bytes
    stream: str = STDOUT


class Read(NamedTuple):
    """A wish for input: a line, or all there is. The driver sends bytes; none at the end."""

    everything: bool = False


Effect = Write | Read | float
"""The effect of a step; a number is seconds that pass."""
Run = Generator[Effect, bytes, int]
"""Steps of a command up to its exit code."""


class Exit(Exception):
    """``exit`` ends the script."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class OutOfMemory(Exception):
    """Variables that hold more than a script may hold."""


@dataclass(slots=True)
class StepCount:
    """The commands and turns that a script and all shells below it have made."""

    steps: int = 0


@dataclass(slots=True)
class Machine:
    """The shared state and the knowledge of the scripts of one container."""

    files: Files = field(default_factory=Files)
    environment: dict[str, str] = field(default_factory=dict)
    hostname: str = "localhost"
    folder: str = "/"
    now: float = 0.0
    """The time, kept up to date by the driver."""
    code: int = 0
    """The exit code of the last command."""
    count: StepCount = field(default_factory=StepCount)
    held: int = 0
    """About the letters that the variables hold which were set so far."""
    network: Network = field(default_factory=NoNetwork)
    script: str = "sh"
    arguments: Sequence[str] = ()
    """The name of the script, and the words after it."""

    def child(self) -> Machine:
        """A shell of its own over the same files."""
        return replace(self, environment=dict(self.environment))

    def assign(self, name: str, value: str) -> None:
        """Set a variable. Raises OutOfMemory."""
        before = self.environment.get(name)
        self.held += len(value) - len(before) if before is not None else len(name) + len(value) + _PER_VARIABLE
        if self.held > _MOST_HELD:
            raise OutOfMemory
        self.environment[name] = value

    def path(self, text: str) -> str:
        """An absolute path."""
        return resolved(text, self.folder)
