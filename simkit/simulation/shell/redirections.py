"""Redirections: streams of a command that are led elsewhere.

References
----------
POSIX.1-2017, Shell Command Language, 2.7.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import BytesStream, Effect, FileStream, Run, Steps, Stream
from simkit.simulation.shell.machine import Failed, Machine
from simkit.simulation.shell.script import Redirection, Unsupported

_DEVICES: Final = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


class NotRedirected(Exception):
    """A redirection that failed, and was complained of: the command was not run."""


def redirected(
    machine: Machine, expander: Expander, redirections: Sequence[Redirection], run: Run, *, lasts: bool = False
) -> Run:
    """Run something with streams led elsewhere; those of ``exec`` stay so."""
    before = machine.streams
    machine.streams = {number: stream.retain() for number, stream in before.items()}
    try:
        for redirection in redirections:
            machine.lead(redirection.number, (yield from _opened(machine, expander, redirection)))
        if not lasts:
            return (yield from run)
        before, machine.streams = machine.streams, before
    except (FileError, Failed) as problem:
        yield from machine.complain(f"{machine.name}: {problem}")
        raise NotRedirected from problem
    finally:
        run.close()
        machine.release()
        machine.streams = before
    return 0


def _opened(machine: Machine, expander: Expander, redirection: Redirection) -> Generator[Effect, bytes, Stream | None]:
    """The stream of a redirection; None for one that closes. Raises FileError, or Failed."""
    operator = redirection.operator
    target = yield from expander.text(redirection.target)
    if operator == "<<":
        return BytesStream(target.encode("utf-8", "surrogateescape"))
    if operator in (">&", "<&"):
        if target == "-":
            return None
        if len(target) != 1 or target not in "0123456789":
            raise Unsupported(f"{operator}{target}")
        if int(target) not in machine.streams:
            raise Failed(f"{target}: bad file descriptor")
        return machine.streams[int(target)].retain()
    path = machine.path(target)
    if path in _DEVICES and _DEVICES[path] in machine.streams:
        return machine.streams[_DEVICES[path]].retain()
    if path.startswith(("/dev/", "/proc/")) and path != "/dev/null":
        raise Unsupported(target)
    if operator == "<" and machine.files.is_folder(path):
        raise Unsupported(f"< {target}, which is a folder")
    try:
        if operator == "<":
            return BytesStream(machine.files.read(path))
        return _Sink() if path == "/dev/null" else FileStream(machine.files, path, append=operator == ">>")
    except FileError as problem:
        raise Failed(f"{target}: {problem}") from problem


class _Sink(Stream):
    """A stream that takes anything."""

    def write(self, data: bytes) -> Steps:
        yield from ()
        return
