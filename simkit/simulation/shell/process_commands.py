"""Commands that look for the processes of a container: its first one, and the shell that asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.accounts import user_name
from simkit.simulation.shell.effects import error, line, options
from simkit.simulation.shell.job_commands import send_signal
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.signals import EXIT, signal_named

_USERS: Final = ("", "0", "root")
_USAGE: Final = 2


class _Running(NamedTuple):
    """A process: its number, and its words as they were given."""

    pid: int
    words: Sequence[str]

    @property
    def name(self) -> str:
        return self.words[0].rpartition("/")[2]


def _processes(machine: Machine) -> Iterator[_Running]:
    """The first process of the container while it runs, and the shell that asks if it is another one."""
    first = machine.shared.signal_first
    if machine.pid == 1 or (first is not None and first(EXIT)):
        yield _Running(1, machine.shared.first_words)
    if machine.pid != 1:
        yield _Running(machine.pid, machine.shared.own_words)


def _found(machine: Machine, given: Mapping[str, str], text: str) -> list[_Running]:
    """The processes that a pattern matches, in their names or (``-f``) in all their words. Raises PatternError."""
    if given.get("u", "") not in _USERS or given.get("U", "") not in _USERS:
        return []
    search = pattern(f"^(?:{text})$" if "x" in given else text).search
    found = [each for each in _processes(machine) if search(" ".join(each.words) if "f" in given else each.name)]
    return found[-1:] if "n" in given else found[:1] if "o" in given else found


def _pgrep(machine: Machine, words: list[str]) -> Run:
    """``pgrep [-flxno] [-u USER] PATTERN``."""
    given, rest = options(words[1:], valued="uU")
    try:
        found = _found(machine, given, rest[0] if rest else "")
    except PatternError as problem:
        yield error("pgrep", str(problem))
        return _USAGE
    for each in found:
        shown = " ".join(each.words) if "a" in given or ("f" in given and "l" in given) else each.name
        yield line(f"{each.pid} {shown}" if "l" in given or "a" in given else str(each.pid))
    return int(not found)


def _pkill(machine: Machine, words: list[str]) -> Run:
    """``pkill [-SIGNAL] [-fxno] [-u USER] PATTERN``."""
    name, rest = _signal_of(words[1:])
    given, others = options(rest, valued="uU")
    try:
        found = _found(machine, given, others[0] if others else "")
    except PatternError as problem:
        yield error("pkill", str(problem))
        return _USAGE
    return int(not [each for each in found if send_signal(machine, str(each.pid), name)])


def _killall(machine: Machine, words: list[str]) -> Run:
    """``killall [-SIGNAL] NAME...``."""
    name, rest = _signal_of(words[1:])
    code = 0
    for wanted in options(rest)[1]:
        named = [each for each in _processes(machine) if each.name == wanted]
        if not [each for each in named if send_signal(machine, str(each.pid), name)]:
            yield error("killall", f"{wanted}: no process killed")
            code = 1
    return code


def _signal_of(words: list[str]) -> tuple[str, list[str]]:
    """The signal that the first word names, else TERM, and the words after it."""
    named = signal_named(words[0][1:]) if words and words[0][:1] == "-" else None
    return (named, words[1:]) if named is not None else ("TERM", words)


def _pidof(machine: Machine, words: list[str]) -> Run:
    """``pidof NAME...``, the latest first."""
    wanted = [word.rpartition("/")[2] for word in words[1:] if not word.startswith("-")]
    found = [str(each.pid) for each in _processes(machine) if each.name in wanted][::-1]
    if found:
        yield line(" ".join(found))
    return int(not found)


def _ps(machine: Machine, words: list[str]) -> Run:
    yield line("PID   USER     TIME  COMMAND")
    shown = list(_processes(machine))
    for each in [*shown, _Running(machine.shared.last_pid + 1, words)]:
        yield line(f"{each.pid:5} {user_name(machine, machine.files.user.uid):8}  0:00 {' '.join(each.words)}")
    return 0


PROCESS_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "pgrep": _pgrep,
    "pkill": _pkill,
    "killall": _killall,
    "pidof": _pidof,
    "ps": _ps,
}
"""The commands of this module, by name."""
