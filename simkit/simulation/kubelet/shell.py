"""Commands of the small shell as programs of containers, and the users that these run as."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from simkit.meta.objects import Object, at
from simkit.simulation.kubelet.process import Container, Input, Now, Output, Program, Step
from simkit.simulation.shell.commands import COMMANDS, PROGRAMS
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_command, run_shell
from simkit.simulation.shell.kernel import STDERR, Effect, Kernel, Read, Sleep, Task, Until, Write
from simkit.simulation.shell.machine import BLANKS, Machine
from simkit.simulation.shell.paths import resolved
from simkit.simulation.shell.script import ScriptError, Unsupported
from simkit.simulation.shell.shells import run_script
from simkit.simulation.shell.signals import Interrupted, Signalled
from simkit.simulation.shell.syntax import command_names
from simkit.simulation.shell.user_files import User, UserFiles

# The users that containers run as.
# Upstream: pkg/kubelet/kuberuntime/security_context.go, release 1.30.


def user_of(pod: Object, container: Mapping[str, Any]) -> User:
    """The user of a container: as its pod and itself say, else root, since users of images are not known."""
    uid, gid = _told(pod, container, "runAsUser"), _told(pod, container, "runAsGroup")
    context = at(pod, "spec", "securityContext") or {}
    group = context.get("fsGroup")
    groups = (*(context.get("supplementalGroups") or ()), *(() if group is None else (group,)))
    return User(int(uid or 0), int(gid or 0), tuple(dict.fromkeys(int(each) for each in groups)))


def _told(pod: Object, container: Mapping[str, Any], field: str) -> Any:
    own = (container.get("securityContext") or {}).get(field)
    return own if own is not None else (at(pod, "spec", "securityContext") or {}).get(field)


def owner_of_tokens(pod: Object) -> int | None:
    """The user whom tokens of a pod belong to: the one that all its containers run as; None where they differ."""
    containers = [*(at(pod, "spec", "initContainers") or ()), *(at(pod, "spec", "containers") or ())]
    users = {_told(pod, each, "runAsUser") for each in containers}
    only = users.pop() if len(users) == 1 else None
    return None if only is None else int(only)


# Commands of the small shell as programs of containers

_SHELLS: Final = ("sh", "bash", "ash", "dash")
_USUAL_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnknownCommand(Exception):
    """A command that the small shell does not have."""


def script_program(
    command: str | Sequence[str],
    *,
    alone: bool = False,
    protected: bool = False,
    fails: bool = False,
    programs: Collection[str] = (),
) -> Program:
    """The program that runs a script, or a command with its arguments. Raises UnknownCommand.

    Parameters
    ----------
    alone
        Whether only the command itself has to be known: a script then fails at what the shell does not have.
    protected
        Whether signals without a trap are ignored.
    fails
        Whether a script fails at such a command, as in images that are a shell alone.
    programs
        Names of further programs that the container has.
    """
    if not isinstance(command, str):
        check_known(command[:1] if alone else command, fails=fails, programs=programs)

    def program(container: Container) -> Generator[Step, Any, Any]:
        kernel = Kernel(container.started, container.pid, protected=protected)
        machine = _machine(container, kernel)
        if isinstance(command, str):
            run = run_script(machine, command)
        else:
            machine.ends_with_program = True
            run = run_shell(machine, run_command(machine, list(command), functions=False))
        main = kernel.spawn(run, machine.signals, machine)
        return _process(kernel, main, container)

    return program


def _machine(container: Container, kernel: Kernel) -> Machine:
    """The shell of a container before its first command."""
    files = UserFiles(container.files, user_of(container.pod, container.spec), lambda: kernel.now)
    folder = resolved(str(container.spec.get("workingDir") or "/"))
    with suppress(FileError):  # container runtimes make it; one that cannot be made is missed by commands that use it
        container.files.make_folder(folder)
    variables = {"PATH": _USUAL_PATH, **container.environment, "PWD": folder, "IFS": BLANKS}
    return Machine(
        kernel, files, container.network, str((container.pod.get("metadata") or {}).get("name", "localhost")),
        COMMANDS, container.programs, container.signal, variables, set(variables) - {"IFS"},
        folder=folder, pid=container.pid,
    )  # fmt: skip


def check_known(command: Sequence[str], *, fails: bool = False, programs: Collection[str] = ()) -> None:
    """Raise UnknownCommand for a command that the small shell does not have.

    So is a script that has something else that it does not know, unless it ``fails`` there.
    """
    name = command[0].rpartition("/")[2] if command else ""
    if name not in PROGRAMS and name not in programs:
        raise UnknownCommand(name)
    if fails or name in programs or name not in _SHELLS or "-c" not in command[1:-1]:
        return
    try:
        unknown = command_names(command[command.index("-c") + 1])
    except (ScriptError, Unsupported) as error:
        raise UnknownCommand(str(error)) from error
    missing = sorted(each for each in unknown if each.rpartition("/")[2] not in {*COMMANDS, *programs})
    if missing:
        raise UnknownCommand(missing[0])


def _process(kernel: Kernel, main: Task, container: Container) -> Generator[Step, Any, Any]:
    """Run the tasks of a process. Commands in the background are left to the container when the first one ends."""
    is_exec = container.pid != 1
    try:
        yield from _steps(kernel, main, kernel.run(main, heard=lambda: is_exec and _is_heard(kernel)))
    except Unsupported as problem:
        yield Output(f"{problem}\n".encode("utf-8", "surrogateescape"), STDERR)
        return problem.code
    if kernel.tasks:
        container.leave(_rest(kernel, main))
    return main.code


def _is_heard(kernel: Kernel) -> bool:
    """True if a command in the background still writes to the outputs of the process."""
    return any(task.writes_to_container() for task in kernel.tasks)


def _rest(kernel: Kernel, main: Task) -> Generator[Step, Any, Any]:
    with suppress(Unsupported):
        yield from _steps(kernel, main, kernel.run(None))


def _steps(kernel: Kernel, main: Task, run: Generator[Effect, Any, None]) -> Generator[Step, Any, None]:
    """The effects of tasks as steps of a process. An interruption goes to what runs in the foreground."""
    following: Callable[[], Effect] = partial(next, run)
    while True:
        try:
            effect = following()
        except StopIteration:
            return
        try:
            following = partial(run.send, (yield from _step(kernel, main, effect)))
        except Interrupted as problem:
            following = partial(run.throw, problem)


def _step(kernel: Kernel, main: Task, effect: Effect) -> Generator[Step, Any, bytes | None]:
    """One effect; gives the bytes that were read, and None after a signal. Raises Signalled where one ends all."""
    wait = effect.seconds if isinstance(effect, Sleep | Until) else 0.0
    step: Step = wait
    if isinstance(effect, Write):
        step = Output(effect.data, effect.stream)
    elif isinstance(effect, Read):
        step = Input(effect.everything, effect.within)
    try:
        answer = yield step
    except Signalled as signal:
        if signal.name in main.signals.traps:
            main.signals.send(signal.name)
        elif not kernel.protected:
            raise
        kernel.now = yield Now()
        return None
    if isinstance(effect, Read):
        kernel.now = yield Now()
        return answer if isinstance(answer, bytes) else b""
    kernel.now += wait
    return b""
