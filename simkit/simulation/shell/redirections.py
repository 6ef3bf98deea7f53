"""Outputs that are led to files or into each other, and inputs that come from files.

References
----------
POSIX.1-2017, Shell Command Language, 2.7.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interruption import Interrupted
from simkit.simulation.shell.machine import STDERR, STDOUT, Effect, Machine, Read, Run, Spawn, Write
from simkit.simulation.shell.process_substitution import pipe_at
from simkit.simulation.shell.tasks import Pipe
from simkit.simulation.shell.tree import Redirection
from simkit.simulation.shell.user_files import UserFiles

_STREAMS: Final[Mapping[str, str]] = {
    "/dev/stdout": STDOUT, "/dev/stderr": STDERR, "/dev/fd/1": STDOUT, "/dev/fd/2": STDERR, "/dev/tty": STDOUT,
    "/proc/self/fd/1": STDOUT, "/proc/self/fd/2": STDERR, "/proc/1/fd/1": STDOUT, "/proc/1/fd/2": STDERR,
}  # fmt: skip
_NOWHERE: Final = "nowhere"
"""The stream of what nobody gets."""


class BadRedirection(Exception):
    """A redirection that cannot be made."""


class Destination(NamedTuple):
    """A stream, or a file by its absolute path."""

    stream: str
    path: str = ""
    pipe: Pipe | None = None
    """The way to commands that read what is written."""


class Route:
    """The destinations of the outputs of a command; without anything said, they go where they went before.

    Parameters
    ----------
    files
        The files to which outputs may be led.
    """

    def __init__(self, files: UserFiles | None = None) -> None:
        self._files, self._to = files or UserFiles(), dict[str, Destination]()

    def set(self, stream: str, to: Destination) -> None:
        """Lead a stream elsewhere."""
        self._to[stream] = to

    def of(self, stream: str) -> Destination:
        """The destination of a stream."""
        return self._to.get(stream, Destination(stream))

    def led(self, effect: Write) -> Write:
        """The write to the stream that is meant, without bytes where a file has them. Raises FileError."""
        to = self._to.get(effect.stream)
        if to is None:
            return effect
        if to.pipe is not None:
            to.pipe.put(effect.data)
            return Write(b"", _NOWHERE)
        if to.path and effect.data:
            self._files.write(to.path, effect.data, append=True)
        return Write(b"" if to.path or to.stream == _NOWHERE else effect.data, _NOWHERE if to.path else to.stream)


class Opened(NamedTuple):
    """The outcome of redirections: outputs, and inputs by number."""

    route: Route
    inputs: Mapping[int, Pipe]


def opened(machine: Machine, given: Sequence[tuple[Redirection, str]], base: Route | None = None) -> Opened:
    """Make redirections, one after the other. Raises BadRedirection.

    Parameters
    ----------
    given
        Redirections, each with its target as one text.
    base
        The outputs so far, for ``exec``, which changes them.
    """
    route, inputs = base or Route(machine.files), dict[int, Pipe]()
    for redirection, target in given:
        stream = _stream(redirection.number)
        if redirection.operator == "<<":
            inputs[redirection.number] = Pipe(target.encode())
        elif redirection.operator == "<":
            inputs[redirection.number] = Pipe(_content(machine, target))
        elif redirection.operator == "<&":
            source = machine.inputs.get(int(target)) if target.isdigit() else Pipe()
            if source is None and target != "0":
                raise BadRedirection(f"{target}: Bad file descriptor")
            if source is not None:
                inputs[redirection.number] = source
        elif redirection.operator == ">&":
            if target not in ("-",) and not target.isdigit():
                raise BadRedirection(f"{target}: bad fd number")
            route.set(stream, Destination(_NOWHERE) if target == "-" else route.of(_stream(int(target))))
        else:
            route.set(stream, _destination(machine, target, append=redirection.operator == ">>"))
    return Opened(route, inputs)


def _stream(number: int) -> str:
    return {1: STDOUT, 2: STDERR}.get(number, str(number))


def _content(machine: Machine, target: str) -> bytes:
    path = machine.path(target)
    if path in ("/dev/null", "/dev/stdin"):
        return b""
    try:
        return machine.files.read(path)
    except FileError as problem:
        shown = "No such file" if str(problem) == "No such file or directory" else problem
        raise BadRedirection(f"cannot open {target}: {shown}") from problem


def _destination(machine: Machine, target: str, *, append: bool) -> Destination:
    path = machine.path(target)
    if path == "/dev/null":
        return Destination(_NOWHERE)
    if path in _STREAMS:
        return Destination(_STREAMS[path])
    pipe = pipe_at(machine, path)
    if pipe is not None:
        return Destination(_NOWHERE, pipe=pipe)
    try:
        machine.files.write(path, b"", append=append)
    except FileError as problem:
        raise BadRedirection(f"cannot create {target}: {problem}") from problem
    return Destination(STDOUT, machine.files.real(path))


def transformed(run: Run, change: Callable[[Effect], Generator[Effect, bytes, bytes]]) -> Run:
    """Run with each effect changed; an interruption goes to what runs."""
    following: Callable[[], Effect] = partial(next, run)
    try:
        while True:
            effect = following()
            try:
                following = partial(run.send, (yield from change(effect)))
            except Interrupted as problem:
                following = partial(run.throw, problem)
    except StopIteration as end:
        return int(end.value)


def redirected(run: Run, made: Opened) -> Run:
    """Run with redirections. Raises FileError where a file cannot be written any more."""
    source = made.inputs.get(0)

    def change(effect: Effect) -> Generator[Effect, bytes, bytes]:
        if isinstance(effect, Write):
            led = made.route.led(effect)
            if led.data:
                yield led
            return b""
        if isinstance(effect, Spawn):
            effect.task.routes.append(made.route)
        if isinstance(effect, Read) and source is not None and (found := source.take(effect)) is not None:
            return found
        return (yield effect)

    return transformed(run, change)


def with_outputs(machine: Machine, run: Run) -> Run:
    """Run a shell whose outputs and input follow what ``exec`` says."""

    def change(effect: Effect) -> Generator[Effect, bytes, bytes]:
        if isinstance(effect, Write) and machine.outputs is not None:
            effect = machine.outputs.led(effect)
            if not effect.data:
                return b""
        if isinstance(effect, Spawn) and machine.outputs is not None:
            effect.task.routes.append(machine.outputs)
        if isinstance(effect, Read) and (source := machine.inputs.get(0)) is not None:
            found = source.take(effect)
            if found is not None:
                return found
        return (yield effect)

    return transformed(run, change)
