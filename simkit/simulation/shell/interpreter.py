"""Runs shell scripts step by step: it prints, lets time pass and asks for input, and its driver does the rest.

References
----------
POSIX.1-2017, Shell Command Language, 2.8 to 2.12.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

from simkit.simulation.shell.control_flow import LoopControl, Return, run_case, run_if, run_loop, run_tested
from simkit.simulation.shell.effects import LONGEST_COMMAND
from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.machine import (
    STDERR,
    Effect,
    Exit,
    Job,
    Machine,
    OutOfMemory,
    Read,
    ReadOnly,
    Run,
    Spawn,
    Write,
    tick,
)
from simkit.simulation.shell.patterns import TooLong
from simkit.simulation.shell.redirections import BadRedirection, Opened, Route, opened, redirected, with_outputs
from simkit.simulation.shell.signals import EXIT
from simkit.simulation.shell.syntax import parse
from simkit.simulation.shell.tasks import Pipe, Task, TooManyTasks, together
from simkit.simulation.shell.tree import (
    AndOr,
    Background,
    Case,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    Redirections,
    ScriptError,
    Simple,
    Subshell,
    While,
    Word,
    plain,
)
from simkit.simulation.shell.tree import Sequence as Commands

_MOST_OUTPUT: Final = 4 * 1024 * 1024
_PIPE: Final = 64 * 1024
_DEEPEST: Final = 400
"""Commands in each other, which each effect passes through; the interpreter's own limit may come first."""
NOT_FOUND: Final = 127
FATAL: Final = (OutOfMemory, TooLong, RecursionError, ReadOnly, TooManyTasks, ScriptError)
"""Faults that end a shell, or the line of an interactive one."""
_SPECIAL: Final = frozenset({":", ".", "eval", "exec", "export", "readonly", "set", "shift", "trap", "unset"})
"""Commands whose own variables stay."""
_WHOLE: Final = frozenset({"export", "readonly", "local", "declare", "typeset", "[["})
"""Commands whose further words are not split."""


# Shells


def shell(machine: Machine, node: Node) -> Run:
    """Run a shell of its own up to its end, with the command of its trap for EXIT."""
    return shell_of(machine, run_node(machine, node))


def shell_of(machine: Machine, run: Run) -> Run:
    """Run what a shell of its own does, up to its end."""
    return with_outputs(machine, _to_its_end(machine, run))


def _to_its_end(machine: Machine, run: Run) -> Run:
    code = yield from _guarded(machine, run)
    code = yield from _guarded(machine, _after(machine, code, ()))
    last = machine.signals.traps.pop(EXIT, "")
    return (yield from _guarded(machine, _after(machine, code, (last,)))) if last else code


def _after(machine: Machine, code: int, commands: Sequence[str]) -> Run:
    """Run what signals have asked for, and commands at the end of a shell, which keeps its exit code."""
    machine.code = code
    yield from run_traps(machine)
    for each in commands:
        yield from run_node(machine, parse(each))
    return code


def _guarded(machine: Machine, run: Run) -> Run:
    """Run a shell; whatever ends it becomes its exit code."""
    try:
        return (yield from run)
    except (Exit, Return) as end:
        return end.code
    except LoopControl:
        return machine.code
    except FATAL as problem:
        told = complaint(problem)
    yield told
    return 2


def complaint(problem: Exception) -> Write:
    """The words in which a shell ends: a script that runs itself is nested too deep."""
    if isinstance(problem, OutOfMemory | TooLong):
        text = "out of memory"
    elif isinstance(problem, ReadOnly):
        text = f"{problem}: is read only"
    elif isinstance(problem, ScriptError):
        text = str(problem)
    else:
        text = (
            "can't fork: Resource temporarily unavailable" if isinstance(problem, TooManyTasks) else "nested too deep"
        )
    return Write(f"sh: {text}\n".encode(), STDERR)


def run_traps(machine: Machine) -> Generator[Effect, bytes, None]:
    """Run the commands of signals that have come."""
    while machine.signals.pending:
        text, code = machine.signals.traps.get(machine.signals.pending.pop(0), ""), machine.code
        yield from run_node(machine, parse(text))
        machine.code = code


# Commands


