"""Simple commands: their words, their variables, and what they read and write.

References
----------
POSIX.1-2017, Shell Command Language, 2.9.1; arrays and ``+=`` as in bash.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final, NamedTuple

from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.control_flow import RunNode
from simkit.simulation.shell.effects import LONGEST_COMMAND, error
from simkit.simulation.shell.expansion import Expander, NothingMatches
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import STDERR, Effect, Machine, OutOfMemory, Run, Write, tick
from simkit.simulation.shell.patterns import TooLong
from simkit.simulation.shell.process_substitution import Output, fed_by, give_back, lead
from simkit.simulation.shell.redirections import BadRedirection, opened, redirected
from simkit.simulation.shell.syntax import DECLARATIONS
from simkit.simulation.shell.tree import (
    Assignment,
    Element,
    Listing,
    Node,
    Process,
    Redirection,
    Redirections,
    Simple,
    Word,
)
from simkit.simulation.shell.variables import Listed, Reference, set_elements, set_text

_SPECIAL: Final = frozenset({":", ".", "eval", "exec", "export", "readonly", "set", "shift", "trap", "unset"})
"""Commands whose own variables stay, but in bash."""


class Runs(NamedTuple):
    """The ways in which a command runs others."""

    node: RunNode
    output: Output
    shell: Callable[[Machine, Node], Run]
    words: Callable[[Machine, list[str]], Run]
    traps: Callable[[Machine], Generator[Effect, bytes, None]]


def run_simple(machine: Machine, node: Simple, runs: Runs) -> Run:
    """Run a simple command. Raises OutOfMemory."""
    yield from tick(machine)
    if machine.signals.pending:
        yield from runs.traps(machine)
    machine.substituted, machine.line = None, node.line or machine.line
    since = len(machine.borrowed)
    try:
        words = yield from _words(machine, node.words, runs)
    except TooLong:
        yield error(machine.shell, "Argument list too long")
        return 126
    except NothingMatches as problem:
        yield error(machine.shell, f"no match: {problem}")
        return 1
    try:
        assigned = yield from _assigned(machine, node.assignments, runs, alone=not words)
        if "x" in machine.options:
            yield _traced([f"{name}={text}" for name, text in assigned], words)
        source, left = live_source(node.redirections)
        code = yield from _executed(machine, words, assigned, (yield from targets(machine, left, runs)), source, runs)
    except TooLong:
        raise OutOfMemory from None
    except (BadRedirection, FileError, ArithmeticFault) as problem:
        yield error(machine.shell, str(problem))
        return 1
    if len(machine.borrowed) > since and words != ["exec"]:
        yield from give_back(machine, since, runs.shell)
    return code


def _traced(assigned: Sequence[str], words: Sequence[str]) -> Write:
    return Write(f"+ {' '.join([*assigned, *words])}\n".encode(), STDERR)


def _assigned(
    machine: Machine, given: Sequence[Assignment], runs: Runs, *, alone: bool
) -> Generator[Effect, bytes, list[tuple[str, str]]]:
    """The variables in front of a command with their values; they are set if they stand ``alone``.

    Raises TooLong, ArithmeticFault, OutOfMemory, or ReadOnly.
    """
    found: list[tuple[str, str]] = []
    for each in given:
        expander = Expander(machine, runs.output)
        if each.elements is not None:
            elements = yield from _elements(expander, each.elements)
            if alone:
                set_elements(machine, each.name, elements, appends=each.appends)
            continue
        subscript = None if each.subscript is None else (yield from expander.text(each.subscript))
        text = yield from expander.text(each.value)
        found.append((each.name, text))
        if alone:
            set_text(machine, Reference(each.name, subscript), text, appends=each.appends)
        elif each.appends:
            found[-1] = each.name, machine.environment.get(each.name, "") + text
    return found


def _elements(
    expander: Expander, given: Sequence[Element]
) -> Generator[Effect, bytes, list[tuple[str | None, str, bool]]]:
    """The elements of an array. Raises TooLong."""
    found: list[tuple[str | None, str, bool]] = []
    size = 0
    for each in given:
        if each.subscript is None:
            texts: list[tuple[str | None, str, bool]] = [
                (None, text, False) for text in (yield from expander.fields(each.value))
            ]
        else:
            subscript = yield from expander.text(each.subscript)
            texts = [(subscript, (yield from expander.text(each.value)), each.appends)]
        size += sum(len(text) + 1 for _, text, _ in texts)
        if size > LONGEST_COMMAND:
            raise TooLong
        found += texts
    return found


def live_source(given: Redirections) -> tuple[Node | None, Redirections]:
    """The commands whose output the standard input comes from, for ``< <(...)``; and the other redirections."""
    for number, each in enumerate(given):
        piece = each.target[0] if len(each.target) == 1 else None
        if each.operator == "<" and each.number == 0 and isinstance(piece, Process) and piece.direction == "<":
            return piece.body, (*given[:number], *given[number + 1 :])
    return None, given


def targets(
    machine: Machine, given: Redirections, runs: Runs
) -> Generator[Effect, bytes, list[tuple[Redirection, str]]]:
    """Redirections with their targets."""
    made: list[tuple[Redirection, str]] = []
    for each in given:
        piece = each.target[0] if len(each.target) == 1 else None
        if isinstance(piece, Process) and piece.direction == ">" and each.operator in (">", ">>"):
            made.append((each, (yield from lead(machine, piece, runs.shell))))
        else:
            made.append((each, (yield from Expander(machine, runs.output).text(each.target))))
    return made


def _words(machine: Machine, given: Sequence[Word], runs: Runs) -> Generator[Effect, bytes, list[str]]:
    """The words of a command. Raises TooLong, or NothingMatches."""
    words: list[str] = []
    size = 0
    for word in given:
        expander = Expander(machine, runs.output)
        further: list[str]
        if words and words[0] in DECLARATIONS and isinstance(word[-1], Listing):
            listed = Listed((yield from expander.text(word[:-1])))
            listed.elements = yield from _elements(expander, word[-1].elements)
            further = [listed]
        elif words and words[0] in DECLARATIONS:
            further = [(yield from expander.text(word))]
        else:
            further = yield from expander.fields(word)
        size += sum(map(len, further)) + len(further)
        if size > LONGEST_COMMAND:
            raise TooLong
        words += further
    return words


def _executed(
    machine: Machine,
    words: list[str],
    assigned: Sequence[tuple[str, str]],
    made: Sequence[tuple[Redirection, str]],
    source: Node | None,
    runs: Runs,
) -> Run:
    """Run a command with what is known of it. Raises BadRedirection, or FileError."""
    if words == ["exec"]:
        found = opened(machine, made, machine.outputs)
        machine.outputs = found.route
        machine.inputs.update(found.inputs)
        return 0
    found = opened(machine, made)
    machine.inputs, kept = {**machine.inputs, **{n: each for n, each in found.inputs.items() if n}}, machine.inputs
    unread, replaces = machine.unread, source is not None or 0 in found.inputs
    machine.unread = "" if replaces else unread
    try:
        run = _with_variables(machine, words, assigned, runs) if words else _nothing(machine)
        run = redirected(run, found) if made else run
        return (yield from run if source is None else fed_by(machine, source, run, runs.shell))
    finally:
        machine.unread = unread if replaces else machine.unread
        if words[:1] != ["exec"]:
            machine.inputs = kept


def _nothing(machine: Machine) -> Run:
    yield from ()
    return machine.substituted or 0


def _with_variables(machine: Machine, words: list[str], assigned: Sequence[tuple[str, str]], runs: Runs) -> Run:
    """Run a command that sees some variables of its own."""
    if not assigned:
        return (yield from runs.words(machine, words))
    before = {name: machine.saved(name) for name, _ in assigned}
    for name, text in assigned:
        machine.assign(name, text)
        machine.local.discard(name)
    try:
        return (yield from runs.words(machine, words))
    finally:
        for name, saved in before.items() if machine.bash or words[0] not in _SPECIAL else ():
            machine.restore(name, saved)
