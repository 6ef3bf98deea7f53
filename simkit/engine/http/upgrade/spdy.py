"""Frames of SPDY/3.1, as far as connections to pods need them. Bytes go in, events come out; nothing is read or sent.

There is no maintained library for this protocol; kubectl spoke it up to release 1.30, and tunnels it since.

References
----------
The SPDY Protocol, draft 3.1 (dev.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status|200 OK|version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_REST: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
    "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 "
    "Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept "
    "Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset="
    "utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    first, status, last = _WORDS.split("|")
    words = [*first.split(), status, *last.split()]
    return b"".join(struct.pack(">I", len(word)) + word.encode() for word in words) + _REST.encode()


DICTIONARY: Final = _dictionary()
"""The letters that header blocks are compressed with (section 2.6.10.1)."""
_VERSION: Final = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
FIN: Final = 1
_MOST_FRAME: Final = 1 << 22
"""Bytes of a frame; larger ones are refused."""
_MOST_HEADERS: Final = 64 * 1024
_CHUNK: Final = 32 * 1024


class SpdyError(Exception):
    """Bytes that are no SPDY/3.1."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The client opened a stream."""

    stream: int
    headers: Mapping[str, str]
    fin: bool


@dataclass(frozen=True, slots=True)
class Received:
    """The client sent data on a stream; ``fin`` says that it sends no more."""

    stream: int
    data: bytes
    fin: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """The client reset a stream; 0 stands for all of them."""

    stream: int


@dataclass(frozen=True, slots=True)
class Pinged:
    """The client wants an answer, which is given."""

    answer: bytes


Event = Opened | Received | Closed | Pinged


class SpdyConnection:
    """One connection, from the server's side.

    Examples
    --------
    >>> client, server = SpdyConnection(), SpdyConnection()
    >>> sent = client.open(1, {"streamtype": "stdin"}) + client.data(1, b"hi", fin=True)
    >>> [type(event).__name__ for event in server.receive(sent)]
    ['Opened', 'Received']
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def receive(self, data: bytes) -> Iterator[Event]:
        """The events in some bytes and those before them. Raises SpdyError."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, second = struct.unpack_from(">II", self._buffer)
            length = second & 0xFFFFFF
            if length > _MOST_FRAME:
                raise SpdyError(f"a frame of {length} bytes")
            if len(self._buffer) < 8 + length:
                return
            payload, flags = bytes(self._buffer[8 : 8 + length]), second >> 24
            del self._buffer[: 8 + length]
            if first >> 31:
                yield from self._control((first >> 16) & 0x7FFF, first & 0xFFFF, flags, payload)
            else:
                yield Received(first & 0x7FFFFFFF, payload, bool(flags & FIN))

    def _control(self, version: int, kind: int, flags: int, payload: bytes) -> Iterator[Event]:
        if version != _VERSION:
            raise SpdyError(f"version {version}")
        try:
            if kind == _SYN_STREAM:
                (stream,) = struct.unpack_from(">I", payload)
                yield Opened(stream & 0x7FFFFFFF, self._headers(payload[10:]), bool(flags & FIN))
            elif kind == _RST_STREAM:
                yield Closed(struct.unpack_from(">I", payload)[0] & 0x7FFFFFFF)
            elif kind == _PING:
                yield Pinged(_frame(_PING, 0, payload[:4]))
            elif kind == _GOAWAY:
                yield Closed(0)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise SpdyError(str(error)) from error

    def _headers(self, block: bytes) -> dict[str, str]:
        text = self._inflate.decompress(block, _MOST_HEADERS)
        if self._inflate.unconsumed_tail:
            raise SpdyError("a header block that is too long")
        (count,) = struct.unpack_from(">I", text)
        position, found = 4, dict[str, str]()
        for _ in range(min(count, 256)):
            pair = []
            for _ in range(2):
                (length,) = struct.unpack_from(">I", text, position)
                pair.append(text[position + 4 : position + 4 + length].decode())
                position += 4 + length
            found[pair[0]] = pair[1]
        return found

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """The frame that opens a stream, as a client sends it."""
        return _frame(_SYN_STREAM, 0, struct.pack(">IIH", stream, 0, 0) + self._block(headers))

    def reply(self, stream: int, headers: Mapping[str, str] | None = None) -> bytes:
        """The frame that accepts a stream."""
        return _frame(_SYN_REPLY, 0, struct.pack(">I", stream) + self._block(headers or {}))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        parts = [struct.pack(">I", len(headers))]
        texts = (text.encode() for pair in headers.items() for text in pair)
        parts += [struct.pack(">I", len(text)) + text for text in texts]
        return self._deflate.compress(b"".join(parts)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def data(self, stream: int, data: bytes, *, fin: bool = False) -> bytes:
        """The frames of some data on a stream."""
        chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)] or [b""]
        made = []
        for number, chunk in enumerate(chunks):
            flags = FIN if fin and number == len(chunks) - 1 else 0
            made.append(struct.pack(">II", stream, flags << 24 | len(chunk)) + chunk)
        return b"".join(made)

    def reset(self, stream: int) -> bytes:
        """The frame that ends a stream at once."""
        return _frame(_RST_STREAM, 0, struct.pack(">II", stream, 5))


def _frame(kind: int, flags: int, payload: bytes) -> bytes:
    return struct.pack(">II", 1 << 31 | _VERSION << 16 | kind, flags << 24 | len(payload)) + payload
