"""One synchronous HTTPS call."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import orjson

from simkit.engine.egress.kubeconfig import ClientConfig

if TYPE_CHECKING:
    from http.client import HTTPConnection
    from ssl import SSLContext

MOST: Final = 16 * 1024 * 1024
"""Bytes of an answer that are read."""


class CallFailed(Exception):
    """A call that got no usable answer; ``status`` is the HTTP status where there was one."""

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status

    @property
    def worth_repeating(self) -> bool:
        """Whether the same call may succeed in a moment."""
        return self.status in (429, 500, 503, 504)


class Poster(Protocol):
    """Sends a document to a service. Raises CallFailed."""

    def post(self, body: bytes) -> bytes: ...


_ATTEMPTS: Final = 5


def with_exponential_backoff(poster: Poster, body: bytes, *, backoff: float, sleep: Callable[[float], None]) -> bytes:
    """The answer to a document, sent again while the service says that it is only busy; waits are in seconds.

    Raises CallFailed for any other failure, and for the last one.
    """
    for attempt in range(_ATTEMPTS - 1):
        try:
            return poster.post(body)
        except CallFailed as error:
            if not error.worth_repeating:
                raise
            sleep(backoff * 1.5**attempt)
    return poster.post(body)


def review_status(answer: bytes, kind: str) -> Mapping[str, Any]:
    """The status of an answered review of a kind, such as TokenReview. Raises CallFailed for anything else."""
    try:
        document = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise CallFailed(f"the answer is no JSON: {error}") from None
    status = document.get("status") if isinstance(document, dict) else None
    if not isinstance(status, dict) or document.get("kind") not in (None, "", kind):
        raise CallFailed(f"the answer is no {kind} with a status")
    return status


class Caller:
    """Calls one endpoint, each time over a connection of its own.

    Parameters
    ----------
    endpoint
        Where, and with what credentials.
    timeout
        Seconds that connecting, and each wait for bytes, may take.
    """

    def __init__(self, endpoint: ClientConfig, timeout: float = 30.0) -> None:
        self.endpoint, self.timeout = endpoint, timeout
        self._parts = urlsplit(endpoint.url)

    def __repr__(self) -> str:
        return f"<Caller of {self.endpoint.url}>"

    def post(self, body: bytes) -> bytes:
        """The answer to a JSON document. Raises CallFailed for anything but a success."""
        return self._request("POST", body, {"content-type": "application/json", "accept": "application/json"})

    def get(self) -> bytes:
        """What the endpoint's address holds. Raises CallFailed for anything but a success."""
        return self._request("GET", b"", {"accept": "application/json"})

    def _request(self, method: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        from http.client import HTTPException

        connection = self._connection()
        path = self._parts.path or "/"
        target = f"{path}?{self._parts.query}" if self._parts.query else path
        try:
            connection.request(method, target, body or None, {**headers, **self._credentials})
            response = connection.getresponse()
            content = response.read(MOST + 1)
        except TimeoutError as error:
            raise CallFailed(f'{method} "{self.endpoint.url}": context deadline exceeded') from error
        except (OSError, HTTPException) as error:
            raise CallFailed(f'{method} "{self.endpoint.url}": {error}') from error
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise CallFailed(
                f'{method} "{self.endpoint.url}": the answer has status {response.status}', response.status
            )
        if len(content) > MOST:
            raise CallFailed(f'{method} "{self.endpoint.url}": the answer is larger than {MOST} bytes')
        return content

    def _connection(self) -> HTTPConnection:
        from simkit.engine.egress.connection import connection

        return connection(self._parts, self._context, self.endpoint.server_name, self.timeout)

    @cached_property
    def _context(self) -> SSLContext | None:
        """Trust in the endpoint's authorities, or in the machine's; made at the first call."""
        from simkit.engine.egress.connection import trusting

        return trusting(self.endpoint) if self._parts.scheme == "https" else None

    @cached_property
    def _credentials(self) -> Mapping[str, str]:
        endpoint = self.endpoint
        if endpoint.token:
            return {"authorization": f"Bearer {endpoint.token}"}
        if endpoint.user:
            pair = base64.b64encode(f"{endpoint.user}:{endpoint.password}".encode()).decode()
            return {"authorization": f"Basic {pair}"}
        return {}
