"""Cross-origin requests: the headers that let pages of allowed origins read answers.

References
----------
k8s.io/apiserver/pkg/server/filters/cors.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from simkit.engine.http.request_state import AuthorizedRequest, ExecutionMode, Handler
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.message import Request, Response

if TYPE_CHECKING:
    import re

_METHODS: Final = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
_HEADERS: Final = (
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)


def compile_origins(texts: Sequence[str]) -> list[re.Pattern[str]]:
    """The compiled patterns of origins. Raises SimkitError for an expression that is wrong or matches too much."""
    import re2

    found = []
    for text in texts:
        try:
            found.append(re2.compile(text))
        except re2.error as error:
            raise _wrong(text, f"regular expression does not compile: {error}") from None
        if not (text.startswith("^") or "//" in text):
            raise _wrong(text, "regular expression does not pin to start of host by including ^ or //")
        if not (text.endswith("$") or ":" in text.partition("//")[2]):
            raise _wrong(text, "regular expression does not pin to end of host by including ':' or '$'")
    return found


def _wrong(text: str, why: str) -> SimkitError:
    return SimkitError(f"--cors-allowed-origins has an invalid regular expression {text!r}: {why}")


class CORSHandler:
    """A handler that adds CORS headers for allowed origins.

    A browser's question whether it may ask at all is answered here; everything else is decided by the engine.
    """

    def __init__(self, engine: Handler, allowed: Sequence[re.Pattern[str]]) -> None:
        self._engine, self._allowed = engine, tuple(allowed)

    def answer(self, request: Request) -> Response:
        """The engine's answer, with headers for an allowed origin."""
        headers = self._headers(request.header("origin"))
        if headers and request.method == "OPTIONS":
            return _preflight(headers)
        response = self._engine.answer(request)
        return _told(response, headers) if headers else response

    def enter(self, request: Request) -> Response | AuthorizedRequest:
        """The engine's refusal or authorized request, whose answers get headers for an allowed origin."""
        headers = self._headers(request.header("origin"))
        if headers and request.method == "OPTIONS":
            return _preflight(headers)
        entered = self._engine.enter(request)
        if not headers:
            return entered
        return _told(entered, headers) if isinstance(entered, Response) else _Entered(entered, headers)

    def at_once(self, request: Request) -> Response | None:
        """None: the headers of an answer depend on the origin of its request."""
        return None

    def refresh(self) -> None:
        """Have the engine catch up with other servers."""
        self._engine.refresh()

    def execution_mode(self, request: Request) -> ExecutionMode:
        """The engine's answer."""
        return self._engine.execution_mode(request)

    def _headers(self, origin: str) -> list[tuple[str, str]]:
        if not origin or not any(each.search(origin) for each in self._allowed):
            return []
        return [
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Allow-Methods", _METHODS),
            ("Access-Control-Allow-Headers", _HEADERS),
            ("Access-Control-Expose-Headers", "Date"),
            ("Access-Control-Allow-Credentials", "true"),
        ]


def _preflight(headers: list[tuple[str, str]]) -> Response:
    return Response(204, b"", "", headers)


def _told(response: Response, headers: list[tuple[str, str]]) -> Response:
    response.headers = [*response.headers, *headers]
    return response


class _Entered:
    """An authorized request whose answers get the headers."""

    def __init__(self, entered: AuthorizedRequest, headers: list[tuple[str, str]]) -> None:
        self._entered, self._headers = entered, headers

    def receive(self, body: bytes) -> Response:
        return _told(self._entered.receive(body), self._headers)

    def fail(self, error: StatusError) -> Response:
        return _told(self._entered.fail(error), self._headers)

    def give_up(self, *, gone: bool = False) -> None:
        self._entered.give_up(gone=gone)
