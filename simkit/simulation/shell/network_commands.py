"""Commands that ask for names and connect to ports: ``nslookup``, ``nc -z``, ``wget`` and ``curl``.

Messages and exit codes are those of busybox 1.36 and curl 8. TLS is not spoken.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import Effect, Run, Sleep, Steps
from simkit.simulation.shell.machine import RESOLVER, Command, Connection, Failed, Machine, Refused, Unreachable
from simkit.simulation.shell.options import options, whole
from simkit.simulation.shell.script import Unsupported

_PATIENCE: Final = 127
"""Seconds after which Linux gives up a connection."""
_URL: Final = re.compile(r"(?:http://)?([^/:@?#\s\[\]]+)(?::([0-9]{1,5}))?(/[^#\s]*)?", re.IGNORECASE)
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: ([^\r\n]*))?\r?\n")
_LONG: Final[Mapping[str, str]] = {
    "silent": "s", "show-error": "S", "fail": "f", "head": "I", "output": "o", "write-out": "w", "max-time": "m",
    "quiet": "q", "output-document": "O", "timeout": "T", "spider": "z",
}  # fmt: skip
"""The short form of long options."""


class _Target(NamedTuple):
    host: str
    port: int
    path: str


class _Answer(NamedTuple):
    code: int
    reason: str
    head: bytes
    body: bytes


class _NotConnected(Exception):
    """A connection that did not come about: ``kind`` is name, refused or time."""

    def __init__(self, kind: str, address: str) -> None:
        super().__init__(kind)
        self.kind, self.address = kind, address


def _refused(words: Sequence[str]) -> Unsupported:
    return Unsupported(" ".join(words)[:80])


def _target(words: Sequence[str], rest: Sequence[str]) -> _Target | None:
    """What a URL names; None for what is no URL. Raises Unsupported for other schemes, and for several URLs."""
    if len(rest) != 1 or "://" in rest[0].removeprefix("http://"):
        raise _refused(words)
    found = _URL.fullmatch(rest[0])
    if found is None or int(found[2] or 80) > 65535:
        return None
    return _Target(found[1], int(found[2] or 80), found[3] or "/")


def _connected(machine: Machine, host: str, port: int, patience: float) -> Generator[Effect, bytes, Connection]:
    """The other end of a connection; waits as long as nobody answers. Raises _NotConnected."""
    found = machine.network.addresses(host)[1]
    if not found:
        raise _NotConnected("name", "")
    try:
        return machine.network.connect(found[0], port)
    except Refused:
        raise _NotConnected("refused", found[0]) from None
    except Unreachable:
        yield Sleep(patience)
        raise _NotConnected("time", found[0]) from None


def _exchanged(connection: Connection, target: _Target, method: str, program: str) -> _Answer:
    """The answer to a request. Raises Failed for bytes that are no answer of HTTP/1."""
    authority = target.host if target.port == 80 else f"{target.host}:{target.port}"
    lines = (f"{method} {target.path} HTTP/1.1", f"Host: {authority}", f"User-Agent: {program}", "Accept: */*")
    got = connection("\r\n".join([*lines, "Connection: close", "", ""]).encode())
    found = _STATUS.match(got)
    if found is None:
        raise Failed("error getting response")
    head, _, rest = got.partition(b"\r\n\r\n")
    return _Answer(int(found[1]), (found[2] or b"").decode("latin-1"), head + b"\r\n\r\n", rest)


def _kept(machine: Machine, name: str, body: bytes) -> Steps:
    """Write what was fetched to a file, or to the standard output for ``-``."""
    if name == "-":
        yield from machine.write(body)
        return
    try:
        machine.files.write(machine.path(name), body)
    except FileError as problem:
        raise Failed(f"can't open '{name}': {problem}") from problem


def _short(words: Sequence[str]) -> list[str]:
    """The words with long options in their short form, and values after ``=`` as words of their own."""
    made: list[str] = []
    for word in words:
        name, equals, value = word[2:].partition("=") if word.startswith("--") else ("", "", "")
        if name and name not in _LONG:
            raise Unsupported(f"{words[0]} --{name}")
        made += [f"-{_LONG[name]}", *([value] if equals else ())] if name else [word]
    return made


def _seconds(words: Sequence[str], text: str) -> float:
    """A time limit; the usual one where none is said."""
    if text and re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) is None:
        raise _refused(words)
    return float(text or _PATIENCE)


def _nslookup(machine: Machine, words: list[str]) -> Run:
    names = options(words)[1]
    if len(names) != 1:
        raise _refused(words)
    yield from machine.write(f"Server:\t\t{RESOLVER}\nAddress:\t{RESOLVER}:53\n\n")
    full, found = machine.network.addresses(names[0])
    for each in found:
        yield from machine.write(f"Name:\t{full}\nAddress: {each}\n\n")
    for tried in () if found else machine.network.searched(names[0]):
        yield from machine.write(f"** server can't find {tried}: NXDOMAIN\n\n")
    return int(not found)


_BUSYBOX: Final[Mapping[str, str]] = {
    "name": "bad address '{host}'",
    "refused": "can't connect to remote host ({address}): Connection refused",
    "time": "can't connect to remote host ({address}): Operation timed out",
}


def _nc(machine: Machine, words: list[str]) -> Run:
    """``nc -z [-v] [-w SECONDS] HOST PORT``: whether something listens."""
    given, rest = options(words, "zv", "w")
    if len(rest) != 2 or not 0 < whole(words, rest[1]) < 65536 or "z" not in given:
        raise _refused(words)
    try:
        yield from _connected(machine, rest[0], int(rest[1]), _seconds(words, given.get("w", "")))
    except _NotConnected as failed:
        raise Failed(_BUSYBOX[failed.kind].format(host=rest[0], address=failed.address)) from failed
    if "v" in given:
        yield from machine.complain(f"{rest[0]} ({rest[0]}:{rest[1]}) open")
    return 0


def _wget(machine: Machine, words: list[str]) -> Run:
    """``wget [-q] [-O FILE] [-T SECONDS] [--spider] URL``."""
    given, rest = options(_short(words), "qz", "OT")
    target = _target(words, rest)
    if target is None:
        raise Failed(f"not an http or ftp url: {rest[0]}")
    try:
        patience = _seconds(words, given.get("T", ""))
        connection = yield from _connected(machine, target.host, target.port, patience)
    except _NotConnected as failed:
        told = "download timed out" if failed.kind == "time" and "T" in given else _BUSYBOX[failed.kind]
        raise Failed(told.format(host=target.host, address=failed.address)) from failed
    answer = _exchanged(connection, target, "GET", "Wget")
    if answer.code >= 300:
        raise Failed(f"server returned error: HTTP/1.1 {answer.code} {answer.reason}")
    if "z" not in given:
        own = target.path.partition("?")[0].rpartition("/")[2] or "index.html"
        yield from _kept(machine, given.get("O") or own, answer.body)
    return 0


_CURL: Final[Mapping[str, tuple[int, str]]] = {
    "name": (6, "Could not resolve host: {host}"),
    "refused": (7, "Failed to connect to {host} port {port} after 0 ms: Could not connect to server"),
    "time": (28, "Connection timed out after {ms} milliseconds"),
}


def _curl(machine: Machine, words: list[str]) -> Run:
    """``curl [-sSfI] [-o FILE] [-w FORMAT] [-m SECONDS] URL``."""
    given, rest = options(_short(words), "sSfI", "owm")
    target = _target(words, rest)
    form = given.get("w", "").replace("\\n", "\n").replace("%{response_code}", "%{http_code}")
    if "%" in form.replace("%{http_code}", "") or "\\" in form or form.startswith("@"):
        raise _refused(words)
    code, told, status = 3, "URL rejected: Malformed input to a URL function", 0
    if target is not None:
        patience = _seconds(words, given.get("m", ""))
        try:
            connection = yield from _connected(machine, target.host, target.port, patience)
        except _NotConnected as failed:
            code, told = _CURL[failed.kind]
            told = told.format(host=target.host, port=target.port, ms=int(patience * 1000))
        else:
            answer = _exchanged(connection, target, "HEAD" if "I" in given else "GET", "curl/8.5.0")
            status, code, told = answer.code, 0, ""
            if "f" in given and status >= 400:
                code, told = 22, f"The requested URL returned error: {status}"
            else:
                yield from _kept(machine, given.get("o", "-"), answer.head if "I" in given else answer.body)
    if code and ("s" not in given or "S" in given):
        yield from machine.complain(f"curl: ({code}) {told}")
    yield from machine.write(form.replace("%{http_code}", f"{status:03}"))
    return code


NETWORK_COMMANDS: Final[Mapping[str, Command]] = {"curl": _curl, "nc": _nc, "nslookup": _nslookup, "wget": _wget}
"""The commands of this module, by name."""
