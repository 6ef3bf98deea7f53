"""Runs shell scripts step by step: it prints, lets time pass and asks for input, and its driver does the rest.

References
----------
POSIX.1-2017, Shell Command Language, 2.8 to 2.12.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

from simkit.simulation.shell.arithmetic import ArithmeticFault
from simkit.simulation.shell.control_flow import LoopControl, Return, run_case, run_if, run_loop, run_tested
from simkit.simulation.shell.double_brackets import holds
from simkit.simulation.shell.effects import TooMuch, error
from simkit.simulation.shell.executables import NOT_FOUND, NotRun, interpreter_of, script_at
from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.faults import FATAL, complaint, parse_for
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
from simkit.simulation.shell.process_substitution import fed_by, give_back
from simkit.simulation.shell.redirections import BadRedirection, Opened, Route, opened, redirected, with_outputs
from simkit.simulation.shell.signals import DEBUG, ERR, EXIT, RETURN
from simkit.simulation.shell.simple_commands import Runs, live_source, run_simple, targets
from simkit.simulation.shell.tasks import Pipe, Task, together
from simkit.simulation.shell.tree import (
    AndOr,
    Background,
    Case,
    Computed,
    Condition,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    Redirections,
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
ONLY_OF_BASH: Final = frozenset(
    {"declare", "typeset", "mapfile", "readarray", "shopt", "pushd", "popd", "dirs", "caller", "enable", "builtin"}
)
"""Commands that other shells do not have."""

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
    code = (yield from _guarded(machine, _after(machine, code, (last,)))) if last else code
    if machine.borrowed:
        yield from give_back(machine, 0, shell)
    return code


def _after(machine: Machine, code: int, commands: Sequence[str]) -> Run:
    """Run what signals have asked for, and commands at the end of a shell, which keeps its exit code."""
    machine.code = code
    yield from run_traps(machine)
    for each in commands:
        yield from run_node(machine, parse_for(machine, each))
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
        told, code = complaint(machine, problem), 1 if machine.bash and isinstance(problem, ReadOnly) else 2
    yield told
    return code


def run_traps(machine: Machine) -> Generator[Effect, bytes, None]:
    """Run the commands of signals that have come."""
    while machine.signals.pending:
        text, code = machine.signals.traps.get(machine.signals.pending.pop(0), ""), machine.code
        yield from run_node(machine, parse_for(machine, text))
        machine.code = code


def _run_trap(machine: Machine, name: str) -> Generator[Effect, bytes, None]:
    """Run the command for an event of the script, in which the event does not count."""
    text, code = machine.signals.traps.pop(name), machine.code
    try:
        yield from run_node(machine, parse_for(machine, text))
    finally:
        machine.signals.traps.setdefault(name, text)
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
                if DEBUG in machine.signals.traps and _heeds_events(machine, "T"):
                    yield from _run_trap(machine, DEBUG)
                machine.code = yield from run_simple(machine, node, _RUNS)
                machine.statuses = (machine.code,)
                if machine.code:
                    yield from _heed(machine)
            case Computed():
                machine.code = yield from _computed(machine, node)
                machine.statuses = (machine.code,)
                yield from _heed(machine)
            case Condition(condition):
                machine.code = yield from holds(machine, condition, output_of)
                machine.statuses = (machine.code,)
                yield from _heed(machine)
            case Commands(parts):
                for part in parts:
                    yield from run_node(machine, part)
            case AndOr(parts):
                yield from _and_or(machine, parts)
            case Pipeline():
                machine.code = yield from _pipeline(machine, node)
                if not node.negated:
                    yield from _heed(machine)
            case Subshell(body):
                machine.code = yield from shell(machine.child(), body)
                machine.statuses = (machine.code,)
                yield from _heed(machine)
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


def _heed(machine: Machine) -> Generator[Effect, bytes, None]:
    """Run the trap for errors after a command that failed, and end a shell with ``set -e``."""
    if not machine.code or machine.tested:
        return
    if ERR in machine.signals.traps and _heeds_events(machine, "E"):
        yield from _run_trap(machine, ERR)
    if "e" in machine.options:
        raise Exit(machine.code)


def _heeds_events(machine: Machine, option: str) -> bool:
    """True outside of functions, and in them with an option of ``set``."""
    return not machine.calls or option in machine.options


def _computed(machine: Machine, node: Computed) -> Run:
    yield from tick(machine)
    try:
        return int((yield from Expander(machine, output_of).number(node.expression)) == 0) if node.expression else 0
    except ArithmeticFault as fault:
        told = fault
    yield error(machine.shell, f"((: {told}")
    return 1


def _and_or(machine: Machine, parts: Sequence[tuple[str, Node]]) -> Run:
    for number, (joint, part) in enumerate(parts):
        if not joint or (joint == "&&") == (machine.code == 0):
            last = number == len(parts) - 1
            yield from run_node(machine, part) if last else run_tested(machine, part, run_node)
    return machine.code


def _redirected(machine: Machine, body: Node, redirections: Redirections) -> Run:
    since = len(machine.borrowed)
    source, left = live_source(redirections)
    made = yield from targets(machine, left, _RUNS)
    kept, machine.unread = machine.unread, ""
    try:
        run = redirected(run_node(machine, body), opened(machine, made)) if made else run_node(machine, body)
        code = yield from run if source is None else fed_by(machine, source, run, shell)
    except (BadRedirection, FileError) as problem:
        yield error(machine.shell, str(problem))
        return 1 if machine.bash else 2
    finally:
        machine.unread = kept
    yield from give_back(machine, since, shell)
    return code


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
    if node.timed:
        return (yield from _timed(machine, replace(node, timed=False)))
    if len(node.commands) == 1 and not node.negated:
        return (yield from run_node(machine, node.commands[0]))
    if len(node.commands) == 1:
        return int((yield from run_tested(machine, node.commands[0], run_node)) == 0)
    tasks: list[Task] = []
    source: Pipe | None = None
    for number, command in enumerate(node.commands, 1):
        last = number == len(node.commands)
        child = machine if last and "lastpipe" in machine.options else machine.child()
        sink = None if last else Pipe(writers=1, limit=_PIPE)
        run = run_node(machine, command) if child is machine else shell(child, command)
        tasks.append(Task(machine.shared, run, child.signals, source=source, sink=sink))
        source = sink
    yield from together(machine.shared, tasks)
    codes = [each.code or 0 for each in tasks]
    machine.statuses = codes
    code = next((each for each in reversed(codes) if each), 0) if "pipefail" in machine.options else codes[-1]
    return int(code == 0) if node.negated else code


def _timed(machine: Machine, node: Pipeline) -> Run:
    before = machine.now
    code = yield from _pipeline(machine, node)
    minutes, seconds = divmod(machine.now - before, 60)
    rows = [f"{name}\t{each:.0f}m{rest:.3f}s" for name, each, rest in (("real", minutes, seconds), ("user", 0, 0.0))]
    yield Write("\n".join(["", *rows, "sys\t0m0.000s", ""]).encode(), STDERR)
    return code


def output_of(machine: Machine, node: Node, *, cuts: bool = False) -> Generator[Effect, bytes, bytes]:
    """The output of commands in a shell of their own; of ``< FILE`` alone in bash the content of the file.

    Commands that write more than some megabytes end, as for a closed pipe. Raises OutOfMemory then, unless it ``cuts``.
    """
    if machine.bash and (only := _only_input(node)) is not None:
        path = yield from Expander(machine, output_of).text(only)
        try:
            machine.substituted = 0
            return machine.files.read(machine.path(path))
        except FileError as problem:
            yield error(machine.shell, f"{path}: {problem}")
            machine.substituted = 1
            return b""
    child, sink = machine.child(), Pipe(writers=1, most=_MOST_OUTPUT, ends=True)
    child.tested = 0
    task = Task(machine.shared, shell(child, node), child.signals, sink=sink)
    yield from together(machine.shared, [task])
    machine.substituted = task.code or 0
    if sink.overflowed and not cuts:
        raise OutOfMemory
    return sink.take(Read(everything=True)) or b""


def _only_input(node: Node) -> Word | None:
    """The file of commands that are ``< FILE`` alone."""
    match node:
        case Commands((Simple((), (), (Redirection(0, "<", target),)),)):
            return target
    return None


def run_function(machine: Machine, body: Node, words: Sequence[str]) -> Run:
    """Run a function with its arguments."""
    before, loops = machine.arguments, machine.loops
    machine.arguments, machine.loops = tuple(words[1:]), 0
    machine.frames.append({})
    machine.calls.append(words[0])
    try:
        try:
            code = yield from run_node(machine, body)
        except Return as end:
            code = end.code
        if RETURN in machine.signals.traps and "T" in machine.options:
            machine.code = code
            yield from _run_trap(machine, RETURN)
        return code
    finally:
        machine.calls.pop()
        machine.arguments, machine.loops = before, loops
        for name, saved in machine.frames.pop().items():
            machine.restore(name, saved)


def run_words(machine: Machine, words: list[str], *, functions: bool = True) -> Run:
    """Run a command: a function, a script that is a file, or one that is built in."""
    from simkit.simulation.shell.commands import COMMANDS  # some of them run others

    body = machine.functions.get(words[0]) if functions else None
    if body is not None:
        return (yield from run_function(machine, body, words))
    name = words[0].rpartition("/")[2]
    command = COMMANDS.get(name) or machine.shared.programs.get(name)
    unknown = command is None or (not machine.bash and name in ONLY_OF_BASH)
    script = script_at(machine, words[0]) if unknown or "/" in words[0] else None
    if script is not None:
        try:
            run_by = interpreter_of(machine, script)
        except NotRun as problem:
            yield error(machine.shell, f"{words[0]}: {problem}")
            return problem.code
        return (yield from run_words(machine, [*run_by, script, *words[1:]], functions=False))
    if command is None or unknown:
        yield error(machine.shell, f"{words[0]}: {'command ' if machine.bash else ''}not found")
        return NOT_FOUND
    try:
        return (yield from command(machine, words))
    except TooMuch:
        yield error(words[0], "out of memory")
        return 1


_RUNS: Final = Runs(run_node, output_of, shell, run_words, run_traps)
