"""SPDY/3.1: its frames, and sessions of streams named by their headers, as kubectl opens them."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from simkit.engine.http.upgrade.remote_command import CommandDriver, channel, exit_status, plain_exit
from simkit.engine.pipeline.subresources.connection_target import CommandSession, PortSession
from simkit.meta.errors import StatusError
from simkit.meta.go_number import parse_uint
from simkit.seams import PortHandler, has_closed

# Frames of SPDY/3.1, as far as connections to pods need them. Bytes go in, events come out; nothing is read or sent.
# There is no maintained library for this protocol; kubectl spoke it up to release 1.30, and tunnels it since.
# References: The SPDY Protocol, draft 3.1 (dev.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1).

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


# Sessions over SPDY/3.1: streams named by their headers, as kubectl opens them.
# Upstream: k8s.io/kubelet/pkg/cri/streaming/{remotecommand,portforward}/httpstream.go, release 1.30.

Write = Callable[[bytes], None]
_LINGER: Final = 0.05
"""Seconds that a client has to read the end before the connection goes."""
_MOST_STREAMS: Final = 1024
_STREAMS: Final = frozenset({"stdin", "stdout", "stderr", "error", "resize"})
"""The purposes of the streams of a command."""


class SpdySession:
    """One connection in SPDY/3.1; ``write`` and ``close`` lead to the client, directly or through a tunnel."""

    def __init__(
        self,
        session: CommandSession | PortSession,
        protocol: str,
        write: Write,
        close: Callable[[], None],
        waiting: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._spdy = SpdyConnection()
        self._write, self._close, self._loop = write, close, loop
        self._end = (
            _Command(session, protocol, self, waiting) if isinstance(session, CommandSession) else _Ports(session, self)
        )

    @property
    def full(self) -> bool:
        """True while so much waits at its other end that no more should be read."""
        return self._end.full

    def received(self, data: bytes) -> None:
        """Take bytes from the client; what is no SPDY ends the connection."""
        try:
            for event in self._spdy.receive(data):
                self._on(event)
        except SpdyError:
            self._close()

    def _on(self, event: Opened | Received | Closed | Pinged) -> None:
        if isinstance(event, Pinged):
            self._write(event.answer)
        elif isinstance(event, Opened):
            self._write(self._spdy.reply(event.stream))
            self._end.opened(event.stream, {name.lower(): value for name, value in event.headers.items()})
            if event.fin:
                self._end.data(event.stream, b"", fin=True)
        elif isinstance(event, Received):
            self._end.data(event.stream, event.data, fin=event.fin)
        elif event.stream == 0:
            self._close()
        else:
            self._end.data(event.stream, b"", fin=True)

    def send(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        """Send data on a stream."""
        self._write(self._spdy.data(stream, data, fin=fin))

    def finish(self) -> None:
        """Close, after the client had time to read the end."""
        self._loop.call_later(_LINGER, self._close)

    def lost(self) -> None:
        """The client is gone."""
        self._end.stop()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        return self._loop


class _Command:
    """The streams of one command."""

    def __init__(self, session: CommandSession, protocol: str, link: SpdySession, waiting: Callable[[], int]) -> None:
        self._session, self._protocol, self._link, self.waiting = session, protocol, link, waiting
        self._streams: dict[str, int] = {}
        self._driver = CommandDriver(session, self, link.loop)
        wanted = {"stdin": session.stdin, "stdout": session.stdout, "stderr": session.stderr, "resize": session.tty}
        self._missing = {"error", *(name for name, asked in wanted.items() if asked)}
        if protocol in (channel("v2"), channel(), ""):
            self._missing.discard("resize")

    @property
    def full(self) -> bool:
        return self._driver.full

    def opened(self, stream: int, headers: dict[str, str]) -> None:
        name = headers.get("streamtype", "")
        if name not in _STREAMS:
            return
        self._streams[name] = stream
        self._missing.discard(name)
        if not self._missing:
            self._driver.pump()

    def data(self, stream: int, data: bytes, *, fin: bool) -> None:
        if stream != self._streams.get("stdin"):
            return
        if data:
            self._driver.feed(data)
        if fin:
            self._driver.end_input()

    def output(self, stream: str, data: bytes) -> None:
        if stream in self._streams:
            self._link.send(self._streams[stream], data)

    def ended(self) -> None:
        told = (exit_status if self._protocol == channel("v4") else plain_exit)(self._session.process)
        for name in ("stdout", "stderr"):
            if name in self._streams:
                self._link.send(self._streams[name], b"", fin=True)
        if "error" in self._streams:
            self._link.send(self._streams["error"], told, fin=True)
        self._link.finish()

    def stop(self) -> None:
        self._driver.leave()


class _Ports:
    """Pairs of streams, each for one connection to a port."""

    full: Final = False

    def __init__(self, session: PortSession, link: SpdySession) -> None:
        self._session, self._link = session, link
        self._errors: dict[str, int] = {}
        self._data: dict[int, tuple[str, PortHandler]] = {}

    def opened(self, stream: int, headers: dict[str, str]) -> None:
        request = headers.get("requestid", "")
        if headers.get("streamtype") == "error":
            if len(self._errors) < _MOST_STREAMS:
                self._errors[request] = stream
            return
        if len(self._data) >= _MOST_STREAMS:
            self._link.send(stream, b"", fin=True)
            return
        try:
            port = parse_uint(headers.get("port", ""), bits=16)
            self._data[stream] = (request, self._session.handler(port))
        except (ValueError, StatusError) as error:
            if request in self._errors:
                self._link.send(self._errors.pop(request), str(error).encode(), fin=True)
            self._link.send(stream, b"", fin=True)

    def data(self, stream: int, data: bytes, *, fin: bool) -> None:
        if stream not in self._data:
            return
        request, handler = self._data[stream]
        answer = handler(data) if data else b""
        if answer:
            self._link.send(stream, answer)
        if fin or has_closed(handler):
            del self._data[stream]
            self._link.send(stream, b"", fin=True)
            if request in self._errors:
                self._link.send(self._errors.pop(request), b"", fin=True)

    def stop(self) -> None:
        self._data.clear()
