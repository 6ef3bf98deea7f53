"""Commands that ask for names and connect to ports: ``nslookup``, ``nc -z``, ``wget`` and ``curl``.

Messages and exit codes are those of busybox 1.36 and curl 8. TLS is not spoken.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.kernel import Effect, Run, Sleep
from simkit.simulation.shell.machine import RESOLVER, Command, Connection, Failed, Machine, Refused, Unreachable
from simkit.simulation.shell.options import options, whole
from simkit.simulation.shell.script import Unsupported

_PATIENCE: Final = 127
"""Seconds after which Linux gives up a connection."""
_URL: Final = re.compile(
    r"(?:(https?)://)?(?:[^/@?#]*@)?(\[[^\]/]*\]|[^:/?#\s]+)(?::(\d{1,5}))?([/?][^#]*)?(?:#.*)?", re.IGNORECASE
)
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n")
_LONG: Final[Mapping[str, str]] = {
    "silent": "s", "show-error": "S", "fail": "f", "insecure": "k", "head": "I", "include": "i", "output": "o",
    "write-out": "w", "request": "X", "header": "H", "data": "d", "max-time": "m", "connect-timeout": "m", "quiet": "q",
    "output-document": "O", "timeout": "T", "post-data": "p", "no-check-certificate": "k", "spider": "z",
}  # fmt: skip
"""The short form of long options."""


class _Address(NamedTuple):
    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port; the port only where it is not the usual one."""
        return self.host if self.port == (443 if self.secure else 80) else f"{self.host}:{self.port}"

    @property
    def file_name(self) -> str:
        """The name of the file that a page is kept in."""
        return self.path.partition("?")[0].rpartition("/")[2] or "index.html"


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


def _address(text: str) -> _Address | None:
    found = _URL.fullmatch(text)
    if found is None or int(found[3] or 1) > 65535:
        return None
    secure, path = (found[1] or "").lower() == "https", found[4] or "/"
    port = int(found[3] or (443 if secure else 80))
    return _Address(secure, found[2].strip("[]"), port, path if path[0] == "/" else f"/{path}")


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


def _exchanged(
    connection: Connection, target: _Address, method: str, headers: Sequence[str], body: bytes
) -> _Answer | None:
    """Send a request; its answer, or None for bytes that are no answer of HTTP/1."""
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    got = connection("\r\n".join([*lines, "", ""]).encode() + body)
    found = _STATUS.match(got)
    if found is None:
        return None
    head, _, rest = got.partition(b"\r\n\r\n")
    return _Answer(int(found[1]), (found[2] or b"").decode("latin-1"), head + b"\r\n\r\n", rest)


def _kept(machine: Machine, name: str, body: bytes) -> Generator[Effect, bytes, None]:
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


def _seconds(text: str, usual: float) -> float:
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) else usual


def _nslookup(machine: Machine, words: list[str]) -> Run:
    names = options(words)[1]
    if len(names) != 1:
        raise Unsupported(" ".join(words))
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
        raise Unsupported(" ".join(words))
    try:
        yield from _connected(machine, rest[0], int(rest[1]), _seconds(given.get("w", ""), _PATIENCE))
    except _NotConnected as failed:
        raise Failed(_BUSYBOX[failed.kind].format(host=rest[0], address=failed.address)) from failed
    if "v" in given:
        yield from machine.complain(f"{rest[0]} ({rest[0]}:{rest[1]}) open")
    return 0


