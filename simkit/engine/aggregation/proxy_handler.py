"""Proxying of requests to another server over verified HTTPS, with the user in the headers of a front proxy.

Upstream: k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go and
k8s.io/kube-aggregator/pkg/controllers/status/available_controller.go, release 1.30.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from simkit.engine.aggregation.proxied_stream import ProxiedStream
from simkit.engine.egress.policy import HOP_BY_HOP, UNQUOTED, EgressPolicy, Peer, SkippedCall, Unreachable, parse_answer
from simkit.engine.pipeline.api_services import APIService
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import PlainError
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response
from simkit.meta.objects import at

if TYPE_CHECKING:
    from simkit.engine.egress.peer import PeerResponse

AGGREGATOR: Final = Identity("system:kube-aggregator", (MASTERS,))
"""The user of requests for discovery and OpenAPI of a backing server."""
_PATIENCE: Final = 60.0
_PROBING: Final = 6.0
_REMEMBERED: Final = 10.0
"""Seconds for which a backing server's discovery is cached."""
_WHOLE: Final = 1024 * 1024
"""Bytes up to which a response of known length is read at once."""
_OWN_HEADERS: Final = HOP_BY_HOP | {"accept-encoding", "authorization", "content-length", "host"}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_FOLD: Final = re.compile(r"[\r\n][\x00-\x20]*+")
_FIRST_FINAL: Final = 200
_INTERIM: Final = "the backend answered with an interim status"
_REDIRECTED: Final = "the backend attempted to redirect this request, which is not permitted"
_OWN_PREFIXES: Final = ("x-remote-", "impersonate-", "sec-websocket-")
"""Prefixes of headers that are not passed on: they name the user, or belong to a connection and may hold a token."""
_DROPPED: Final = frozenset({"connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class ProxyCertificate:
    """The client certificate for backing servers; PEM texts. ``authority`` is the one that they have to trust."""

    certificate: bytes = b""
    key: bytes = b""
    authority: bytes = b""

    def __repr__(self) -> str:
        return "<Proxy>"


class ServiceUnresolved(Exception):
    """A service with unknown address."""


class ProxyHandler:
    """Sends requests to the servers behind registered group versions.

    Parameters
    ----------
    egress
        Where services are, and whether they may be called at all.
    proxy
        Gives the certificate to prove who is calling; asked when the first call is made.
    """

    def __init__(self, behaviour: ServedBehaviour, egress: EgressPolicy, proxy: Callable[[], ProxyCertificate]) -> None:
        self._behaviour, self._egress, self._proxy = behaviour, egress, proxy
        self._remembered: dict[tuple[str, str], tuple[float, Any]] = {}

    def peer(self, registration: APIService) -> Peer:
        """The server behind a group version. Raises ServiceUnresolved."""
        assert registration.service is not None
        namespace, name, port = registration.service
        address = self._egress.address(namespace, name, port)
        if address is None:
            raise ServiceUnresolved(f'no address is known for service/{name} in "{namespace}"')
        proxy = self._proxy()
        return Peer(
            *address,
            f"{name}.{namespace}.svc",
            registration.authorities,
            registration.insecure,
            proxy.certificate,
            proxy.key,
        )

    def forward(self, context: RequestContext, registration: APIService) -> Response:
        """The backing server's response, as a stream if it is long or endless. Raises PlainError 503."""
        if not self._egress.allowed:
            request = context.request
            about = f"{request.method} {request.path}"
            self._egress.note(SkippedCall("aggregation", registration.name, _shown(registration), about))
            raise _unavailable()
        if not registration.available:
            raise _unavailable()
        try:
            answer = self._send(self.peer(registration), context)
        except ServiceUnresolved:
            raise _unavailable() from None
        except Unreachable as error:
            raise PlainError(503, f"error trying to reach service: {error}\n") from None
        return answer_of(answer)

    def _send(self, peer: Peer, context: RequestContext) -> PeerResponse:
        from simkit.engine.egress.peer import send

        request = context.request
        headers = [("Host", peer.name), *_passed(request), *_identity(self._behaviour, context.actor())]
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            headers.append(("Content-Length", str(len(request.body))))
        return send(peer, request.method, _request_target(context), headers, request.body, timeout=_PATIENCE)

    # What a backing server says of itself

    def probe(self, registration: APIService) -> str:
        """The reason why a backing server is not available, in kube-apiserver's words; empty if it is."""
        version = registration.group_version
        path = f"/apis/{version}" if version.group else f"/api/{version.version}"
        try:
            peer = self.peer(registration)
            shown = f"https://{peer.host}:{peer.port}{path}"
            status = self._asked(peer, path)[0]
        except ServiceUnresolved as error:
            return str(error)
        except Unreachable as error:
            return f'failing or missing response from {shown}: Get "{shown}": {error}'
        if not 200 <= status < 300:
            return f"failing or missing response from {shown}: bad status from {shown}: {status}"
        return ""

    def _asked(self, peer: Peer, path: str) -> tuple[int, bytes, str]:
        from simkit.engine.egress.peer import fetch

        headers = {"Host": peer.name, "Accept": "application/json", **dict(_identity(self._behaviour, AGGREGATOR))}
        return fetch(peer, "GET", path, headers, timeout=_PROBING)

    def _document(self, registration: APIService, path: str) -> Mapping[str, Any] | None:
        """A JSON document of an available backing server, cached for some seconds."""
        known = self._remembered.get((registration.name, path))
        if known is not None and time.monotonic() - known[0] < _REMEMBERED:
            found: Mapping[str, Any] | None = known[1]
            return found
        found = self._fetched(registration, path)
        now = time.monotonic()
        for key, (since, _) in list(self._remembered.items()):  # also those whose group versions are gone
            if now - since >= _REMEMBERED:
                self._remembered.pop(key, None)
        self._remembered[registration.name, path] = (now, found)
        return found

    def _fetched(self, registration: APIService, path: str) -> Mapping[str, Any] | None:
        if not (registration.available and self._egress.allowed):
            return None
        try:
            status, content, _ = self._asked(self.peer(registration), path)
            found = parse_answer(content) if status == 200 else None
        except (ServiceUnresolved, Unreachable, json.JSONDecodeError):
            return None
        return found if isinstance(found, dict) else None

    def resources(self, registration: APIService) -> Mapping[str, Any] | None:
        """The list of the group version's resources; None if the document is none."""
        from simkit.engine.aggregation.resource_list import is_resource_list  # with the first list, not at the start

        found = self._document(registration, f"/apis/{registration.group_version}")
        return found if found is not None and is_resource_list(found) else None

    def described(self, registration: APIService) -> str:
        """The path of the group version's OpenAPI document, with the hash of its content; or the empty string."""
        index = self._document(registration, "/openapi/v3") or {}
        place = at(index, "paths", f"apis/{registration.group_version}", "serverRelativeURL")
        return place if isinstance(place, str) else ""

    def swagger(self, registration: APIService) -> Mapping[str, Any] | None:
        """The OpenAPI document of version 2, with those paths and definitions that are mappings."""
        found = self._document(registration, "/openapi/v2")
        if found is None:
            return None
        parts = {name: found.get(name) for name in ("paths", "definitions")}
        return {
            name: {key: row for key, row in part.items() if isinstance(row, dict)}
            for name, part in parts.items()
            if isinstance(part, dict)
        }


def _unavailable() -> PlainError:
    return PlainError(503, "service unavailable\n")


def _shown(registration: APIService) -> str:
    namespace, name, port = registration.service or ("", "", 0)
    return f"https://{name}.{namespace}.svc:{port}"


def _request_target(context: RequestContext) -> str:
    """The request target, built from what was authorized, so that no server reads another path from it."""
    path = quote(context.info.path, safe=UNQUOTED)
    pairs = [(name, value) for name, values in context.request.query.items() for value in values]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _passed(request: Request) -> Iterator[tuple[str, str]]:
    """The headers of the client, without hop-by-hop headers and those that name the user."""
    for name, values in request.headers.items():
        # Some servers take an underscore in the name of a header for a dash.
        if name not in _OWN_HEADERS and not name.replace("_", "-").startswith(_OWN_PREFIXES):
            for value in values:
                yield name, _as_sent(value)


def _identity(behaviour: ServedBehaviour, identity: Identity) -> Iterator[tuple[str, str]]:
    """The headers of a front proxy that name the user."""
    yield "X-Remote-User", _as_sent(identity.user)
    if identity.uid and behaviour.applies("uids-for-aggregated-servers"):
        yield "X-Remote-Uid", _as_sent(identity.uid)
    for group in identity.groups:
        yield "X-Remote-Group", _as_sent(group)
    for key, values in identity.extra.items():
        for value in values:
            yield f"X-Remote-Extra-{quote(key, safe='')}", _as_sent(value)


def _as_sent(value: str) -> str:
    """A text that the HTTP client, which encodes characters as bytes, sends as UTF-8.

    Raises Unreachable for one that would end the header, or start another.
    """
    if _CONTROL.search(value):
        raise Unreachable("net/http: invalid header field value")
    return value.encode("utf-8", "surrogateescape").decode("latin-1")


def answer_of(peer_response: PeerResponse) -> Response:
    """The answer that is passed on for a backing server's, as a stream if it is long or of unknown length.

    Raises PlainError: 502 for redirects and for interim answers, 503 for one that does not come in time.
    """
    answer = peer_response.response
    headers = [(name, _unfolded(value)) for name, value in answer.getheaders() if name.lower() not in _DROPPED]
    media = _unfolded(answer.getheader("content-type") or "")
    redirects = 300 <= answer.status < 400 and answer.getheader("location")
    if redirects or answer.status < _FIRST_FINAL:
        peer_response.close()
        raise PlainError(502, _REDIRECTED if redirects else _INTERIM)
    if answer.length is None or answer.length > _WHOLE:
        return Response(answer.status, b"", media, headers, ProxiedStream(peer_response))
    from simkit.engine.egress.peer import whole

    try:
        content = whole(peer_response, timeout=_PATIENCE, most=_WHOLE)
    except Unreachable as error:
        raise PlainError(503, f"error trying to reach service: {error}\n") from None
    return Response(answer.status, content, media, headers)


def _unfolded(value: str) -> str:
    """The value of a header on one line, as Go reads one that goes on in the next."""
    return _FOLD.sub(" ", value)
