"""Commands that change the shell itself: variables, options, functions, and what leaves them.

References
----------
POSIX.1-2017, Shell Command Language, 2.14.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from shlex import quote
from typing import Final

from simkit.simulation.shell.arithmetic import ArithmeticFault, value_of
from simkit.simulation.shell.control_flow import LoopControl, Return
from simkit.simulation.shell.effects import error, line, options, whole
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import NOT_FOUND, run_node, run_words
from simkit.simulation.shell.machine import Exit, Machine, Read, Run
from simkit.simulation.shell.shells import run_interactive, run_script
from simkit.simulation.shell.syntax import parse
from simkit.simulation.shell.tree import ScriptError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTIONS: Final[Mapping[str, str]] = {
    "errexit": "e", "nounset": "u", "xtrace": "x", "noglob": "f", "allexport": "a", "pipefail": "pipefail",
    "verbose": "v", "monitor": "m", "noclobber": "C",
}  # fmt: skip


def _cd(machine: Machine, words: list[str]) -> Run:
    given = [word for word in words[1:] if word not in ("-P", "-L", "--")]
    target = given[0] if given else machine.environment.get("HOME", "/")
    shown = target == "-"
    target = machine.environment.get("OLDPWD", "/") if shown else target
    if not machine.files.is_folder(machine.path(target)):
        yield error("sh: cd", f"can't cd to {target}: No such file or directory")
        return 2
    machine.assign("OLDPWD", machine.folder)
    machine.folder = machine.path(target)
    machine.assign("PWD", machine.folder)
    if shown:
        yield line(machine.folder)
    return 0


def _pwd(machine: Machine, words: list[str]) -> Run:
    yield line(machine.folder)
    return 0


def _export(machine: Machine, words: list[str]) -> Run:
    """``export`` and ``readonly``."""
    given = [word for word in words[1:] if word != "-p"]
    if not given:
        names = machine.readonly if words[0] == "readonly" else machine.environment.keys() - machine.local
        for name in sorted(names):
            yield line(f"{words[0]} {name}={quote(machine.environment.get(name, ''))}")
    for word in given:
        name, equals, value = word.partition("=")
        if _NAME.fullmatch(name) is None:
            yield error(f"sh: {words[0]}", f"{word}: bad variable name")
            return 2
        if equals:
            machine.assign(name, value)
        if words[0] == "readonly":
            machine.readonly.add(name)
        else:
            machine.local.discard(name)
    return 0


def _local(machine: Machine, words: list[str]) -> Run:
    if not machine.frames:
        yield error("sh: local", "not in a function")
        return 2
    for word in words[1:]:
        name, equals, value = word.partition("=")
        machine.frames[-1].setdefault(name, machine.environment.get(name))
        if equals:
            machine.assign(name, value)
    return 0


def _declare(machine: Machine, words: list[str]) -> Run:
    """``declare`` and ``typeset``: a variable of the function, or of the shell; ``-x`` and ``-r`` as their commands."""
    given, rest = options(words[1:])
    if {"a", "A", "p", "f", "n"} & given.keys():
        yield error(f"sh: {words[0]}", "arrays and references are not simulated")
        return 2
    if machine.frames and "g" not in given:
        yield from _local(machine, ["local", *rest])
    code = 0
    for letter, command in (("r", "readonly"), ("x", "export")):
        if letter in given:
            code = code or (yield from _export(machine, [command, *rest]))
    if not machine.frames or "g" in given:
        for word in rest:
            name, equals, value = word.partition("=")
            if equals and name not in machine.readonly:
                machine.assign(name, value)
    return code


def _let(machine: Machine, words: list[str]) -> Run:
    """``let EXPRESSION...``: it succeeds where the last one is not 0."""
    value = 0
    try:
        for word in words[1:]:
            value = value_of(word, machine.environment, machine.assign)
    except ArithmeticFault as fault:
        yield error("sh: let", str(fault))
        return 1
    return int(value == 0)


def _unset(machine: Machine, words: list[str]) -> Run:
    yield from ()
    for word in words[1:]:
        if word in ("-v", "-f"):
            continue
        if "-f" in words[1:] or (word in machine.functions and word not in machine.environment):
            machine.functions.pop(word, None)
        else:
            machine.unset(word)
    return 0


def _set(machine: Machine, words: list[str]) -> Run:
    given = deque(words[1:])
    if not given:
        for name, value in sorted(machine.environment.items()):
            yield line(f"{name}={quote(value)}")
    while given and given[0][:1] in ("-", "+") and len(given[0]) > 1:
        word = given.popleft()
        if word == "--":
            machine.arguments = tuple(given)
            return 0
        letters = set(word[1:])
        if "o" in letters:
            letters.discard("o")
            name = given.popleft() if given else ""
            if name and name not in _OPTIONS:
                yield error("sh: set", f"illegal option -o {name}")
                return 2
            letters |= {_OPTIONS[name]} if name else set()
        machine.options = machine.options | letters if word[0] == "-" else machine.options - letters
    if given:
        machine.arguments = tuple(given)
    return 0


def _shift(machine: Machine, words: list[str]) -> Run:
    count = whole(words[1]) if len(words) > 1 else 1
    if not 0 <= count <= len(machine.arguments):
        yield error("sh: shift", "can't shift that many")
        return 2
    machine.arguments = tuple(machine.arguments)[count:]
    return 0


def _leave(machine: Machine, words: list[str]) -> Run:
    """``exit`` and ``return``."""
    yield from ()
    code = whole(words[1]) % 256 if len(words) > 1 else machine.code
    raise (Exit if words[0] == "exit" else Return)(code)


def _leave_loop(machine: Machine, words: list[str]) -> Run:
    """``break`` and ``continue``; outside of loops they do nothing."""
    yield from ()
    if machine.loops:
        raise LoopControl(words[0], min(max(1, whole(words[1]) if len(words) > 1 else 1), machine.loops))
    return 0


def _eval(machine: Machine, words: list[str]) -> Run:
    try:
        node = parse(" ".join(words[1:]))
    except ScriptError as problem:
        yield error("sh: eval", str(problem))
        return 2
    machine.code = 0
    return (yield from run_node(machine, node))


def _source(machine: Machine, words: list[str]) -> Run:
    """``.``: the commands of a file, in this shell."""
    name = words[1] if len(words) > 1 else ""
    try:
        node = parse(machine.files.read(machine.path(name)).decode("utf-8", "replace"))
    except FileError:
        yield error("sh: .", f"can't open '{name}': No such file or directory")
        raise Exit(2) from None
    except ScriptError as problem:
        yield error(f"sh: {name}", str(problem))
        return 2
    machine.code = 0
    try:
        return (yield from run_node(machine, node))
    except Return as end:
        return end.code


def _exec(machine: Machine, words: list[str]) -> Run:
    """``exec COMMAND``: the shell becomes the command. Its redirections are made where it is run."""
    machine.signals.traps = machine.signals.inherited().traps
    machine.ends_with_program = True
    raise Exit((yield from run_words(machine, words[1:], functions=False)))


def _command(machine: Machine, words: list[str]) -> Run:
    """``command``: one that is no function; with ``-v`` the name, if there is such a command."""
    from simkit.simulation.shell.commands import COMMANDS  # which has those of this module

    given = [word for word in words[1:] if word not in ("-p", "--")]
    if given[:1] not in (["-v"], ["-V"]):
        return (yield from run_words(machine, given, functions=False)) if given else 0
    code = 0
    for name in given[1:]:
        if name in machine.functions or name.rpartition("/")[2] in COMMANDS:
            yield line(name)
        else:
            code = NOT_FOUND
    return code


def _type(machine: Machine, words: list[str]) -> Run:
    from simkit.simulation.shell.commands import COMMANDS  # which has those of this module

    code = 0
    for name in words[1:]:
        known = f"{name} is a function" if name in machine.functions else f"{name} is a shell builtin"
        found = name in machine.functions or name in COMMANDS
        yield line(known if found else f"{name}: not found")
        code = code if found else NOT_FOUND
    return code


def _read(machine: Machine, words: list[str]) -> Run:
    """A line of the input, split into variables; the last one gets the rest."""
    given, names = options(words[1:], valued="tpnud")
    within = float(given["t"]) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", given.get("t", "")) else None
    parts, ended = list[str](), False
    while True:
        source = machine.inputs.get(whole(given.get("u", "0")))
        found = source.take(Read()) if "u" in given and source is not None else (yield Read(within=within))
        part = (found or b"").decode("utf-8", "replace")
        ended = not part.endswith("\n")
        parts.append(part.removesuffix("\n"))
        if "r" in given or ended or not _goes_on(parts[-1]):
            break
        parts[-1] = parts[-1][:-1]
    for name, value in shared_out(machine, "".join(parts), names or ["REPLY"], raw="r" in given):
        machine.assign(name, value)
    return int(ended)


def _goes_on(text: str) -> bool:
    """True for a line that ends with a backslash which no other one makes a letter."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def shared_out(machine: Machine, text: str, names: list[str], *, raw: bool) -> list[tuple[str, str]]:
    """A line split at separators into as many parts as there are names; separators in the last one stay."""
    separators = machine.environment.get("IFS", " \t\n")
    around = "".join(each for each in separators if each in " \t\n")
    blanks = re.escape(around)
    signs = re.escape("".join(each for each in separators if each not in " \t\n"))
    blank = f"[{blanks}]*" if blanks else ""
    gap = re.compile(f"{blank}[{signs}]{blank}" + (f"|[{blanks}]+" if blanks else "") if signs else f"[{blanks}]+")
    left, start = text.strip(around) if around else text, 0
    found = []
    for name in names[:-1]:
        at = gap.search(left, start) if separators else None
        end, following = at.span() if at is not None else (len(left), len(left))
        found.append((name, left[start:end]))
        start = following
    left = left[start:]
    if signs and separators and (ends := gap.search(left)) is not None and ends.end() == len(left):
        left = left[: ends.start()]
    found.append((names[-1], left))
    return found if raw else [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in found]


