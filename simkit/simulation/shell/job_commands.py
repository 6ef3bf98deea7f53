"""Commands about jobs in the background and signals, and those that run other commands for some time.

References
----------
POSIX.1-2017, Shell Command Language, 2.11 and 2.14.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Final

from simkit.simulation.shell.effects import LINE, Budget, error, filled, line, options, read_all, whole, within_memory
from simkit.simulation.shell.executables import NOT_FOUND
from simkit.simulation.shell.interpreter import run_words, shell_of
from simkit.simulation.shell.machine import STDERR, Job, Machine, Pause, Run, Write, tick
from simkit.simulation.shell.signals import BY_SIGNAL, EVENTS, EXIT, NUMBERS, Signals, signal_named
from simkit.simulation.shell.tasks import Task, together

_UNITS: Final[Mapping[str, int]] = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_CANNOT_RUN: Final = 126
_TIMED_OUT: Final = 124
_LONG_OF_XARGS: Final = {
    "--null": "-0", "--no-run-if-empty": "-r", "--max-args": "-n", "--max-lines": "-L", "--max-procs": "-P",
    "--replace": "-I", "--delimiter": "-d", "--verbose": "-t",
}  # fmt: skip
_GAP: Final = re.compile(rb"[\s\0]+")
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?|\.\d{1,6})([smhd]?)")


def seconds_of(text: str) -> float | None:
    """Seconds of a duration such as ``1.5`` or ``2m``; None for what is none.

    Examples
    --------
    >>> seconds_of("2m"), seconds_of(".5"), seconds_of("x")
    (120.0, 0.5, None)
    """
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNITS[found[2]] if found is not None else None


def _sleep(machine: Machine, words: list[str]) -> Run:
    if words[1:2] in (["inf"], ["infinity"]):
        yield 1e12
        return 0
    told = [seconds_of(word) for word in words[1:]]
    for word, seconds in zip(words[1:], told, strict=True):
        if seconds is None:
            yield error("sleep", f"invalid number '{word}'")
            return 1
    yield sum(seconds for seconds in told if seconds is not None)
    return 0


def _trap(machine: Machine, words: list[str]) -> Run:
    given, traps = words[1:], machine.signals.traps
    given = given[1:] if given[:1] == ["--"] else given
    if not given or given == ["-p"]:
        for name, text in traps.items():
            shown = f"SIG{name}" if machine.bash and name in NUMBERS else name
            yield line(f"trap -- '{text}' {shown}")
        return 0
    resets = given[0] == "-" or (len(given) == 1 and signal_named(given[0]) is not None)
    text, names = ("-", given[given[0] == "-" :]) if resets else (given[0], given[1:])
    for each in names:
        known = each.upper() if machine.bash and each.upper() in EVENTS else signal_named(each)
        if known is None:
            yield error(f"{machine.shell}: trap", f"{each}: invalid signal specification")
            return 1
        traps.pop(known, None)
        if not resets:
            traps[known] = text
    return 0


def _job(machine: Machine, text: str) -> Job | None:
    """The job that ``%1``, ``%%`` or a process number names."""
    if text in ("%%", "%+", "%"):
        return machine.jobs[-1] if machine.jobs else None
    number = text.removeprefix("%")
    for each in machine.jobs:
        if number == str(each.number if text.startswith("%") else each.pid):
            return each
    return None


def _wait(machine: Machine, words: list[str]) -> Run:
    """Wait for jobs. A signal with a trap ends it at once, and then the trap is run."""
    if machine.bash and "-n" in words:
        return (yield from _wait_for_next(machine))
    chosen = [_job(machine, word) for word in words[1:] if not word.startswith("-")]
    jobs = list(machine.jobs) if not chosen else [each for each in chosen if each is not None]
    while any(each.code is None for each in jobs):
        if machine.signals.pending:
            return BY_SIGNAL + NUMBERS[machine.signals.pending[0]]
        yield Pause()
    machine.jobs = [each for each in machine.jobs if each not in jobs]
    if not chosen:
        return 0
    return NOT_FOUND if chosen[-1] is None else chosen[-1].code or 0


def _wait_for_next(machine: Machine) -> Run:
    """Wait until one of the jobs has ended; 127 where there is none."""
    while machine.jobs:
        ended = next((each for each in machine.jobs if each.code is not None), None)
        if ended is not None:
            machine.jobs.remove(ended)
            return ended.code or 0
        if machine.signals.pending:
            return BY_SIGNAL + NUMBERS[machine.signals.pending[0]]
        yield Pause()
    return NOT_FOUND


def _jobs(machine: Machine, words: list[str]) -> Run:
    for job in machine.jobs:
        state = "Running" if job.code is None else "Done" if job.code == 0 else f"Done({job.code})"
        yield line(str(job.pid) if "-p" in words else f"[{job.number}] {job.pid} {state}")
    machine.jobs = [job for job in machine.jobs if job.code is None]
    return 0


def _kill(machine: Machine, words: list[str]) -> Run:
    """``kill [-s SIGNAL] PID...``: jobs, the shell itself, and the first process of the container."""
    given, name = words[1:], "TERM"
    if given[:1] in (["-l"], ["-L"]):
        yield line("\n".join(_other_name(each) for each in given[1:]) if given[1:] else " ".join(NUMBERS))
        return 0
    if given[:1] == ["-s"]:
        told, given = (given[1] if len(given) > 1 else ""), given[2:]
    elif given and given[0].startswith("-") and given[0] != "--":
        told, given = given[0][1:], given[1:]
    else:
        told = name
    known = signal_named(told)
    if known is None:
        yield error(f"{machine.shell}: kill", f"bad signal name '{told}'")
        return 1
    code = 0
    for word in given:
        if not send_signal(machine, word, known):
            yield error(machine.shell, f"can't kill pid {word}: No such process")
            code = 1
    return code


def _other_name(text: str) -> str:
    """The name of a signal by its number, also by an exit code, and the number of one by its name."""
    if not text.isdecimal():
        known = signal_named(text)
        return str(NUMBERS.get(known or "", text))
    number = whole(text) & 0x7F
    return next((name for name, each in NUMBERS.items() if each == number), text)


def send_signal(machine: Machine, target: str, name: str) -> bool:
    """True if a process was there, to which a signal was sent; ``EXIT`` only asks whether it is."""
    job = _job(machine, target) or machine.shared.jobs.get(whole(target))
    if job is not None:
        if job.code is None and name != EXIT:
            job.signals.send(name)
        return job.code is None
    if target != str(machine.pid):
        first = machine.shared.signal_first if target == "1" else None
        return first is not None and first(name)
    if name != EXIT and (name in machine.signals.traps or not (machine.shared.protected and target == "1")):
        machine.signals.send(name)
    return True


def _timeout(machine: Machine, words: list[str]) -> Run:
    """``timeout SECONDS COMMAND``, where its time was over with the exit code of coreutils, else that of busybox.

    References
    ----------
    coreutils 9.1, ``timeout``: 124, or 137 where ``-k`` killed; busybox 1.36: that of the command.
    """
    left, name, patience = deque(words[1:]), "TERM", None
    while left and left[0].startswith("-"):
        word = left.popleft()
        letter, value = word[:2], word[2:]
        if letter in ("-s", "-k", "-t"):
            value = value or (left.popleft() if left else "")
            name = (signal_named(value) or name) if letter == "-s" else name
            patience = seconds_of(value) if letter == "-k" else patience
            if letter == "-t":
                left.appendleft(value)
    given = list(left)
    seconds = seconds_of(given[0]) if given else None
    if seconds is None or len(given) < 2:
        yield error("timeout", "a time and a command are needed")
        return 1
    child = machine.child()
    child.ends_with_program = True
    task = Task(machine.shared, shell_of(child, run_words(child, given[1:], functions=False)), child.signals)
    sent: list[str] = []
    watch = Task(machine.shared, _after(seconds, task.signals, name, patience, sent), Signals())
    yield from together(machine.shared, [task, watch], until=task)
    watch.end(0)
    if sent and machine.shared.has_coreutils:
        if sent[-1] == "KILL":
            told = f"{machine.shell}: line {machine.line}: {machine.pid} Killed" if machine.bash else "Killed"
            yield Write(f"{told}\n".encode(), STDERR)
        return BY_SIGNAL + NUMBERS["KILL"] if sent[-1] == "KILL" else _TIMED_OUT
    return task.code or 0


def _after(seconds: float, signals: Signals, name: str, patience: float | None, sent: list[str]) -> Run:
    """Send a signal after some time, and kill where that does not help."""
    yield seconds
    sent.append(name)
    signals.send(name)
    if patience is not None:
        yield patience
        sent.append("KILL")
        signals.send("KILL")
    return 0


def _xargs(machine: Machine, words: list[str]) -> Run:
    left = deque(words[1:])
    flags: dict[str, str] = {}
    while left and left[0].startswith("-"):
        word = _LONG_OF_XARGS.get(left[0].partition("=")[0], "") + left[0].partition("=")[2]
        word, _ = word or left[0], left.popleft()
        letter = word[1:2]
        if letter in ("n", "I", "P", "L", "d", "s"):
            flags[letter] = word[2:] or (left.popleft() if left else "")
        else:
            flags.update(dict.fromkeys(word[1:], ""))
    given = yield from read_all()
    Budget().spend(len(given) + LINE * len(_GAP.findall(given)))
    data, code = given.decode("utf-8", "replace"), 0
    for each in _commands(list(left) or ["echo"], _items(data, flags), flags):
        yield from tick(machine)
        if "t" in flags:
            yield Write(f"{' '.join(each)}\n".encode(), STDERR)
        ended = yield from run_words(machine, each, functions=False)
        if ended in (NOT_FOUND, _CANNOT_RUN):
            return ended
        code = 123 if ended else code
    return code


def _commands(command: list[str], items: list[str], flags: Mapping[str, str]) -> Iterator[list[str]]:
    """The commands that ``xargs`` runs for some items. Raises TooMuch."""
    mark, number = flags.get("I", ""), flags.get("n", "")
    if flags.get("L"):
        size = max(1, whole(flags["L"]))
        for start in range(0, len(items), size):
            yield [*command, *(word for item in items[start : start + size] for word in _unquoted(item))]
        return
    if mark:
        yield from (filled(command, mark, [item]) for item in items)
        return
    size = (int(number) if number.isdigit() else 0) or max(1, len(items))
    for start in range(0, len(items), size):
        yield [*command, *items[start : start + size]]
    if not items and "r" not in flags:
        yield command


def _items(data: str, flags: Mapping[str, str]) -> list[str]:
    if "0" in flags:
        return [each for each in data.split("\0") if each]
    if "d" in flags:
        end = {"\\n": "\n", "\\t": "\t", "\\0": "\0"}.get(flags["d"], flags["d"] or "\n")
        return data.removesuffix(end).split(end) if data else []
    if "I" in flags or "L" in flags:
        return [each.strip() for each in data.splitlines() if each.strip()]
    return _unquoted(data)


def _unquoted(data: str) -> list[str]:
    """The words of a text, of which quotes keep blanks together."""
    quoted = re.findall(r"""(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+""", data)
    return [
        re.sub(r"""'([^']*)'|"([^"]*)"|\\(.)""", lambda hit: hit[1] or hit[2] or hit[3] or "", each) for each in quoted
    ]


