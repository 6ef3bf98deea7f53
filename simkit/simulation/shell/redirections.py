"""Redirections: streams of a command that are led elsewhere.

References
----------
POSIX.1-2017, Shell Command Language, 2.7.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Final

from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import BytesStream, Effect, FileStream, Run, Steps, Stream
from simkit.simulation.shell.machine import Failed, Machine
from simkit.simulation.shell.script import Redirection, Unsupported

_NULL: Final = "/dev/null"
_DEVICES: Final = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/0": 0, "/dev/fd/1": 1, "/dev/fd/2": 2}
_OTHER_DEVICES: Final = (
    "/dev/fd/", "/dev/full", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/tcp/", "/dev/udp/",
)  # fmt: skip


class NotRedirected(Exception):
    """A redirection that failed, and was complained of: the command was not run."""


def redirected(
    machine: Machine, expander: Expander, redirections: Sequence[Redirection], run: Run, *, lasts: bool = False
) -> Run:
    """Run something with streams led elsewhere; those of ``exec`` stay so."""
    before, opened = dict(machine.streams), list[Stream]()
    try:
        for redirection in redirections:
            made = yield from _opened(machine, expander, redirection)
            if made is None:
                machine.streams.pop(redirection.number, None)
            else:
                machine.streams[redirection.number] = made
                opened.append(made)
    except (FileError, Failed) as problem:
        run.close()
        yield from machine.complain(f"{machine.name}: {problem}")
        for stream in opened:
            stream.release()
        machine.streams = before
        raise NotRedirected from problem
    except BaseException:
        run.close()
        raise
    if lasts:
        for number, stream in before.items():
            if machine.streams.get(number) is not stream:
                stream.release()
        return (yield from run)
    try:
        return (yield from run)
    finally:
        for stream in opened:
            stream.release()
        machine.streams = before


def _opened(machine: Machine, expander: Expander, redirection: Redirection) -> Generator[Effect, bytes, Stream | None]:
    """The stream of a redirection; None for one that closes. Raises FileError, or Failed."""
    operator = redirection.operator
    target = yield from expander.text(redirection.target)
    if operator == "<<":
        return BytesStream(target.encode("utf-8", "surrogateescape"))
    if operator in (">&", "<&"):
        if target == "-":
            return None
        if re.fullmatch(r"\d{1,9}", target) is None:
            raise Unsupported(f"{operator}{target}")
        if int(target) not in machine.streams:
            raise Failed(f"{target}: bad file descriptor")
        return machine.streams[int(target)].retain()
    path = machine.path(target)
    if path.startswith(_OTHER_DEVICES) and path not in _DEVICES:
        raise Unsupported(target)
    if path in _DEVICES and _DEVICES[path] in machine.streams:
        return machine.streams[_DEVICES[path]].retain()
    try:
        if operator == "<":
            return BytesStream(machine.files.read(path))
        return _Sink() if path == _NULL else FileStream(machine.files, path, append=operator == ">>")
    except FileError as problem:
        raise Failed(f"{target}: {problem}") from problem


class _Sink(Stream):
    """A stream that takes anything."""

    def write(self, data: bytes) -> Steps:
        yield from ()
        return
