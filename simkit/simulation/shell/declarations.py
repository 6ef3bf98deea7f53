"""Commands that declare and remove variables: ``declare``, ``local``, ``export``, ``readonly``, ``unset`` and ``let``.

References
----------
POSIX.1-2017, Shell Command Language, 2.14; Bash Reference Manual 5.2, 4.2 Bash Builtin Commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Final

from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.effects import error, line, options
from simkit.simulation.shell.machine import Exit, Machine, Run
from simkit.simulation.shell.parameters import declaration
from simkit.simulation.shell.variables import Listed, Numbers, Reference, reference, remove, set_elements, set_text

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARED: Final = re.compile(r"([A-Za-z_]\w*)(?:\[([^]]*)\])?(?:(\+?)=(.*))?", re.DOTALL)
_KINDS: Final = "iuln"
_REFERS: Final = "n"


def _export(machine: Machine, words: list[str]) -> Run:
    """``export`` and ``readonly``."""
    given, rest = options(words[1:])
    if not rest and machine.bash and "f" not in given:
        return (yield from _print(machine, rest, {"r" if words[0] == "readonly" else "x": ""}))
    if not rest:
        names = machine.readonly if words[0] == "readonly" else machine.environment.keys() - machine.local
        for name in sorted(names):
            yield line(f"{words[0]} {name}={quote(machine.environment.get(name, ''))}")
    if "f" in given:
        return 0
    for word in rest:
        name, equals, value = word.partition("=")
        if machine.bash and ("A" in given or "a" in given or isinstance(word, Listed) or name.endswith("+")):
            _set(machine, word, "A" if "A" in given else "a" if "a" in given else "")
            name, equals = name.removesuffix("+"), ""
        if _NAME.fullmatch(name) is None:
            yield error(f"{machine.shell}: {words[0]}", f"{word}: bad variable name")
            if not machine.bash:
                raise Exit(2)
            return 1
        if equals:
            machine.assign(name, value)
        if words[0] == "readonly":
            machine.readonly.add(name)
        elif "n" in given:
            machine.local.add(name)
        else:
            machine.local.discard(name)
    return 0


def _local(machine: Machine, words: list[str]) -> Run:
    """``local`` of shells that are not bash."""
    if machine.bash:
        return (yield from _declare(machine, words))
    if not machine.frames:
        yield error("sh: local", "not in a function")
        return 2
    for word in words[1:]:
        name, equals, value = word.partition("=")
        machine.frames[-1].setdefault(name, machine.saved(name))
        if equals:
            machine.assign(name, value)
    return 0


def _declare(machine: Machine, words: list[str]) -> Run:
    """``declare``, ``typeset`` and ``local``: variables of the function, or of the shell, and their kinds."""
    if words[0] == "local" and not machine.frames:
        yield error(f"{machine.shell}: local", "can only be used in a function")
        return 1
    taken = [f"-{word[1:]}" if word[:1] == "+" else word for word in words[1:]]
    given, _ = options(taken)
    rest = [word for word in words[1:] if word[:1] not in ("-", "+") or len(word) < 2]
    removed = {letter for word in words[1:] if word[:1] == "+" for letter in word[1:]}
    if "p" in given or (not rest and words[0] != "local"):
        return (yield from _print(machine, rest, given))
    if "f" in given or "F" in given:
        known = [each for each in rest if each in machine.functions]
        for name in known if "F" in given else ():
            yield line(name)
        return int(len(known) < len(rest))
    code = 0
    for word in rest:
        try:
            code = _declared(machine, word, given.keys() - removed, removed, inner=words[0] == "local") or code
        except ArithmeticFault as fault:
            yield error(f"{machine.shell}: {words[0]}", str(fault))
            code = 1
        if code and _DECLARED.fullmatch(word) is None:
            yield error(f"{machine.shell}: {words[0]}", f"`{word}': not a valid identifier")
    return code


def _declared(machine: Machine, word: str, letters: set[str], removed: set[str], *, inner: bool) -> int:
    """Declare one variable; gives back the exit code. Raises ArithmeticFault, OutOfMemory, or ReadOnly."""
    found = _DECLARED.fullmatch(word)
    if found is None:
        return 1
    name = found[1]
    if machine.frames and ("g" not in letters or inner) and name not in machine.frames[-1]:
        machine.frames[-1][name] = machine.saved(name)
        kept = machine.environment.get(name) if found[3] == "+" else None
        machine.unset(name)
        if kept is not None:
            machine.assign(name, kept)
    kinds = (set(machine.kinds.get(name, "")) | {each for each in _KINDS if each in letters}) - removed
    if "n" in kinds:
        machine.kinds.pop(name, None)
        if found[4] is not None:
            machine.assign(name, found[4])
        machine.kinds[name] = _REFERS
        return 0
    if kinds:
        machine.kinds[name] = "".join(sorted(kinds))
    elif name in machine.kinds:
        del machine.kinds[name]
    _set(machine, word, "A" if "A" in letters else "a" if "a" in letters else "")
    if kinds:
        machine.kinds[name] = "".join(sorted(kinds))
    if "r" in letters:
        machine.readonly.add(name)
    if "x" in letters:
        machine.local.discard(name)
    elif "x" in removed:
        machine.local.add(name)
    return 0


def _set(machine: Machine, word: str, kind: str) -> None:
    """Set a variable as a word says. Raises ArithmeticFault, OutOfMemory, or ReadOnly."""
    found = _DECLARED.fullmatch(word)
    if found is None:
        return
    name, subscript, appends = found[1], found[2], found[3] == "+"
    if (kind or isinstance(word, Listed)) and machine.meant(name) not in machine.arrays:
        machine.make_array(machine.meant(name), by_text=kind == "A")
    if isinstance(word, Listed):
        set_elements(machine, name, word.elements, appends=appends)
    elif found[4] is not None:
        set_text(machine, Reference(name, subscript), found[4], appends=appends)


def _print(machine: Machine, names: Sequence[str], given: Mapping[str, str]) -> Run:
    """The lines that declare variables as they are."""
    code = 0
    known = sorted({*machine.environment, *machine.arrays})
    wanted = names or [each for each in known if _is_chosen(machine, each, given)]
    for name in wanted:
        if "f" in given or "F" in given:
            continue
        text = declaration(machine, name)
        if text is None:
            yield error(f"{machine.shell}: declare", f"{name}: not found")
            code = 1
        else:
            yield line(text)
    return code


def _is_chosen(machine: Machine, name: str, given: Mapping[str, str]) -> bool:
    array = machine.arrays.get(name)
    tests = {
        "a": array is not None and not array.by_text, "A": array is not None and array.by_text,
        "r": name in machine.readonly, "x": name in machine.environment and name not in machine.local,
        "i": "i" in machine.kinds.get(name, ""),
    }  # fmt: skip
    return all(holds for letter, holds in tests.items() if letter in given)


def _let(machine: Machine, words: list[str]) -> Run:
    """``let EXPRESSION...``: it succeeds where the last one is not 0."""
    value = 0
    try:
        for word in words[1:]:
            value = Numbers(machine).nested(word)
    except ArithmeticFault as fault:
        yield error(f"{machine.shell}: let", str(fault))
        return 1
    return int(value == 0)


def _unset(machine: Machine, words: list[str]) -> Run:
    """``unset [-vfn] NAME...``: variables, elements of arrays, and functions."""
    given, names = options(words[1:])
    for word in names:
        named = reference(word)
        if "f" in given or (word in machine.functions and named is not None and not _is_known(machine, named.name)):
            machine.functions.pop(word, None)
        elif "n" in given:
            machine.unset(word)
        elif named is not None:
            try:
                remove(machine, named)
            except ArithmeticFault as fault:
                yield error(f"{machine.shell}: unset", str(fault))
                return 1
    return 0


def _is_known(machine: Machine, name: str) -> bool:
    return name in machine.environment or name in machine.arrays


DECLARATION_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "export": _export,
    "readonly": _export,
    "local": _local,
    "declare": _declare,
    "typeset": _declare,
    "let": _let,
    "unset": _unset,
}
"""The commands of this module, by name."""
