"""The values of ``${NAME...}``: of variables, arguments and arrays, and parts and spellings of them.

References
----------
Bash Reference Manual 5.2, 3.5.3 Shell Parameter Expansion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.arrays import double_quoted, single_quoted
from simkit.simulation.shell.machine import Machine
from simkit.simulation.shell.patterns import matches
from simkit.simulation.shell.tree import Parameter, Text
from simkit.simulation.shell.variables import (
    all_keys,
    all_texts,
    array_named,
    element,
    reference,
    value_of_variable,
)
from simkit.simulation.shell.words import with_escapes


class Values(NamedTuple):
    """Texts: of all elements for ``@`` and ``*``, else one; none for a variable that is not set."""

    texts: Sequence[str]
    all: str = ""
    """``@`` or ``*`` where all elements are meant."""


def values_of(machine: Machine, name: str, subscript: str | None) -> Values:
    """The values of a variable, an element, or all elements. Raises ArithmeticFault."""
    if name in ("@", "*"):
        return Values(machine.arguments, name)
    if subscript in ("@", "*"):
        return Values(all_texts(machine, name), subscript)
    found = value_of_variable(machine, name) if subscript is None else element(machine, name, subscript)
    return Values([] if found is None else [found])


def indirectly(machine: Machine, piece: Parameter, subscript: str | None) -> tuple[Parameter, Values]:
    """The values of ``${!NAME}``: of the variable whose name is meant, or the subscripts of an array.

    Raises ArithmeticFault.
    """
    if subscript in ("@", "*") and not piece.operator:
        return piece, Values(all_keys(machine, piece.name), subscript)
    if "n" in machine.kinds.get(piece.name, ""):
        return piece, Values([machine.environment.get(piece.name, "")])
    told = "".join(values_of(machine, piece.name, subscript).texts)
    if told in ("@", "*") or told.isdigit():
        return piece._replace(name=told, subscript=None), values_of(machine, told, None)
    named = reference(told)
    if named is None:
        raise ArithmeticFault(f"{told or piece.name}: invalid {'variable name' if told else 'indirect expansion'}")
    inner = None if named.subscript is None else (Text(named.subscript, False),)
    return piece._replace(name=named.name, subscript=inner), values_of(machine, *named)


def are_there(values: Values, operator: str, *, bash: bool) -> bool:
    """True if there are values; with a colon in the operator, also that they are not empty."""
    if not values.texts:
        return False
    several = len(values.texts) > 1 if bash else bool(values.all)
    return not operator.startswith(":") or several or bool(values.texts[0])


def names_beginning(machine: Machine, prefix: str, sign: str) -> Values:
    """The names of variables that begin with a text, in order: ``${!PREFIX*}``."""
    return Values(sorted(each for each in {*machine.environment, *machine.arrays} if each.startswith(prefix)), sign)


def part_of_text(value: str, start: int, length: int | None) -> str:
    """Some letters of a text.

    Examples
    --------
    >>> part_of_text("abcdef", 1, 2), part_of_text("abcdef", -2, None), part_of_text("abcdef", 1, -1)
    ('bc', 'ef', 'bcde')
    """
    first = max(0, start + len(value)) if start < 0 else start
    return value[first:] if length is None else value[first : first + length] if length >= 0 else value[first:length]


def part_of_list(machine: Machine, name: str, texts: Sequence[str], start: int, count: int | None) -> Sequence[str]:
    """Some arguments, which begin with the script itself, or the elements of an array from a number on."""
    array = array_named(machine, machine.meant(name))
    if name in ("@", "*"):
        texts = [machine.script, *texts]
    elif array is not None and not array.by_text:
        first = start + array.following if start < 0 else start
        chosen = [text for key, text in array.items() if isinstance(key, int) and key >= first] if first >= 0 else []
        return chosen if count is None else chosen[: max(0, count)]
    first = start + len(texts) if start < 0 else start
    if first < 0:
        return []
    return texts[first:] if count is None else texts[first : first + max(0, count)]


def case_changed(value: str, operator: str, given: str, *, groups: bool) -> str:
    """A text in capitals (``^``) or small letters (``,``): the first letter, or all, of those that a pattern means."""
    chosen = value if len(operator) == 2 else value[:1]
    changed = "".join(
        (each.upper() if operator[0] == "^" else each.lower())
        if not given or matches(each, given, groups=groups)
        else each
        for each in chosen
    )
    return changed + value[len(chosen) :]


def spelled(machine: Machine, piece: Parameter, values: Values) -> Values:
    """Texts as ``${NAME@Q}`` and its like spell them."""
    sign = piece.operator[1]
    if sign == "A":
        return _as_declaration(machine, piece, values)
    if sign == "a":
        letters = attributes(machine, machine.meant(piece.name))
        return Values([letters if letters != "-" else ""])
    if sign in "Kk" and values.all:
        pairs = zip(all_keys(machine, piece.name), values.texts, strict=True)
        if sign == "K":
            return Values([" ".join(f"{key} {double_quoted(text)}" for key, text in pairs)])
        return Values([each for pair in pairs for each in pair], values.all)
    return Values([_spelled(sign, each) for each in values.texts], values.all)


def _spelled(sign: str, text: str) -> str:
    match sign:
        case "U":
            return text.upper()
        case "L":
            return text.lower()
        case "u":
            return text[:1].upper() + text[1:]
        case "E":
            return with_escapes(text)
        case "P":
            return re.sub(r"\\\$", "#", text)
    return single_quoted(text)


def attributes(machine: Machine, name: str) -> str:
    """The letters of a variable as ``declare -p`` tells them; ``-`` for none."""
    array = machine.arrays.get(name)
    letters = "" if array is None else "A" if array.by_text else "a"
    letters += "".join(each for each in "iln" if each in machine.kinds.get(name, ""))
    letters += "r" if name in machine.readonly else ""
    letters += "u" if "u" in machine.kinds.get(name, "") else ""
    return letters + ("x" if name in machine.environment and name not in machine.local else "") or "-"


def declaration(machine: Machine, name: str) -> str | None:
    """The line that declares a variable as it is; None for one that is not known."""
    letters, array = attributes(machine, name), machine.arrays.get(name)
    if array is not None:
        return f"declare -{letters} {name}={array.shown()}"
    if name in machine.environment:
        return f"declare -{letters} {name}={double_quoted(machine.environment[name])}"
    return f"declare -{letters} {name}" if name in machine.kinds else None


def _as_declaration(machine: Machine, piece: Parameter, values: Values) -> Values:
    letters = attributes(machine, machine.meant(piece.name))
    if values.all and piece.name not in ("@", "*"):
        known = declaration(machine, machine.meant(piece.name))
        return Values([known] if known is not None else [])
    if not values.texts:
        return Values([])
    start = f"declare -{letters} " if letters != "-" else ""
    return Values([f"{start}{piece.name}={single_quoted(values.texts[0])}"])
