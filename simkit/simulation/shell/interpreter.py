"""Runs shell scripts step by step: it prints, lets time pass and asks for input, and its driver does the rest."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from simkit.simulation.shell.arithmetic import ArithmeticFault, value_of
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interruption import CODE, Interrupted
from simkit.simulation.shell.machine import STDERR, STDOUT, Effect, Exit, Machine, OutOfMemory, Read, Run, Write
from simkit.simulation.shell.patterns import TooLong, escaped, matching
from simkit.simulation.shell.syntax import Case, Chain, If, Loop, Node, Pipeline, ScriptError, Simple, Word, parse
from simkit.simulation.shell.variables import value_named

_MOST_OUTPUT: Final = 4 * 1024 * 1024
_MOST_STEPS: Final = 20_000
"""Commands and turns of loops after which a second passes, if the script lets none pass."""
_LOOK_UP: Final = 20
"""Those after which whoever drives the script may turn to something else."""
_LONGEST_WORD: Final = 1 << 20
_LONGEST_COMMAND: Final = 4 << 20
NOT_FOUND: Final = 127
_MAGIC: Final = frozenset("*?[")
_DOLLAR: Final = re.compile(r"\$(?:\{([^}$]*)\}|([A-Za-z_]\w*|[?#$]))")
"""A variable in an expression."""


class _LoopControl(Exception):
    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


def run_script(machine: Machine, text: str) -> Run:
    """Run a script; gives back its exit code."""
    try:
        node = parse(text)
    except ScriptError as error:
        yield Write(f"sh: {error}\n".encode(), STDERR)
        return 2
    try:
        return (yield from run_node(machine, node))
    except Exit as end:
        return end.code
    except (OutOfMemory, RecursionError) as problem:
        fault = _complaint(problem)
    yield fault
    return 2


def _complaint(problem: OutOfMemory | RecursionError) -> Write:
    """The words in which a shell ends: a script that runs itself is nested too deep."""
    return Write(b"sh: out of memory\n" if isinstance(problem, OutOfMemory) else b"sh: nested too deep\n", STDERR)


def run_interactive(machine: Machine, *, prompt: bool) -> Run:
    """Run each line that comes in, until there is none. An interruption ends the line."""
    while True:
        try:
            if prompt:
                yield Write(f"{machine.folder} # ".encode())
            line = yield Read()
            if not line:
                return machine.code
            machine.count.steps = 0
            machine.code = yield from run_node(machine, parse(line.decode("utf-8", "replace")))
        except ScriptError as error:
            yield Write(f"sh: {error}\n".encode(), STDERR)
            machine.code = 2
        except Interrupted:
            machine.code = CODE
        except (OutOfMemory, RecursionError) as problem:
            yield _complaint(problem)
            machine.code = 2
        except Exit as end:
            return end.code


def run_node(machine: Machine, node: Node) -> Run:
    """Run one part of a script."""
    match node:
        case Simple():
            machine.code = yield from _simple(machine, node)
        case Pipeline():
            machine.code = yield from _pipeline(machine, node)
        case Chain(parts):
            for joint, part in parts:
                if joint == ";" or (joint == "&&") == (machine.code == 0):
                    yield from run_node(machine, part)
        case Loop():
            yield from _loop(machine, node)
        case If(branches, otherwise):
            yield from _if(machine, branches, otherwise)
        case Case():
            yield from _case(machine, node)
    return machine.code


def _if(machine: Machine, branches: Sequence[tuple[Node, Node]], otherwise: Node | None) -> Run:
    for condition, body in branches:
        if (yield from run_node(machine, condition)) == 0:
            return (yield from run_node(machine, body))
    machine.code = 0
    if otherwise is not None:
        return (yield from run_node(machine, otherwise))
    return 0


def _case(machine: Machine, node: Case) -> Run:
    subject = yield from joined(machine, node.subject)
    machine.code = 0
    for patterns, body in node.branches:
        for word in patterns:
            wanted = "".join(pattern for _, pattern in (yield from _split(machine, word)))
            if fnmatchcase(subject, wanted):
                return (yield from run_node(machine, body))
    return 0


def _loop(machine: Machine, node: Loop) -> Run:
    values: list[str] = []
    for word in node.words:
        values += yield from expanded(machine, word)
    turn = 0
    while True:
        if node.kind == "for":
            if turn >= len(values):
                break
            machine.assign(node.name, values[turn])
        elif node.condition is not None:
            holds = (yield from run_node(machine, node.condition)) == 0
            if holds is (node.kind == "until"):
                machine.code = 0
                break
        turn += 1
        try:
            yield from run_node(machine, node.body)
        except _LoopControl as control:
            if control.word == "break":
                break
        yield from _tick(machine)
    return machine.code


def _tick(machine: Machine) -> Generator[Effect, bytes, None]:
    """Let a second pass where a script does very much without letting any pass, and no time now and then before."""
    count = machine.count
    count.steps += 1
    if count.steps % _MOST_STEPS == 0:
        yield 1.0
    elif count.steps % _LOOK_UP == 0:
        yield 0.0


def _pipeline(machine: Machine, node: Pipeline) -> Run:
    given: bytes | None = None
    code = 0
    for number, command in enumerate(node.commands):
        last = number == len(node.commands) - 1
        run = run_node(machine.child() if len(node.commands) > 1 else machine, command)
        if last:
            code = yield from _fed(run, given)
        else:
            given, code = yield from _captured(run, given)
    return int(code == 0) if node.negated else code


def _fed(run: Run, given: bytes | None) -> Run:
    """Run with bytes as input instead of the driver's."""
    left, sent = given, b""
    try:
        effect = next(run)
        while True:
            if isinstance(effect, Read) and left is not None:
                end = len(left) if effect.everything or b"\n" not in left else left.index(b"\n") + 1
                sent, left = left[:end], left[end:]
            else:
                sent = yield effect
            effect = run.send(sent)
    except StopIteration as end:
        return int(end.value)


