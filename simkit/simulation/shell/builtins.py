"""Commands that change the shell itself, or answer for it.

References
----------
POSIX.1-2017, Shell Command Language, 2.14, and the utilities ``cd``, ``command``, ``kill``, ``read`` and ``wait``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from simkit.simulation.shell.interpreter import run_command, run_traps, run_words
from simkit.simulation.shell.kernel import Run, Until
from simkit.simulation.shell.machine import BLANKS, Command, Exit, Failed, LoopControl, Machine, Return
from simkit.simulation.shell.options import options, whole
from simkit.simulation.shell.script import ScriptError, Unsupported
from simkit.simulation.shell.script_files import NOT_FOUND, ONLY_OWN, OWN
from simkit.simulation.shell.shells import take_options
from simkit.simulation.shell.signals import BY_SIGNAL, EXIT, NUMBERS, signal_named
from simkit.simulation.shell.syntax import RESERVED, is_name, parse


def _refused(words: Sequence[str]) -> Unsupported:
    return Unsupported(" ".join(words)[:80])


def _cd(machine: Machine, words: list[str]) -> Run:
    if len(words) > 2 or (words[1:] and words[1].startswith("-") and words[1] != "-"):
        raise _refused(words)
    back = words[1:] == ["-"]
    name = "OLDPWD" if back else "HOME"
    target = words[1] if words[1:] and not back else machine.variables.get(name, "")
    if not target:
        raise Failed(f"{name} not set") if name not in machine.variables else _refused(words)
    path = machine.path(target)
    if not machine.files.is_folder(path):
        there = machine.files.is_file(path)
        raise Failed(f"can't cd to {target}: {'Not a directory' if there else 'No such file or directory'}")
    if not machine.files.may(path, "x"):
        raise Failed(f"can't cd to {target}: Permission denied")
    machine.assign("OLDPWD", machine.folder)
    machine.assign("PWD", path)
    machine.exported |= {"OLDPWD", "PWD"}
    machine.folder = path
    if back:
        yield from machine.write(f"{path}\n")
    return 0


def _pwd(machine: Machine, words: list[str]) -> Run:
    if len(words) > 1:
        raise _refused(words)
    yield from machine.write(f"{machine.folder}\n")
    return 0


def _true(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return int(words[0].rpartition("/")[2] == "false")


def _set(machine: Machine, words: list[str]) -> Run:
    given = deque(words[1:])
    take_options(machine, given)
    if len(words) == 1 or (given and given[0] in ("-", "+")):
        raise _refused(words)
    if given:
        machine.arguments = tuple(given)[given[0] == "--" :]
    yield from ()
    return 0


def _shift(machine: Machine, words: list[str]) -> Run:
    count = whole(words, words[1]) if len(words) > 1 else 1
    if len(words) > 2 or not 0 <= count <= len(machine.arguments):
        raise _refused(words)
    machine.arguments = tuple(machine.arguments)[count:]
    yield from ()
    return 0


def _leave(machine: Machine, words: list[str]) -> Run:
    """``exit`` and ``return``."""
    code = whole(words, words[1]) % 256 if len(words) > 1 else machine.code
    if words == ["exit"] and machine.trapped is not None:
        code = machine.trapped
    if len(words) > 2 or (words[0] == "return" and not machine.calls):
        raise _refused(words)
    yield from ()
    raise Exit(code) if words[0] == "exit" else Return(code)


def _leave_loop(machine: Machine, words: list[str]) -> Run:
    """``break`` and ``continue``."""
    count = whole(words, words[1]) if len(words) > 1 else 1
    if len(words) > 2 or not 1 <= count <= machine.loops:
        raise _refused(words)
    yield from ()
    raise LoopControl(words[0], count)


def _exec(machine: Machine, words: list[str]) -> Run:
    if len(words) == 1:
        return 0
    if words[1].startswith("-") or words[1] in ONLY_OWN:
        raise _refused(words)
    machine.ends_with_program = True
    machine.signals.traps.pop(EXIT, None)
    code = yield from run_command(machine, words[1:], functions=False)
    raise Exit(code)


def _export(machine: Machine, words: list[str]) -> Run:
    if len(words) == 1:
        raise _refused(words)
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not is_name(name):
            raise _refused(words)
        machine.exported.add(name)
        if equals:
            machine.assign(name, value)
    yield from ()
    return 0


def _unset(machine: Machine, words: list[str]) -> Run:
    for name in words[1:]:
        if not is_name(name) or name == "IFS" or name in machine.functions:
            raise _refused(words)
        machine.unset(name)
    yield from ()
    return 0


def _read(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "r")
    if not names or not all(map(is_name, names)):
        raise _refused(words)
    line = yield from machine.read()
    text = line.decode("utf-8", "surrogateescape").removesuffix("\n")
    if ("\\" in text and "r" not in given) or "\0" in text:
        raise Unsupported("read of a backslash without -r, or of a zero byte")
    values = (
        re.split("[ \t\n]+", text.strip(BLANKS), maxsplit=len(names) - 1) if len(names) > 1 else [text.strip(BLANKS)]
    )
    for name, value in zip_longest(names, values, fillvalue=""):
        machine.assign(name, value)
    return int(not line.endswith(b"\n"))


def _trap(machine: Machine, words: list[str]) -> Run:
    given = words[2:] if words[1:2] == ["--"] else words[1:]
    if len(given) < 2:
        raise _refused(words)
    for word in given[1:]:
        name = signal_named(word)
        if name is None:
            raise _refused(words)
        if given[0] == "-":
            machine.signals.traps.pop(name, None)
        else:
            try:
                parse(given[0])
            except ScriptError as error:
                raise _refused(words) from error
            machine.signals.traps[name] = given[0]
    yield from ()
    return 0


def _wait(machine: Machine, words: list[str]) -> Run:
    """Wait for commands in the background. A signal with a trap ends it."""
    if any(not word.isdigit() for word in words[1:]):
        raise _refused(words)
    pids = [int(word) for word in words[1:]] or list(machine.jobs)
    jobs = [machine.jobs.get(pid) for pid in pids]

    def over() -> bool:
        return all(job is None or job.code is not None for job in jobs) or bool(machine.signals.pending)

    if not over():
        yield Until(over)
    if machine.signals.pending:
        name = machine.signals.pending[0]
        yield from run_traps(machine)
        return BY_SIGNAL + NUMBERS[name]
    codes = [NOT_FOUND if job is None else job.code or 0 for job in jobs]
    for pid in pids:
        machine.jobs.pop(pid, None)
    return codes[-1] if len(words) > 1 and codes else 0


def _kill(machine: Machine, words: list[str]) -> Run:
    """``kill [-SIGNAL | -s SIGNAL] PID...``."""
    given, name = words[1:], signal_named("TERM")
    if given[:1] == ["-s"] and len(given) > 1:
        name, given = signal_named(given[1]), given[2:]
    elif given and given[0].startswith("-"):
        name, given = signal_named(given[0][1:]), given[1:]
    if name is None or not given or not all(word.isdigit() for word in given):
        raise _refused(words)
    code = 0
    for word in given:
        if not _sent(machine, int(word), name):
            yield from machine.complain(f"kill: can't kill pid {word}: No such process")
            code = 1
    return code


def _sent(machine: Machine, pid: int, name: str) -> bool:
    """Send a signal to a process; True if there is one. ``EXIT``, the number 0, only asks."""
    if pid == 1 and machine.kernel.first_pid != 1:
        return machine.signal_first(name)
    task = next((each for each in machine.kernel.tasks if each.pid == pid and each.code is None), None)
    if task is None:
        return False
    if name != EXIT and not (task.pid == 1 and machine.kernel.protected and name not in task.signals.traps):
        task.signals.send(name)
    return True


def _command(machine: Machine, words: list[str]) -> Run:
    """``command -v NAME``, and ``command NAME ARGUMENT...``, which runs no function."""
    if words[1:2] != ["-v"]:
        if len(words) == 1 or words[1].startswith("-"):
            raise _refused(words)
        return (yield from run_words(machine, words[1:], functions=False))
    if len(words) != 3 or "/" in words[2] or words[2].startswith("-"):
        raise _refused(words)
    name = words[2]
    if name in OWN and name not in machine.commands:
        raise Unsupported(name)
    known = name in machine.functions or name in OWN or name in RESERVED or name in machine.programs
    if known or name in machine.commands:
        yield from machine.write(f"{name}\n" if known else f"/bin/{name}\n")
    return int(not known and name not in machine.commands)


BUILTINS: Final[Mapping[str, Command]] = {
    ":": _true, "break": _leave_loop, "cd": _cd, "command": _command, "continue": _leave_loop,
    "exec": _exec, "exit": _leave, "export": _export, "false": _true, "kill": _kill,
    "pwd": _pwd, "read": _read, "return": _leave, "set": _set, "shift": _shift, "trap": _trap, "true": _true,
    "unset": _unset, "wait": _wait,
}  # fmt: skip
"""The commands of this module, by name."""
