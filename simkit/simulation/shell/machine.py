"""The state of a shell, and the effects of the steps of its commands, which its driver carries out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.simulation.shell.arrays import PER_ENTRY, Array
from simkit.simulation.shell.network import Network, NoNetwork
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.signals import Signals
from simkit.simulation.shell.user_files import UserFiles

if TYPE_CHECKING:
    from simkit.simulation.shell.process_substitution import Borrowed
    from simkit.simulation.shell.redirections import Route
    from simkit.simulation.shell.tasks import Pipe, Task
    from simkit.simulation.shell.tree import Node

STDOUT, STDERR = "stdout", "stderr"
FOREVER: Final = 1e12
"""Seconds that never pass."""
_MOST_HELD: Final = 8 << 20
"""Letters that the variables of a script may hold together."""
_MOST_STEPS: Final = 20_000
"""Commands and turns of loops after which a second passes, if the script lets none pass."""
_MOST_NAMES: Final = 8
"""Names that may mean each other."""
LOOK_UP: Final = 20
"""Those after which whoever drives the script may turn to something else."""


class Write(NamedTuple):
    """Bytes for one of the outputs."""

    data: bytes
    stream: str = STDOUT


class Read(NamedTuple):
    """A wish for input: a line, or all there is. The driver sends bytes; none at the end, or when time is over."""

    everything: bool = False
    within: float | None = None
    """The seconds after which the wish is over."""


class Pause(NamedTuple):
    """Seconds that pass unless a signal comes or a job ends before."""

    seconds: float = FOREVER


class Spawn(NamedTuple):
    """A task that runs on beside the shell that started it."""

    task: Task


Effect = Write | Read | Pause | Spawn | float
"""The effect of a step; a number is seconds that pass."""
Run = Generator[Effect, bytes, int]
"""Steps of a command up to its exit code."""


Command = Callable[["Machine", list[str]], Run]
"""A command that is not one of the shell's own words, from the words that it is called with."""


