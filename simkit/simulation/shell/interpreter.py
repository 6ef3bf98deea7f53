"""Runs the tree of a script.

References
----------
POSIX.1-2017, Shell Command Language, 2.7 to 2.9 and 2.14.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from simkit.simulation.shell.expansion import Expander
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import (
    BytesStream,
    Effect,
    Pipe,
    PipeReader,
    PipeWriter,
    Run,
    Steps,
    Stream,
    TooManyTasks,
    Until,
)
from simkit.simulation.shell.machine import Exit, Failed, Fatal, Machine
from simkit.simulation.shell.patterns import matches
from simkit.simulation.shell.redirections import NotRedirected, redirected
from simkit.simulation.shell.script import (
    AndOr,
    Background,
    Case,
    Commands,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    ScriptError,
    Simple,
    Subshell,
    Unsupported,
    While,
    plain,
)
from simkit.simulation.shell.signals import EXIT
from simkit.simulation.shell.syntax import parse

_DEEPEST: Final = 200
"""Commands in each other."""
_MOST_OUTPUT: Final = 4 << 20
SPECIAL: Final = frozenset(
    {
        ":",
        ".",
        "break",
        "continue",
        "eval",
        "exec",
        "exit",
        "export",
        "readonly",
        "return",
        "set",
        "shift",
        "trap",
        "unset",
    }
)
"""Built-in commands in front of which an assignment lasts in some shells, and not in others."""
_DECLARE: Final = ("export", "local", "readonly")
NOT_FOUND: Final = 127


class Return(Exception):
    """``return`` ends a function, or a file that ``.`` runs."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LoopControl(Exception):
    """``break`` or ``continue``, and the loops that are left to leave."""

    def __init__(self, word: str, loops: int) -> None:
        super().__init__(word)
        self.word, self.loops = word, loops


# Shells


def run_shell(machine: Machine, run: Run) -> Run:
    """Run what a shell does up to its end. Whatever ends it becomes its exit code."""
    code = yield from _guarded(machine, run)
    code = yield from _guarded(machine, _finished(machine, code))
    machine.release()
    return code


def _finished(machine: Machine, code: int) -> Run:
    machine.code = code
    yield from run_traps(machine)
    last = machine.signals.traps.pop(EXIT, "")
    if last:
        yield from run_node(machine, parse(last))
    return code


def _guarded(machine: Machine, run: Run) -> Run:
    try:
        return (yield from run)
    except (Exit, Return) as end:
        return end.code
    except LoopControl:
        return machine.code
    except (Fatal, ScriptError, TooManyTasks, RecursionError) as problem:
        told = problem
    yield from machine.complain(f"{machine.name}: {worded(told)}")
    return told.code if isinstance(told, Fatal) else 2


def worded(problem: Exception) -> str:
    """The message for what ends a shell."""
    if isinstance(problem, RecursionError):
        return "nested too deep"
    return "Resource temporarily unavailable" if isinstance(problem, TooManyTasks) else str(problem)


def run_traps(machine: Machine) -> Steps:
    """Run the commands of signals that have come."""
    while machine.signals.pending:
        text, code = machine.signals.traps.get(machine.signals.pending.pop(0), ""), machine.code
        yield from run_node(machine, parse(text))
        machine.code = code


def nothing(code: int) -> Run:
    """A run that does nothing, with an exit code."""
    yield from ()
    return code


# Commands