def _captured(run: Run, given: bytes | None) -> Generator[Effect, bytes, tuple[bytes, int]]:
    """Run, and keep what it writes."""
    kept: list[bytes] = []
    size, sent = 0, b""
    steps = _fed(run, given)
    try:
        effect = next(steps)
        while True:
            if isinstance(effect, Write) and effect.stream == STDOUT:
                size += len(effect.data)
                if size <= _MOST_OUTPUT:
                    kept.append(effect.data)
                sent = b""
            else:
                sent = yield effect
            effect = steps.send(sent)
    except StopIteration as end:
        return b"".join(kept), int(end.value)


def expanded(machine: Machine, word: Word) -> Generator[Effect, bytes, list[str]]:
    """The words that a word becomes: variables without quotes are split at blanks, patterns become paths."""
    found: list[str] = []
    for text, pattern in (yield from _split(machine, word)):
        paths = [] if _MAGIC.isdisjoint(pattern) else matching(machine.files, machine.folder, pattern)
        found += paths or [text]
    return found


def joined(machine: Machine, word: Word) -> Generator[Effect, bytes, str]:
    """A word as one text, such as the value of a variable."""
    return "".join(text for text, _ in (yield from _split(machine, word)))


def _split(machine: Machine, word: Word) -> Generator[Effect, bytes, list[tuple[str, str]]]:
    """The words that a word becomes, each with the pattern of file names that it is."""
    found, current, pattern, present = list[tuple[str, str]](), list[str](), list[str](), False
    size = 0
    for piece in word:
        text, parts = piece.text, None
        if piece.kind == "variable":
            text = value_named(machine, piece.text)
            parts = list(machine.arguments) if piece.text == "@" else None
        elif piece.kind == "command":
            output, machine.code = yield from _captured(run_script(machine.child(), piece.text), None)
            text = output.decode("utf-8", "replace").rstrip("\n")
        elif piece.kind == "number":
            text = str((yield from _number(machine, piece.text)))
        size += len(text)
        if size > _LONGEST_WORD:
            raise TooLong
        if piece.kind == "text" or (piece.quoted and parts is None):
            current.append(text)
            pattern.append(escaped(text) if piece.quoted else text)
            present = True
            continue
        parts = text.split() if parts is None else parts
        if not parts:
            continue
        if text[:1].isspace() and present:
            found.append(("".join(current), "".join(pattern)))
            current, pattern = [], []
        for part in parts[:-1]:
            found.append(("".join([*current, part]), "".join([*pattern, escaped(part) if piece.quoted else part])))
            current, pattern = [], []
        current.append(parts[-1])
        pattern.append(escaped(parts[-1]) if piece.quoted else parts[-1])
        present = True
    return [*found, ("".join(current), "".join(pattern))] if present else found


