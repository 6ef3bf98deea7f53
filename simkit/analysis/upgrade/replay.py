"""Recorded requests, sent again to a cluster and to a fork that no longer serves something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

from simkit.analysis.audit_log.requests import RecordedRequest
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.present.progress import tracked

_PATCH: Final = "application/merge-patch+json"
_EXISTS: Final = 409
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")


RequestKey = tuple[str, str, str, str, str, str, str]
"""User, user agent, verb, resource, subresource, namespace and name."""


class Server(Protocol):
    """A server that answers requests: the part of a Sandbox that replaying needs."""

    def perform(self, request: Request, *, identity: Identity) -> Response: ...


class ReplayedRequest(NamedTuple):
    """One request with the number of those like it, and its answers."""

    request: RecordedRequest
    number: int
    before: Response
    after: Response

    @property
    def breaks(self) -> bool:
        """True if it worked and fails."""
        return self.before.succeeded and not self.after.succeeded


def key_of(each: RecordedRequest) -> RequestKey:
    """What equal requests have in common, in whatever version they were asked."""
    return (*(each.identity.user, each.agent, each.verb, each.resource, each.subresource, each.namespace, each.name),)


def replay(requests: Iterable[RecordedRequest], before: Server, after: Server) -> Iterator[ReplayedRequest]:
    """The answers of both servers to every different request, in the order of the log.

    Parameters
    ----------
    before, after
        Forks that nobody else uses: writes are carried out on them, so that what was created can be changed later.

    Notes
    -----
    All requests are sent, in their order; of equal ones that one is given back which breaks, if any does. Where the log
    has no body, an update sends what is stored, a patch changes nothing, and a create sends another stored object of
    the kind under a new name: its answer tells whether such a request is still understood, not whether that very object
    would be accepted.
    """
    answers: dict[tuple[Any, ...], ReplayedRequest] = {}
    for each in tracked(requests, "sending requests again"):
        key = (*key_of(each), each.uri.partition("?")[0])
        request, old = _first_answer(each, before)
        answer, known = ReplayedRequest(each, 1, old, _sent(after, request, each.identity)), answers.get(key)
        if known is not None:
            answer = (known if known.breaks or not answer.breaks else answer)._replace(number=known.number + 1)
        answers[key] = answer
    yield from answers.values()


def best_answers(requests: Iterable[RecordedRequest], server: Server) -> dict[RequestKey, Response]:
    """The answer of one server to every different request; of equal requests a success, where there is one."""
    found: dict[RequestKey, Response] = {}
    for each in requests:
        _, response = _first_answer(each, server)
        if response.succeeded or key_of(each) not in found:
            found[key_of(each)] = response
    return found


def _first_answer(each: RecordedRequest, server: Server) -> tuple[Request, Response]:
    """The request as it is sent, and the answer. A create of what is there already is sent under another name."""
    request = _request(each, server)
    answer = _sent(server, request, each.identity)
    if answer.status == _EXISTS and each.verb == "create" and each.code != _EXISTS:
        request = _request(replace(each, name=f"{each.name or 'object'}-again", body=_renamed(each)), server)
        answer = _sent(server, request, each.identity)  # the cluster is as it was after the request
    return request, answer


def _renamed(each: RecordedRequest) -> Any:
    """The recorded body with another name; None if the log has no body."""
    if not isinstance(each.body, Mapping):
        return each.body
    metadata = each.body.get("metadata") or {}
    return {**each.body, "metadata": {**metadata, "name": f"{metadata.get('name', '')}-again"}}


def _request(each: RecordedRequest, server: Server) -> Request:
    headers = {"user-agent": each.agent}
    if each.verb not in _WRITES:
        return Request.of(each.method, each.uri, headers=headers)
    content_type = _PATCH if each.verb == "patch" else "application/json"
    body = _body(each, server, each.uri.partition("?")[0])
    return Request.of(each.method, each.uri, body, content_type=content_type, headers=headers)


def _body(each: RecordedRequest, server: Server, path: str) -> Any:
    if each.body is not None:
        return each.body
    if each.verb == "patch":
        return {}
    if each.verb == "update":
        live = server.perform(Request.of("GET", path), identity=each.identity)
        return live.object if live.succeeded else {}
    return _like_another(each, server, path) if each.verb == "create" else None


def _like_another(each: RecordedRequest, server: Server, path: str) -> Any:
    """A copy of the first stored object under the recorded name; if none is stored, an object with only a name."""
    metadata: dict[str, Any] = {"name": each.name or "replayed"}
    found = server.perform(Request.of("GET", f"{path}?limit=1"), identity=administrator())
    items = (found.object.get("items") or ()) if found.succeeded else ()
    kept = {name: part for name, part in (items[0] if items else {}).items() if name not in ("metadata", "status")}
    return {**kept, "metadata": metadata}


def _sent(server: Server, request: Request, identity: Identity) -> Response:
    response = server.perform(request, identity=identity)
    if response.stream is not None:
        response.stream.close()
    return response