def _before(machine: Machine, words: list[str]) -> Run:
    """``nohup``, ``time``, ``nice``, ``stdbuf``, ``setsid`` and ``tini``: the command behind them."""
    own = takewhile(lambda word: word.startswith("-") or (words[0] == "nice" and word.isdigit()), words[1:])
    given = words[1 + len(list(own)) :]
    return (yield from run_words(machine, given, functions=False)) if given else 0


def _env(machine: Machine, words: list[str]) -> Run:
    """The exported variables; or a command with others."""
    left, child = deque(words[1:]), machine.child()
    while left and (left[0].startswith("-") or "=" in left[0]):
        word = left.popleft()
        if word in ("-i", "-"):
            child.environment = {}
        elif word == "-u":
            child.unset(left.popleft() if left else "")
        elif "=" in word:
            name, _, value = word.partition("=")
            child.assign(name, value)
            child.local.discard(name)
    if left:
        return (yield from run_words(child, list(left), functions=False))
    for name, value in sorted(child.environment.items()):
        if name not in child.local:
            yield line(f"{name}={value}")
    return 0


def _printenv(machine: Machine, words: list[str]) -> Run:
    names = options(words[1:])[1]
    if not names:
        return (yield from _env(machine, ["env"]))
    code = 0
    for name in names:
        if name in machine.environment and name not in machine.local:
            yield line(machine.environment[name])
        else:
            code = 1
    return code


JOB_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "sleep": _sleep,
    "trap": _trap,
    "wait": _wait,
    "jobs": _jobs,
    "kill": _kill,
    "timeout": _timeout,
    "xargs": within_memory(_xargs),
    "nohup": _before,
    "time": _before,
    "nice": _before,
    "stdbuf": _before,
    "setsid": _before,
    "env": _env,
    "printenv": _printenv,
}
"""The commands of this module, by name."""
