"""Requests and responses between the HTTP layer and the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

import orjson

from simkit.meta.frozen_init import quickly_made
from simkit.meta.objects import Object
from simkit.meta.visible_text import html_text

BODY_LIMIT: Final = 3 * 1024 * 1024
"""The longest request body, in bytes. Of a longer one, slightly more is passed on, so that it can be recognized."""


NO_SNIFFING: Final = ("X-Content-Type-Options", "nosniff")
"""The header of errors in plain text, as Go's ``http.Error`` sets it."""
_JSON_HEADERS: Final[Mapping[str, Sequence[str]]] = {"content-type": ("application/json",)}
_ESCAPE: Final = re.compile(r"\\(.)")
SHOWN_LETTERS: Final = 20_000
"""The letters of a body that a notebook shows."""
DROPPED: Final = 0
"""The status of an answer that never arrives: the connection is dropped instead."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials of a connection and its headers."""

    bearer: str = field(default="", repr=False)
    certificates: tuple[bytes, ...] = ()
    """The peer's certificate chain, DER, leaf first."""
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    """All request headers, for authenticators that trust a proxy."""


class Sender:
    """The sender of requests with equal headers over one connection, with what an engine remembers of it."""

    __slots__ = ("caller",)

    def __init__(self) -> None:
        self.caller: Any = None
        """Facts about the sender, found by the engine that answers."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. Header names are in lower case; ``path`` is still percent-encoded, without the query."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    certificates: tuple[bytes, ...] = ()
    peer: str = ""
    """The client's address; empty in process."""
    head_size: int = 0
    """Bytes of the request line and the headers; 0 in process."""
    sender: Sender | None = field(default=None, repr=False, compare=False)
    """The sender of requests with these headers on this connection; None in process."""
    refreshed: bool = False
    """True if the store has caught up with other servers since the request came."""
    value: Object | None = field(default=None, repr=False, compare=False)
    """The object that the body is the JSON of, if the sender is a part of this process: see ``of_object``."""

    @classmethod
    def of(
        cls,
        method: str,
        target: str,
        body: Object | Sequence[object] | bytes | None = None,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Request:
        """A request for a path with its query; a body that is not bytes is encoded as JSON."""
        path, _, query = target.partition("?")
        sent: dict[str, Sequence[str]] = {name.lower(): (value,) for name, value in (headers or {}).items()}
        encoded = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        if encoded:
            sent.setdefault("content-type", (content_type,))
        return cls(method, path, parse_qs(query, keep_blank_values=True), sent, encoded)

    @classmethod
    def of_object(cls, method: str, path: str, obj: Object) -> Request:
        """A request with an object as its body that nobody changes any more and that has the types of JSON only.

        Parts that it shares with other objects, such as the template of many pods, are decoded once for all.
        """
        return cls(method, path, {}, _JSON_HEADERS, orjson.dumps(obj), value=obj)

    def header(self, name: str) -> str:
        """The first value of a header, or the empty string."""
        values = self.headers.get(name)
        return values[0] if values else ""

    @property
    def uri(self) -> str:
        """Path and query, the query encoded again."""
        return f"{self.path}?{urlencode(self.query, doseq=True)}" if self.query else self.path

    def option(self, name: str) -> str:
        """The first value of a query parameter, or the empty string."""
        values = self.query.get(name)
        return values[0] if values else ""


@dataclass(slots=True)
class Response:
    """One HTTP answer. A watch has a ``stream`` instead of a body; in process, read it with ``next`` and close it."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = field(default_factory=list)
    stream: Any = None
    upgrade: Any = None
    """The continuation of a connection whose protocol changes (101)."""

    @property
    def object(self) -> Any:
        """The decoded JSON body: a copy that belongs to the caller. None for an empty body."""
        return orjson.loads(self.body) if self.body else None

    @property
    def shown(self) -> Any:
        """The same as ``object``, but the caller must not change it: it may be what is stored."""
        return self.object

    @property
    def size(self) -> int:
        """Bytes of the body; 0 if nobody has asked for it."""
        return len(self.body)

    @property
    def succeeded(self) -> bool:
        return self.status < 400

    @property
    def message(self) -> str:
        """The server's words of a refusal: those of its Status, else the body as text; empty for a success.

        Examples
        --------
        >>> Response(404, b'{"kind": "Status", "message": "there is none"}').message
        'there is none'
        """
        if self.succeeded:
            return ""
        told = self.object if self.content_type.startswith("application/json") else None
        return str(told.get("message", "")) if isinstance(told, dict) else self.body.decode(errors="replace").strip()

    @property
    def warnings(self) -> list[str]:
        r"""The warnings of the server, in its words.

        Examples
        --------
        >>> Response(200, headers=[("Warning", r'299 - "unknown field \"a\""')]).warnings
        ['unknown field "a"']
        """
        quoted = (text.partition(' "')[2].removesuffix('"') for name, text in self.headers if name == "Warning")
        return [_ESCAPE.sub(r"\1", text) for text in quoted]

    def _repr_html_(self) -> str:
        """The status and the body in lines, as much of it as one reads."""
        head = f"<p><b>{self.status}</b> {html_text(self.content_type)}</p>"
        if self.stream is not None or self.upgrade is not None:
            return f"{head}<p>The connection is open: read <code>stream</code>, and close it.</p>"
        is_json = self.content_type.startswith("application/json") and self.body
        lines = orjson.dumps(self.object, option=orjson.OPT_INDENT_2) if is_json else self.body
        text = lines.decode(errors="replace")
        more = f"\n… ({len(text):,} letters)" if len(text) > SHOWN_LETTERS else ""
        return f'{head}<pre style="max-height:32em;overflow:auto">{html_text(text[:SHOWN_LETTERS] + more)}</pre>'


class StoredResponse(Response):
    """The answer to a caller in this process with one stored object, read and encoded when somebody asks for it.

    Parameters
    ----------
    read
        Gives the object in the version of the request.
    encode
        Makes the body.
    """

    __slots__ = ("_encode", "_made", "_read")
    _made: bytes

    def __init__(self, status: int, read: Callable[[], Object], encode: Callable[[], bytes]) -> None:
        self._read, self._encode = read, encode
        super().__init__(status)

    @property
    def body(self) -> bytes:
        """The JSON of the object."""
        if not self._made:
            self._made = self._encode()
        return self._made

    @body.setter
    def body(self, body: bytes) -> None:
        self._made = body

    @property
    def shown(self) -> Any:
        return self._read()

    @property
    def size(self) -> int:
        return len(self._made)
