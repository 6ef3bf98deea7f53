"""Recorded requests, sent again: to a fork that no longer serves something, and to forks at two releases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlencode

from simkit.analysis.audit_log.requests import RecordedRequest
from simkit.analysis.least_privilege.change import Change, write
from simkit.analysis.rendering import first_of
from simkit.analysis.upgrade.items import Break
from simkit.analysis.upgrade.requests import caller_text
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.logic.authorizers.node import NodeAuthorizer, node_of
from simkit.logic.authorizers.node_graph import NodeGraph
from simkit.logic.rbac.defaults import settled_rbac
from simkit.meta.attributes import Attributes
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.meta.selector_requirements import parsed_or_empty
from simkit.present.progress import tracked
from simkit.schema.behaviour import default_behaviour
from simkit.seams.snapshot import Sandbox

_PATCH: Final = "application/merge-patch+json"
_EXISTS: Final = 409
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")


RequestKey = tuple[str, str, str, str, str, str, str]
"""User, user agent, verb, resource, subresource, namespace and name."""


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


def replay(requests: Iterable[RecordedRequest], before: Sandbox, after: Sandbox) -> Iterator[ReplayedRequest]:
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


def best_answers(requests: Iterable[RecordedRequest], server: Sandbox) -> dict[RequestKey, Response]:
    """The answer of one server to every different request; of equal requests a success, where there is one."""
    found: dict[RequestKey, Response] = {}
    for each in requests:
        _, response = _first_answer(each, server)
        if response.succeeded or key_of(each) not in found:
            found[key_of(each)] = response
    return found


def _first_answer(each: RecordedRequest, server: Sandbox) -> tuple[Request, Response]:
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


def _request(each: RecordedRequest, server: Sandbox) -> Request:
    headers = {"user-agent": each.agent}
    if each.verb not in _WRITES:
        return Request.of(each.method, each.uri, headers=headers)
    content_type = _PATCH if each.verb == "patch" else "application/json"
    body = _body(each, server, each.uri.partition("?")[0])
    return Request.of(each.method, each.uri, body, content_type=content_type, headers=headers)


def _body(each: RecordedRequest, server: Sandbox, path: str) -> Any:
    if each.body is not None:
        return each.body
    if each.verb == "patch":
        return {}
    if each.verb == "update":
        live = server.perform(Request.of("GET", path), identity=each.identity)
        return live.object if live.succeeded else {}
    return _like_another(each, server, path) if each.verb == "create" else None


def _like_another(each: RecordedRequest, server: Sandbox, path: str) -> Any:
    """A copy of the first stored object under the recorded name; if none is stored, an object with only a name."""
    metadata: dict[str, Any] = {"name": each.name or "replayed"}
    found = server.perform(Request.of("GET", f"{path}?limit=1"), identity=administrator())
    items = (found.object.get("items") or ()) if found.succeeded else ()
    kept = {name: part for name, part in (items[0] if items else {}).items() if name not in ("metadata", "status")}
    return {**kept, "metadata": metadata}


def _sent(server: Sandbox, request: Request, identity: Identity) -> Response:
    response = server.perform(request, identity=identity)
    if response.stream is not None:
        response.stream.close()
    return response


REFUSED: Final = "request-refused"
UNDECIDED: Final = "request-undecided"
_SOURCE: Final = "https://kubernetes.io/docs/reference/access-authn-authz/authorization/"
_FORBIDDEN: Final = (401, 403)
_SELECTING: Final = ("fieldSelector", "labelSelector", "watch")
"""The parameters of a request that a server looks at when it decides."""
_DISCOVERY: Final = ("/api", "/openapi/")
"""How the paths begin that tell what is served."""
_PATCHES: Final = ("application/merge-patch+json", "application/json-patch+json")
_LONGEST: Final = 300


class Answer(NamedTuple):
    """The answer of a server to a trial: the status, and the message of a refusal."""

    status: int
    message: str = ""

    @property
    def forbidden(self) -> bool:
        return self.status in _FORBIDDEN


@dataclass(slots=True)
class Refusal:
    """Equal recorded requests that the first release carries out and a later one refuses."""

    request: RecordedRequest
    count: int
    release: str
    """The first release on the way that refuses them."""
    before: Answer
    after: Answer

    @property
    def resource(self) -> str:
        """The resource with its subresource: ``pods/exec``; the path of a request for no resource."""
        request = self.request
        if not request.resource:
            return request.uri.partition("?")[0]
        return f"{request.resource}/{request.subresource}" if request.subresource else request.resource

    @property
    def who(self) -> str:
        """The user with the program, and who impersonated the user."""
        return caller_text(self.request.identity.user, self.request.caller, self.request.agent)


@dataclass(frozen=True, slots=True)
class Refusals:
    """What the requests of a log come to: those that will be refused, and those that could not be decided."""

    found: tuple[Refusal, ...] = ()
    undecided: tuple[RecordedRequest, ...] = ()
    """Requests that worked when they were recorded, and that the first release refuses by the objects that are
    known."""

    def rows(self, span: ReleaseSpan) -> Iterator[Break]:
        """A row for every user, program, verb and resource that is refused, and one for all that is undecided."""
        groups: dict[tuple[str, str, str, str, str], list[Refusal]] = {}
        for each in self.found:
            key = (each.release, each.who, each.request.verb, each.request.api_version, each.resource)
            groups.setdefault(key, []).append(each)
        for refusals in groups.values():
            yield _row(refusals, span)
        if self.undecided:
            yield _undecided(self.undecided, span)


def refusals(requests: Iterable[RecordedRequest], sandbox: Sandbox, span: ReleaseSpan) -> Refusals:
    """The recorded requests whose answer becomes a refusal on the way.

    Every distinct request that worked is sent to a fork at the first release and to one at the last, writes as trials
    (``dryRun=All``) and without a body where the log has none. The forks' default roles are repaired first, as a server
    does when it starts.

    Parameters
    ----------
    requests
        Requests for resources that both releases serve, and for paths that are no resources.
    span
        The releases; both must be known.

    Notes
    -----
    Equal requests are sent once: of the query only what a server decides by counts. O(distinct requests); the releases
    between are only asked about what the last one refuses. If the authorizers of the cluster do not include Node and
    they refuse a node, the Node authorizer decides: no kubelet works without it.
    """
    servers = _Servers(sandbox)
    found: list[Refusal] = []
    undecided: list[RecordedRequest] = []
    for each, count in tracked(_distinct(requests), "deciding recorded requests again"):
        before = servers.answer(each, span.start)
        if before.forbidden:
            undecided.append(each)
        elif _is_refused(each, before, after := servers.answer(each, span.end)):
            release = next((hop for hop in span.hops if _is_refused(each, before, servers.answer(each, hop))), span.end)
            found.append(Refusal(each, count, release, before, after))
    return Refusals(tuple(found), tuple(undecided))


def _is_refused(each: RecordedRequest, before: Answer, after: Answer) -> bool:
    """True if the later answer is a refusal. Who asks what is served adapts to an answer that there is nothing."""
    if not each.resource and each.uri.startswith(_DISCOVERY):
        return after.forbidden
    return after.forbidden or before.status < 400 <= after.status


def _distinct(requests: Iterable[RecordedRequest]) -> list[tuple[RecordedRequest, int]]:
    """The first of each set of equal requests that worked, with their number."""
    first: dict[tuple[Any, ...], RecordedRequest] = {}
    counts: dict[tuple[Any, ...], int] = {}
    for each in requests:
        if each.code >= 400:
            continue
        identity = each.identity
        groups, extra = frozenset(identity.groups), repr(identity.extra)
        body = repr(each.body) if each.body is not None else ""
        key = (identity.user, groups, extra, each.caller, each.agent, each.verb, _target(each), body)
        first.setdefault(key, each)
        counts[key] = counts.get(key, 0) + 1
    return [(each, counts[key]) for key, each in first.items()]


def _target(each: RecordedRequest) -> str:
    """Path and query of a request as it is tried."""
    path, _, query = each.uri.partition("?")
    kept = {name: values for name, values in parse_qs(query).items() if name in _SELECTING}
    if each.verb in _WRITES:
        kept["dryRun"] = ["All"]
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path


class _Servers:
    """Forks of a cluster at several releases, each made when it is first asked."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._forks: dict[str, Sandbox] = {}
        self._nodes: dict[str, Callable[[RecordedRequest], Answer]] = {}

    def answer(self, each: RecordedRequest, release: str) -> Answer:
        """The answer of the release to a request."""
        if release not in self._forks:
            self._forks[release] = _started(self._sandbox.fork(release=release))
        fork = self._forks[release]
        content_type = _PATCHES[isinstance(each.body, list)] if each.verb == "patch" else "application/json"
        body = None if each.verb not in _WRITES else {} if each.body is None else each.body
        request = Request.of(each.method, _target(each), body, content_type=content_type)
        response = _sent(fork, request, each.identity)
        answer, is_node = Answer(response.status, response.message), node_of(each.identity) is not None
        if not answer.forbidden or not is_node or "Node" in fork.snapshot().authorization.modes:
            return answer
        if release not in self._nodes:
            self._nodes[release] = _node_authorizer(fork, release)
        return self._nodes[release](each)


