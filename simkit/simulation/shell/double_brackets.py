"""``[[ ... ]]``: conditions whose words are not split, with patterns and regular expressions.

References
----------
Bash Reference Manual 5.2, 3.2.5.2 Conditional Constructs.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.conditions import COMPARED, Wrong, compared, of_one_side, of_two_sides
from simkit.simulation.shell.effects import error
from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.machine import Effect, Machine, Run, tick
from simkit.simulation.shell.patterns import matches
from simkit.simulation.shell.process_substitution import Output
from simkit.simulation.shell.tree import Joined, Test
from simkit.simulation.shell.variables import Numbers, set_elements

_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\w+:\]|[^\]])*(\]?)")
"""A set, or the rest of a text with one that has no end: else its start would be looked for again at each bracket."""
_FAULT: Final = 2


def holds(machine: Machine, condition: Test | Joined, output: Output) -> Run:
    """Run a condition: 0 if it holds, 2 if it has no value."""
    yield from tick(machine)
    try:
        return int(not (yield from _holds(machine, condition, output)))
    except (Wrong, ArithmeticFault) as problem:
        told, code = problem, 1 if isinstance(problem, ArithmeticFault) else _FAULT
    yield error(machine.shell, f"[[: {told}")
    return code


def _holds(machine: Machine, condition: Test | Joined, output: Output) -> Generator[Effect, bytes, bool]:
    if isinstance(condition, Test):
        return (yield from _test(machine, condition, output))
    if condition.operator == "!":
        return not (yield from _holds(machine, condition.parts[0], output))
    for part in condition.parts:
        found = yield from _holds(machine, part, output)
        if found is (condition.operator == "||"):
            return found
    return condition.operator == "&&"


def _test(machine: Machine, test: Test, output: Output) -> Generator[Effect, bytes, bool]:
    expander = Expander(machine, output)
    left, operator = (yield from expander.text(test.left)), test.operator
    if not test.right:
        return of_one_side(machine, operator, left) if operator else bool(left)
    if operator == "=~":
        return _found(machine, left, (yield from expander.parts(test.right)))
    if operator in ("=", "==", "!="):
        wanted = yield from expander.pattern(test.right)
        if "nocasematch" in machine.options:
            left, wanted = left.lower(), wanted.lower()
        return matches(left, wanted, groups=True) is not (operator == "!=")
    right = yield from expander.text(test.right)
    if operator in COMPARED and machine.bash:
        numbers = Numbers(machine)
        return compared(numbers.nested(left), operator, numbers.nested(right))
    return of_two_sides(machine, left, operator, right)


def _found(machine: Machine, text: str, given: list[tuple[str, bool]]) -> bool:
    """True if a regular expression, whose quoted parts mean themselves, finds something; bash keeps what it finds."""
    wanted = "".join(re.escape(part) if quoted else _CLASS.sub(_as_set, part) for part, quoted in given)
    flags = "(?si)" if "nocasematch" in machine.options else "(?s)"
    try:
        found = pattern(flags + wanted).search(text)
    except PatternError:
        raise Wrong(f"{wanted}: invalid regular expression") from None
    if machine.bash:
        groups = [] if found is None else [found[0], *(each or "" for each in found.groups())]
        set_elements(machine, "BASH_REMATCH", [(None, each, False) for each in groups], appends=False)
    return found is not None


def _as_set(found: re.Match[str]) -> str:
    """A set of POSIX for RE2: in it a backslash means itself."""
    return found[0].replace("\\", "\\\\") if found[1] else found[0]
