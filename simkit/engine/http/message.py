"""Conversion of HTTP messages to requests, and of responses to headers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from simkit.meta import go_json
from simkit.meta.errors import StatusError
from simkit.meta.message import Request, Response
from simkit.meta.percent_encoding import unquoted

MOST_FIELDS: Final = 4096
"""The number of query parameters that are read."""
_CACHED_QUERY: Final = 512
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_EMPTY: Final[Mapping[str, Sequence[str]]] = {}
_DRAWN: Final = 256
"""Identifiers for which random bytes are read at once."""
_OWN: Final = frozenset({"audit-id", "cache-control", "content-length"})
"""Headers that every answer has, unless the response sets them itself."""
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
    """The query parameters; of a very long string only the first ones, since parsing costs more than sending."""
    found: dict[str, list[str]] = {}
    for field in raw.split(b"&", MOST_FIELDS)[:MOST_FIELDS]:
        if field:
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
