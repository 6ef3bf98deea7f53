"""HTTP messages: requests out of them, answers as headers and bytes, and what Go's server refuses."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

from simkit.meta import go_json
from simkit.meta.deadline import TooLate
from simkit.meta.errors import StatusError
from simkit.meta.message import Request, Response, Sender
from simkit.meta.percent_encoding import unquoted

# Conversion of HTTP messages to requests, and of responses to headers

MOST_FIELDS: Final = 4096
"""The number of query parameters that are read."""
_CACHED_QUERY: Final = 512
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_EMPTY: Final[Mapping[str, Sequence[str]]] = {}
_DRAWN: Final = 256
"""Identifiers for which random bytes are read at once."""
_OWN: Final = frozenset({"audit-id", "cache-control", "content-length"})
"""Headers that every answer has, unless the response sets them itself."""
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_FEW: Final = 8
_SHORT: Final = 256
"""The limits of headers whose lines are cached."""
_BODILESS: Final = frozenset({204, 304})

RawHeaders = list[tuple[bytes, bytes]]


def parse_query(raw: bytes) -> Mapping[str, Sequence[str]]:
    """The query parameters in order, repeated ones together, with blank values. Do not change the result.

    Examples
    --------
    >>> parse_query(b"a=1&b&a=%2F")
    {'a': ['1', '/'], 'b': ['']}
    """
    if not raw:
        return _EMPTY
    return _parse_short_query(raw) if len(raw) <= _CACHED_QUERY else _parse(raw)


def _parse(raw: bytes) -> Mapping[str, Sequence[str]]:
    """The query parameters that Go reads; of a very long string only the first ones, since parsing costs more."""
    found: dict[str, list[str]] = {}
    for field in raw.split(b"&", MOST_FIELDS)[:MOST_FIELDS]:
        if field and b";" not in field and not _BAD_ESCAPE.search(field):
            name, _, value = field.decode("utf-8", "replace").replace("+", " ").partition("=")
            found.setdefault(unquoted(name), []).append(unquoted(value))
    return found


_parse_short_query = lru_cache(maxsize=512)(_parse)


def parse_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, Sequence[str]]:
    """Header values by lower-case name, those of a repeated header in order."""
    headers: dict[str, Sequence[str]] = {}
    repeated: dict[str, list[str]] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        if key not in headers:
            headers[key] = (text,)
        elif key in repeated:
            repeated[key].append(text)
        else:
            repeated[key] = [*headers[key], text]
    return {**headers, **{key: tuple(values) for key, values in repeated.items()}} if repeated else headers


def error_response(error: StatusError) -> Response:
    """A Status as the answer to a request that does not reach the engine."""
    if isinstance(error, TooLate):
        return Response(error.code, TooLate.TEXT, "text/plain; charset=utf-8")
    return Response(error.code, go_json.encode(error.status()), headers=list(error.headers))


def no_room() -> StatusError:
    """The answer to a request for which there is no room, as of the filters that limit requests in flight."""
    text = "Too many requests, please try again later."
    return StatusError(429, "TooManyRequests", text, headers=[("Retry-After", "1")])


def response_headers(response: Response, audit_id: bytes, *, length: int | None) -> RawHeaders:
    """The headers of an answer, names in lower case; a length of None is a stream.

    What the response sets itself (``Cache-Control``, ``Audit-Id``) is left as it is. Line breaks and other control
    characters become spaces, so that no value can start another header.
    """
    headers: RawHeaders = []
    given = set()
    for name, value in response.headers:
        lowered = name.lower()
        given.add(lowered)
        headers.append((lowered.encode(), header_value(value)))
    if "audit-id" not in given:
        headers.append((b"audit-id", audit_id))
    if "cache-control" not in given:
        headers.append((b"cache-control", b"no-cache, private"))
    if response.content_type:
        headers.append((b"content-type", header_value(response.content_type)))
    if length is not None and response.status not in _BODILESS and "content-length" not in given:
        headers.append((b"content-length", b"%d" % length))
    return headers


def header_lines(response: Response, audit_id: bytes, *, length: int) -> bytes:
    """The lines of ``response_headers``, each with its end."""
    given = _given_lines(tuple(response.headers)) if len(response.headers) <= _FEW else None
    if given is None or response.status in _BODILESS:
        headers = response_headers(response, audit_id, length=length)
        return b"".join(b"%s: %s\r\n" % header for header in headers)
    kind = _line("content-type", response.content_type) if response.content_type else b""
    return b"%saudit-id: %s\r\ncache-control: no-cache, private\r\n%scontent-length: %d\r\n" % (
        *(given, audit_id, kind),
        length,
    )


@lru_cache(maxsize=256)
def _given_lines(headers: tuple[tuple[str, str], ...]) -> bytes | None:
    """The lines of a response's own headers; None if others are left out because of them, or they are long."""
    if any(name.lower() in _OWN or len(name) + len(value) > _SHORT for name, value in headers):
        return None
    return b"".join(_line(name, value) for name, value in headers)


