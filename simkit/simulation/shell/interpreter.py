"""Runs the tree of a script.

References
----------
POSIX.1-2017, Shell Command Language, 2.7 to 2.9 and 2.14.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from simkit.simulation.shell import script as tree
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
    Task,
    TooManyTasks,
    Until,
)
from simkit.simulation.shell.machine import Exit, Failed, Fatal, LoopControl, Machine, Return
from simkit.simulation.shell.patterns import matches
from simkit.simulation.shell.redirections import NotRedirected, redirected
from simkit.simulation.shell.script import SPECIAL, ScriptError, Unsupported, plain
from simkit.simulation.shell.script_files import NOT_FOUND, interpreter_of, script_at
from simkit.simulation.shell.signals import EXIT
from simkit.simulation.shell.syntax import parse

_DEEPEST: Final = 200
"""Commands in each other."""
_MOST_OUTPUT: Final = 4 << 20


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
        yield from _run_trap(machine, last)
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
        yield from _run_trap(machine, machine.signals.traps.get(machine.signals.pending.pop(0), ""))


def _run_trap(machine: Machine, text: str) -> Steps:
    before, code = machine.trapped, machine.code
    machine.trapped = code
    yield from run_node(machine, parse(text))
    machine.code, machine.trapped = code, before


# Commands


def run_node(machine: Machine, node: tree.Node) -> Run:
    """Run one part of a script. Raises Exit, Return, LoopControl, Fatal, or RecursionError for too deep a nesting."""
    if machine.depth >= _DEEPEST:
        raise RecursionError
    machine.depth += 1
    try:
        match node:
            case tree.Simple() | tree.Redirected() | tree.Subshell():
                heeds = not isinstance(node, tree.Redirected)
                try:
                    machine.code = yield from _command(machine, node)
                except NotRedirected:
                    machine.code, heeds = 1, True
                if heeds:
                    _heed(machine)
            case tree.Commands(parts):
                for part in parts:
                    yield from run_node(machine, part)
            case tree.AndOr(joined):
                yield from _and_or(machine, joined)
            case tree.Pipeline():
                machine.code = yield from _pipeline(machine, node)
                if not node.negated:
                    _heed(machine)
            case tree.Background(body):
                machine.code = yield from _background(machine, body)
            case tree.If():
                yield from _if(machine, node)
            case tree.For():
                yield from _for(machine, node)
            case tree.While():
                yield from _while(machine, node)
            case tree.Case():
                yield from _case(machine, node)
            case tree.Function(name, body):
                machine.functions[name] = body
                machine.code = 0
    finally:
        machine.depth -= 1
    return machine.code


def _command(machine: Machine, node: tree.Simple | tree.Redirected | tree.Subshell) -> Run:
    if isinstance(node, tree.Simple):
        return (yield from _simple(machine, node))
    if isinstance(node, tree.Redirected):
        run = run_node(machine, node.body)
        return (yield from redirected(machine, Expander(machine, output_of), node.redirections, run))
    return (yield from _ended(_spawned(machine.child(), node.body)))


def _heed(machine: Machine) -> None:
    if machine.code and not machine.tested and "e" in machine.options:
        raise Exit(machine.code)


def _tested(machine: Machine, node: tree.Node) -> Run:
    machine.tested += 1
    try:
        return (yield from run_node(machine, node))
    finally:
        machine.tested -= 1


def _and_or(machine: Machine, parts: Sequence[tuple[str, tree.Node]]) -> Steps:
    for number, (joint, part) in enumerate(parts, 1):
        if not joint or (joint == "&&") == (machine.code == 0):
            yield from run_node(machine, part) if number == len(parts) else _tested(machine, part)


def _if(machine: Machine, node: tree.If) -> Steps:
    for condition, body in node.branches:
        if (yield from _tested(machine, condition)) == 0:
            yield from run_node(machine, body)
            return
    machine.code = 0
    if node.otherwise is not None:
        yield from run_node(machine, node.otherwise)


def _for(machine: Machine, node: tree.For) -> Steps:
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
        machine.assign(node.name, value)
        if not (yield from _turn(machine, run_node(machine, node.body))):
            return


def _while(machine: Machine, node: tree.While) -> Steps:
    last, goes_on = 0, True
    while goes_on:
        goes_on = yield from _turn(machine, _checked_body(machine, node, last))
        last = machine.code


def _checked_body(machine: Machine, node: tree.While, last: int) -> Run:
    """Run the body of a loop if its condition holds; else its exit code is that of the last turn."""
    if ((yield from _tested(machine, node.condition)) == 0) == node.until:
        machine.code = last
        raise LoopControl("end", 1)
    return (yield from run_node(machine, node.body))


def _turn(machine: Machine, run: Run) -> Generator[Effect, bytes, bool]:
    """Run a loop once; False if that ends it."""
    yield from machine.kernel.tick()
    machine.loops += 1
    try:
        yield from run
        yield from run_traps(machine)
    except LoopControl as control:
        if control.word != "end":
            machine.code = 0
        if control.loops > 1:
            raise LoopControl(control.word, control.loops - 1) from None
        return control.word == "continue"
    finally:
        machine.loops -= 1
    return True


def _case(machine: Machine, node: tree.Case) -> Steps:
    expander = Expander(machine, output_of)
    subject = yield from expander.text(node.subject)
    for patterns, body in node.branches:
        for pattern in patterns:
            if matches((yield from expander.pattern(pattern)), subject):
                if body == tree.Commands(()):
                    machine.code = 0
                yield from run_node(machine, body)
                return
    machine.code = 0


# Tasks


def _spawned(child: Machine, body: tree.Node) -> Task:
    """A subshell in the foreground."""
    return child.kernel.spawn(run_shell(child, run_node(child, body)), child.signals, child)


def _ended(*tasks: Task) -> Run:
    """Wait for the end of tasks; gives the exit code of the last. A signal that comes waits for it too."""

    def over() -> bool:
        return all(task.code is not None for task in tasks)

    while not over():
        yield Until(over)
    return tasks[-1].code or 0


def _pipeline(machine: Machine, node: tree.Pipeline) -> Run:
    if len(node.commands) == 1:
        return int((yield from _tested(machine, node.commands[0])) == 0)
    tasks, source = [], None
    for number, command in enumerate(node.commands, 1):
        child = machine.child()
        if source is not None:
            child.lead(0, source)
        if number < len(node.commands):
            pipe = Pipe()
            child.lead(1, PipeWriter(pipe))
            source = PipeReader(pipe)
        tasks.append(_spawned(child, command))
    code = yield from _ended(*tasks)
    return int(code == 0) if node.negated else code


def _background(machine: Machine, body: tree.Node) -> Run:
    """Start a command in the background. It reads nothing."""
    yield from machine.kernel.tick()
    child = machine.child()
    child.tested = 0
    child.lead(0, BytesStream())
    pid = machine.last_job = machine.kernel.new_pid()
    run = run_shell(child, run_node(child, body))
    machine.jobs[pid] = machine.kernel.spawn(run, child.signals, child, pid=pid, foreground=False)
    return 0


def output_of(machine: Machine, node: tree.Node) -> Generator[Effect, bytes, str]:
    """The output of commands in a subshell, without the ends of lines behind it. Raises Fatal for too much."""
    match node:
        case tree.Commands((tree.Simple((), (), (_, *_)),)):
            raise Unsupported("$(< FILE)")
    child, pipe, found = machine.child(), Pipe(), bytearray()
    child.tested = 0
    reader = PipeReader(pipe)
    child.lead(1, PipeWriter(pipe))
    task = _spawned(child, node)
    try:
        while part := (yield from reader.read(everything=True)):
            found += part
            if len(found) > _MOST_OUTPUT:
                raise Fatal("out of memory")
    finally:
        reader.release()
    machine.substituted = yield from _ended(task)
    if b"\0" in found:
        raise Unsupported("a zero byte in the output of a command substitution")
    return found.decode("utf-8", "surrogateescape").rstrip("\n")


# Simple commands


def _simple(machine: Machine, node: tree.Simple) -> Run:
    yield from machine.kernel.tick()
    yield from run_traps(machine)
    machine.substituted = None
    expander = Expander(machine, output_of)
    try:
        words = yield from expander.fields(node.words, declares=bool(node.words) and plain(node.words[0]) == "export")
    except Failed as problem:
        yield from machine.complain(f"{machine.name}: {problem}")
        return problem.code
    if words and node.assignments and words[0] in SPECIAL | machine.functions.keys():
        raise Unsupported(f"{node.assignments[0].name}=... {words[0]}")
    if not words and node.assignments and node.redirections:
        raise Unsupported(f"{node.assignments[0].name}=... with a redirection alone")
    run = _called(machine, words, node.assignments) if words else _assigned(machine, node.assignments)
    if not node.redirections:
        return (yield from run)
    return (yield from redirected(machine, expander, node.redirections, run, lasts=words == ["exec"]))


def _assigned(machine: Machine, assignments: Sequence[tree.Assignment]) -> Run:
    """Set variables; the exit code is that of the last command substitution in their values."""
    expander = Expander(machine, output_of)
    for name, word in assignments:
        value = yield from expander.text(word)
        machine.assign(name, value)
    return machine.substituted or 0


def _called(machine: Machine, words: list[str], assignments: Sequence[tree.Assignment]) -> Run:
    """Run a command with the assignments in front of it, which hold for it alone."""
    before = [(name, machine.state(name)) for name, _ in assignments]
    yield from _assigned(machine, assignments)
    machine.exported |= {name for name, _ in assignments}
    try:
        return (yield from run_command(machine, words))
    finally:
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


def _function(machine: Machine, body: tree.Node, words: Sequence[str]) -> Run:
    """Run a function with its arguments."""
    before, loops = machine.arguments, machine.loops
    machine.arguments, machine.loops = tuple(words[1:]), 0
    machine.calls += 1
    try:
        return (yield from run_node(machine, body))
    except Return as end:
        return end.code
    finally:
        machine.arguments, machine.loops, machine.calls = before, loops, machine.calls - 1


def run_words(machine: Machine, words: list[str], *, functions: bool = True) -> Run:
    """Run a function, a program of the machine, a command, or a script file. Raises Unsupported, or Failed."""
    name = words[0]
    if functions and name in machine.functions:
        return (yield from _function(machine, machine.functions[name], words))
    script = script_at(machine, name)
    if script is not None:
        words = [*interpreter_of(machine, script, name), script, *words[1:]]
        return (yield from run_words(machine, words, functions=False))
    base = name.rpartition("/")[2]
    command = machine.programs.get(base) or machine.commands.get(base)
    if command is None:
        raise Unsupported(name, NOT_FOUND)
    return (yield from command(machine, words))