def run_node(machine: Machine, node: Node) -> Run:
    """Run one part of a script. Raises Exit, Return, LoopControl, and RecursionError for too many in each other."""
    if machine.depth >= _DEEPEST:
        raise RecursionError
    machine.depth += 1
    try:
        match node:
            case Simple():
                machine.code = yield from _simple(machine, node)
                _heed(machine)
            case Commands(parts):
                for part in parts:
                    yield from run_node(machine, part)
            case AndOr(parts):
                yield from _and_or(machine, parts)
            case Pipeline():
                machine.code = yield from _pipeline(machine, node)
                if not node.negated:
                    _heed(machine)
            case Subshell(body):
                machine.code = yield from shell(machine.child(), body)
                _heed(machine)
            case Redirected(body, redirections):
                machine.code = yield from _redirected(machine, body, redirections)
            case Background(body):
                machine.code = yield from _background(machine, body)
            case If():
                yield from run_if(machine, node, run_node)
            case For() | While():
                yield from run_loop(machine, node, run_node, output_of)
            case Case():
                yield from run_case(machine, node, run_node, output_of)
            case Function(name, body):
                machine.functions[name] = body
                machine.code = 0
    finally:
        machine.depth -= 1
    return machine.code


def _heed(machine: Machine) -> None:
    """End a shell with ``set -e`` after a command that failed."""
    if machine.code and "e" in machine.options and not machine.tested:
        raise Exit(machine.code)


def _and_or(machine: Machine, parts: Sequence[tuple[str, Node]]) -> Run:
    for number, (joint, part) in enumerate(parts):
        if not joint or (joint == "&&") == (machine.code == 0):
            last = number == len(parts) - 1
            yield from run_node(machine, part) if last else run_tested(machine, part, run_node)
    return machine.code


def _redirected(machine: Machine, body: Node, redirections: Redirections) -> Run:
    made = yield from _targets(machine, redirections)
    try:
        return (yield from redirected(run_node(machine, body), opened(machine, made)))
    except (BadRedirection, FileError) as problem:
        told = problem
    yield Write(f"sh: {told}\n".encode(), STDERR)
    return 2


def _targets(machine: Machine, redirections: Redirections) -> Generator[Effect, bytes, list[tuple[Redirection, str]]]:
    made: list[tuple[Redirection, str]] = []
    for each in redirections:
        target = yield from Expander(machine, output_of).text(each.target)
        made.append((each, target))
    return made


def _background(machine: Machine, body: Node) -> Run:
    """Start a command in the background: it reads nothing, and does not end by an interruption."""
    yield from tick(machine)
    child, shared = machine.child(), machine.shared
    rest, made = _led_away(machine, body)
    run = run_node(child, rest) if made is None else redirected(run_node(child, rest), Opened(Route(), made.inputs))
    task = Task(shared, shell_of(child, run), child.signals, source=Pipe())
    task.routes = [] if made is None else [made.route]
    shared.last_pid += 1
    job = Job(max((each.number for each in machine.jobs), default=0) + 1, shared.last_pid, child.signals)

    def ended(code: int) -> None:
        job.code = code
        del shared.jobs[job.pid]

    task.on_end = ended
    shared.jobs[job.pid] = job
    machine.jobs.append(job)
    machine.started = job.pid
    yield Spawn(task)
    return 0


def _led_away(machine: Machine, body: Node) -> tuple[Node, Opened | None]:
    """A command without its redirections, and these, where they are written out: they tell whether it holds a pipe."""
    if not isinstance(body, Simple | Redirected) or not body.redirections:
        return body, None
    targets = [plain(each.target) for each in body.redirections]
    try:
        given = [(each, text) for each, text in zip(body.redirections, targets, strict=True) if text is not None]
        made = opened(machine, given) if len(given) == len(targets) else None
    except BadRedirection:
        made = None
    if made is None:
        return body, None
    return body.body if isinstance(body, Redirected) else replace(body, redirections=()), made


def _pipeline(machine: Machine, node: Pipeline) -> Run:
    if len(node.commands) == 1:
        return int((yield from run_tested(machine, node.commands[0], run_node)) == 0)
    tasks: list[Task] = []
    source: Pipe | None = None
    for command in node.commands:
        child = machine.child()
        sink = None if command is node.commands[-1] else Pipe(writers=1, limit=_PIPE)
        tasks.append(Task(machine.shared, shell(child, command), child.signals, source=source, sink=sink))
        source = sink
    yield from together(machine.shared, tasks)
    codes = [each.code or 0 for each in tasks]
    code = next((each for each in reversed(codes) if each), 0) if "pipefail" in machine.options else codes[-1]
    return int(code == 0) if node.negated else code