def _started(fork: Sandbox) -> Sandbox:
    """The fork with the default roles and bindings of its release, where all stored ones are known."""
    try:
        wanted = settled_rbac(fork.snapshot())
    except IncompleteSnapshot:
        return fork
    for key, obj in wanted.items():
        write(fork, Change(key, obj))
    return fork


def _node_authorizer(fork: Sandbox, release: str) -> Callable[[RecordedRequest], Answer]:
    """The answers of the Node authorizer of a release to requests of nodes."""
    authorizer = NodeAuthorizer(NodeGraph.of(fork.snapshot()), release)
    sees_selectors = default_behaviour(release).applies("authorizers-see-selectors")

    def decide(each: RecordedRequest) -> Answer:
        query = parse_qs(each.uri.partition("?")[2])
        by_field, by_label = (query.get(name, [""])[0] for name in ("fieldSelector", "labelSelector"))
        selectors = parsed_or_empty(by_field, by_label) if sees_selectors else ((), ())
        ask = Attributes(
            each.identity, each.verb, each.group_version.group, each.group_version.version, each.resource,
            each.subresource, each.namespace, each.name, "" if each.resource else each.uri.partition("?")[0],
            bool(each.resource), *selectors,
        )  # fmt: skip
        decision = authorizer.authorize(ask)
        return Answer(200) if decision.allowed else Answer(403, decision.reason)

    return decide