def run_node(machine: Machine, node: Node) -> Run:
    """Run one part of a script. Raises Exit, Return, LoopControl, Fatal, or RecursionError for too deep a nesting."""
    if machine.depth >= _DEEPEST:
        raise RecursionError
    machine.depth += 1
    try:
        match node:
            case Simple():
                try:
                    machine.code = yield from _simple(machine, node)
                except NotRedirected:
                    machine.code = 1
                _heed(machine)
            case Commands(parts):
                for part in parts:
                    yield from run_node(machine, part)
            case AndOr(joined):
                yield from _and_or(machine, joined)
            case Pipeline():
                machine.code = yield from _pipeline(machine, node)
                if not node.negated:
                    _heed(machine)
            case Subshell(body):
                child = machine.child()
                machine.code = yield from _child(machine, child, run_shell(child, run_node(child, body)))
                _heed(machine)
            case Redirected(body, redirections):
                try:
                    machine.code = yield from _led(machine, redirections, run_node(machine, body))
                except NotRedirected:
                    machine.code = 1
                    _heed(machine)
            case Background(body):
                machine.code = yield from _background(machine, body)
            case If():
                yield from _if(machine, node)
            case For():
                yield from _for(machine, node)
            case While():
                yield from _while(machine, node)
            case Case():
                yield from _case(machine, node)
            case Function(name, body):
                machine.functions[name] = body
                machine.code = 0
    finally:
        machine.depth -= 1
    return machine.code


def _heed(machine: Machine) -> None:
    if machine.code and not machine.tested and "e" in machine.options:
        raise Exit(machine.code)


def _tested(machine: Machine, node: Node) -> Run:
    machine.tested += 1
    try:
        return (yield from run_node(machine, node))
    finally:
        machine.tested -= 1


def _and_or(machine: Machine, parts: Sequence[tuple[str, Node]]) -> Steps:
    for number, (joint, part) in enumerate(parts):
        if not joint or (joint == "&&") == (machine.code == 0):
            last = number == len(parts) - 1
            yield from run_node(machine, part) if last else _tested(machine, part)


def _if(machine: Machine, node: If) -> Steps:
    for condition, body in node.branches:
        if (yield from _tested(machine, condition)) == 0:
            yield from run_node(machine, body)
            return
    machine.code = 0
    if node.otherwise is not None:
        yield from run_node(machine, node.otherwise)


def _for(machine: Machine, node: For) -> Steps:
    if node.words is None:
        values = list(machine.arguments)
    else:
        try:
            values = yield from Expander(machine, output_of).fields(node.words)
        except Failed as problem:
            raise Fatal(str(problem)) from problem
    if not values:
        machine.code = 0
    for value in values:
        yield from machine.kernel.tick()
        machine.assign(node.name, value)
        if not (yield from _turn(machine, node.body)):
            return


def _while(machine: Machine, node: While) -> Steps:
    code = 0
    while True:
        yield from machine.kernel.tick()
        machine.loops += 1
        try:
            found = yield from _tested(machine, node.condition)
        except LoopControl as control:
            if control.loops > 1:
                raise LoopControl(control.word, control.loops - 1) from None
            found = int((control.word == "break") != node.until)
        finally:
            machine.loops -= 1
        if (found == 0) == node.until:
            break
        goes_on = yield from _turn(machine, node.body)
        code = machine.code
        if not goes_on:
            break
    machine.code = code


def _turn(machine: Machine, body: Node) -> Generator[Effect, bytes, bool]:
    """Run the body of a loop once; False if it ends the loop."""
    machine.loops += 1
    try:
        yield from run_node(machine, body)
        yield from run_traps(machine)
    except LoopControl as control:
        machine.code = 0
        if control.loops > 1:
            raise LoopControl(control.word, control.loops - 1) from None
        return control.word == "continue"
    finally:
        machine.loops -= 1
    return True


def _case(machine: Machine, node: Case) -> Steps:
    expander = Expander(machine, output_of)
    subject = yield from expander.text(node.subject)
    for patterns, body in node.branches:
        for pattern in patterns:
            if matches((yield from expander.pattern(pattern)), subject):
                if body == Commands(()):
                    machine.code = 0
                yield from run_node(machine, body)
                return
    machine.code = 0


# Tasks


def _led(machine: Machine, redirections: Sequence[Redirection], run: Run, *, lasts: bool = False) -> Run:
    return (yield from redirected(machine, Expander(machine, output_of), redirections, run, lasts=lasts))