def output_of(machine: Machine, node: Node) -> Generator[Effect, bytes, bytes]:
    """The output of commands in a shell of their own."""
    child, sink = machine.child(), Pipe(writers=1, most=_MOST_OUTPUT)
    child.tested = 0
    task = Task(machine.shared, shell(child, node), child.signals, sink=sink)
    yield from together(machine.shared, [task])
    machine.substituted = task.code or 0
    return sink.take(Read(everything=True)) or b""


def run_function(machine: Machine, body: Node, words: Sequence[str]) -> Run:
    """Run a function with its arguments."""
    before, loops = machine.arguments, machine.loops
    machine.arguments, machine.loops = tuple(words[1:]), 0
    machine.frames.append({})
    try:
        return (yield from run_node(machine, body))
    except Return as end:
        return end.code
    finally:
        machine.arguments, machine.loops = before, loops
        for name, value in machine.frames.pop().items():
            _restore(machine, name, value)


def _restore(machine: Machine, name: str, value: str | None) -> None:
    if value is None:
        machine.unset(name)
    else:
        machine.assign(name, value)


def _simple(machine: Machine, node: Simple) -> Run:
    yield from tick(machine)
    if machine.signals.pending:
        yield from run_traps(machine)
    machine.substituted = None
    try:
        words = yield from _words(machine, node.words)
    except TooLong:
        yield Write(b"sh: Argument list too long\n", STDERR)
        return 126
    try:
        assigned = []
        for name, value in node.assignments:
            text = yield from Expander(machine, output_of).text(value)
            assigned.append((name, text))
            if not words:
                machine.assign(name, text)
    except TooLong:
        raise OutOfMemory from None
    if "x" in machine.options:
        shown = [*(f"{name}={text}" for name, text in assigned), *words]
        yield Write(f"+ {' '.join(shown)}\n".encode(), STDERR)
    made = yield from _targets(machine, node.redirections)
    try:
        return (yield from _executed(machine, words, assigned, made))
    except (BadRedirection, FileError) as problem:
        told = problem
    yield Write(f"sh: {told}\n".encode(), STDERR)
    return 1


def _words(machine: Machine, given: Sequence[Word]) -> Generator[Effect, bytes, list[str]]:
    """The words of a command. Raises TooLong."""
    words: list[str] = []
    size = 0
    for word in given:
        expander = Expander(machine, output_of)
        if words and words[0] in _WHOLE:
            further = [(yield from expander.text(word))]
        else:
            further = yield from expander.fields(word)
        size += sum(map(len, further)) + len(further)
        if size > LONGEST_COMMAND:
            raise TooLong
        words += further
    return words


def _executed(
    machine: Machine, words: list[str], assigned: Sequence[tuple[str, str]], made: Sequence[tuple[Redirection, str]]
) -> Run:
    """Run a command with what is known of it. Raises BadRedirection, or FileError."""
    if words == ["exec"]:
        found = opened(machine, made, machine.outputs)
        machine.outputs = found.route
        machine.inputs.update(found.inputs)
        return 0
    found = opened(machine, made)
    machine.inputs, kept = {**machine.inputs, **{n: each for n, each in found.inputs.items() if n}}, machine.inputs
    try:
        run = _with_variables(machine, words, assigned) if words else _nothing(machine)
        return (yield from redirected(run, found)) if made else (yield from run)
    finally:
        if words[:1] != ["exec"]:
            machine.inputs = kept


def _nothing(machine: Machine) -> Run:
    yield from ()
    return machine.substituted or 0


def _with_variables(machine: Machine, words: list[str], assigned: Sequence[tuple[str, str]]) -> Run:
    """Run a command that sees some variables of its own."""
    before = {name: machine.environment.get(name) for name, _ in assigned}
    hidden = {name for name, _ in assigned if name in machine.local or name not in machine.environment}
    for name, text in assigned:
        machine.assign(name, text)
        machine.local.discard(name)
    try:
        return (yield from run_words(machine, words))
    finally:
        for name, value in before.items() if words[0] not in _SPECIAL else ():
            _restore(machine, name, value)
            if value is not None and name in hidden:
                machine.local.add(name)


def run_words(machine: Machine, words: list[str], *, functions: bool = True) -> Run:
    """Run a command: a function, or one that is built in."""
    from simkit.simulation.shell.commands import COMMANDS  # some of them run others

    body = machine.functions.get(words[0]) if functions else None
    if body is not None:
        return (yield from run_function(machine, body, words))
    command = COMMANDS.get(words[0].rpartition("/")[2])
    if command is None:
        yield Write(f"sh: {words[0]}: not found\n".encode(), STDERR)
        return NOT_FOUND
    return (yield from command(machine, words))
