"""Commands that look for the processes of a container: its first one, and the shell that asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from simkit.language.cel.lib_regex import PatternError, pattern
from simkit.simulation.shell.accounts import user_name
from simkit.simulation.shell.effects import error, line, options
from simkit.simulation.shell.job_commands import send_signal
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.signals import EXIT, signal_named

_USERS: Final = ("", "0", "root")
_USAGE: Final = 2


class Running(NamedTuple):
    """A process: its number, and its words as they were given."""

    pid: int
    words: Sequence[str]

    @property
    def name(self) -> str:
        return self.words[0].rpartition("/")[2]


def running(machine: Machine) -> Iterator[Running]:
    """The first process of the container while it runs, and the shell that asks if it is another one."""
    first = machine.shared.signal_first
    if machine.pid == 1 or (first is not None and first(EXIT)):
        yield Running(1, machine.shared.first_words)
    if machine.pid != 1:
        yield Running(machine.pid, machine.shared.own_words)


def _found(machine: Machine, given: Mapping[str, str], text: str) -> list[Running]:
    """The processes that a pattern matches, in their names or (``-f``) in all their words. Raises PatternError."""
    if given.get("u", "") not in _USERS or given.get("U", "") not in _USERS:
        return []
    search = pattern(f"^(?:{text})$" if "x" in given else text).search
    found = [each for each in running(machine) if search(" ".join(each.words) if "f" in given else each.name)]
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
        named = [each for each in running(machine) if each.name == wanted]
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
    found = [str(each.pid) for each in running(machine) if each.name in wanted][::-1]
    if found:
        yield line(" ".join(found))
    return int(not found)


_COLUMNS: Final = ("pid", "user", "time", "args")
_SHAPES: Final[Mapping[str, tuple[str, int, bool]]] = {
    "pid": ("PID", 7, True), "ppid": ("PPID", 7, True), "user": ("USER", 8, False), "uid": ("UID", 5, True),
    "time": ("TIME", 8, True), "args": ("COMMAND", 0, False), "cmd": ("CMD", 0, False),
    "command": ("COMMAND", 0, False),
    "comm": ("COMMAND", 15, False), "stat": ("STAT", 4, False), "state": ("S", 1, False), "tty": ("TT", 8, False),
    "etime": ("ELAPSED", 11, True), "vsz": ("VSZ", 6, True), "rss": ("RSS", 5, True), "pcpu": ("%CPU", 4, True),
    "%cpu": ("%CPU", 4, True), "pmem": ("%MEM", 4, True), "%mem": ("%MEM", 4, True), "pgid": ("PGID", 7, True),
    "ruser": ("RUSER", 8, False), "group": ("GROUP", 8, False), "nice": ("NI", 3, True), "sid": ("SID", 7, True),
}  # fmt: skip
"""Columns of ``ps -o``: their titles, widths, and whether they stand at the right."""


def _ps(machine: Machine, words: list[str]) -> Run:
    """``ps``, ``ps aux``, ``ps -ef``, ``ps [-p PID] -o COLUMNS``: the processes that the container shows."""
    every = [*running(machine), Running(machine.shared.last_pid + 1, words)]
    given, rest = options(words[1:], valued="opCuUgG")
    user = user_name(machine, machine.files.user.uid)
    if "p" in given:
        every = [each for each in every if str(each.pid) in given["p"].split(",")]
    if "C" in given:
        every = [each for each in every if each.name == given["C"]]
    if "o" in given:
        return (yield from _columns(machine, every, re.split("[, ]", given["o"]), words, user))
    start = datetime.fromtimestamp(machine.begun, UTC).strftime("%H:%M")
    if rest[:1] and set(rest[0]) <= set("auxwfe") and "u" in rest[0]:
        yield line("USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND")
        for each in every:
            yield line(
                f"{user:8} {each.pid:7}  0.0  0.0   1600   800 ?        S    {start}   0:00 {' '.join(each.words)}"
            )
    elif "f" in given:
        yield line("UID          PID    PPID  C STIME TTY          TIME CMD")
        for each in every:
            yield line(f"{user:8} {each.pid:7}       0  0 {start} ?        00:00:00 {' '.join(each.words)}")
    else:
        yield line("PID   USER     TIME  COMMAND")
        for each in every:
            yield line(f"{each.pid:5} {user:8}  0:00 {' '.join(each.words)}")
    return int(not every)


def _columns(machine: Machine, every: Sequence[Running], names: Sequence[str], words: list[str], user: str) -> Run:
    """The columns that are asked for, each with its title, or the one behind ``=``."""
    parts = [name.partition("=") for name in names if name]
    wrong = next((name for name, *_ in parts if name not in _SHAPES), "")
    if wrong:
        yield error("ps", f"bad -o argument '{wrong}'")
        return 1
    titles = [own if equals else _SHAPES[name][0] for name, equals, own in parts]
    if any(titles) and "--no-headers" not in words:
        yield line(_row(titles, [name for name, *_ in parts]))
    for each in every:
        values = {
            "pid": str(each.pid), "ppid": "0", "comm": each.name[:15], "args": " ".join(each.words), "stat": "S",
            "state": "S", "tty": "?", "time": "00:00:00", "etime": "00:00", "vsz": "1600", "rss": "800", "nice": "0",
            "pgid": str(each.pid), "sid": str(each.pid), "uid": str(machine.files.user.uid),
        }  # fmt: skip
        values |= dict.fromkeys(("cmd", "command"), values["args"])
        shown = [values.get(name, user if name in ("user", "ruser", "group") else "0.0") for name, *_ in parts]
        yield line(_row(shown, [name for name, *_ in parts]))
    return int(not every)


def _row(values: Sequence[str], names: Sequence[str]) -> str:
    made = []
    for value, name in zip(values, names, strict=True):
        _, width, right = _SHAPES[name]
        made.append(value.rjust(width) if right else value.ljust(width))
    return " ".join(made).rstrip()


PROCESS_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "pgrep": _pgrep,
    "pkill": _pkill,
    "killall": _killall,
    "pidof": _pidof,
    "ps": _ps,
}
"""The commands of this module, by name."""