def _child(machine: Machine, child: Machine, run: Run) -> Run:
    """Run a subshell in the foreground, and wait for its end."""
    child.ends_with_program = False
    task = machine.kernel.spawn(run, child.signals, child)
    yield Until(lambda: task.code is not None)
    while task.code is None:  # a signal came: its command waits for the end of the subshell
        yield Until(lambda: task.code is not None)
    return task.code


def _pipeline(machine: Machine, node: Pipeline) -> Run:
    if len(node.commands) == 1:
        return int((yield from _tested(machine, node.commands[0])) == 0)
    tasks, source = [], None
    for number, command in enumerate(node.commands, 1):
        child = machine.child()
        child.ends_with_program = False
        if source is not None:
            _replace(child, 0, source)
        if number < len(node.commands):
            pipe = Pipe()
            _replace(child, 1, PipeWriter(pipe))
            source = PipeReader(pipe)
        tasks.append(machine.kernel.spawn(run_shell(child, run_node(child, command)), child.signals, child))
    while not all(each.code is not None for each in tasks):
        yield Until(lambda: all(each.code is not None for each in tasks))
    codes = [each.code or 0 for each in tasks]
    code = next((each for each in reversed(codes) if each), 0) if "pipefail" in machine.options else codes[-1]
    return int(code == 0) if node.negated else code


def _replace(machine: Machine, number: int, stream: Stream) -> None:
    before = machine.streams.get(number)
    if before is not None:
        before.release()
    machine.streams[number] = stream


def _background(machine: Machine, body: Node) -> Run:
    """Start a command in the background. It reads nothing."""
    yield from machine.kernel.tick()
    child = machine.child()
    child.ends_with_program, child.tested = False, 0
    _replace(child, 0, BytesStream())
    pid = machine.kernel.new_pid()
    run = run_shell(child, run_node(child, body))
    machine.jobs[pid] = machine.kernel.spawn(run, child.signals, child, pid=pid, foreground=False)
    machine.last_job = pid
    return 0


def output_of(machine: Machine, node: Node) -> Generator[Effect, bytes, str]:
    """The output of commands in a subshell, without the ends of lines behind it. Raises Fatal for too much."""
    child, pipe = machine.child(), Pipe(_MOST_OUTPUT)
    child.tested = 0
    reader = PipeReader(pipe)
    _replace(child, 1, PipeWriter(pipe))
    machine.substituted = yield from _collected(machine, child, node, pipe)
    reader.release()
    if b"\0" in pipe.data:
        raise Unsupported("a zero byte in the output of a command substitution")
    return pipe.data.decode("utf-8", "surrogateescape").rstrip("\n")


def _collected(machine: Machine, child: Machine, node: Node, pipe: Pipe) -> Run:
    task = machine.kernel.spawn(run_shell(child, run_node(child, node)), child.signals, child)
    while not (task.code is not None and not pipe.writers) and not pipe.full:
        yield Until(lambda: pipe.full or (task.code is not None and not pipe.writers))
    if pipe.full:
        raise Fatal("out of memory")
    return task.code or 0


# Simple commands


def _simple(machine: Machine, node: Simple) -> Run:
    yield from machine.kernel.tick()
    if machine.signals.pending:
        yield from run_traps(machine)
    machine.substituted = None
    expander = Expander(machine, output_of)
    try:
        words = yield from expander.fields(node.words, declares=bool(node.words) and plain(node.words[0]) in _DECLARE)
        values = []
        for assignment in node.assignments:
            values.append((assignment.name, (yield from expander.text(assignment.value))))
            if not words:
                machine.assign(*values[-1])
    except Failed as problem:
        yield from machine.complain(f"{machine.name}: {problem}")
        return problem.code
    if "x" in machine.options:
        yield from machine.complain("+ " + " ".join([*(f"{name}={value}" for name, value in values), *words]))
    if not words:
        if node.redirections and machine.substituted is not None:
            raise Unsupported("redirections of a command substitution alone")
        code = machine.substituted or 0
        return (yield from _led(machine, node.redirections, nothing(code))) if node.redirections else code
    run = _called(machine, words, values)
    if words[0] == "exec" and len(words) == 1:
        return (yield from _led(machine, node.redirections, run, lasts=True))
    return (yield from _led(machine, node.redirections, run)) if node.redirections else (yield from run)