def _row(refused: Sequence[Refusal], span: ReleaseSpan) -> Break:
    """The row of refusals of the same requests, of which names and namespaces differ."""
    first = refused[0]
    request, count = first.request, sum(each.count for each in refused)
    places = {f"{each.request.namespace}/{each.request.name}".strip("/") for each in refused} - {""}
    example = f", such as {min(places)}" if places else ""
    return Break(
        first.release,
        "high",
        True,
        REFUSED,
        f"{first.release} refuses it with {first.after.status}: {first.after.message[:_LONGEST]}".rstrip(": "),
        f"{request.verb} {first.resource}",
        first.who,
        f"{count} recorded request{'' if count == 1 else 's'}{example}; sent to forks: {span.start} answers "
        f"{first.before.status}, {first.release} {first.after.status}",
        "Before the upgrade, grant what the answer names if the access is intended, or change the request.",
        _SOURCE,
        request.api_version,
    )


def _undecided(requests: Sequence[RecordedRequest], span: ReleaseSpan) -> Break:
    """The row of requests that are refused although they were allowed: their grants are not among the objects."""
    callers = sorted({caller_text(each.identity.user, each.caller, "") for each in requests})
    return Break(
        "",
        "info",
        False,
        UNDECIDED,
        f"It is not known whether {span.end} answers these requests: they worked when they were recorded, and by the "
        f"objects that were read {span.start} refuses them",
        f"{len(requests)} distinct requests",
        first_of(callers, 4),
        "sent to a fork",
        "Use a dump with the bindings of these users, made at the time of the log (simkit dump prints the commands).",
        _SOURCE,
    )