def _getopts(machine: Machine, words: list[str]) -> Run:
    """The next option of the arguments, as ``getopts LETTERS NAME`` tells it."""
    yield from ()
    letters, name = [*words[1:3], "", ""][:2]
    given = words[3:] or list(machine.arguments)
    place = max(1, whole(machine.environment.get("OPTIND", "1")))
    at = max(1, whole(machine.environment.get("_OPTPOS", "1")))
    word = given[place - 1] if place <= len(given) else ""
    at = at if at < len(word) else 1
    if word[:1] != "-" or word == "-" or word == "--":
        machine.assign("OPTIND", str(place + (word == "--")))
        machine.assign(name, "?")
        return 1
    letter, rest = word[at], word[at + 1 :]
    known = letter in letters.lstrip(":") and letter != ":"
    machine.unset("OPTARG")
    if known and letters.partition(letter)[2].startswith(":"):
        value = rest or (given[place] if place < len(given) else "")
        place, at = place + (1 if rest else 2), 1
        machine.assign("OPTARG", value)
    else:
        place, at = (place, at + 1) if rest else (place + 1, 1)
    if not known and letters.startswith(":"):
        machine.assign("OPTARG", letter)
    elif not known:
        yield error("sh", f"illegal option -{letter}")
    machine.assign("OPTIND", str(place))
    machine.assign("_OPTPOS", str(at))
    machine.assign(name, letter if known else "?")
    return 0


