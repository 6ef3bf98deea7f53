"""Commands that change the shell itself, or answer for it.

References
----------
POSIX.1-2017, Shell Command Language, 2.14, and the utilities ``cd``, ``command``, ``kill``, ``read``, ``umask`` and
``wait``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Final

from simkit.simulation.shell.interpreter import (
    NOT_FOUND,
    LoopControl,
    Return,
    run_command,
    run_node,
    run_traps,
    run_words,
)
from simkit.simulation.shell.kernel import Run, Until
from simkit.simulation.shell.machine import Command, Exit, Failed, Fatal, Machine
from simkit.simulation.shell.options import content, options, whole
from simkit.simulation.shell.printing import PRINTING
from simkit.simulation.shell.script import Unsupported
from simkit.simulation.shell.shells import run_interactive, run_script
from simkit.simulation.shell.signals import BY_SIGNAL, EXIT, NUMBERS, signal_named
from simkit.simulation.shell.syntax import RESERVED, is_name, parse

_OPTIONS: Final = {
    "errexit": "e", "nounset": "u", "noglob": "f", "xtrace": "x", "allexport": "a", "pipefail": "pipefail",
}  # fmt: skip


def _cd(machine: Machine, words: list[str]) -> Run:
    given = options(words, "LP")[1] if words[1:] != ["-"] else ["-"]
    target = given[0] if given else machine.variables.get("HOME", "")
    back = target == "-"
    target = machine.variables.get("OLDPWD", "") if back else target
    if not target:
        raise Failed("OLDPWD not set" if back else "HOME not set")
    if "CDPATH" in machine.variables:
        raise Unsupported("cd with CDPATH")
    path = machine.path(target)
    if not machine.files.is_folder(path) or not machine.files.may(path, "x"):
        there = machine.files.is_folder(path)
        kind = "Permission denied" if there else "No such file or directory"
        raise Failed(f"can't cd to {target}: {'Not a directory' if machine.files.is_file(path) else kind}")
    machine.assign("OLDPWD", machine.folder)
    machine.exported.add("OLDPWD")
    machine.folder = path
    machine.assign("PWD", path)
    if back:
        yield from machine.write(f"{path}\n")
    return 0


def _pwd(machine: Machine, words: list[str]) -> Run:
    options(words, "LP")
    yield from machine.write(f"{machine.folder}\n")
    return 0


def _true(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return int(words[0].rpartition("/")[2] == "false")


def _set(machine: Machine, words: list[str]) -> Run:
    given = deque(words[1:])
    if not given:
        raise Unsupported("set without words")
    while given and given[0][:1] in ("-", "+") and len(given[0]) > 1:
        word = given.popleft()
        if word == "--":
            machine.arguments = tuple(given)
            return 0
        letters = set(word[1:])
        if "o" in letters:
            letters = letters - {"o"} | {_OPTIONS.get(given.popleft(), "?") if given else "?"}
        if not letters <= set(_OPTIONS.values()):
            raise Unsupported(" ".join(words))
        machine.options = machine.options | letters if word[0] == "-" else machine.options - letters
    if given and given[0] in ("-", "+"):
        raise Unsupported(f"set {given[0]}")
    if given:
        machine.arguments = tuple(given)
    yield from ()
    return 0


def _shift(machine: Machine, words: list[str]) -> Run:
    count = whole(words, words[1]) if len(words) > 1 else 1
    if not 0 <= count <= len(machine.arguments):
        raise Failed("can't shift that many")
    machine.arguments = tuple(machine.arguments)[count:]
    yield from ()
    return 0


def _leave(machine: Machine, words: list[str]) -> Run:
    """``exit`` and ``return``."""
    code = whole(words, words[1]) % 256 if len(words) > 1 else machine.code
    if words[0] == "exit":
        raise Exit(code)
    if not machine.frames and not machine.sourced:
        raise Unsupported("return outside of a function")
    yield from ()
    raise Return(code)


def _leave_loop(machine: Machine, words: list[str]) -> Run:
    """``break`` and ``continue``."""
    count = whole(words, words[1]) if len(words) > 1 else 1
    if count < 1 or not machine.loops:
        raise Unsupported(f"{' '.join(words)} outside of a loop")
    yield from ()
    raise LoopControl(words[0], min(count, machine.loops))


def _eval(machine: Machine, words: list[str]) -> Run:
    node = parse(" ".join(words[1:]))
    machine.code = 0
    return (yield from run_node(machine, node))


def _source(machine: Machine, words: list[str]) -> Run:
    """``.``: the commands of a file, in this shell."""
    if len(words) != 2:
        raise Unsupported(" ".join(words))
    name = words[1]
    if "/" not in name:
        places = [machine.path(f"{place or '.'}/{name}") for place in machine.variables.get("PATH", "").split(":")]
        path = next((each for each in places if machine.files.is_file(each)), "")
        if not path and machine.files.is_file(machine.path(name)):
            raise Unsupported(f". {name} in the present folder")
        if not path:
            raise Fatal(f"{name}: not found", NOT_FOUND)
        name = path
    try:
        data = yield from content(machine, name)
    except Failed as problem:
        raise Fatal(f".: {problem}") from problem
    node = parse(data.decode("utf-8", "replace"))
    machine.code = 0
    machine.sourced += 1
    try:
        return (yield from run_node(machine, node))
    except Return as end:
        return end.code
    finally:
        machine.sourced -= 1


def _exec(machine: Machine, words: list[str]) -> Run:
    if len(words) == 1:
        return 0
    if words[1].startswith("-"):
        raise Unsupported(" ".join(words[:2]))
    machine.ends_with_program = True
    machine.signals.traps.pop(EXIT, None)
    code = yield from run_command(machine, words[1:], functions=False)
    raise Exit(code)


def _names(machine: Machine, words: list[str]) -> list[str]:
    """Make the assignments of ``export``, ``readonly`` or ``local``; gives the names."""
    found = []
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not is_name(name):
            raise Unsupported(f"{words[0]} {word}") if word.startswith("-") else Fatal(f"{word}: bad variable name")
        if words[0] == "local":
            if not equals and name in machine.variables and name not in machine.frames[-1]:
                raise Unsupported(f"local {name} without a value")
            machine.frames[-1].setdefault(name, machine.state(name))
        if equals:
            machine.assign(name, value)
        found.append(name)
    return found


def _export(machine: Machine, words: list[str]) -> Run:
    if len(words) == 1 or words[1] == "-p":
        raise Unsupported(" ".join(words))
    machine.exported.update(_names(machine, words))
    yield from ()
    return 0


def _readonly(machine: Machine, words: list[str]) -> Run:
    if len(words) == 1 or words[1] == "-p":
        raise Unsupported(" ".join(words))
    machine.readonly.update(_names(machine, words))
    yield from ()
    return 0


def _local(machine: Machine, words: list[str]) -> Run:
    if any(word.startswith("-") for word in words[1:]):
        raise Unsupported(" ".join(words))
    if not machine.frames:
        raise Fatal("local: not in a function")
    _names(machine, words)
    yield from ()
    return 0


def _unset(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "fv")
    for name in names:
        if "f" in given:
            machine.functions.pop(name, None)
        elif not is_name(name):
            raise Fatal(f"unset: {name}: bad variable name")
        elif name in machine.temporary or any(name in frame for frame in machine.frames[:-1]):
            raise Unsupported(f"unset {name}, which is local to another command")
        else:
            machine.unset(name)
    yield from ()
    return 0


def _read(machine: Machine, words: list[str]) -> Run:
    given, names = options(words, "r")
    if not names or not all(map(is_name, names)):
        raise Unsupported(" ".join(words))
    separators = machine.variables.get("IFS", " \t\n")
    line, whole_line = bytearray(), False
    while True:
        part = yield from machine.read()
        whole_line = part.endswith(b"\n")
        line += part.removesuffix(b"\n")
        behind = len(line) - len(line.rstrip(b"\\"))
        if not whole_line or "r" in given or behind % 2 == 0:
            break
        del line[-1]
    text = line.decode("utf-8", "surrogateescape")
    letters = _unescaped(text) if "r" not in given else [(letter, False) for letter in text]
    for name, value in zip(names, _shared_out(letters, separators, len(names)), strict=True):
        machine.assign(name, value)
    return int(not whole_line)


def _unescaped(text: str) -> list[tuple[str, bool]]:
    """The letters of a line, and whether a backslash stood before each."""
    found, position = list[tuple[str, bool]](), 0
    while position < len(text):
        quoted = text[position] == "\\"
        position += quoted
        if position < len(text):
            found.append((text[position], quoted))
        position += 1
    return found


def _shared_out(letters: list[tuple[str, bool]], separators: str, count: int) -> list[str]:
    """The values of ``count`` variables; the last one has the rest, with the separators in it."""
    blanks = {each for each in separators if each in " \t\n"}

    def is_blank(at: int) -> bool:
        return at < len(letters) and letters[at][0] in blanks and not letters[at][1]

    def is_other(at: int) -> bool:
        return at < len(letters) and letters[at][0] in separators and not is_blank(at) and not letters[at][1]

    def behind_separator(at: int) -> int:
        while is_blank(at):
            at += 1
        if is_other(at):
            at += 1
            while is_blank(at):
                at += 1
        return at

    found, at = list[str](), 0
    while is_blank(at):
        at += 1
    for _ in range(count - 1):
        start = at
        while at < len(letters) and not is_blank(at) and not is_other(at):
            at += 1
        found.append("".join(letter for letter, _ in letters[start:at]))
        at = behind_separator(at)
    end = len(letters)
    while end > at and is_blank(end - 1):
        end -= 1
    if end > at and is_other(end - 1) and not any(is_other(each) or is_blank(each) for each in range(at, end - 1)):
        end -= 1
    found.append("".join(letter for letter, _ in letters[at:end]))
    return found


def _trap(machine: Machine, words: list[str]) -> Run:
    given = words[2:] if words[1:2] == ["--"] else words[1:]
    if len(given) < 2:
        raise Unsupported(" ".join(words))
    for word in given[1:]:
        name = signal_named(word)
        if name is None:
            raise Unsupported(f"trap for {word}")
        if given[0] == "-":
            machine.signals.traps.pop(name, None)
        else:
            parse(given[0])
            machine.signals.traps[name] = given[0]
    yield from ()
    return 0


def _wait(machine: Machine, words: list[str]) -> Run:
    """Wait for commands in the background. A signal with a trap ends it."""
    if any(not word.isdigit() for word in words[1:]):
        raise Unsupported(" ".join(words))
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
    given = words[1:]
    name: str | None = "TERM"
    if given[:1] == ["-s"] and len(given) > 1:
        name, given = signal_named(given[1]), given[2:]
    elif given and given[0].startswith("-") and given[0] not in ("--", "-l"):
        name, given = signal_named(given[0][1:]), given[1:]
    given = given[1:] if given[:1] == ["--"] else given
    if name is None or not given or not all(word.isdigit() for word in given):
        raise Unsupported(" ".join(words))
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
    if words[1:2] in (["-v"], ["-V"]):
        if len(words) != 3 or words[1] == "-V":
            raise Unsupported(" ".join(words))
        name = words[2]
        if "/" in name and machine.files.is_folder(machine.path(name)):
            raise Unsupported(" ".join(words))
        if "/" in name:
            found = name if machine.files.may(machine.path(name), "x") else ""
        elif name in machine.functions or name in BUILTINS or name in PRINTING or name in RESERVED:
            found = name
        else:
            found = f"/bin/{name}" if name in machine.commands else name if name in machine.programs else ""
        if found:
            yield from machine.write(f"{found}\n")
        return int(not found)
    rest = words[2:] if words[1:2] == ["--"] else words[1:]
    if not rest:
        return 0
    if rest[0].startswith("-"):
        raise Unsupported(" ".join(words[:2]))
    return (yield from run_words(machine, rest, functions=False))


def _umask(machine: Machine, words: list[str]) -> Run:
    if len(words) == 1:
        yield from machine.write(f"{machine.files.umask:04o}\n")
        return 0
    if len(words) > 2 or re.fullmatch("[0-7]{1,4}", words[1]) is None:
        raise Unsupported(" ".join(words))
    machine.files.umask = int(words[1], 8) & 0o777
    return 0


def _shell(machine: Machine, words: list[str]) -> Run:
    """``sh -c SCRIPT [NAME [ARGUMENT...]]``, ``sh FILE [ARGUMENT...]``, and ``sh`` for commands of the input."""
    letters, given, script = set[str](), deque(words[1:]), False
    while given and given[0][:1] == "-" and len(given[0]) > 1:
        word = given.popleft()
        if word == "--":
            break
        if word in ("-o", "-eo", "-euo"):
            letters |= {*word[1:-1], _OPTIONS.get(given.popleft() if given else "", "?")}
            continue
        letters |= set(word[1:])
    script = "c" in letters
    if not letters <= {*_OPTIONS.values(), "c", "l", "i", "s"} or (script and not given):
        raise Unsupported(" ".join(words))
    text, name, arguments = None, words[0], list(given)
    if script:
        text, name, arguments = given[0], given[1] if len(given) > 1 else words[0], list(given)[2:]
    elif given and "s" not in letters:
        name, arguments = given[0], list(given)[1:]
        try:
            text = (yield from content(machine, given[0])).decode("utf-8", "replace")
        except Failed as problem:
            raise Failed(f"can't open '{given[0]}': {str(problem).partition(': ')[2]}", NOT_FOUND) from problem
    made = machine.program(name, arguments)
    made.options |= letters & set(_OPTIONS.values())
    run = run_interactive(made, prompt="TERM" in machine.variables) if text is None else run_script(made, text)
    return (yield from run)


BUILTINS: Final[Mapping[str, Command]] = {
    ".": _source, ":": _true, "break": _leave_loop, "cd": _cd, "command": _command, "continue": _leave_loop,
    "eval": _eval, "exec": _exec, "exit": _leave, "export": _export, "false": _true, "kill": _kill, "local": _local,
    "pwd": _pwd, "read": _read, "readonly": _readonly, "return": _leave, "set": _set, "shift": _shift, "trap": _trap,
    "true": _true, "umask": _umask, "unset": _unset, "wait": _wait,
}  # fmt: skip
"""The commands of the shell itself, by name."""
SHELLS: Final[Mapping[str, Command]] = dict.fromkeys(("sh", "bash", "ash", "dash"), _shell)
"""Shells as programs."""
