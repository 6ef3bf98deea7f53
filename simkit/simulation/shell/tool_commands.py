"""Small programs of common images that scripts expect: ``mktemp``, ``paste``, ``ping``, ``dig``, ``free``, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final

from simkit.simulation.shell.effects import Lines, error, line, options, whole
from simkit.simulation.shell.executables import NOT_FOUND
from simkit.simulation.shell.files import MOST_BYTES, FileError
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.machine import Machine, Run, Write

_PACKET: Final = 56
_WIDEST: Final = 10_000
_FORM: Final = "tmp.XXXXXX"
_TEMPORARY: Final = "/tmp"  # noqa: S108, a folder in memory
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SIZES: Final = (32_000_000, 2_000_000, 28_000_000, 2_000_000)
"""Kilobytes of memory: all, used, free and in caches."""


def _mktemp(machine: Machine, words: list[str]) -> Run:
    given, rest = options(words[1:], valued="p")
    folder = given.get("p") or machine.environment.get("TMPDIR") or _TEMPORARY
    form = rest[0] if rest else f"{folder}/{_FORM}"
    stem = form.rstrip("X")
    if len(form) - len(stem) < 3:
        yield error("mktemp", f"too few X's in template '{form}'")
        return 1
    number, path = 0, ""
    while not path or machine.files.exists(machine.path(path)):
        number, rest_of, name = number + 1, number, ""
        for _ in form[len(stem) :]:
            rest_of, letter = divmod(rest_of, len(_LETTERS))
            name = _LETTERS[letter] + name
        path = stem + name
    if "d" in given:
        machine.files.make_folder(machine.path(path))
    else:
        machine.files.write(machine.path(path), b"")
    machine.files.set_mode(machine.path(path), 0o700 if "d" in given else 0o600)
    yield line(path)
    return 0


def _comm(machine: Machine, words: list[str]) -> Run:
    """``comm [-123] FILE FILE``: the lines of the first file alone, of the second alone, and of both."""
    given, names = options(words[1:])
    if len(names) != 2:
        yield error("comm", "two files are needed")
        return 1
    first, second = (Lines(machine, "comm", [name]) for name in names)
    left, right = (yield from first.next()), (yield from second.next())
    while left or right:
        column = 3 if left.rstrip("\n") == right.rstrip("\n") else 1 if left and (left < right or not right) else 2
        text = right if column == 2 else left
        if str(column) not in given:
            indent = sum(str(each) not in given for each in range(1, column))
            yield Write(("\t" * indent + text).encode())
        left = (yield from first.next()) if column != 2 else left
        right = (yield from second.next()) if column != 1 else right
    return first.code or second.code


def _nl(machine: Machine, words: list[str]) -> Run:
    """``nl``: the number of each line before it; of empty ones only with ``-ba``."""
    given, names = options(words[1:], valued="bwsvi")
    lines, width = Lines(machine, "nl", names), whole(given.get("w", "6"))
    if not 0 < width <= _WIDEST:
        yield error("nl", f"invalid line number field width: '{given.get('w')}'")
        return 1
    between, step = given.get("s", "\t"), whole(given.get("i", "1"))
    number = whole(given.get("v", "1")) - step
    while text := (yield from lines.next()):
        if text != "\n" or given.get("b") == "a":
            number += step
            yield Write(f"{number:{width}}{between}{text}".encode())
        else:
            yield Write(f"{' ' * (width + len(between))}{text}".encode())
    return lines.code


def _ping(machine: Machine, words: list[str]) -> Run:
    """Pods and nodes answer; the addresses of services are rules for ports, and do not."""
    given, rest = options(words[1:], valued="cwWis")
    name = rest[-1] if rest else ""
    found = machine.network.addresses(name)[1]
    if not found:
        yield error("ping", f"bad address '{name}'")
        return 1
    address, count = found[0], whole(given.get("c", "0"))
    yield line(f"PING {name} ({address}): {_PACKET} data bytes")
    answers = ip_address(address).is_loopback or machine.network.answers(address)
    sent = 0
    while not count or sent < count:
        if sent:
            yield 1.0
        if answers and "q" not in given:
            yield line(f"{_PACKET + 8} bytes from {address}: seq={sent} ttl=64 time=0.100 ms")
        sent += 1
    if not answers:
        yield float(whole(given.get("W", "10")) or 10)
    yield line(f"\n--- {name} ping statistics ---")
    lost = 0 if answers else 100
    yield line(f"{sent} packets transmitted, {sent if answers else 0} packets received, {lost}% packet loss")
    if answers:
        yield line("round-trip min/avg/max = 0.100/0.100/0.100 ms")
    return int(not answers)


def _dig(machine: Machine, words: list[str]) -> Run:
    """``dig +short NAME`` and ``host NAME``: the addresses of a full name."""
    rest = [word for word in words[1:] if word[:1] not in ("+", "-", "@") and word not in ("A", "IN")]
    name = rest[0] if rest else ""
    full = name if words[0] == "host" or "+search" in words else f"{name.rstrip('.')}."
    known, found = machine.network.addresses(full)
    if words[0] == "host":
        for each in found:
            yield line(f"{known} has address {each}")
        if not found:
            yield line(f"Host {name} not found: 3(NXDOMAIN)")
        return int(not found)
    for each in found:
        yield line(each if "+short" in words else f"{full}\t30\tIN\tA\t{each}")
    return 0


def _free(machine: Machine, words: list[str]) -> Run:
    scale = 1000 if any("m" in word for word in words[1:]) else 1
    whole_of, used, free, cached = (each // scale for each in _SIZES)
    yield line("              total        used        free      shared  buff/cache   available")
    yield line(f"Mem:    {whole_of:11} {used:11} {free:11} {0:11} {cached:11} {free + cached:11}")
    yield line(f"Swap:   {0:11} {0:11} {0:11}")
    return 0


def _chroot(machine: Machine, words: list[str]) -> Run:
    """``chroot FOLDER COMMAND``: the command sees what it would see without it."""
    rest = words[2:] or ["sh"]
    if not machine.files.is_folder(machine.path(words[1] if len(words) > 1 else "")):
        yield error("chroot", f"can't change root directory to '{words[1]}': No such file or directory")
        return 1
    return (yield from run_words(machine, rest))


def _installs(machine: Machine, words: list[str]) -> Run:
    """``apk``, ``apt-get`` and the like: a package is never there, and asking for one harms nothing."""
    yield from ()
    return 0


def _sleeps(machine: Machine, words: list[str]) -> Run:
    yield whole(words[1] if len(words) > 1 else "0") / 1e6
    return 0


def _pages(machine: Machine, words: list[str]) -> Run:
    """``less`` and ``more``: the text as it is."""
    return (yield from run_words(machine, ["cat", *options(words[1:])[1]], functions=False))


def _truncate(machine: Machine, words: list[str]) -> Run:
    given, names = options(words[1:], valued="s")
    size = whole(given.get("s", "0"))
    for name in names:
        try:
            if size > MOST_BYTES:
                raise FileError("No space left on device")
            there = machine.files.read(machine.path(name)) if machine.files.is_file(machine.path(name)) else b""
            machine.files.write(machine.path(name), there[:size].ljust(size, b"\0"))
        except FileError as problem:
            yield error("truncate", f"{name}: {problem}")
            return 1
    return 0


def _busybox(machine: Machine, words: list[str]) -> Run:
    """``busybox COMMAND``."""
    if len(words) < 2:
        yield line("BusyBox v1.36.1 multi-call binary.")
        return 0
    if words[1].startswith("-"):
        yield error("busybox", f"{words[1]}: applet not found")
        return NOT_FOUND
    return (yield from run_words(machine, words[1:], functions=False))


TOOL_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "mktemp": _mktemp,
    "comm": _comm,
    "nl": _nl,
    "ping": _ping,
    "dig": _dig,
    "host": _dig,
    "free": _free,
    "chroot": _chroot,
    "usleep": _sleeps,
    "less": _pages,
    "more": _pages,
    "truncate": _truncate,
    "busybox": _busybox,
    **dict.fromkeys(("apk", "apt", "apt-get", "yum", "dnf", "microdnf"), _installs),
}
"""The commands of this module, by name."""
