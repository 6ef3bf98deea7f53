"""Commands of the built-in shell as programs of containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from simkit.simulation.kubelet.images import has_bash_as_sh, has_coreutils
from simkit.simulation.kubelet.process import Container, Input, Now, Output, Program, Step
from simkit.simulation.kubelet.users import user_of
from simkit.simulation.shell.commands import COMMANDS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_words, shell_of
from simkit.simulation.shell.interruption import Interrupted
from simkit.simulation.shell.machine import Effect, Machine, Pause, Read, Run, Shared, Spawn, Write
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.shells import run_script, session
from simkit.simulation.shell.signals import ARRIVAL, Signalled
from simkit.simulation.shell.syntax import parse
from simkit.simulation.shell.tasks import Task, together
from simkit.simulation.shell.tree import ScriptError, command_names
from simkit.simulation.shell.user_files import UserFiles

_SHELLS: Final = ("sh", "bash", "ash", "dash")


class UnknownCommand(Exception):
    """A command that the built-in shell does not have."""


def script_program(
    command: str | Sequence[str],
    *,
    alone: bool = False,
    protected: bool = False,
    fails: bool = False,
    programs: Collection[str] = (),
) -> Program:
    """The program that runs a script, or a command with its arguments. Raises UnknownCommand.

    A script that is told as a text may use all that bash knows. In a command, the name of the shell decides.
    ``alone`` says that only the command itself has to be known: a script then fails at what it does not know.
    ``fails`` says that a script fails at such a command, as in images that have nothing else.
    ``protected`` says that signals without a trap are ignored.
    ``programs`` are names of further programs that its container has.
    """
    if not isinstance(command, str):
        check_known(command[:1] if alone else command, fails=fails, programs=programs)

    def program(container: Container) -> Generator[Step, Any, Any]:
        shared = Shared()
        files = UserFiles(container.files, user_of(container.pod, container.spec), lambda: shared.now)
        machine = Machine(files, dict(container.environment), _hostname(container), network=container.network)
        machine.shared = shared
        machine.folder = _working_folder(container)
        machine.pid = machine.shared.last_pid = container.pid
        machine.shared.programs = container.programs
        machine.shared.signal_first, machine.shared.protected = container.signal, protected
        machine.shared.privileged = bool((container.spec.get("securityContext") or {}).get("privileged"))
        machine.shared.first_words = _command_line(container)
        machine.shared.has_coreutils = has_coreutils(str(container.spec.get("image", "")))
        machine.shared.sh_is_bash = has_bash_as_sh(str(container.spec.get("image", "")))
        machine.bash = isinstance(command, str)
        machine.shared.own_words = ("sh", "-c", command) if isinstance(command, str) else command
        run = run_script(machine, command) if isinstance(command, str) else run_command(machine, command)
        machine.shared.now = machine.begun = container.started
        return _with_rest(machine, session(machine, run, heard=container.pid != 1), container)

    return program


def _command_line(container: Container) -> Sequence[str]:
    """The words of the container's first process: those of its spec, else its image as the program's name."""
    spec = container.spec
    told = [*(spec.get("command") or ()), *(spec.get("args") or ())]
    return told or [str(spec.get("image", "")).rpartition("/")[2].partition(":")[0] or "sh"]


def _working_folder(container: Container) -> str:
    """The folder in which a program of a container starts; container runtimes make it where it is not there."""
    folder = resolved(str(container.spec.get("workingDir") or "/"))
    with suppress(FileError):  # one that cannot be made is missed by commands that use it
        container.files.make_folder(folder)
    return folder


def _hostname(container: Container) -> str:
    return str((container.pod.get("metadata") or {}).get("name", "localhost"))


def check_known(command: Sequence[str], *, fails: bool = False, programs: Collection[str] = ()) -> None:
    """Raise UnknownCommand for a command that is not built in.

    So is a script that cannot be read, or runs a command that is not built in, unless it ``fails`` there.
    """
    name = command[0].rpartition("/")[2] if command else ""
    if name not in COMMANDS and name not in programs:
        raise UnknownCommand(name)
    if name in _SHELLS and any(flag.startswith("-") and "c" in flag for flag in command[1:-1]):
        script = next((word for word in command[1:] if not word.startswith("-")), "")
        try:
            unknown = command_names(parse(script, bash=True)) - COMMANDS.keys() - set(programs)
        except ScriptError as error:
            if fails:
                return
            raise UnknownCommand(str(error)) from error
        if not fails and any(each.rpartition("/")[2] not in {*COMMANDS, *programs} for each in unknown):
            raise UnknownCommand(sorted(unknown)[0])


def run_command(machine: Machine, command: Sequence[str]) -> Run:
    """Run a command that is built in, with its words as they are."""
    machine.ends_with_program = True
    return shell_of(machine, run_words(machine, list(command), functions=False))


def _with_rest(machine: Machine, run: Run, container: Container) -> Generator[Step, Any, Any]:
    """A program whose commands in the background are left to its container when it ends."""
    left: list[Task] = []
    code = yield from _steps(machine, run, left)
    if left:
        container.leave(_rest(machine, left))
    return code


def _rest(machine: Machine, left: list[Task]) -> Generator[Step, Any, Any]:
    """Commands that run on; the group is made anew as soon as one has ended, with those that it has started."""
    while left:
        tasks, following = list(left), list[Task]()
        yield from _steps(machine, together(machine.shared, tasks, until=tasks[0]), following)
        left = following


def _steps(machine: Machine, run: Generator[Effect, bytes, Any], left: list[Task]) -> Generator[Step, Any, Any]:
    """Effects of a script as steps of a process. An interruption goes to what runs at the moment.

    What it leaves in the background is added to ``left``.
    """
    following: Callable[[], Effect] = partial(next, run)
    try:
        while True:
            effect = following()
            if isinstance(effect, Spawn):
                left.append(effect.task)
            try:
                following = partial(run.send, (yield from _step(machine, effect)))
            except Interrupted as problem:
                following = partial(run.throw, problem)
    except StopIteration as end:
        return end.value


def _step(machine: Machine, effect: Effect) -> Generator[Step, Any, bytes]:
    """One effect; gives back what is sent for it. Raises Signalled where a signal ends the program."""
    if isinstance(effect, Write):
        yield from _heeding(machine, Output(effect.data, effect.stream))
    elif isinstance(effect, Read):
        return (yield from _input(machine, effect))
    elif not isinstance(effect, Spawn):
        seconds = effect.seconds if isinstance(effect, Pause) else effect
        end = machine.shared.now + seconds
        while True:
            told, _ = yield from _heeding(machine, max(0.0, end - machine.shared.now))
            if not told:
                machine.shared.now = end
                return b""
            if isinstance(effect, Pause):
                return b""
    return b""


def _input(machine: Machine, wish: Read) -> Generator[Step, Any, bytes]:
    end = None if wish.within is None else machine.shared.now + wish.within
    while True:
        within = None if end is None else max(0.0, end - machine.shared.now)
        told, found = yield from _heeding(machine, Input(wish.everything, within))
        if not told:
            machine.shared.now = yield Now()
            return found or b""


def _heeding(machine: Machine, step: Step) -> Generator[Step, Any, tuple[bool, Any]]:
    """One step: whether a signal came in the middle of it, and what was sent for it."""
    try:
        return False, (yield step)
    except Signalled as signal:
        if signal.name in machine.signals.traps:
            machine.signals.send(signal.name)
        elif signal.name != ARRIVAL and not machine.shared.protected:
            raise
        machine.shared.now = yield Now()
        return True, None
