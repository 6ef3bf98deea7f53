"""The values of variables, special parameters and elements of arrays in scripts.

References
----------
POSIX.1-2017, Shell Command Language, 2.5; ``RANDOM`` as in busybox and bash; Bash Reference Manual 5.2, 5.2 and 6.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.simulation.shell.arithmetic import ArithmeticFault, value_of
from simkit.simulation.shell.arrays import Array
from simkit.simulation.shell.machine import Machine

_RANDOM: Final = (1_103_515_245, 12_345, 1 << 31)
_REFERENCE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[(.+)\])?", re.DOTALL)
_DEEPEST: Final = 30
_MOST_EXPRESSIONS: Final = 1000
"""Expressions that one expression may lead to, through variables that hold expressions."""
VERSION: Final = "5.2.15(1)-release"


def value_of_variable(machine: Machine, name: str) -> str | None:
    """The value of a variable or of a special parameter; None for one that is not set."""
    if name.isdigit() and name != "0":
        number = int(name[:6])
        return machine.arguments[number - 1] if number <= len(machine.arguments) else None
    if name in ("@", "*"):
        separator = machine.environment.get("IFS", " ")[:1]
        return (" " if name == "@" else separator).join(machine.arguments) if machine.arguments else None
    known = machine.environment.get(name)
    if known is not None and not machine.kinds:
        return known
    if not name[0].isalpha() and name[0] != "_":
        special: Mapping[str, str] = {
            "?": str(machine.code), "$": str(machine.pid), "#": str(len(machine.arguments)), "0": machine.script,
            "!": str(machine.started) if machine.started else "",
            "-": "".join(sorted(each for each in machine.options if len(each) == 1)),
        }  # fmt: skip
        return special.get(name)
    name = machine.meant(name)
    known = machine.environment.get(name)
    if known is not None:
        return known
    array = array_named(machine, name)
    if array is not None:
        return array.get(array.first)
    made = _MADE.get(name) or (_MADE_BY_BASH.get(name) if machine.bash else None)
    return made(machine) if made is not None else None


def _random(machine: Machine) -> str:
    factor, step, most = _RANDOM
    machine.shared.random = (machine.shared.random * factor + step) % most
    return str(machine.shared.random >> 16 & 0x7FFF)


_MADE: Final[Mapping[str, Callable[[Machine], str]]] = {
    "RANDOM": _random,
    "PPID": lambda _: "0",
    "LINENO": lambda machine: str(machine.line),
}
"""Variables that a shell makes when they are looked at."""
_MADE_BY_BASH: Final[Mapping[str, Callable[[Machine], str]]] = {
    "SECONDS": lambda machine: str(int(machine.now - machine.begun)),
    "BASH_VERSION": lambda _: VERSION,
    "BASHPID": lambda machine: str(machine.pid),
    "BASH": lambda _: "/bin/bash",
    "BASH_SUBSHELL": lambda machine: str(machine.level),
    "EPOCHSECONDS": lambda machine: str(int(machine.now)),
    "EPOCHREALTIME": lambda machine: f"{machine.now:.6f}",
    "HOSTNAME": lambda machine: machine.hostname,
    "OSTYPE": lambda _: "linux-gnu",
    "HOSTTYPE": lambda _: "x86_64",
    "MACHTYPE": lambda _: "x86_64-pc-linux-gnu",
    "SHLVL": lambda _: "1",
}


def _listed(texts: Sequence[str]) -> Array:
    made = Array()
    for number, text in enumerate(texts):
        made.put(number, text)
    return made


def _sources(machine: Machine) -> list[str]:
    name = machine.script if machine.reads_file else "environment" if machine.calls else ""
    return [name] * (len(machine.calls) + machine.reads_file) if name else []


_ARRAYS_OF_BASH: Final[Mapping[str, Callable[[Machine], Sequence[str]]]] = {
    "PIPESTATUS": lambda machine: [str(code) for code in machine.statuses],
    "FUNCNAME": lambda machine: [*machine.calls[::-1], *(["main"] if machine.calls and machine.reads_file else [])],
    "BASH_SOURCE": _sources,
    "BASH_VERSINFO": lambda _: ["5", "2", "15", "1", "release", "x86_64-pc-linux-gnu"],
    "DIRSTACK": lambda machine: [machine.folder, *machine.folders],
}


def array_named(machine: Machine, name: str) -> Array | None:
    """The array with a name; None where there is none."""
    found = machine.arrays.get(name)
    if found is None and machine.bash and name in _ARRAYS_OF_BASH:
        return _listed(_ARRAYS_OF_BASH[name](machine))
    return found


def all_texts(machine: Machine, name: str) -> list[str]:
    """All elements of an array, or the value of a variable as the only one."""
    array = array_named(machine, machine.meant(name))
    if array is not None:
        return array.texts()
    value = value_of_variable(machine, name)
    return [] if value is None else [value]


def all_keys(machine: Machine, name: str) -> list[str]:
    """The subscripts of all elements of an array."""
    array = array_named(machine, machine.meant(name))
    if array is not None:
        return array.keys()
    return [] if value_of_variable(machine, name) is None else ["0"]


class Reference(NamedTuple):
    """A variable, or an element of an array."""

    name: str
    subscript: str | None = None


def reference(text: str) -> Reference | None:
    """The variable or element that a text names; None for a text that is no name.

    Examples
    --------
    >>> reference("a[1]"), reference("a b")
    (Reference(name='a', subscript='1'), None)
    """
    found = _REFERENCE.fullmatch(text)
    return None if found is None else Reference(found[1], found[2])


class Listed(str):
    """A word such as ``NAME=`` of ``declare`` with the elements behind it: subscripts, texts, and whether each adds."""

    elements: Sequence[tuple[str | None, str, bool]] = ()


class Numbers:
    """The variables of a shell for its expressions."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._depth, self._left = machine, 0, _MOST_EXPRESSIONS

    @property
    def bash(self) -> bool:
        """True if expressions are those of bash."""
        return self._machine.bash

    def nested(self, text: str) -> int:
        """The value of a text that is an expression of its own. Raises ArithmeticFault."""
        self._depth, self._left = self._depth + 1, self._left - 1
        if self._depth > _DEEPEST or self._left < 0:
            raise ArithmeticFault("expression recursion level exceeded")
        found = value_of(text, self)
        self._depth -= 1
        return found

    def look(self, name: str, subscript: str | None) -> str:
        """The value of a variable or of an element of an array, empty if it is not set. Raises ArithmeticFault."""
        found = self.value(name, subscript)
        if found is None and self.bash and "u" in self._machine.options:
            raise ArithmeticFault(f"{name}: unbound variable")
        return found or ""

    def value(self, name: str, subscript: str | None) -> str | None:
        """The value of a variable or of an element; None if it is not set. Raises ArithmeticFault."""
        if subscript is None:
            return value_of_variable(self._machine, name)
        array = array_named(self._machine, self._machine.meant(name))
        if array is None:
            return value_of_variable(self._machine, name) if self.nested(subscript) in (0, -1) else None
        key = self.key(array, subscript)
        return None if key is None else array.get(key)

    def key(self, array: Array | None, subscript: str) -> int | str | None:
        """The key of an element; None for a number before the first. Raises ArithmeticFault."""
        if array is not None and array.by_text:
            return subscript
        number = self.nested(subscript)
        return (array or Array()).place(number)

    def put(self, name: str, subscript: str | None, text: str) -> None:
        """Set a variable, or an element of an array. Raises ArithmeticFault."""
        set_text(self._machine, Reference(name, subscript), text, numbers=self)


