"""Commands that change the shell itself: variables, options, functions, and what leaves them.

References
----------
POSIX.1-2017, Shell Command Language, 2.14.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from shlex import quote
from typing import Final

from simkit.simulation.shell.conditions import SET_OPTIONS
from simkit.simulation.shell.control_flow import LoopControl, Return
from simkit.simulation.shell.declarations import DECLARATION_COMMANDS
from simkit.simulation.shell.effects import STANDARD_INPUT, error, line, options, read_all, whole
from simkit.simulation.shell.executables import NOT_FOUND
from simkit.simulation.shell.faults import parse_for
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_node, run_words
from simkit.simulation.shell.machine import Exit, Machine, Run
from simkit.simulation.shell.reading import READING_COMMANDS
from simkit.simulation.shell.shells import run_interactive, run_script
from simkit.simulation.shell.tree import ScriptError


def _cd(machine: Machine, words: list[str]) -> Run:
    given = [word for word in words[1:] if word not in ("-P", "-L", "--")]
    target = given[0] if given else machine.environment.get("HOME", "/")
    shown = target == "-"
    target = machine.environment.get("OLDPWD", "/") if shown else target
    if not machine.files.is_folder(machine.path(target)):
        told = "Not a directory" if machine.files.exists(machine.path(target)) else "No such file or directory"
        yield error(f"{machine.shell}: cd", f"can't cd to {target}: {told}")
        return 1 if machine.bash else 2
    if not machine.files.may(machine.path(target), "x"):
        yield error(f"{machine.shell}: cd", f"can't cd to {target}: Permission denied")
        return 1 if machine.bash else 2
    machine.assign("OLDPWD", machine.folder)
    machine.folder = machine.path(target)
    machine.assign("PWD", machine.folder)
    if shown:
        yield line(machine.folder)
    return 0


def _pwd(machine: Machine, words: list[str]) -> Run:
    yield line(machine.folder)
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
            if name and name not in SET_OPTIONS:
                yield error(f"{machine.shell}: set", f"illegal option -o {name}")
                return 2
            letters |= {SET_OPTIONS[name]} if name else set()
        machine.options = machine.options | letters if word[0] == "-" else machine.options - letters
    if given:
        machine.arguments = tuple(given)
    return 0


def _shift(machine: Machine, words: list[str]) -> Run:
    count = whole(words[1]) if len(words) > 1 else 1
    if not 0 <= count <= len(machine.arguments):
        yield error(f"{machine.shell}: shift", "can't shift that many")
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
        node = parse_for(machine, " ".join(words[1:]))
    except ScriptError as problem:
        yield error(f"{machine.shell}: eval", str(problem))
        return 2
    machine.code = 0
    return (yield from run_node(machine, node))


def _source(machine: Machine, words: list[str]) -> Run:
    """``.``: the commands of a file, in this shell."""
    name = words[1] if len(words) > 1 else ""
    try:
        from_input = name in STANDARD_INPUT
        data = (yield from read_all()) if from_input else machine.files.read(machine.path(name))
        text = data.decode("utf-8", "replace")
        node = parse_for(machine, text)
    except FileError:
        yield error(f"{machine.shell}: .", f"can't open '{name}': No such file or directory")
        if machine.bash:
            return 1
        raise Exit(2) from None
    except ScriptError as problem:
        yield error(f"{machine.shell}: {name}", str(problem))
        return 2
    machine.code, before = 0, machine.arguments
    if machine.bash and len(words) > 2:
        machine.arguments = tuple(words[2:])
    try:
        return (yield from run_node(machine, node))
    except Return as end:
        return end.code
    finally:
        if machine.bash and len(words) > 2:
            machine.arguments = before


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
        program = name.rpartition("/")[2]
        if name in machine.functions or program in COMMANDS or program in machine.shared.programs:
            yield line(name)
        else:
            code = NOT_FOUND
    return code


def _builtin(machine: Machine, words: list[str]) -> Run:
    """``builtin COMMAND``."""
    return (yield from run_words(machine, words[1:], functions=False)) if len(words) > 1 else 0


def _type(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:])
    code = 0
    for name in names:
        kind = _kind(machine, name)
        if "t" in given or "p" in given or "P" in given:
            if kind and "t" in given:
                yield line(kind)
            elif kind == "file":
                yield line(f"/usr/bin/{name}")
        else:
            told = line(f"{name} is a {_KINDS[kind]}" if kind else f"{name}: not found")
            yield told if kind or not machine.bash else error(f"{machine.shell}: type", f"{name}: not found")
        code = code if kind else NOT_FOUND
    return min(code, 1) if machine.bash else code


_KINDS: Final = {
    "function": "function", "keyword": "shell keyword", "builtin": "shell builtin", "file": "shell builtin",
}  # fmt: skip
_KEYWORDS: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "{", "}", "!", "in"}
)


def _kind(machine: Machine, name: str) -> str:
    """The kind of a command: a function, a keyword, one of the shell, or a file; empty for one that is not known."""
    from simkit.simulation.shell.commands import COMMANDS  # which has those of this module

    if name in machine.functions:
        return "function"
    if name in _KEYWORDS or (machine.bash and name in ("[[", "]]", "function", "select", "time")):
        return "keyword"
    if name in SHELL_COMMANDS or name in DECLARATION_COMMANDS or name in READING_COMMANDS or name in _BUILT_IN:
        return "builtin"
    return "file" if name in COMMANDS or name in machine.shared.programs else ""


_BUILT_IN: Final = frozenset(
    {":", "true", "false", "[", "test", "echo", "printf", "trap", "wait", "jobs", "kill", "bg", "fg", "disown"}
)


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
        yield error(machine.shell, f"illegal option -{letter}")
    machine.assign("OPTIND", str(place))
    machine.assign("_OPTPOS", str(at))
    machine.assign(name, letter if known else "?")
    return 0


def _sh(machine: Machine, words: list[str]) -> Run:
    name = words[0].rpartition("/")[2]
    left, letters = deque(words[1:]), set[str]()
    while left and left[0][:1] in ("-", "+") and len(left[0]) > 1:
        word = left.popleft()
        if word.startswith("-o") or word in ("-eo", "-euo", "-O"):
            option = left.popleft() if left else ""
            letters |= {option if word == "-O" else SET_OPTIONS.get(option, "")} | set(word[1:]) - {"o", "O"}
        elif not word.startswith("--"):
            letters |= set(word[1:])
        elif word in ("--rcfile", "--init-file") and left:
            left.popleft()
    given, child = list(left), machine.program(name, ())
    child.bash = name == "bash" or machine.shared.sh_is_bash
    child.options = letters - {"c", "s", "i", "l", ""}
    if "c" in letters:
        script = given[0] if given else ""
        child.script, child.arguments = (given[1] if len(given) > 1 else words[0]), tuple(given[2:])
        return (yield from run_script(child, script))
    if given and "s" not in letters:
        try:
            text = machine.files.read(machine.path(given[0])).decode("utf-8", "replace")
        except FileError:
            yield error(child.shell, f"can't open '{given[0]}': No such file or directory")
            return NOT_FOUND if child.bash else 2
        child.script, child.arguments, child.reads_file = given[0], tuple(given[1:]), True
        return (yield from run_script(child, text))
    child.arguments = tuple(given)
    return (yield from run_interactive(child, prompt=machine.environment.get("TERM") is not None))


_SHELL_OPTIONS: Final = (
    "autocd", "checkwinsize", "direxpand", "dotglob", "execfail", "expand_aliases", "extglob", "extquote", "failglob",
    "force_fignore", "globstar", "histappend", "inherit_errexit", "lastpipe", "localvar_inherit", "nocaseglob",
    "nocasematch", "nullglob", "patsub_replacement", "progcomp", "promptvars", "sourcepath", "xpg_echo",
)  # fmt: skip


def _shopt(machine: Machine, words: list[str]) -> Run:
    """``shopt [-suqo] NAME...``: options that only bash has."""
    given, names = options(words[1:])
    code = 0
    for name in names or (() if "q" in given else _SHELL_OPTIONS):
        known = SET_OPTIONS.get(name) if "o" in given else name if name in _SHELL_OPTIONS else None
        if known is None:
            yield error(f"{machine.shell}: shopt", f"{name}: invalid shell option name")
            code = 1
        elif "s" in given:
            machine.options.add(known)
        elif "u" in given:
            machine.options.discard(known)
        else:
            code = code if known in machine.options or not names else 1
            if "q" not in given:
                state = "on" if known in machine.options else "off"
                shown = f"shopt -{'s' if state == 'on' else 'u'} {name}"
                yield line(shown if "p" in given else f"{name:<15}\t{state}")
    return code


def _stack(machine: Machine, words: list[str]) -> Run:
    """``pushd``, ``popd`` and ``dirs``."""
    given = [word for word in words[1:] if not word.startswith("-")]
    before = machine.folder
    if words[0] == "pushd":
        target = given[0] if given else machine.folders.pop(0) if machine.folders else ""
        if not target:
            yield error(f"{machine.shell}: pushd", "no other directory")
            return 1
        if not machine.files.is_folder(machine.path(target)):
            yield error(f"{machine.shell}: pushd", f"{target}: No such file or directory")
            return 1
        machine.folder = machine.path(target)
        machine.folders.insert(0, before)
    elif words[0] == "popd":
        if not machine.folders:
            yield error(f"{machine.shell}: popd", "directory stack empty")
            return 1
        machine.folder = machine.folders.pop(0)
    elif "-c" in words:
        machine.folders = []
    machine.assign("PWD", machine.folder)
    home = machine.environment.get("HOME", "")
    shown = [f"~{each[len(home) :]}" if home and each.startswith(home) else each for each in _stacked(machine)]
    if "-c" not in words:
        yield line(("\n" if "-p" in words else " ").join(shown))
    return 0


def _stacked(machine: Machine) -> list[str]:
    return [machine.folder, *machine.folders]


def _caller(machine: Machine, words: list[str]) -> Run:
    if not machine.calls:
        return 1
    yield line(f"{machine.line} {machine.script}")
    return 0


def _nothing(machine: Machine, words: list[str]) -> Run:
    yield from ()
    return 0


SHELL_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "cd": _cd,
    "pwd": _pwd,
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
    "getopts": _getopts,
    "sh": _sh,
    "bash": _sh,
    "ash": _sh,
    "dash": _sh,
    "builtin": _builtin,
    "shopt": _shopt,
    "pushd": _stack,
    "popd": _stack,
    "dirs": _stack,
    "caller": _caller,
    "enable": _nothing,
    "ulimit": _nothing,
    "alias": _nothing,
    "unalias": _nothing,
    "hash": _nothing,
}
"""The commands of this module, by name."""
