"""Commands that ask the kernel: ``dmesg``, ``sysctl``, ``mount``, ``top``, ``tty``, ``arch``, ``nsenter`` and others.

References
----------
dmesg, sysctl, mount and top of busybox 1.36; factor and tty of GNU coreutils 9.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from simkit.simulation.shell.accounts import user_name
from simkit.simulation.shell.effects import error, line, options, whole
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.machine import Machine, Run, Write
from simkit.simulation.shell.process_commands import running

_SETTINGS: Final = "/proc/sys"
_VALUED_OF_NSENTER: Final = "tSGrw"
_LONG: Final = ("--target", "--setuid", "--setgid")
_LARGEST: Final = 10**12
_TURN: Final = 2.0


def _dmesg(machine: Machine, words: list[str]) -> Run:
    """Nothing: a simulated kernel has no messages. Only a privileged container may ask."""
    if machine.shared.privileged:
        yield from ()
        return 0
    yield error("dmesg", "klogctl: Operation not permitted")
    return 1


def _sysctl(machine: Machine, words: list[str]) -> Run:
    """``sysctl [-n] NAME...``, ``sysctl [-w] NAME=VALUE...`` and ``sysctl -a``."""
    given, rest = options(words[1:])
    if "a" in given:
        paths = [path for path in machine.files.tree(_SETTINGS) if machine.files.is_file(path)]
        rest = [path.removeprefix(f"{_SETTINGS}/").replace("/", ".") for path in paths]
    code = 0
    for word in rest:
        name, equals, value = word.partition("=")
        path = f"{_SETTINGS}/{name.strip().replace('.', '/')}"
        if not machine.files.is_file(path):
            yield error("sysctl", f"error: '{name}' is an unknown key")
            code = 1
            continue
        try:
            if equals:
                machine.files.write(path, f"{value.strip()}\n".encode())
            shown = machine.files.read(path).decode("utf-8", "replace").strip()
        except FileError as problem:
            yield error("sysctl", f"error setting key '{name}': {problem}")
            code = 1
            continue
        if "q" not in given:
            yield line(shown if "n" in given else f"{name} = {shown}")
    return code


def _mount(machine: Machine, words: list[str]) -> Run:
    """``mount``: what is mounted; a container mounts nothing more."""
    if len(words) > 1 and words[1] != "-l":
        yield error(words[0], "permission denied (are you root?)")
        return 1
    if words[0] == "umount":
        return 1
    try:
        rows = machine.files.read("/proc/mounts").decode().splitlines()
    except FileError:
        rows = []
    for row in rows:
        device, place, kind, flags, *_ = row.split(" ")
        yield line(f"{device} on {place} type {kind} ({flags})")
    return 0


def _mountpoint(machine: Machine, words: list[str]) -> Run:
    """``mountpoint [-q] PATH``: whether something is mounted there."""
    given, rest = options(words[1:])
    path = machine.path(rest[0]) if rest else "/"
    try:
        mounted = {row.split(" ")[1] for row in machine.files.read("/proc/mounts").decode().splitlines()}
    except FileError:
        mounted = {"/"}
    if "q" not in given:
        yield line(f"{rest[0] if rest else '/'} is {'' if path in mounted else 'not '}a mountpoint")
    return int(path not in mounted)


def _top(machine: Machine, words: list[str]) -> Run:
    """``top [-b] [-n TIMES]``: the processes that the container shows."""
    given, _ = options(words[1:], valued="nd")
    times = whole(given.get("n", "0"))
    turn = 0
    while not times or turn < times:
        if turn:
            yield float(given.get("d", _TURN) if whole(str(given.get("d", "2"))) else _TURN)
        turn += 1
        yield line("Mem: 4000000K used, 28000000K free, 0K shrd, 2000000K buff, 2000000K cached")
        yield line("CPU:   0% usr   0% sys   0% nic 100% idle   0% io   0% irq   0% sirq")
        yield line("Load average: 0.00 0.00 0.00 1/100 10")
        yield line("  PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND")
        name = user_name(machine, machine.files.user.uid)
        for each in running(machine):
            yield line(f"{each.pid:5}     0 {name:8} S     1600   0%   0   0% {' '.join(each.words)}")
    return 0


def _tty(machine: Machine, words: list[str]) -> Run:
    """``tty``: a terminal only where an exec has one."""
    if "TERM" in machine.environment:
        yield line("/dev/pts/0")
        return 0
    yield line("not a tty")
    return 1


def _stty(machine: Machine, words: list[str]) -> Run:
    if "TERM" not in machine.environment:
        yield error("stty", "standard input: Inappropriate ioctl for device")
        return 1
    if words[1:] == ["size"]:
        yield line("24 80")
    return 0


def _arch(machine: Machine, words: list[str]) -> Run:
    yield line("x86_64")
    return 0


def _hostid(machine: Machine, words: list[str]) -> Run:
    yield line("007f0100")
    return 0


def _factor(machine: Machine, words: list[str]) -> Run:
    for word in words[1:]:
        number = int(word) if word.isdecimal() and len(word) < 14 else 0
        if not 0 < number <= _LARGEST:
            yield error("factor", f"'{word}' is not a valid positive integer")
            return 1
        found, divisor = [], 2
        while divisor * divisor <= number:
            while not number % divisor:
                found.append(str(divisor))
                number //= divisor
            divisor += 1 + (divisor > 2)
        yield line(" ".join([f"{word}:", *found, *([str(number)] if number > 1 else ())]))
    return 0


def _nobody(machine: Machine, words: list[str]) -> Run:
    """``who``, ``users``, ``w`` and ``last``: nobody has logged in."""
    yield from ()
    return 0


def _logger(machine: Machine, words: list[str]) -> Run:
    """Drop a message, which no log of a system takes; with ``-s`` it is shown."""
    if "-s" in words:
        yield Write(f"{' '.join(word for word in words[1:] if word != '-s')}\n".encode(), "stderr")
    return 0


def _watch(machine: Machine, words: list[str]) -> Run:
    """``watch [-n SECONDS] COMMAND``: again and again, until it is stopped."""
    rest, seconds = words[1:], _TURN
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word.startswith("-n"):
            seconds = float(whole(word[2:] or (rest.pop(0) if rest else "2")) or _TURN)
    if not rest:
        yield error("watch", "a command is missing")
        return 1
    while True:
        at = datetime.fromtimestamp(machine.now, UTC).strftime("%Y-%m-%d %H:%M:%S")
        yield Write(f"\x1b[H\x1b[JEvery {seconds:.1f}s: {' '.join(rest)}\t{at}\n\n".encode())
        yield from run_words(machine, ["sh", "-c", " ".join(rest)], functions=False)
        yield seconds


def _nsenter(machine: Machine, words: list[str]) -> Run:
    """``nsenter -t 1 -m -u -- COMMAND``: the command sees what it would see without it; only root may, privileged."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        word = words[at]
        takes = word in _LONG or (word[:2] != "--" and word[-1:] in _VALUED_OF_NSENTER)
        at += 2 if takes else 1
    if not machine.shared.privileged or machine.files.user.uid:
        yield error("nsenter", "can't open '/proc/1/ns/mnt': Permission denied")
        return 1
    command = words[at + (words[at : at + 1] == ["--"]) :] or ["sh"]
    return (yield from run_words(machine, command, functions=False))


KERNEL_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "dmesg": _dmesg,
    "sysctl": _sysctl,
    "mount": _mount,
    "umount": _mount,
    "mountpoint": _mountpoint,
    "top": _top,
    "tty": _tty,
    "stty": _stty,
    "arch": _arch,
    "hostid": _hostid,
    "factor": _factor,
    "logger": _logger,
    "watch": _watch,
    "nsenter": _nsenter,
    **dict.fromkeys(("who", "users", "w"), _nobody),
}
"""The commands of this module, by name."""