def _called(machine: Machine, words: list[str], values: Sequence[tuple[str, str]]) -> Run:
    """Run a command with the assignments in front of it, which hold for it alone."""
    if values and words[0] in SPECIAL and words[0] != "exec" and words[0] not in machine.functions:
        raise Unsupported(f"{values[0][0]}=... {words[0]}")
    before = [(name, machine.state(name)) for name, _ in values]
    for name, value in values:
        machine.assign(name, value)
        machine.exported.add(name)
    machine.temporary += [name for name, _ in values]
    try:
        return (yield from run_command(machine, words))
    finally:
        del machine.temporary[len(machine.temporary) - len(values) :]
        for name, state in reversed(before):
            machine.restore(name, state)


def run_command(machine: Machine, words: list[str], *, functions: bool = True) -> Run:
    """Run a command; an error of it is written, and becomes its exit code."""
    try:
        return (yield from run_words(machine, words, functions=functions))
    except Failed as problem:
        told = problem
    except FileError as problem:
        told = Failed(str(problem))
    yield from machine.complain(f"{words[0]}: {told}")
    return told.code


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
        for name, state in machine.frames.pop().items():
            machine.restore(name, state)


# Programs


def run_words(machine: Machine, words: list[str], *, functions: bool = True) -> Run:
    """Run a function, a program of the machine, a command, or a script file. Raises Unsupported, or Failed."""
    name = words[0]
    body = machine.functions.get(name) if functions else None
    if body is not None:
        return (yield from run_function(machine, body, words))
    base = name.rpartition("/")[2]
    script = _script_at(machine, name)
    if script is not None:
        return (
            yield from run_words(
                machine, [*_interpreter_of(machine, script, name), script, *words[1:]], functions=False
            )
        )
    command = machine.programs.get(base) or machine.commands.get(base)
    if command is None:
        raise Unsupported(name, NOT_FOUND)
    return (yield from command(machine, words))


def _script_at(machine: Machine, name: str) -> str | None:
    """The file that a command names, by a path or in the folders of ``PATH``; None for a program of the image."""
    files = machine.files
    if "/" in name:
        path = machine.path(name)
        if files.is_program(path) and files.may(path, "x"):
            return None
        if files.exists(path):
            return path
        if not files.base.complete:
            raise Unsupported(name, NOT_FOUND)
        raise Failed("not found", NOT_FOUND)
    if name in machine.commands or name in machine.programs:
        return None
    places = [machine.path(f"{place or '.'}/{name}") for place in machine.variables.get("PATH", "").split(":")]
    found = [each for each in places if files.is_file(each) and not files.is_program(each)]
    script = next((each for each in found if files.may(each, "x")), found[0] if found else None)
    if script != machine.found.get(name, script):
        raise Unsupported(f"{name}, which is another file now", NOT_FOUND)
    if script is not None:
        machine.found[name] = script
    return script


def _interpreter_of(machine: Machine, path: str, name: str) -> list[str]:
    """The command that runs a script: the one of its first line, else the shell. Raises Failed, or Unsupported."""
    if machine.files.is_folder(path) or not machine.files.may(path, "x"):
        raise Failed("Permission denied", 126)
    first = machine.files.read(path)[:256].split(b"\n", 1)[0]
    if not first.startswith(b"#!"):
        if b"\0" in first:
            raise Failed("Exec format error", 126)
        return ["sh"]
    words = first[2:].decode("utf-8", "replace").split(None, 1)
    if not words:
        return ["sh"]
    base = words[0].rpartition("/")[2]
    if base not in machine.programs and base not in machine.commands and not machine.files.is_file(words[0]):
        raise Unsupported(f"{name} ({words[0]})", NOT_FOUND)
    return words
