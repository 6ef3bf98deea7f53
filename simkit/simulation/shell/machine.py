"""The state of a shell and what surrounds it: variables, functions, streams, traps, jobs and the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import STDERR, STDOUT, Bytes, ContainerStream, Kernel, Run, Steps, Stream, Task
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.script import Node, Unsupported
from simkit.simulation.shell.signals import Signals
from simkit.simulation.shell.user_files import UserFiles

# The network as a container sees it: names, and connections to ports

CLUSTER_DOMAIN: Final = "cluster.local"
SERVICE_DOMAIN: Final = f"svc.{CLUSTER_DOMAIN}"
RESOLVER: Final = "10.96.0.10"
"""The address of the cluster's name server."""
Connection = Callable[[bytes], bytes]
"""The other end of a connection: from the bytes of a client to its answer."""


class Refused(Exception):
    """Nothing listens on a port."""


class Unreachable(Exception):
    """Nobody answers at an address: a connection ends with its time limit."""


class Network(Protocol):
    """Names and connections. An implementation does not wait: it answers with the present state."""

    def addresses(self, name: str) -> tuple[str, Sequence[str]]:
        """The full form of a name, and its addresses; none for a name that nobody knows."""
        ...

    def searched(self, name: str) -> Sequence[str]:
        """The full names that are tried for a name, in order."""
        ...

    def own_addresses(self) -> Sequence[str]:
        """The addresses of the container itself."""
        ...

    def connect(self, address: str, port: int) -> Connection:
        """The other end of a connection. Raises Refused, or Unreachable."""
        ...


class NoNetwork:
    """The network of a container outside a cluster: it knows no names, and nobody answers."""

    def addresses(self, name: str) -> tuple[str, Sequence[str]]:
        return name, ()

    def searched(self, name: str) -> Sequence[str]:
        return (name,)

    def own_addresses(self) -> Sequence[str]:
        return ()

    def connect(self, address: str, port: int) -> Connection:
        raise Unreachable(address)


# The state of a shell: variables, functions, streams, traps and jobs

_MOST_HELD: Final = 8 << 20
"""Letters that the variables of a script may hold together."""
_PER_ENTRY: Final = 64
BLANKS: Final = " \t\n"
"""The separators of fields, ``IFS``."""
_EFFECTIVE: Final = frozenset(
    {"IFS", "GLOBIGNORE", "RANDOM", "SECONDS", "LINENO", "POSIXLY_CORRECT", "CDPATH", "PS4", "OPTIND", "UID", "EUID",
     "PPID", "BASHOPTS", "SHELLOPTS", "BASH_COMPAT"}
)  # fmt: skip
"""Variables whose values change what some shells do."""


class Exit(Exception):
    """``exit`` ends the shell."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Fatal(Exception):
    """An error that ends a shell which is not interactive."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


class Failed(Exception):
    """An error that ends a command with a message and an exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


class Return(Exception):
    """``return`` ends a function."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LoopControl(Exception):
    """``break`` or ``continue``, and the loops that are left to leave."""

    def __init__(self, word: str, loops: int) -> None:
        super().__init__(word)
        self.word, self.loops = word, loops


Command = Callable[["Machine", list[str]], Run]
"""A command, from the words that it is called with."""


def _streams() -> dict[int, Stream]:
    return {0: ContainerStream(), 1: ContainerStream(STDOUT), 2: ContainerStream(STDERR)}


def _no_signal(name: str) -> bool:
    return False


