"""``find``: files and folders by conditions, and commands for each of them.

References
----------
POSIX.1-2017, ``find``; conditions and actions of busybox 1.36.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.simulation.shell.accounts import group_number, user_number
from simkit.simulation.shell.effects import LONGEST_COMMAND, TooMuch, error, filled, line, whole, within_memory
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.machine import Machine, Run, Write, tick
from simkit.simulation.shell.marks import Mark, mode_of
from simkit.simulation.shell.patterns import matches

_VALUED: Final = frozenset(
    {"-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth", "-perm", "-mtime", "-mmin", "-newer", "-user"}
    | {"-group", "-uid", "-gid", "-size"}
)
_SIMPLE: Final = frozenset({"-empty", "-readable", "-writable", "-executable"})
_SECONDS: Final = {"-mtime": 86_400, "-mmin": 60}
_UNITS: Final = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
_MARK: Final = "{}"
"""The word in whose place the paths are put."""
_PLAIN: Final = frozenset({"-print", "-print0", "-delete", "-empty"})


class _Unknown(Exception):
    """A condition that is not known."""


class _Query:
    """The conditions and the action behind the paths of ``find``. Raises _Unknown."""

    def __init__(self, words: list[str]) -> None:
        self.conditions: list[tuple[str, str, bool]] = []
        """Conditions with their values, and whether each is to hold."""
        self.action, self.command, self.together = "-print", list[str](), False
        wanted, left = True, deque(words)
        while left:
            word = left.popleft()
            if word in ("!", "-not"):
                wanted = False
                continue
            if word in _VALUED and left:
                self.conditions.append((word, left.popleft(), wanted))
            elif word in _SIMPLE:
                self.conditions.append((word, "", wanted))
            elif word in _PLAIN:
                self.action = word
            elif word == "-exec" and any(each in (";", "+") for each in left):
                self.action, self.command = word, []
                while left[0] not in (";", "+"):
                    self.command.append(left.popleft())
                self.together = left.popleft() == "+"
            else:
                raise _Unknown(f"unrecognized: {word}")
            wanted = True

    def holds(self, machine: Machine, path: str, shown: str, depth: int) -> bool:
        """True if all conditions hold for a file."""
        return all(_holds(machine, each, path, shown, depth) is wanted for *each, wanted in self.conditions)


def _holds(machine: Machine, condition: list[str], path: str, shown: str, depth: int) -> bool:
    kind, value = condition
    name = shown.rstrip("/").rpartition("/")[2] or shown
    match kind:
        case "-name":
            return matches(name, value)
        case "-iname":
            return matches(name.lower(), value.lower())
        case "-path":
            return matches(shown, value)
        case "-type":
            return _kind(machine, path) == value
        case "-maxdepth":
            return depth <= whole(value)
        case "-mindepth":
            return depth >= whole(value)
        case "-readable" | "-writable" | "-executable":
            return machine.files.may(path, {"r": "r", "w": "w", "e": "x"}[kind[1]])
        case "-empty":
            files = machine.files
            return not files.read(path) if files.is_file(path) else files.is_folder(path) and not files.listed(path)
    return _marked(machine, kind, value, path)


def _marked(machine: Machine, kind: str, value: str, path: str) -> bool:
    """True if a condition about the mode, the owner, the time or the size of a file holds. Raises _Unknown."""
    files = machine.files
    mark = files.mark(path) if files.exists(path) else Mark(0o777, time=machine.now)
    match kind:
        case "-perm":
            return _has_mode(mark.mode, value)
        case "-mtime" | "-mmin":
            return _compares(int((machine.now - mark.time) // _SECONDS[kind]), value)
        case "-newer":
            return mark.time > files.mark(machine.path(value)).time
        case "-user" | "-uid":
            return mark.uid == user_number(machine, value)
        case "-group" | "-gid":
            return mark.gid == group_number(machine, value)
    found = re.fullmatch(r"([-+]?)(\d{1,15})([bcwkMG]?)", value)
    if found is None:
        raise _Unknown(f"invalid number '{value}'")
    return _compares(-(-files.size(path) // _UNITS[found[3]]), found[1] + found[2])


def _has_mode(mode: int, value: str) -> bool:
    """True if a mode is one (``644``), has all bits of one (``-644``), or any of them (``/111``). Raises _Unknown."""
    wanted = mode_of(value.lstrip("-/"), 0, is_folder=False, umask=0)
    if wanted is None:
        raise _Unknown(f"invalid mode '{value}'")
    if value.startswith("-"):
        return mode & wanted == wanted
    return bool(mode & wanted) or not wanted if value.startswith("/") else mode == wanted


def _compares(number: int, value: str) -> bool:
    """True if a number is one, or more (``+``) or less (``-``) than it. Raises _Unknown."""
    found = re.fullmatch(r"([-+]?)(\d{1,15})", value)
    if found is None:
        raise _Unknown(f"invalid number '{value}'")
    wanted = int(found[2])
    return number > wanted if found[1] == "+" else number < wanted if found[1] == "-" else number == wanted


def _kind(machine: Machine, path: str) -> str:
    """The letter of a kind of file: ``l``, ``f`` or ``d``."""
    if machine.files.target(path) is not None:
        return "l"
    return "f" if machine.files.is_file(path) else "d"


def _find(machine: Machine, words: list[str]) -> Run:
    paths = []
    for word in words[1:]:
        if word.startswith("-") or word == "!":
            break
        paths.append(word)
    try:
        query = _Query(words[1 + len(paths) :])
    except _Unknown as problem:
        yield error("find", str(problem))
        return 1
    code, found = 0, list[tuple[str, str]]()
    for start in paths or ["."]:
        root = machine.path(start)
        if not machine.files.exists(root) and machine.files.target(root) is None:
            yield error("find", f"{start}: No such file or directory")
            code = 1
            continue
        try:
            found += _chosen(machine, query, start, root)
        except (_Unknown, FileError) as problem:
            yield error("find", str(problem))
            return 1
    if query.together and found:
        paths = [shown for _, shown in found]
        if len(query.command) + query.command.count(_MARK) * sum(len(each) + 1 for each in paths) > LONGEST_COMMAND:
            raise TooMuch
        wanted = [each for part in query.command for each in (paths if part == _MARK else [part])]
        return (yield from run_words(machine, wanted, functions=False)) or code
    for path, shown in reversed(found) if query.action == "-delete" else found:
        code = (yield from _act(machine, query, path, shown)) or code
    return code


def _chosen(machine: Machine, query: _Query, start: str, root: str) -> Iterator[tuple[str, str]]:
    """The paths for which the conditions hold, each with the way in which it is written."""
    for path in machine.files.tree(root):
        inner = path[len(root) :].lstrip("/")
        shown = f"{start.rstrip('/')}/{inner}" if inner else start
        if query.holds(machine, path, shown, inner.count("/") + 1 if inner else 0):
            yield path, shown


def _act(machine: Machine, query: _Query, path: str, shown: str) -> Run:
    if query.action == "-exec":
        yield from tick(machine)
        yield from run_words(machine, filled(query.command, _MARK, [shown]), functions=False)
    elif query.action == "-delete":
        try:
            if machine.files.is_folder(path) and machine.files.listed(path):
                raise FileError("Directory not empty")
            machine.files.remove(path)
        except FileError as problem:
            yield error("find", f"{shown}: {problem}")
            return 1
    else:
        yield Write(f"{shown}\0".encode()) if query.action == "-print0" else line(shown)
    return 0


FIND_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {"find": within_memory(_find)}
"""The commands of this module, by name."""
