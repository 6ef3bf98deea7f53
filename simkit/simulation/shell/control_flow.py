"""Conditions and loops of scripts, and what leaves them.

References
----------
POSIX.1-2017, Shell Command Language, 2.9.4; ``select`` and ``;&`` as in bash.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.machine import STDERR, Effect, Machine, Read, Run, Write, tick
from simkit.simulation.shell.patterns import matches
from simkit.simulation.shell.process_substitution import Output
from simkit.simulation.shell.tree import Case, For, If, Node, Sequence, While, Word

_NOTHING: Final = Sequence(())
"""The commands of a branch that has none."""

RunNode = Callable[[Machine, Node], Run]
"""Runs one part of a script."""


class LoopControl(Exception):
    """``break`` or ``continue`` for a number of loops."""

    def __init__(self, word: str, levels: int) -> None:
        super().__init__(word)
        self.word, self.levels = word, levels


class Return(Exception):
    """``return`` ends a function."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def run_tested(machine: Machine, node: Node, run: RunNode) -> Run:
    """Run a command whose exit code is a condition: ``set -e`` does not heed it."""
    machine.tested += 1
    try:
        return (yield from run(machine, node))
    finally:
        machine.tested -= 1


def run_body(machine: Machine, node: Node, run: RunNode) -> Run:
    """Run the body of a condition, which begins with the exit code 0."""
    machine.code = 0
    return (yield from run(machine, node))


def run_if(machine: Machine, node: If, run: RunNode) -> Run:
    """Run the first branch whose condition holds."""
    for condition, body in node.branches:
        if (yield from run_tested(machine, condition, run)) == 0:
            return (yield from run_body(machine, body, run))
    machine.code = 0
    return (yield from run_body(machine, node.otherwise, run)) if node.otherwise is not None else 0


def run_case(machine: Machine, node: Case, run: RunNode, output: Output) -> Run:
    """Run the first branch with a pattern that means the subject."""
    expander = Expander(machine, output)
    subject = yield from expander.text(node.subject)
    goes_on = matched = False
    code = machine.code
    for patterns, body, end in node.branches:
        if not goes_on and not (yield from _is_meant(machine, expander, subject, patterns)):
            continue
        machine.code = code if body != _NOTHING else 0
        code = yield from run(machine, body)
        if end not in (";&", ";;&"):
            return code
        goes_on = end == ";&"
        matched = True
    machine.code = code if matched else 0
    return machine.code


def _is_meant(
    machine: Machine, expander: Expander, subject: str, patterns: Iterable[Word]
) -> Generator[Effect, bytes, bool]:
    """True if one of some patterns means a text."""
    groups, any_case = "extglob" in machine.options, "nocasematch" in machine.options
    for word in patterns:
        wanted = yield from expander.pattern(word)
        if matches(subject.lower() if any_case else subject, wanted.lower() if any_case else wanted, groups=groups):
            return True
    return False


def run_loop(machine: Machine, node: For | While, run: RunNode, output: Output) -> Run:
    """Run the turns of a loop. Raises LoopControl for the loops around it."""
    values: list[str] = []
    if isinstance(node, For):
        for word in node.words or ():
            values += yield from Expander(machine, output).fields(word)
        values = list(machine.arguments) if node.words is None else values
        if node.asks:
            yield _menu(values)
    turns, code = iter(values), 0
    machine.loops += 1
    try:
        while True:
            try:
                if isinstance(node, For) and node.asks:
                    turns = iter(values)
                if not (yield from _begins(machine, node, turns, run)):
                    break
                code = yield from run(machine, node.body)
            except LoopControl as control:
                code = 0
                if control.levels > 1:
                    raise LoopControl(control.word, control.levels - 1) from None
                if control.word == "break":
                    break
            if isinstance(node, While) and node.step is not None:
                yield from run_tested(machine, node.step, run)
            yield from tick(machine)
    finally:
        machine.loops -= 1
    machine.code = code
    return code


def _begins(machine: Machine, node: For | While, turns: Iterator[str], run: RunNode) -> Generator[Effect, bytes, bool]:
    """True if another turn begins."""
    if isinstance(node, While):
        return ((yield from run_tested(machine, node.condition, run)) == 0) is not node.until
    value = (yield from _chosen(machine, list(turns))) if node.asks else next(turns, None)
    if value is not None:
        machine.assign(node.name, value)
    return value is not None


def _menu(values: list[str]) -> Write:
    rows = "".join(f"{number}) {value}\n" for number, value in enumerate(values, 1))
    return Write(rows.encode(), STDERR)


def _chosen(machine: Machine, values: list[str]) -> Generator[Effect, bytes, str | None]:
    """The value that a line of the input chooses for ``select``, empty for a wrong number; None at the end of input."""
    while values:
        yield Write(f"{machine.environment.get('PS3', '#? ')}".encode(), STDERR)
        line = yield Read()
        if not line:
            return None
        reply = line.decode("utf-8", "replace").strip()
        machine.assign("REPLY", reply)
        if reply:
            number = int(reply) if reply.isdecimal() and len(reply) < 6 else 0
            return values[number - 1] if 0 < number <= len(values) else ""
        yield _menu(values)
    return None