@dataclass(slots=True)
class Machine:
    """The state of one shell."""

    kernel: Kernel = field(default_factory=Kernel)
    files: UserFiles = field(default_factory=UserFiles)
    network: Network = field(default_factory=NoNetwork)
    hostname: str = "localhost"
    commands: Mapping[str, Command] = field(default_factory=dict)
    """The commands of the shell, by name."""
    programs: Mapping[str, Command] = field(default_factory=dict)
    """Programs of the machine, by name. They come before the commands of the shell."""
    signal_first: Callable[[str], bool] = _no_signal
    """Sends a signal to the process that the container was started with."""
    variables: dict[str, str] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    functions: dict[str, Node] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    """The letters of ``set``."""
    name: str = "sh"
    arguments: Sequence[str] = ()
    """The words behind the name of the script."""
    folder: str = "/"
    code: int = 0
    """The exit code of the last command."""
    trapped: int | None = None
    """The exit code before the command of a trap that runs, which ``exit`` alone gives."""
    signals: Signals = field(default_factory=Signals)
    streams: dict[int, Stream] = field(default_factory=_streams)
    jobs: dict[int, Task] = field(default_factory=dict)
    """The commands in the background that this shell has started, by process number."""
    last_job: int = 0
    pid: int = 1
    tested: int = 0
    """The conditions around the present command, whose exit code ``set -e`` does not heed."""
    loops: int = 0
    depth: int = 0
    calls: int = 0
    """The functions around the present command."""
    found: dict[str, str] = field(default_factory=dict)
    """The files of commands that were found in the folders of ``PATH``."""
    substituted: int | None = None
    """The exit code of the last command substitution in the present command."""
    held: int = 0
    ends_with_program: bool = False
    """True if no shell is left beside the program that runs, which gets the signals."""

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self.kernel.now

    def child(self) -> Machine:
        """A subshell: it knows all that this one knows, and changes nothing of it."""
        for stream in self.streams.values():
            stream.retain()
        return replace(
            self, variables=dict(self.variables), exported=set(self.exported), functions=dict(self.functions),
            options=set(self.options), signals=self.signals.inherited(), streams=dict(self.streams), jobs={},
            ends_with_program=False,
        )  # fmt: skip

    def program(self, name: str, arguments: Sequence[str]) -> Machine:
        """A shell that is started as a program: it knows the exported variables."""
        made = self.child()
        made.variables = {key: value for key, value in self.variables.items() if key in self.exported} | {"IFS": BLANKS}
        made.exported, made.functions, made.options = set(self.exported) - {"IFS"}, {}, set()
        made.name, made.arguments, made.code, made.tested, made.loops, made.calls = name, arguments, 0, 0, 0, 0
        if self.ends_with_program:
            made.signals, made.ends_with_program = self.signals, True
        return made

    def lead(self, number: int, stream: Stream | None) -> None:
        """Have a stream under a number in place of the one that was there; None closes it."""
        before = self.streams.pop(number, None)
        if before is not None:
            before.release()
        if stream is not None:
            self.streams[number] = stream

    def release(self) -> None:
        """Let go of all streams, at the end of the shell."""
        for number in tuple(self.streams):
            self.lead(number, None)

    def assign(self, name: str, value: str) -> None:
        """Set a variable. Raises Fatal where variables hold too much, and Unsupported for one that has effects."""
        if name in _EFFECTIVE:
            raise Unsupported(f"{name}=")
        before = self.variables.get(name)
        self.held += len(value) - len(before) if before is not None else len(name) + len(value) + _PER_ENTRY
        if self.held > _MOST_HELD:
            raise Fatal("out of memory")
        self.variables[name] = value
        if name == "PATH":
            self.found = {}

    def unset(self, name: str) -> None:
        """Remove a variable."""
        before = self.variables.pop(name, None)
        self.held -= 0 if before is None else len(name) + len(before) + _PER_ENTRY
        self.exported.discard(name)

    def state(self, name: str) -> tuple[str | None, bool]:
        """The value of a variable, and whether it is exported."""
        return self.variables.get(name), name in self.exported

    def restore(self, name: str, before: tuple[str | None, bool]) -> None:
        """Have a variable as it was."""
        self.unset(name)
        if before[0] is not None:
            self.assign(name, before[0])
        if before[1]:
            self.exported.add(name)

    def path(self, text: str) -> str:
        """An absolute path. Raises FileError for one that leads back from what is no folder."""
        names = text.split("/")
        for number in range(1, len(names) if ".." in names else 0):
            above = resolved("/".join(names[:number]) or "/", self.folder)
            if names[number] == ".." and self.files.target(above) is not None:
                raise Unsupported(f"{text}, which leads through a link")
            if names[number] == ".." and not self.files.is_folder(above):
                raise FileError("No such file or directory")
        return resolved(text, self.folder)

    def write(self, text: str | bytes, number: int = 1) -> Steps:
        """Write to one of the streams."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        if number not in self.streams:
            raise Failed("write error: Bad file descriptor")
        yield from self.streams[number].write(data)

    def complain(self, text: str) -> Steps:
        """Write a line to the standard error; one that is closed, full or read takes nothing."""
        if 2 in self.streams:
            with suppress(FileError):
                yield from self.streams[2].write(f"{text}\n".encode("utf-8", "surrogateescape"))

    def read(self, *, everything: bool = False, within: float | None = None) -> Bytes:
        """A line of the standard input, or some of all there is; no bytes at the end."""
        if 0 not in self.streams:
            raise Failed("read error: Bad file descriptor")
        return (yield from self.streams[0].read(everything=everything, within=within))
