"""``find``: files and folders by conditions, and commands for each of them.

References
----------
POSIX.1-2017, ``find``; conditions and actions of busybox 1.36 and of GNU findutils 4.9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.accounts import group_name, group_number, user_name, user_number
from simkit.simulation.shell.date_command import shown_time
from simkit.simulation.shell.date_words import moment_of
from simkit.simulation.shell.effects import LONGEST_COMMAND, TooMuch, error, filled, line, within_memory
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.find_expression import Expression, Joined, Not, Query, Test, UnknownCondition
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.machine import Effect, Machine, Run, Write, tick
from simkit.simulation.shell.marks import Mark, as_letters, mode_of
from simkit.simulation.shell.patterns import matches
from simkit.simulation.shell.words import with_escapes

_SECONDS: Final = {"-mtime": 86_400, "-mmin": 60, "-atime": 86_400, "-amin": 60, "-ctime": 86_400, "-cmin": 60}
_UNITS: Final = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
_MARK: Final = "{}"
"""The word in whose place the paths are put."""
_ABILITIES: Final = {"-readable": "r", "-writable": "w", "-executable": "x"}
_DIRECTIVE: Final = re.compile(r"%(-?\d{0,4})(T(.)|[pfhPsmMuUgGyYdltkb%n])")


class _Ended(Exception):
    """``-quit`` ends the search."""


class _Place:
    """A path that is looked at: how it is written, and how deep it is below the path that was given."""

    def __init__(self, path: str, start: str, inner: str) -> None:
        self.path, self.start, self.inner = path, start, inner
        self.shown = f"{start.rstrip('/')}/{inner}" if inner else start
        self.depth = inner.count("/") + 1 if inner else 0
        self.pruned = self.failed = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.shown.rstrip("/").rpartition("/")[2] or self.shown


def _is_met(machine: Machine, test: Test, place: _Place) -> bool:
    """True if a condition holds for a path. Raises UnknownCondition."""
    kind, value, files = test.kind, test.value, machine.files
    match kind:
        case "-name" | "-iname":
            return _fits(place.name, value, folds=kind == "-iname")
        case "-path" | "-wholename" | "-ipath":
            return _fits(place.shown, value, folds=kind == "-ipath")
        case "-regex" | "-iregex":
            return _is_matched(place.shown, value, folds=kind == "-iregex")
        case "-type":
            return _kind(machine, place.path) in value.split(",")
        case "-lname":
            return matches(files.target(place.path) or "", value)
        case "-readable" | "-writable" | "-executable":
            return files.may(place.path, _ABILITIES[kind])
        case "-true" | "-false":
            return kind == "-true"
        case "-empty":
            if files.is_file(place.path):
                return not files.size(place.path)
            return files.is_folder(place.path) and not files.listed(place.path)
    return _is_marked(machine, kind, value, place.path)


def _fits(text: str, value: str, *, folds: bool) -> bool:
    return matches(text.lower(), value.lower()) if folds else matches(text, value)


def _is_matched(text: str, value: str, *, folds: bool) -> bool:
    try:
        made = re.sub(r"\\([|()])", r"\1", value)
        return pattern(f"{'(?i)' if folds else ''}^(?:{made})$").search(text) is not None
    except PatternError as problem:
        raise UnknownCondition(f"bad regex '{value}'") from problem


def _is_marked(machine: Machine, kind: str, value: str, path: str) -> bool:
    """True if a condition about the mode, the owner, the time or the size of a file holds. Raises UnknownCondition."""
    files = machine.files
    mark = files.mark(path) if files.exists(path) else Mark(0o777, time=machine.now)
    if kind in _SECONDS:
        return _compares(int((machine.now - mark.time) // _SECONDS[kind]), value)
    match kind:
        case "-perm":
            return _has_mode(mark.mode, value)
        case "-newer":
            return mark.time > files.mark(machine.path(value)).time
        case "-newermt":
            moment = moment_of(value, machine.now)
            if moment is None:
                raise UnknownCondition(f"invalid date '{value}'")
            return mark.time > moment
        case "-user" | "-uid":
            return mark.uid == user_number(machine, value)
        case "-group" | "-gid":
            return mark.gid == group_number(machine, value)
    found = re.fullmatch(r"([-+]?)(\d{1,15})([bcwkMG]?)", value)
    if found is None:
        raise UnknownCondition(f"invalid number '{value}'")
    size = len(files.target(path) or "") or files.size(path)
    return _compares(-(-size // _UNITS[found[3]]), found[1] + found[2])


def _has_mode(mode: int, value: str) -> bool:
    """True if a mode is one (``644``), has all bits of one (``-644``), or any (``/111``). Raises UnknownCondition."""
    wanted = mode_of(value.lstrip("-/"), 0, is_folder=False, umask=0)
    if wanted is None:
        raise UnknownCondition(f"invalid mode '{value}'")
    if value.startswith("-"):
        return mode & wanted == wanted
    return bool(mode & wanted) or not wanted if value.startswith("/") else mode == wanted


def _compares(number: int, value: str) -> bool:
    """True if a number is one, or more (``+``) or less (``-``) than it. Raises UnknownCondition."""
    found = re.fullmatch(r"([-+]?)(\d{1,15})", value)
    if found is None:
        raise UnknownCondition(f"invalid number '{value}'")
    wanted = int(found[2])
    return number > wanted if found[1] == "+" else number < wanted if found[1] == "-" else number == wanted


def _kind(machine: Machine, path: str) -> str:
    """The letter of a kind of file: ``l``, ``f`` or ``d``."""
    if machine.files.target(path) is not None:
        return "l"
    return "f" if machine.files.is_file(path) else "d"


def _find(machine: Machine, words: list[str]) -> Run:
    paths = []
    given = [word for word in words[1:] if word not in ("-H", "-L", "-P")]
    for word in given:
        if word.startswith("-") or word in ("!", "("):
            break
        paths.append(word)
    try:
        query = Query(given[len(paths) :])
    except UnknownCondition as problem:
        yield error("find", str(problem))
        return 1
    code = 0
    try:
        for start in paths or ["."]:
            code = (yield from _searched(machine, query, start)) or code
    except (UnknownCondition, FileError) as problem:
        yield error("find", str(problem))
        return 1
    except _Ended:
        pass
    return (yield from _ran_together(machine, query.expression)) or code


def _searched(machine: Machine, query: Query, start: str) -> Run:
    """Look at all paths below one. Raises UnknownCondition, FileError, and _Ended."""
    root = machine.path(start)
    if not machine.files.exists(root) and machine.files.target(root) is None:
        yield error("find", f"{start}: No such file or directory")
        return 1
    code, pruned = 0, list[str]()
    for path in _ordered(machine.files.tree(root), depth_first=query.depth_first):
        place = _Place(path, start, path[len(root) :].lstrip("/"))
        if any(path.startswith(f"{each}/") for each in pruned) or not query.least <= place.depth <= query.most:
            continue
        yield from _evaluated(machine, query.expression, place)
        code = code or int(place.failed)
        if place.pruned and not query.depth_first:
            pruned.append(path)
    return code


def _ordered(paths: list[str], *, depth_first: bool) -> Iterator[str]:
    """The paths, with folders behind what is in them where they are wanted so."""
    if not depth_first:
        yield from paths
        return
    open_folders: list[str] = []
    for path in paths:
        while open_folders and not path.startswith(open_folders[-1].rstrip("/") + "/"):
            yield open_folders.pop()
        open_folders.append(path)
    yield from reversed(open_folders)


def _evaluated(machine: Machine, expression: Expression, place: _Place) -> Generator[Effect, bytes, bool]:
    """True if an expression holds for a path. Its actions are done."""
    if isinstance(expression, Not):
        held = yield from _evaluated(machine, expression.part, place)
        return not held
    if isinstance(expression, Joined):
        held = expression.every
        for part in expression.parts:
            held = yield from _evaluated(machine, part, place)
            if held is not expression.every:
                break
        return held
    if expression.kind in _ACTIONS:
        return (yield from _ACTIONS[expression.kind](machine, expression, place))
    return _is_met(machine, expression, place)


_Acted = Generator[Effect, bytes, bool]


def _printed(machine: Machine, test: Test, place: _Place) -> _Acted:
    yield Write(f"{place.shown}\0".encode()) if test.kind == "-print0" else line(place.shown)
    return True


def _listed(machine: Machine, test: Test, place: _Place) -> _Acted:
    yield from run_words(machine, ["ls", "-ld", place.shown], functions=False)
    return True


def _in_form(machine: Machine, test: Test, place: _Place) -> _Acted:
    """``-printf``: directives about a path."""
    path, files = place.path, machine.files
    target, mark = files.target(path), files.mark(path) if files.exists(path) else Mark(0o777, time=machine.now)
    kind, size = _kind(machine, path), len(target) if target is not None else files.size(path)
    known = {
        "p": place.shown, "f": place.name, "h": place.shown.rpartition("/")[0] or ".", "P": place.inner,
        "s": str(size), "k": str(-(-size // 1024)), "b": str(-(-size // 512)), "n": "1", "d": str(place.depth),
        "m": f"{mark.mode:o}", "M": as_letters(mark.mode, "-" if kind == "f" else kind), "y": kind, "Y": kind,
        "u": user_name(machine, mark.uid), "U": str(mark.uid), "g": group_name(machine, mark.gid), "G": str(mark.gid),
        "l": target or "", "%": "%", "t": shown_time(mark.time, "%a %b %e %T.%N0 %Y"),
    }  # fmt: skip

    def told(found: re.Match[str]) -> str:
        if found[3]:
            form = {"@": "%s.%N0", "+": "%F+%T.%N0"}.get(found[3], f"%{found[3]}")
            return f"%{found[1]}s" % shown_time(mark.time, form)
        return f"%{found[1]}s" % known[found[2]]

    yield Write(_DIRECTIVE.sub(told, with_escapes(test.value)).encode())
    return True


def _deleted(machine: Machine, test: Test, place: _Place) -> _Acted:
    try:
        if machine.files.is_folder(place.path) and machine.files.listed(place.path):
            raise FileError("Directory not empty")
        machine.files.remove(place.path)
    except FileError as problem:
        yield error("find", f"{place.shown}: {problem}")
        place.failed = True
        return False
    return True


def _left_out(machine: Machine, test: Test, place: _Place) -> _Acted:
    yield from ()
    place.pruned = True
    return True


def _ended(machine: Machine, test: Test, place: _Place) -> _Acted:
    yield from ()
    raise _Ended


def _ran(machine: Machine, test: Test, place: _Place) -> _Acted:
    if test.together:
        test.paths.append(place.shown)
        return True
    yield from tick(machine)
    return not (yield from run_words(machine, filled(test.command, _MARK, [place.shown]), functions=False))


_ACTIONS: Final[Mapping[str, Callable[[Machine, Test, _Place], _Acted]]] = {
    "-print": _printed, "-print0": _printed, "-printf": _in_form, "-ls": _listed, "-delete": _deleted,
    "-prune": _left_out, "-quit": _ended, "-exec": _ran, "-execdir": _ran, "-ok": _ran,
}  # fmt: skip


def _ran_together(machine: Machine, expression: Expression) -> Run:
    """Run the commands that get all their paths at once."""
    if isinstance(expression, Not):
        return (yield from _ran_together(machine, expression.part))
    code = 0
    if isinstance(expression, Joined):
        for part in expression.parts:
            code = (yield from _ran_together(machine, part)) or code
    elif expression.paths:
        paths = expression.paths
        size = sum(len(each) + 1 for each in paths)
        if len(expression.command) + expression.command.count(_MARK) * size > LONGEST_COMMAND:
            raise TooMuch
        wanted = [each for part in expression.command for each in (paths if part == _MARK else [part])]
        code = int(bool((yield from run_words(machine, wanted, functions=False))))
    return code


FIND_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {"find": within_memory(_find)}
"""The commands of this module, by name."""