def _wget(machine: Machine, words: list[str]) -> Run:
    given, rest = options(_short(words), "qzkS", "OTp")
    target = _address(rest[0]) if len(rest) == 1 else None
    if target is None:
        raise Failed(f"not an http or ftp url: {rest[-1]}" if rest else "an address is missing")
    patience = _seconds(given.get("T", ""), _PATIENCE)
    try:
        connection = yield from _connected(machine, target.host, target.port, patience)
    except _NotConnected as failed:
        told = "download timed out" if failed.kind == "time" and "T" in given else _BUSYBOX[failed.kind]
        raise Failed(told.format(host=target.host, address=failed.address)) from failed
    if target.secure:
        raise Unsupported("wget over TLS")
    body = given.get("p", "").encode()
    headers = ("User-Agent: Wget", "Connection: close")
    answer = _exchanged(connection, target, "POST" if "p" in given else "GET", headers, body)
    if answer is None or answer.code >= 400:
        told = f"server returned error: HTTP/1.1 {answer.code} {answer.reason}" if answer else "error getting response"
        raise Failed(told)
    if "z" not in given:
        yield from _kept(machine, given.get("O") or target.file_name, answer.body)
    return 0


_CURL: Final[Mapping[str, tuple[int, str]]] = {
    "name": (6, "Could not resolve host: {host}"),
    "refused": (7, "Failed to connect to {host} port {port} after 0 ms: Could not connect to server"),
    "time": (28, "Connection timed out after {ms} milliseconds"),
}


def _curl(machine: Machine, words: list[str]) -> Run:
    given, rest = options(_short(words), "sSfkIi", "owXHdm")
    target = _address(rest[0]) if len(rest) == 1 else None
    if target is None:
        yield from machine.complain("curl: (3) URL rejected: No host part in the URL")
        return 3
    if target.secure:
        raise Unsupported("curl over TLS")
    patience = _seconds(given.get("m", ""), _PATIENCE)
    try:
        connection = yield from _connected(machine, target.host, target.port, patience)
    except _NotConnected as failed:
        code, told = _CURL[failed.kind]
        text = told.format(host=target.host, port=target.port, ms=int(patience * 1000))
        return (yield from _complained(machine, given, code, text, 0))
    answer = _sent(connection, target, given, _headers(words))
    if answer is None:
        return (yield from _complained(machine, given, 1, "Received HTTP/0.9 when not allowed", 0))
    if "f" in given and answer.code >= 400:
        told = f"The requested URL returned error: {answer.code}"
        return (yield from _complained(machine, given, 22, told, answer.code))
    shown = answer.head if "I" in given else answer.head + answer.body if "i" in given else answer.body
    if given.get("o") != "/dev/null":
        yield from _kept(machine, given.get("o", "-"), shown)
    yield from _told_status(machine, given, answer.code)
    return 0


def _headers(words: Sequence[str]) -> list[str]:
    return [word for flag, word in pairwise(words) if flag in ("-H", "--header")]


def _sent(connection: Connection, target: _Address, given: Mapping[str, str], headers: list[str]) -> _Answer | None:
    body = given.get("d", "").encode()
    method = given.get("X") or ("HEAD" if "I" in given else "POST" if body else "GET")
    sent = ["User-Agent: curl/8.5.0", "Accept: */*", *headers]
    if body and not any(header.lower().startswith("content-type:") for header in headers):
        sent.append("Content-Type: application/x-www-form-urlencoded")
    return _exchanged(connection, target, method, sent, body)


def _complained(machine: Machine, given: Mapping[str, str], code: int, text: str, status: int) -> Run:
    if "s" not in given or "S" in given:
        yield from machine.complain(f"curl: ({code}) {text}")
    yield from _told_status(machine, given, status)
    return code


def _told_status(machine: Machine, given: Mapping[str, str], status: int) -> Generator[Effect, bytes, None]:
    """Write what ``-w`` asks for, of which the status is known."""
    form = given.get("w", "").replace("\\n", "\n").replace("%{http_code}", f"{status:03}")
    form = form.replace("%{response_code}", f"{status:03}")
    if "%{" in form or "\\" in form or form.startswith("@"):
        raise Unsupported(f"curl -w {given['w']}")
    if form:
        yield from machine.write(form)


NETWORK_COMMANDS: Final[Mapping[str, Command]] = {"curl": _curl, "nc": _nc, "nslookup": _nslookup, "wget": _wget}
"""The commands of this module, by name."""
