"""Calls of the endpoint of a client configuration, and the back-off of posted reviews.

References
----------
k8s.io/apiserver/pkg/util/webhook (``GenericWebhook``, ``WithExponentialBackoff``), release 1.30.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Protocol
from urllib.parse import SplitResult, urlsplit

from simkit.engine.egress.files import ClientConfig
from simkit.engine.egress.policy import Peer, Unreachable, parse_answer
from simkit.meta.deadline import check_deadline

MOST: Final = 16 * 1024 * 1024
"""The most bytes of a response that are read."""


class Poster(Protocol):
    """A function that posts a document to a service. Raises Unreachable."""

    def post(self, body: bytes) -> bytes: ...


_ATTEMPTS: Final = 5
_BUSY: Final = (429, 500, 503, 504)
"""Statuses after which the same call may succeed in a moment."""


def with_exponential_backoff(poster: Poster, body: bytes, *, backoff: float, sleep: Callable[[float], None]) -> bytes:
    """The response to a document, sent again while the service is busy; waits are in seconds.

    Raises Unreachable for any other failure, and for the last one.
    """
    for attempt in range(_ATTEMPTS - 1):
        try:
            return poster.post(body)
        except Unreachable as error:
            if error.status not in _BUSY:
                raise
            check_deadline()
            sleep(backoff * 1.5**attempt)
            check_deadline()
    return poster.post(body)


def review_status(answer: bytes, kind: str) -> Mapping[str, Any]:
    """The status of an answered review of a kind, such as TokenReview. Raises Unreachable for anything else."""
    try:
        document = parse_answer(answer)
    except json.JSONDecodeError as error:
        raise Unreachable(f"the answer is no JSON: {error}") from None
    status = document.get("status") if isinstance(document, dict) else None
    if not isinstance(status, dict) or document.get("kind") not in (None, "", kind):
        raise Unreachable(f"the answer is no {kind} with a status")
    return status


def status_fields(status: Mapping[str, Any], kind: str, **types: type) -> dict[str, Any]:
    """The fields of a review's status that are named and given. Raises Unreachable for one of another type.

    Examples
    --------
    >>> status_fields({"allowed": True, "other": "x" * 1000}, "SubjectAccessReview", allowed=bool, reason=str)
    {'allowed': True}
    """
    found = {name: status[name] for name in types if status.get(name) is not None}
    if not all(isinstance(value, types[name]) for name, value in found.items()):
        raise Unreachable(f"the answer is a {kind} whose status cannot be read")
    return found


class Caller:
    """Calls one endpoint, each time over a new connection.

    Parameters
    ----------
    endpoint
        Where, and with what credentials.
    timeout
        Seconds that a whole call may take.
    """

    def __init__(self, endpoint: ClientConfig, timeout: float = 30.0) -> None:
        self.endpoint, self.timeout = endpoint, timeout

    def __repr__(self) -> str:
        return f"<Caller of {self.endpoint.url}>"

    def post(self, body: bytes) -> bytes:
        """The answer to a JSON document. Raises Unreachable for anything but a success."""
        return self._request("POST", body, {"content-type": "application/json", "accept": "application/json"})

    def get(self) -> bytes:
        """The content at the endpoint's URL. Raises Unreachable for anything but a success."""
        return self._request("GET", b"", {"accept": "application/json"})

    def _request(self, method: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        from simkit.engine.egress.peer import fetch

        try:
            parts, peer = self._parts, self._peer
        except ValueError as error:
            raise Unreachable(f'parse "{self.endpoint.url}": {error}') from error
        path = parts.path or "/"
        target = f"{path}?{parts.query}" if parts.query else path
        sent = {"Host": parts.netloc.rpartition("@")[2], **headers, **self._credentials}
        if method == "POST":
            sent["Content-Length"] = str(len(body))
        try:
            status, content, _ = fetch(peer, method, target, sent, body, timeout=self.timeout, most=MOST)
        except Unreachable as error:
            raise Unreachable(f'{method} "{self.endpoint.url}": {error}') from error
        if not 200 <= status < 300:
            raise Unreachable(f'{method} "{self.endpoint.url}": the answer has status {status}', status)
        return content

    @cached_property
    def _parts(self) -> SplitResult:
        return urlsplit(self.endpoint.url)

    @cached_property
    def _peer(self) -> Peer:
        endpoint, parts = self.endpoint, self._parts
        host, tls = parts.hostname or "", parts.scheme == "https"
        return Peer(
            host,
            parts.port or (443 if tls else 80),
            endpoint.server_name or host,
            endpoint.authorities,
            endpoint.insecure,
            endpoint.certificate,
            endpoint.key,
            tls,
        )

    @cached_property
    def _credentials(self) -> Mapping[str, str]:
        endpoint = self.endpoint
        if endpoint.token:
            return {"authorization": f"Bearer {endpoint.token}"}
        if endpoint.user:
            pair = base64.b64encode(f"{endpoint.user}:{endpoint.password}".encode()).decode()
            return {"authorization": f"Basic {pair}"}
        return {}
