"""Shells as programs: of a script, and of lines that come in.

References
----------
POSIX.1-2017, Shell Command Language, 2.11.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Final

from simkit.simulation.shell.interpreter import run_node, run_shell, worded
from simkit.simulation.shell.kernel import Effect, Run, TooManyTasks
from simkit.simulation.shell.machine import Exit, Failed, Fatal, LoopControl, Machine, Return
from simkit.simulation.shell.options import content
from simkit.simulation.shell.script import ScriptError, Unsupported
from simkit.simulation.shell.script_files import NOT_FOUND
from simkit.simulation.shell.signals import CODE, Interrupted
from simkit.simulation.shell.syntax import parse

_OPTIONS: Final = {"errexit": "e", "nounset": "u"}


def take_options(machine: Machine, words: deque[str], others: str = "") -> set[str]:
    """Take the options of ``set`` from the front of words; gives those of ``others``. Raises Unsupported for more."""
    found = set[str]()
    while words and words[0][:1] in ("-", "+") and words[0] not in ("-", "+", "--"):
        word = words.popleft()
        letters = set(word[1:])
        if "o" in letters:
            letters = letters - {"o"} | {_OPTIONS.get(words.popleft(), "?") if words else "?"}
        found |= letters & set(others)
        letters -= set(others)
        if not letters <= set(_OPTIONS.values()):
            raise Unsupported(f"set {word}")
        machine.options = machine.options | letters if word[0] == "-" else machine.options - letters
    return found


def run_script(machine: Machine, text: str) -> Run:
    """Run a script in a shell of its own, with the command of its trap for EXIT; gives its exit code."""
    try:
        node = parse(text)
    except ScriptError as error:
        yield from machine.complain(f"{machine.name}: {error}")
        machine.release()
        return 2
    return (yield from run_shell(machine, run_node(machine, node)))


def run_sh(machine: Machine, words: list[str]) -> Run:
    """``sh -c SCRIPT [NAME [ARGUMENT...]]``, ``sh FILE [ARGUMENT...]``, and ``sh`` for commands of the input."""
    made, given = machine.program(words[0], ()), deque(words[1:])
    letters = take_options(made, given, "cils")
    if (given and given[0] in ("-", "+", "--")) or ("c" in letters and not given):
        raise Unsupported(" ".join(words))
    if not given or "s" in letters:
        made.arguments = tuple(given)
        return (yield from _run_lines(made, prompt="TERM" in made.variables))
    text = given.popleft()
    if "c" in letters:
        made.name = given.popleft() if given else words[0]
    else:
        made.name = text
        try:
            text = (yield from content(machine, text)).decode("utf-8", "surrogateescape")
        except Failed as problem:
            made.release()
            code = NOT_FOUND if words[0].endswith("bash") else 2
            raise Failed(f"can't open '{text}': {str(problem).partition(': ')[2]}", code) from problem
    made.arguments = tuple(given)
    return (yield from run_script(made, text))


def _run_lines(machine: Machine, *, prompt: bool) -> Run:
    """Run the commands that come in, each as soon as its last line is there. With a prompt, a fault ends no shell."""
    while True:
        try:
            script = yield from _command(machine, prompt=prompt)
            if not script:
                break
            yield from run_node(machine, parse(script))
        except Interrupted:
            machine.code = CODE
        except (LoopControl, Return):
            machine.code = 0
        except (Fatal, ScriptError, TooManyTasks, RecursionError) as problem:
            yield from machine.complain(f"{machine.name}: {worded(problem)}")
            machine.code = 2
            if not prompt:
                break
        except Unsupported as problem:
            if not prompt:
                raise
            yield from machine.complain(f"{machine.name}: {problem}")
            machine.code = problem.code
        except Exit as end:
            machine.code = end.code
            break
    return (yield from run_shell(machine, _nothing(machine.code)))


def _nothing(code: int) -> Run:
    """A run that does nothing, with an exit code."""
    yield from ()
    return code


def _command(machine: Machine, *, prompt: bool) -> Generator[Effect, bytes, str]:
    """The lines of the next command; none at the end of the input."""
    given = ""
    while True:
        if prompt:
            yield from machine.write(f"{machine.folder} # " if not given else "> ")
        line = yield from machine.read()
        if not line:
            return given
        given += line.decode("utf-8", "surrogateescape")
        while given.count("\n") > 64 and (line := (yield from machine.read(within=0.05))):
            given += line.decode("utf-8", "surrogateescape")
        try:
            parse(given)
        except ScriptError as error:
            if error.unfinished:
                continue
        except Unsupported:
            pass
        return given
