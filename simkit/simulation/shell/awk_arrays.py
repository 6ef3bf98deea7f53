"""The parameters of functions of awk that are arrays."""

from __future__ import annotations

from typing import Any

from simkit.simulation.shell.awk_syntax import Program


def arrays_of(program: Program) -> dict[str, set[int]]:
    """The places of the parameters of each function that are arrays there, or in a function that it calls."""
    found: dict[str, set[int]] = {name: set() for name in program.functions}
    changed = True
    while changed:
        changed = False
        for name, (parameters, body) in program.functions.items():
            used = {each for each in _array_names(body, found) if each in parameters}
            places = {parameters.index(each) for each in used}
            changed = changed or not places <= found[name]
            found[name] |= places
    return found


def _array_names(node: Any, known: dict[str, set[int]]) -> set[str]:
    """The names that are used as arrays in a part of a program."""
    if not isinstance(node, tuple):
        return set()
    names = {each for part in node for each in _array_names(part, known)}
    match node:
        case ("item", str(name), _) | ("delete", str(name), _) | ("in", _, str(name)) | ("for in", _, str(name), _):
            names.add(name)
        case ("builtin", "split", (_, ("name", str(name)), *_)):
            names.add(name)
        case ("builtin", "asort" | "asorti", arrays) | ("builtin", "match" | "split", (_, _, *arrays)):
            names |= {str(each[1]) for each in arrays[-2:] if each[0] == "name" and each[0] != "ere"}
        case ("builtin", "patsplit", (_, ("name", str(name)), *_)):
            names.add(name)
        case ("call", str(function), arguments):
            for place in known.get(function, ()):
                if place < len(arguments) and arguments[place][0] == "name":
                    names.add(arguments[place][1])
    return names