def _sh(machine: Machine, words: list[str]) -> Run:
    left, letters = deque(words[1:]), set[str]()
    while left and left[0][:1] in ("-", "+") and len(left[0]) > 1:
        word = left.popleft()
        if word.startswith("-o") or word == "-eo":
            name = left.popleft() if left else ""
            letters |= {_OPTIONS.get(name, "")} | set(word[1:]) - {"o"}
        elif not word.startswith("--"):
            letters |= set(word[1:])
    given, child = list(left), machine.program("sh", ())
    child.options = letters - {"c", "s", "i", "l", ""}
    if "c" in letters:
        script = given[0] if given else ""
        child.script, child.arguments = (given[1] if len(given) > 1 else words[0]), tuple(given[2:])
        return (yield from run_script(child, script))
    if given and "s" not in letters:
        try:
            text = machine.files.read(machine.path(given[0])).decode("utf-8", "replace")
        except FileError:
            yield error("sh", f"can't open '{given[0]}': No such file or directory")
            return 2
        child.script, child.arguments = given[0], tuple(given[1:])
        return (yield from run_script(child, text))
    child.arguments = tuple(given)
    return (yield from run_interactive(child, prompt=machine.environment.get("TERM") is not None))


def _nothing(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return 0


SHELL_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "cd": _cd,
    "pwd": _pwd,
    "export": _export,
    "readonly": _export,
    "local": _local,
    "declare": _declare,
    "typeset": _declare,
    "let": _let,
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "exit": _leave,
    "return": _leave,
    "break": _leave_loop,
    "continue": _leave_loop,
    "eval": _eval,
    ".": _source,
    "source": _source,
    "exec": _exec,
    "command": _command,
    "type": _type,
    "read": _read,
    "getopts": _getopts,
    "sh": _sh,
    "bash": _sh,
    "ash": _sh,
    "dash": _sh,
    "umask": _nothing,
    "ulimit": _nothing,
    "alias": _nothing,
    "hash": _nothing,
}
"""The commands of this module, by name."""