def element(machine: Machine, name: str, subscript: str) -> str | None:
    """An element of an array; None where there is none. Raises ArithmeticFault."""
    return Numbers(machine).value(name, subscript)


def set_text(
    machine: Machine, to: Reference, text: str, *, appends: bool = False, numbers: Numbers | None = None
) -> None:
    """Set a variable or an element, or add a text to it. Raises ArithmeticFault, OutOfMemory, or ReadOnly."""
    name, numbers = machine.meant(to.name), numbers or Numbers(machine)
    named = reference(name) if "[" in name else None
    name, subscript = (named.name, named.subscript) if named is not None else (name, to.subscript)
    array = machine.arrays.get(name)
    key: int | str | None = None
    if subscript is not None:
        key = numbers.key(array, subscript)
        if key is None:
            raise ArithmeticFault(f"{to.name}[{subscript}]: bad array subscript")
    elif array is not None:
        key = array.first
    if name == "SECONDS" and machine.bash:
        machine.begun = machine.now - numbers.nested(text)
        return
    kinds = machine.kinds.get(name, "")
    if appends:
        before = machine.environment.get(name) if key is None else array.get(key) if array is not None else None
        text = f"({before or 0})+({text or 0})" if "i" in kinds else (before or "") + text
    text = _shaped(text, kinds, numbers) if kinds else text
    if key is None:
        machine.assign(name, text)
    else:
        machine.put(name, key, text)


def _shaped(text: str, kinds: str, numbers: Numbers) -> str:
    if "i" in kinds:
        return str(numbers.nested(text))
    return text.upper() if "u" in kinds else text.lower() if "l" in kinds else text


def set_elements(
    machine: Machine, name: str, elements: Sequence[tuple[str | None, str, bool]], *, appends: bool
) -> None:
    """Set the elements of an array, or add further ones. Raises ArithmeticFault, OutOfMemory, or ReadOnly.

    Parameters
    ----------
    elements
        Their subscripts, if they have any, their texts, and whether each is added to what is there.
    """
    name = machine.meant(name)
    kinds, array = machine.kinds.get(name, ""), machine.arrays.get(name)
    by_text = array is not None and array.by_text
    if not appends:
        machine.unset(name)
        array = None
    array = array or machine.make_array(name, by_text=by_text)
    if kinds:
        machine.kinds[name] = kinds
    following, pending, numbers = array.following, None, Numbers(machine)
    for subscript, text, adds in elements:
        if subscript is not None:
            key = numbers.key(array, subscript)
            if key is None:
                raise ArithmeticFault(f"[{subscript}]=: bad array subscript")
            set_text(machine, Reference(name, subscript), text, appends=adds, numbers=Numbers(machine))
            following = key + 1 if isinstance(key, int) else 0
        elif by_text:
            if pending is None:
                pending = text
            else:
                machine.put(name, pending, text)
                pending = None
        else:
            machine.put(name, following, _shaped(text, kinds, numbers) if kinds else text)
            following += 1
    if pending is not None:
        machine.put(name, pending, "")


def remove(machine: Machine, to: Reference) -> None:
    """Remove a variable, or an element of an array. Raises ArithmeticFault, or ReadOnly."""
    if to.subscript is None:
        machine.unset(machine.meant(to.name))
        return
    name = machine.meant(to.name)
    array = machine.arrays.get(name)
    if to.subscript in ("@", "*") and not (array is not None and array.by_text):
        machine.unset(name)
    elif array is not None:
        if name in machine.readonly:
            machine.unset(name)
        key = Numbers(machine).key(array, to.subscript)
        if key is None:
            raise ArithmeticFault(f"[{to.subscript}]: bad array subscript")
        before = array.held
        array.remove(key)
        machine.held += array.held - before