@lru_cache(maxsize=64)
def _line(name: str, value: str) -> bytes:
    return b"%s: %s\r\n" % (name.lower().encode(), header_value(value))


def header_value(text: str) -> bytes:
    """A header value as bytes, without control characters."""
    return _CONTROL.sub(" ", text).encode()


def audit_id(request: Request) -> bytes:
    """The audit ID of a request: the client's own if it sent one, else a random UUID."""
    given = request.headers.get("audit-id")
    if given and given[0]:
        return given[0].encode("ascii", "replace")[:64]
    return _DRAWN_IDS.take()


class _RandomIds:
    """Random UUIDs, read from the system in bulk: each read lets other threads go first."""

    def __init__(self) -> None:
        self._ids: Iterator[bytes] = iter(())

    def take(self) -> bytes:
        """Returns a UUID that nobody has had."""
        for drawn in self._ids:
            return drawn
        digits = os.urandom(16 * _DRAWN).hex()
        self._ids = iter([_uuid(digits[start : start + 32]) for start in range(0, len(digits), 32)])
        return next(self._ids)


def _uuid(digits: str) -> bytes:
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}".encode()


_DRAWN_IDS: Final = _RandomIds()


# Answers as bytes of HTTP/1.1

JOIN_BELOW: Final = 64 * 1024
"""Bytes of a body up to which copying it behind its head is cheaper than a second write."""


def response_bytes(
    request: Request, response: Response, defaults: Iterable[tuple[bytes, bytes]], *, keep_alive: bool
) -> list[bytes]:
    """The bytes to write: head and body in one piece, or in two if the body is large.

    Parameters
    ----------
    request
        The request, whose audit ID is returned; the answer to HEAD has no body.
    response
        The answer.
    defaults
        Headers of every answer.
    keep_alive
        True if the connection stays open.
    """
    head = [_status_line(response.status)]
    for name, value in defaults:
        head += (name, b": ", value, b"\r\n")
    head.append(header_lines(response, audit_id(request), length=len(response.body)))
    head.append(b"\r\n" if keep_alive else b"connection: close\r\n\r\n")
    body = b"" if request.method == "HEAD" else response.body
    if len(body) <= JOIN_BELOW:
        head.append(body)
        return [b"".join(head)]
    return [b"".join(head), body]


@lru_cache(maxsize=128)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


# Headers of requests that a connection sends again byte for byte, so that they need not be parsed again.
# Only requests of the plainest form are recognized: one that arrives in one piece, of HTTP/1.1, with a target of
# unreserved characters and a body of the announced length. Everything else is read by the parser, which also read these
# headers the first time: what it would refuse is not known here.

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
        plain = [*request.headers.get("content-length", "0")] == [str(len(body))]
        if not (end and plain and _MEANING_MORE.isdisjoint(request.headers) and _LINE.fullmatch(line)):
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        assert request.sender is not None
        size = sum(len(name) + len(value) for name, value in raw)
        self._known[lines] = KnownHead(raw, request.headers, size, len(body), request.sender)


# Requests that Go's HTTP server refuses before any handler sees them, and its answers.
# References: ``(*conn).serve`` and ``(*conn).readRequest`` of net/http/server.go, Go 1.22.

