"""Requests of HTTP/1.1 that commands in containers send, and their answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from simkit.simulation.shell.network import Connection

_URL: Final = re.compile(
    r"(?:(https?)://)?(?:[^/@?#]*@)?(\[[^\]/]*\]|[^:/?#\s]+)(?::(\d{1,5}))?([/?][^#]*)?(?:#.*)?", re.IGNORECASE
)
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n")


class Address(NamedTuple):
    """The parts of the address of a page."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port; the port only where it is not the usual one."""
        return self.host if self.port == _usual(self.secure) else f"{self.host}:{self.port}"


class Answer(NamedTuple):
    """An answer; ``head`` has its status line and headers."""

    code: int
    reason: str
    head: bytes
    body: bytes


def _usual(secure: bool) -> int:
    return 443 if secure else 80


def address(text: str) -> Address | None:
    """The parts of an address; None if it is not one of HTTP.

    Examples
    --------
    >>> address("web.shop:8080/a?b=c")
    Address(secure=False, host='web.shop', port=8080, path='/a?b=c')
    """
    found = _URL.fullmatch(text)
    if found is None or int(found[3] or 1) > 65535:
        return None
    secure = (found[1] or "").lower() == "https"
    path = found[4] or "/"
    return Address(
        secure, found[2].strip("[]"), int(found[3] or _usual(secure)), path if path[0] == "/" else f"/{path}"
    )


def exchange(
    connection: Connection, target: Address, method: str, headers: Sequence[str], body: bytes = b""
) -> Answer | None:
    """Send a request; its answer, or None for bytes that are no answer of HTTP/1.

    Examples
    --------
    >>> exchange(lambda sent: b"HTTP/1.1 200 OK\\r\\nA: b\\r\\n\\r\\nhi", address("web"), "GET", ()).body
    b'hi'
    """
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    got = connection("\r\n".join([*lines, "", ""]).encode() + body)
    found = _STATUS.match(got)
    if found is None:
        return None
    head, _, rest = got.partition(b"\r\n\r\n")
    return Answer(int(found[1]), (found[2] or b"").decode("latin-1"), head + b"\r\n\r\n", rest)
