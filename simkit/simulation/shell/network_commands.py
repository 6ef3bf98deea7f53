"""Commands that ask for names and connect to ports: ``nslookup``, ``getent``, ``nc``, ``wget`` and ``curl``.

Messages and exit codes are those of busybox 1.36 and curl 8. TLS is not spoken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from itertools import pairwise
from typing import Final

from simkit.simulation.shell.accounts import GROUPS, USERS, account_rows
from simkit.simulation.shell.effects import error, line, options, read_all, whole
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.http_exchange import Address, Answer, address, exchange
from simkit.simulation.shell.machine import STDERR, Effect, Machine, Pause, Run, Write
from simkit.simulation.shell.network import RESOLVER, Connection, Refused, Socket, Unreachable

_PATIENCE: Final = 127
"""Seconds after which Linux gives up a connection."""
_LONG: Final[Mapping[str, str]] = {
    "silent": "s",
    "show-error": "S",
    "fail": "f",
    "insecure": "k",
    "head": "I",
    "include": "i",
    "location": "L",
    "verbose": "v",
    "output": "o",
    "write-out": "w",
    "request": "X",
    "header": "H",
    "data": "d",
    "data-raw": "d",
    "max-time": "m",
    "connect-timeout": "m",
    "retry": "R",
    "cacert": "E",
    "user": "u",
    "quiet": "q",
    "output-document": "O",
    "timeout": "T",
    "tries": "t",
    "post-data": "p",
    "no-check-certificate": "k",
}
"""The short form of long options; those of spider and retries that have none get a letter of their own."""


class _Failed(Exception):
    """A connection that did not come about: ``kind`` is name, refused or time."""

    def __init__(self, kind: str, address: str) -> None:
        super().__init__(kind)
        self.kind, self.address = kind, address


def _connected(
    machine: Machine, host: str, port: int, patience: int
) -> Generator[Effect, bytes, tuple[str, Connection]]:
    """The address of a host and the other end of a connection to it; waits as long as nobody answers."""
    found = machine.network.addresses(host)[1]
    if not found:
        raise _Failed("name", "")
    try:
        return found[0], machine.network.connect(found[0], port)
    except Refused:
        raise _Failed("refused", found[0]) from None
    except Unreachable:
        yield float(patience)
        raise _Failed("time", found[0]) from None


def _nslookup(machine: Machine, words: list[str]) -> Run:
    asked = [word for word in words[1:] if not word.startswith("-")]
    if not asked:
        yield error("nslookup", "a name is missing")
        return 1
    yield line(f"Server:\t\t{RESOLVER}\nAddress:\t{RESOLVER}:53\n")
    name, found = machine.network.addresses(asked[0])
    for each in found:
        yield line(f"Name:\t{name}\nAddress: {each}\n")
    if not found:
        for tried in machine.network.searched(asked[0]):
            yield line(f"** server can't find {tried}: NXDOMAIN\n")
    return 0 if found else 1


def _getent(machine: Machine, words: list[str]) -> Run:
    """``getent hosts NAME...``, and ``getent passwd|group [NAME...]``."""
    kind, keys = "".join(words[1:2]), words[2:]
    path = {"passwd": USERS, "group": GROUPS}.get(kind)
    if path is not None:
        rows = account_rows(machine, path)
        chosen = rows if not keys else [row for key in keys for row in rows if key in (row[0], row[2])]
        for row in chosen:
            yield line(":".join(row))
        return 0 if chosen else 2
    if kind not in ("hosts", "ahosts", "ahostsv4"):
        yield error("getent", f"Unknown database: {kind}")
        return 1
    found = machine.network.addresses(keys[0])[1] if keys else ()
    for each in found:
        yield line(f"{each:<15} {keys[0]}")
    return 0 if found else 2


def _nc(machine: Machine, words: list[str]) -> Run:
    given, rest = options(words[1:], valued="wipse")
    if "l" in given:
        return (yield from _listen(machine, whole(given.get("p") or "".join(rest[-1:])), stays="k" in given))
    if len(rest) < 2 or not 0 < whole(rest[1]) < 65536:
        yield error("nc", "a host and a port are needed")
        return 1
    host, port = rest[0], whole(rest[1])
    try:
        at, connection = yield from _connected(machine, host, port, whole(given.get("w", "")) or _PATIENCE)
    except _Failed as failed:
        yield error("nc", _BUSYBOX[failed.kind].format(host=host, address=failed.address))
        return 1
    if "v" in given:
        yield Write(f"{host} ({at}:{port}) open\n".encode(), STDERR)
    if "z" not in given and (sent := (yield from read_all())):
        yield Write(connection(sent))
    return 0


def _listen(machine: Machine, port: int, *, stays: bool) -> Run:
    """Answer who connects with the whole input, and print what it sends; the first one only unless it ``stays``."""
    sockets = machine.network.sockets
    if not 0 < port < 65536 or (port in sockets and not sockets[port].over):
        yield error("nc", "bind: Address already in use" if port in sockets else "a port is needed")
        return 1
    sent = yield from read_all()
    socket = sockets[port] = Socket(sent, stays)
    try:
        while True:
            while not socket.arrived:
                yield Pause()
            yield Write(socket.arrived.pop(0))
            if not stays:
                return 0
    finally:
        if sockets.get(port) is socket:
            del sockets[port]


_BUSYBOX: Final[Mapping[str, str]] = {
    "name": "bad address '{host}'",
    "refused": "can't connect to remote host ({address}): Connection refused",
    "time": "can't connect to remote host ({address}): Operation timed out",
}


def _short(words: list[str]) -> list[str]:
    """The words with long options in their short form, and values after ``=`` as words of their own."""
    made: list[str] = []
    for word in words:
        name, equals, value = word[2:].partition("=") if word.startswith("--") else ("", "", "")
        if name in _LONG:
            made += [f"-{_LONG[name]}", *([value] if equals else ())]
        else:
            made.append(word)
    return made


def _wget(machine: Machine, words: list[str]) -> Run:
    given, rest = options(_short(words[1:]), valued="OTtpUPeH")
    spider, rest = "--spider" in rest, [word for word in rest if not word.startswith("--")]
    target = address(rest[-1]) if rest else None
    if target is None:
        yield error("wget", f"not an http or ftp url: {rest[-1]}" if rest else "an address is missing")
        return 1
    quiet = "q" in given
    try:
        at, connection = yield from _connected(
            machine, target.host, target.port, whole(given.get("T", "")) or _PATIENCE
        )
    except _Failed as failed:
        told = "download timed out" if failed.kind == "time" and "T" in given else _BUSYBOX[failed.kind]
        yield error("wget", told.format(host=target.host, address=failed.address))
        return 1
    if not quiet:
        yield Write(f"Connecting to {target.authority} ({at}:{target.port})\n".encode(), STDERR)
    if target.secure:
        yield error("wget", "TLS error from peer: TLS is not simulated")
        return 1
    body = given.get("p", "").encode()
    answer = exchange(
        connection, target, "POST" if "p" in given else "GET", ("User-Agent: Wget", "Connection: close"), body
    )
    if answer is None or answer.code >= 400:
        told = f"server returned error: HTTP/1.1 {answer.code} {answer.reason}" if answer else "error getting response"
        yield error("wget", told)
        return 1
    if spider:
        if not quiet:
            yield Write(b"remote file exists\n", STDERR)
        return 0
    return (yield from _kept(machine, "wget", given.get("O") or _file_name(target), answer.body, quiet=quiet))


def _file_name(target: Address) -> str:
    return target.path.partition("?")[0].rpartition("/")[2] or "index.html"


def _kept(machine: Machine, command: str, name: str, body: bytes, *, quiet: bool) -> Run:
    """Write what was fetched to a file, or to the standard output."""
    if name == "-":
        yield Write(body)
        return 0
    try:
        machine.files.write(machine.path(name), body)
    except FileError as problem:
        yield error(command, f"can't open '{name}': {problem}")
        return 1
    if not quiet:
        yield Write(f"saving to '{name}'\n'{name}' saved\n".encode(), STDERR)
    return 0


def _curl(machine: Machine, words: list[str]) -> Run:
    given, rest = options(_short(words[1:]), valued="owXHdmREuATeb")
    rest = [word for word in rest if not word.startswith("--")]
    headers = [word for flag, word in pairwise(words) if flag in ("-H", "--header")]
    target = address(rest[-1]) if rest else None
    if target is None:
        yield Write(
            b"curl: (3) URL rejected: No host part in the URL\n" if rest else b"curl: (2) no URL specified\n", STDERR
        )
        return 3 if rest else 2
    speaks = "s" not in given or "S" in given
    patience = int(float(given["m"])) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", given.get("m", "")) else _PATIENCE
    try:
        connection = (yield from _connected(machine, target.host, target.port, patience))[1]
        answer = None if target.secure else _sent(connection, target, given, headers)
    except _Failed as failed:
        code, told = _CURL[failed.kind]
        return (
            yield from _complained(
                code, told.format(host=target.host, port=target.port, ms=patience * 1000), given, speaks=speaks
            )
        )
    if answer is None:
        code, told = (35, "TLS is not simulated") if target.secure else (1, "Received HTTP/0.9 when not allowed")
        return (yield from _complained(code, told, given, speaks=speaks))
    if "f" in given and answer.code >= 400:
        told = f"The requested URL returned error: {answer.code}"
        return (yield from _complained(22, told, given, speaks=speaks, status=answer.code))
    shown = answer.head if "I" in given else answer.head + answer.body if "i" in given else answer.body
    name = _file_name(target) if "O" in given else given.get("o", "-")
    code = 0 if name == "/dev/null" else (yield from _kept(machine, "curl", name, shown, quiet=True))
    yield from _told_status(given, answer.code)
    return 23 if code else 0


_CURL: Final[Mapping[str, tuple[int, str]]] = {
    "name": (6, "Could not resolve host: {host}"),
    "refused": (7, "Failed to connect to {host} port {port} after 0 ms: Could not connect to server"),
    "time": (28, "Connection timed out after {ms} milliseconds"),
}


def _sent(connection: Connection, target: Address, given: Mapping[str, str], headers: list[str]) -> Answer | None:
    body = given.get("d", "").encode()
    method = given.get("X") or ("HEAD" if "I" in given else "POST" if body else "GET")
    sent = ["User-Agent: curl/8.5.0", "Accept: */*", *headers]
    if body and not any(header.lower().startswith("content-type:") for header in headers):
        sent.append("Content-Type: application/x-www-form-urlencoded")
    return exchange(connection, target, method, sent, body)


def _complained(code: int, told: str, given: Mapping[str, str], *, speaks: bool, status: int = 0) -> Run:
    if speaks:
        yield Write(f"curl: ({code}) {told}\n".encode(), STDERR)
    yield from _told_status(given, status)
    return code


def _told_status(given: Mapping[str, str], status: int) -> Generator[Effect, bytes, None]:
    """The text that ``-w`` asks for: of its variables the status is known."""
    form = given.get("w", "").replace("\\n", "\n")
    if form:
        told = re.sub(r"%\{(\w{1,40})\}", lambda found: f"{status:03}" if found[1] in _STATUS else "", form)
        yield Write(told.encode())


_STATUS: Final = frozenset({"http_code", "response_code"})
NETWORK_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "nslookup": _nslookup,
    "getent": _getent,
    "nc": _nc,
    "wget": _wget,
    "curl": _curl,
}
"""The commands of this module, by name."""