class Exit(Exception):
    """``exit`` ends the script."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class OutOfMemory(Exception):
    """Variables that hold more than a script may hold."""


class ReadOnly(Exception):
    """An assignment to a variable that cannot be changed."""


class Saved(NamedTuple):
    """A variable as it was."""

    text: str | None
    array: Array | None
    kinds: str
    exported: bool


@dataclass(slots=True)
class Job:
    """A command in the background, for the shell that started it."""

    number: int
    pid: int
    signals: Signals
    code: int | None = None
    """Its exit code once it has ended."""


@dataclass(slots=True)
class Shared:
    """The common state of a script and of all shells below it."""

    steps: int = 0
    """The commands and turns that they have made."""
    now: float = 0.0
    """The time, kept up to date by the driver."""
    tasks: int = 0
    """The tasks that were started and have not ended."""
    last_pid: int = 1
    random: int = 0
    jobs: dict[int, Job] = field(default_factory=dict)
    """The commands in the background that run, by process number."""
    signal_first: Callable[[str], bool] | None = None
    """Sends a signal to the process that the container was started with."""
    first_words: Sequence[str] = ("sh",)
    """The command line of that process."""
    own_words: Sequence[str] = ("sh",)
    """The command line of the process that this script is."""
    programs: Mapping[str, Command] = field(default_factory=dict)
    """Programs besides the built-in commands, by name."""
    has_coreutils: bool = False
    """True in images whose tools are those of GNU, not of busybox."""
    sh_is_bash: bool = False
    """True in images whose ``sh`` is bash."""
    privileged: bool = False
    """True for a container that may do on its node what it likes."""
    protected: bool = False
    """True if signals without a trap are ignored, as for the first process of a container."""


@dataclass(slots=True)
class Machine:
    """The shared state and the knowledge of the scripts of one container."""

    files: UserFiles = field(default_factory=UserFiles)
    environment: dict[str, str] = field(default_factory=dict)
    """All variables. Those that are there at the start are exported."""
    hostname: str = "localhost"
    folder: str = "/"
    code: int = 0
    """The exit code of the last command."""
    shared: Shared = field(default_factory=Shared)
    held: int = 0
    """About the letters that the variables hold which were set so far."""
    network: Network = field(default_factory=NoNetwork)
    script: str = "sh"
    arguments: Sequence[str] = ()
    """The name of the script, and the words after it."""
    pid: int = 1
    local: set[str] = field(default_factory=set)
    """The names of variables that are not exported."""
    readonly: set[str] = field(default_factory=set)
    functions: dict[str, Node] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    """The letters of ``set``, and ``pipefail``."""
    tested: int = 0
    """The number of conditions around the present command: ``set -e`` does not heed its exit code then."""
    signals: Signals = field(default_factory=Signals)
    jobs: list[Job] = field(default_factory=list)
    started: int = 0
    """The process number of the last command in the background."""
    frames: list[dict[str, Saved]] = field(default_factory=list)
    """The local variables as they were before, by function that runs."""
    loops: int = 0
    """The loops around the present command."""
    outputs: Route | None = None
    """The outputs of the shell as ``exec`` has led them."""
    inputs: dict[int, Pipe] = field(default_factory=dict)
    """The files that ``exec`` has opened for reading."""
    ends_with_program: bool = False
    """True if no shell is left beside the program that is started: it gets the signals."""
    depth: int = 0
    """The commands around the present one, those of the shells around this one included."""
    substituted: int | None = None
    """The exit code of the last command whose output was meant in the present one."""
    bash: bool = False
    """True for a shell that is bash."""
    arrays: dict[str, Array] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    """The letters by which ``declare`` makes variables numbers (``i``), capitals (``u``) and the like."""
    reads_file: bool = False
    """True if the script is a file."""
    calls: list[str] = field(default_factory=list)
    """The names of the functions that run."""
    level: int = 0
    """The shells around this one that it is a copy of."""
    line: int = 0
    """The line of the present command."""
    begun: float = 0.0
    """The time from which ``SECONDS`` counts."""
    statuses: Sequence[int] = ()
    """The exit codes of the commands of the last pipeline."""
    folders: list[str] = field(default_factory=list)
    """The folders that ``pushd`` has left."""
    unread: str = ""
    """Letters of a line that ``read -d`` or ``read -n`` has left."""
    borrowed: list[Borrowed] = field(default_factory=list)
    """The files of ``<(...)`` and ``>(...)`` that the present commands have."""

    @property
    def shell(self) -> str:
        """The name of the shell, for messages."""
        return "bash" if self.bash else "sh"

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self.shared.now

    def child(self) -> Machine:
        """A shell of its own over the same files, with everything that this one knows."""
        return replace(
            self,
            files=self.files.copy(),
            environment=dict(self.environment),
            local=set(self.local),
            readonly=set(self.readonly),
            functions=dict(self.functions),
            options=set(self.options),
            signals=self.signals.inherited(),
            jobs=[],
            frames=[],
            outputs=None,
            inputs=dict(self.inputs),
            arrays={name: array.copy() for name, array in self.arrays.items()},
            kinds=dict(self.kinds),
            calls=list(self.calls),
            folders=list(self.folders),
            borrowed=[],
            level=self.level + 1,
        )

    def program(self, script: str, arguments: Sequence[str]) -> Machine:
        """A shell that is started as a program: it knows the exported variables."""
        exported = {name: value for name, value in self.environment.items() if name not in self.local}
        made = Machine(
            self.files.copy(), exported, self.hostname, self.folder, shared=self.shared, network=self.network
        )
        made.held, made.script, made.arguments, made.pid = self.held, script, arguments, self.pid
        made.depth, made.begun = self.depth, self.now
        made.signals = self.signals if self.ends_with_program else self.signals.inherited()
        return made

    def meant(self, name: str) -> str:
        """The name of the variable that a name means, where it was declared to mean another one."""
        for _ in range(_MOST_NAMES):
            if "n" not in self.kinds.get(name, ""):
                return name
            name = self.environment.get(name, "")
        return name

    def assign(self, name: str, value: str) -> None:
        """Set a variable, or the first element of an array. Raises OutOfMemory, or ReadOnly."""
        name = self.meant(name) if self.kinds else name
        if name in self.arrays:
            self.put(name, self.arrays[name].first, value)
            return
        if name in self.readonly:
            raise ReadOnly(name)
        before = self.environment.get(name)
        self._hold(len(value) - len(before) if before is not None else len(name) + len(value) + PER_ENTRY)
        if before is None and "a" not in self.options:
            self.local.add(name)
        self.environment[name] = value

    def _hold(self, letters: int) -> None:
        self.held += letters
        if self.held > _MOST_HELD:
            raise OutOfMemory

    def put(self, name: str, key: int | str, text: str) -> None:
        """Set an element of an array, which is made where there is none. Raises OutOfMemory, or ReadOnly."""
        if name in self.readonly:
            raise ReadOnly(name)
        array = self.arrays.get(name)
        if array is None:
            array = self.make_array(name, by_text=isinstance(key, str))
        before = array.held
        array.put(key, text)
        self._hold(array.held - before)

    def make_array(self, name: str, *, by_text: bool = False) -> Array:
        """Have an array with the value of a variable as its first element. Raises OutOfMemory, or ReadOnly."""
        text, array = self.environment.get(name), Array(by_text=by_text)
        self.unset(name)
        self.arrays[name] = array
        self._hold(len(name) + PER_ENTRY)
        if text is not None:
            self.put(name, array.first, text)
        return array

    def unset(self, name: str) -> None:
        """Remove a variable. Raises ReadOnly."""
        if name in self.readonly:
            raise ReadOnly(name)
        before, array = self.environment.pop(name, None), self.arrays.pop(name, None)
        if before is not None:
            self.held -= len(name) + len(before) + PER_ENTRY
        if array is not None:
            self.held -= len(name) + array.held + PER_ENTRY
        self.local.discard(name)
        self.kinds.pop(name, None)

    def saved(self, name: str) -> Saved:
        """A variable as it is now."""
        array = self.arrays.get(name)
        kinds, exported = self.kinds.get(name, ""), name in self.environment and name not in self.local
        return Saved(self.environment.get(name), array.copy() if array is not None else None, kinds, exported)

    def restore(self, name: str, saved: Saved) -> None:
        """Have a variable as it was."""
        self.readonly.discard(name)
        self.unset(name)
        if saved.array is not None:
            self.arrays[name] = saved.array
            self.held += len(name) + saved.array.held + PER_ENTRY
        if saved.text is not None:
            self.assign(name, saved.text)
            if saved.exported:
                self.local.discard(name)
        if saved.kinds:
            self.kinds[name] = saved.kinds

    def path(self, text: str) -> str:
        """An absolute path."""
        return resolved(text, self.folder)


def tick(machine: Machine) -> Generator[Effect, bytes, None]:
    """Let a second pass where a script does very much without letting any pass, and no time now and then before."""
    shared = machine.shared
    shared.steps += 1
    if shared.steps % _MOST_STEPS == 0:
        yield 1.0
    elif shared.steps % LOOK_UP == 0:
        yield 0.0
