"""Recorded requests, sent again to a cluster and to a fork that no longer serves something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

from simkit.analysis.audit_log.requests import RecordedRequest
from simkit.analysis.rbac.subject import text_of_user
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.present.progress import tracked

REPLAY_COLUMNS: Final = (
    "subject",
    "agent",
    "verb",
    "api_version",
    "resource",
    "namespace",
    "name",
    "requests",
    "recorded",
    "before",
    "after",
    "verdict",
    "message",
)
_PATCH: Final = "application/merge-patch+json"
_EXISTS: Final = 409
_TELLING: Final = ("breaks", "works now", "fails otherwise", "same")
"""Verdicts, the most important first."""
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")


RequestKey = tuple[str, str, str, str, str, str]
"""Subject, user agent, verb, resource, namespace and name."""


class Server(Protocol):
    """A server that answers requests: the part of a Sandbox that replaying needs."""

    def perform(self, request: Request, *, identity: Identity) -> Response: ...


class ReplayedRequest(NamedTuple):
    """One request with its answers. ``verdict``: same, breaks (worked, and fails), fails otherwise, works now."""

    subject: str
    agent: str
    verb: str
    api_version: str
    resource: str
    namespace: str
    name: str
    requests: int
    """The number of the same requests of the same subject and program in the log."""
    recorded: int
    before: int
    after: int
    verdict: str
    message: str
    """The message of the later server's refusal."""


def replay(requests: Iterable[RecordedRequest], before: Server, after: Server) -> Iterator[ReplayedRequest]:
    """The answers of both servers to every different request, in the order of the log.

    Parameters
    ----------
    before, after
        Forks that nobody else uses: writes are carried out on them, so that what was created can be changed later.

    Notes
    -----
    All requests are sent, in their order; of equal ones the most telling answers are given back. Where the log has no
    body, an update sends what is stored, a patch changes nothing, and a create sends another stored object of the kind
    under a new name: its answer tells whether such a request is still understood, not whether that very object would
    be accepted.
    """
    answers: dict[tuple[Any, ...], ReplayedRequest] = {}
    for each in tracked(requests, "sending requests again"):
        key = (each.identity.user, each.agent, each.verb, each.uri.partition("?")[0])
        answer, known = _answer(each, before, after), answers.get(key)
        if known is not None and _TELLING.index(known.verdict) <= _TELLING.index(answer.verdict):
            answer = known
        answers[key] = answer._replace(requests=(known.requests if known is not None else 0) + 1)
    yield from answers.values()


def best_answers(requests: Iterable[RecordedRequest], server: Server) -> dict[RequestKey, tuple[int, str]]:
    """Status and message of one server to every different request; of equal requests a success, where there is one."""
    found: dict[RequestKey, tuple[int, str]] = {}
    for each in requests:
        _, response = _first_answer(each, server)
        key = (text_of_user(each.identity.user), each.agent, each.verb, _resource(each), each.namespace, each.name)
        if response.succeeded or key not in found:
            found[key] = (response.status, "" if response.succeeded else _message(response))
    return found


def _first_answer(each: RecordedRequest, server: Server) -> tuple[Request, Response]:
    """The request as it is sent, and the answer. A create of what is there already is sent under another name."""
    request = _request(each, server)
    answer = _sent(server, request, each.identity)
    if answer.status == _EXISTS and each.verb == "create" and each.code != _EXISTS:
        request = _request(replace(each, name=f"{each.name or 'object'}-again", body=_renamed(each)), server)
        answer = _sent(server, request, each.identity)  # the cluster is as it was after the request
    return request, answer


def _answer(each: RecordedRequest, before: Server, after: Server) -> ReplayedRequest:
    request, old = _first_answer(each, before)
    new = _sent(after, request, each.identity)
    return ReplayedRequest(
        text_of_user(each.identity.user),
        each.agent,
        each.verb,
        each.api_version,
        _resource(each),
        each.namespace,
        each.name,
        1,
        each.code,
        old.status,
        new.status,
        _verdict(old, new),
        "" if new.succeeded else _message(new),
    )


def _renamed(each: RecordedRequest) -> Any:
    """The recorded body with another name; None if the log has no body."""
    if not isinstance(each.body, Mapping):
        return each.body
    metadata = each.body.get("metadata") or {}
    return {**each.body, "metadata": {**metadata, "name": f"{metadata.get('name', '')}-again"}}


def _resource(each: RecordedRequest) -> str:
    return f"{each.resource}/{each.subresource}" if each.subresource else each.resource


def _request(each: RecordedRequest, server: Server) -> Request:
    if each.verb not in _WRITES:
        return Request.of(each.method, each.uri, headers={"user-agent": each.agent})
    path = each.uri.partition("?")[0]
    content_type = _PATCH if each.verb == "patch" else "application/json"
    return Request.of(
        each.method, each.uri, _body(each, server, path), content_type=content_type, headers={"user-agent": each.agent}
    )


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


def _verdict(before: Response, after: Response) -> str:
    if before.succeeded:
        return "same" if after.succeeded else "breaks"
    if after.succeeded:
        return "works now"
    same = before.status == after.status and _message(before) == _message(after)
    return "same" if same else "fails otherwise"


def _message(response: Response) -> str:
    if not response.content_type.startswith("application/json"):
        return response.body.decode("utf-8", "replace").strip()
    found = response.object
    return str(found.get("message", "")) if isinstance(found, Mapping) else ""
