"""Headers of requests that a connection sends again byte for byte, so that they need not be parsed again.

Only requests of the plainest form are recognized: one that arrives in one piece, of HTTP/1.1, with a target of
unreserved characters and a body of the announced length. Everything else is read by the parser, which also read these
headers the first time: what it would refuse is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from simkit.engine.http.message import RawHeaders, parse_query
from simkit.meta.message import Request, Sender

_LINE: Final = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9_./~:=&?,+@()!$';*-]*) HTTP/1\.1")
_MOST: Final = 8
_MEANING_MORE: Final = frozenset({"transfer-encoding", "connection", "upgrade", "expect", "trailer", "te"})
"""Headers that say how the message or the connection goes on."""


class RequestLine(NamedTuple):
    """A request line: the method, the whole target, its path and its query."""

    method: str
    url: bytes
    path: str
    query: Mapping[str, Sequence[str]]


class KnownHead(NamedTuple):
    """The headers of a request as the parser read them, with the length of the body that they announce."""

    raw: RawHeaders
    headers: Mapping[str, Sequence[str]]
    size: int
    length: int
    sender: Sender


class KnownHeads:
    """The headers that a connection has sent, by their bytes."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead] = {}

    def find(self, data: bytes) -> tuple[RequestLine, KnownHead, bytes] | None:
        """The request line, the headers and the body of one whole request with known headers; None for other bytes."""
        line, _, rest = data.partition(b"\r\n")
        lines, end, body = rest.partition(b"\r\n\r\n")
        head = self._known.get(lines)
        if head is None or not end or len(body) != head.length:
            return None
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        url = found[2]
        path, _, query = url.partition(b"?")
        return RequestLine(found[1].decode(), url, path.decode(), parse_query(query)), head, body

    def learn(self, data: bytes, request: Request, raw: RawHeaders) -> None:
        """Remember the headers of a request that the parser has read from these bytes, if they are plain."""
        line, _, rest = data.partition(b"\r\n")
        lines, end, body = rest.partition(b"\r\n\r\n")
        lengths = request.headers.get("content-length", ("0",))
        plain = len(lengths) == 1 and lengths[0].isdecimal() and int(lengths[0]) == len(body)
        if not (end and plain and _MEANING_MORE.isdisjoint(request.headers) and _LINE.fullmatch(line)):
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        assert request.sender is not None
        size = sum(len(name) + len(value) for name, value in raw)
        self._known[lines] = KnownHead(raw, request.headers, size, len(body), request.sender)