UNSUPPORTED_VERSION: Final = (505, ": unsupported protocol version")
_HOST: Final = re.compile(rb"[0-9A-Za-z!$%&'()*+,\-.:;=\[\]_~]*")
"""``ValidHostHeader`` of golang.org/x/net/http/httpguts."""
_UNSUPPORTED_CODING: Final = (
    b"HTTP/1.1 501 Not Implemented\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n"
    b"Unsupported transfer encoding"
)
_EXPECTATION_FAILED: Final = b"HTTP/1.1 417 Expectation Failed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_OTHER_VERSION: Final = re.compile(rb"\A(?!PRI )[A-Z]+ [^ \r\n]+ HTTP/[02-9]\.[0-9]\r?\n")
_BROKEN: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
"""A percent sign in a path that is not followed by two digits."""


def refusal(status: int, why: str = "") -> bytes:
    """The answer to a request that cannot be served; the connection ends after it.

    Examples
    --------
    >>> refusal(400, ": missing required Host header").split(b"\\r\\n")[0]
    b'HTTP/1.1 400 Bad Request: missing required Host header'
    """
    text = f"{status} {HTTPStatus(status).phrase}{why}".encode()
    head = b"HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%s"
    return head % (text, text)


def message_refusal(version: str, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The answer to a request whose body is coded, or that expects anything but 100-continue; None without these.

    The one coding is a single ``chunked``, and only HTTP/1.1 has it: whoever reads another one differently would take
    the body for the next request.

    References
    ----------
    ``parseTransferEncoding`` of net/http/transfer.go, Go 1.22. Go reads the head of HTTP/1.0 as if it named no coding.

    Examples
    --------
    >>> message_refusal("1.1", [(b"transfer-encoding", b"gzip, chunked")]).split(b"\\r\\n")[0]
    b'HTTP/1.1 501 Not Implemented'
    >>> message_refusal("1.1", [(b"transfer-encoding", b"Chunked")])
    """
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and version == "1.0":
        return refusal(400)
    if codings and codings != [b"chunked"]:
        return _UNSUPPORTED_CODING
    expected = [value.lower() for name, value in headers if name == b"expect"]
    return _EXPECTATION_FAILED if expected and expected[0] not in (b"", b"100-continue") else None


def is_other_version(data: bytes) -> bool:
    """True for a request line of another major version of HTTP than 1."""
    return _OTHER_VERSION.search(data) is not None


def has_broken_path(url: bytes) -> bool:
    """True for a target whose path has a percent sign without two digits behind it."""
    return b"%" in url and _BROKEN.search(url.partition(b"?")[0]) is not None


def host_refusal(method: bytes, version: str, hosts: Sequence[bytes]) -> tuple[int, str] | None:
    """The status and reason for a version and Host headers that are not accepted; None if they are.

    Another major version than 1 is refused, as are no Host in 1.1, several, and a malformed one.
    """
    if version not in ("1.0", "1.1"):
        return UNSUPPORTED_VERSION
    if version == "1.1" and not hosts and method != b"CONNECT":
        return 400, ": missing required Host header"
    if len(hosts) > 1:
        return 400, ": too many Host headers"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return 400, ": malformed Host header"
    return None


# Compression of large answers.
# References: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go, release 1.30.

THRESHOLD: Final = 128 * 1024
"""Bytes above which a body is compressed for those who accept it."""
INLINE: Final = 256 * 1024
"""Bytes up to which compressing is too short a work to be worth another thread."""
_LEVEL: Final = 1
_GZIP_WRAPPER: Final = 16 + zlib.MAX_WBITS


def wanted(request: Request, response: Response) -> bool:
    """True if the answer is large enough, the client accepts gzip, and the body is not encoded already.

    Notes
    -----
    As on kube-apiserver, ``gzip`` must stand in the list as it is: ``gzip;q=1`` does not count.
    """
    if len(response.body) <= THRESHOLD:
        return False
    accepted = (token.strip() for value in request.headers.get("accept-encoding", ()) for token in value.split(","))
    return "gzip" in accepted and not any(name.lower() == "content-encoding" for name, _ in response.headers)


def compressed(body: bytes) -> bytes:
    """The body in gzip form, at the fastest level. Releases the interpreter's lock while it works."""
    worker = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WRAPPER)
    return worker.compress(body) + worker.flush()


def replace_body(response: Response, body: bytes) -> Response:
    """The response with its body in gzip form."""
    headers = [*response.headers, ("content-encoding", "gzip"), ("vary", "Accept-Encoding")]
    return Response(response.status, body, response.content_type, headers)