def _number(machine: Machine, text: str) -> Generator[Effect, bytes, int]:
    """The value of an expression. An error in it ends the script, as in the shells of containers."""
    try:
        return value_of(
            _DOLLAR.sub(lambda found: value_named(machine, found[1] or found[2]), text), machine.environment
        )
    except ArithmeticFault as fault:
        yield Write(f"sh: {fault}\n".encode(), STDERR)
        raise Exit(2) from None


def _simple(machine: Machine, node: Simple) -> Run:
    from simkit.simulation.shell.commands import COMMANDS  # some of them run others

    yield from _tick(machine)
    words: list[str] = []
    try:
        size = 0
        for word in node.words:
            further = yield from expanded(machine, word)
            size += sum(map(len, further)) + len(further)
            if size > _LONGEST_COMMAND:
                raise TooLong
            words += further
    except TooLong:
        yield Write(b"sh: Argument list too long\n", STDERR)
        return 126
    try:
        assigned = []
        for name, value in node.assignments:
            assigned.append((name, (yield from joined(machine, value))))
    except TooLong:
        raise OutOfMemory from None
    if not words:
        for name, text in assigned:
            machine.assign(name, text)
    if words and words[0] in ("break", "continue"):
        raise _LoopControl(words[0])
    run = _nothing()
    if words:
        name = words[0].rpartition("/")[2]
        command = COMMANDS.get(name)
        run = command(machine, words) if command is not None else _unknown(words[0])
    targets = []
    for operator, target in node.redirections:
        targets.append((operator, (yield from joined(machine, target))))
    try:
        return (yield from _redirected(machine, run, targets))
    except FileError as error:
        shown = targets[0][1] if targets else words[0]
        yield Write(f"sh: can't open {shown}: {error}\n".encode(), STDERR)
        return 1


def _nothing() -> Run:
    yield from ()
    return 0


def _unknown(name: str) -> Run:
    yield Write(f"sh: {name}: not found\n".encode(), STDERR)
    return NOT_FOUND


def _redirected(machine: Machine, run: Run, targets: Sequence[tuple[str, str]]) -> Run:
    """Run with the outputs led to files or into each other. Raises FileError."""
    to: dict[str, str] = {STDOUT: STDOUT, STDERR: STDERR}
    given: bytes | None = None
    for operator, target in targets:
        stream = STDERR if operator.startswith("2") else STDOUT
        if operator == "<":
            given = machine.files.read(machine.path(target))
        elif operator in (">&2", "1>&2"):
            to[STDOUT] = to[STDERR]
        elif operator == "2>&1":
            to[STDERR] = to[STDOUT]
        else:
            to[stream] = machine.path(target)
            if not operator.endswith(">>") and target != "/dev/null":
                machine.files.write(to[stream], b"")
    steps, sent = _fed(run, given), b""
    try:
        effect = next(steps)
        while True:
            sent = b""
            if isinstance(effect, Write):
                where = to[effect.stream]
                if where in (STDOUT, STDERR):
                    yield Write(effect.data, where)
                elif where != "/dev/null":
                    machine.files.write(where, effect.data, append=True)
            else:
                sent = yield effect
            effect = steps.send(sent)
    except StopIteration as end:
        return int(end.value)
