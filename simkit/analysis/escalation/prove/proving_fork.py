"""The fork on which a path is executed, whose failures are told apart from refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation.find.facts import NODES
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.objects import NAMESPACES, SERVICE_ACCOUNTS
from simkit.meta.domain import REGISTRATION_GROUP
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import at, group_version_of, name_of, namespace_of
from simkit.schema.decoding import DecodeError, decode
from simkit.seams.snapshot import PodRunner, Sandbox, Snapshot

API_SERVICES: Final = GroupResource(REGISTRATION_GROUP, "apiservices")
FAULT: Final = 500
"""The first status of answers that come of a fault of the server, and not of a decision."""
CONNECTIONS: Final = re.compile(r"/(exec|attach|portforward|proxy|log)(/|$|\?)")
"""Subresources whose requests the server passes on to a node or pod."""
SHOWN_FAULTS: Final = 3
BY_THE_AUTHORIZER: Final = " cannot "
"""In the message of a request that the authorizer denied."""

_unreadable: SnapshotMemo[tuple[Unreadable, ...]] = SnapshotMemo()


class NotExecutable(Exception):
    """A step cannot be executed on this fork, which shows nothing about the cluster."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ProvingFork:
    """A fork of a sandbox: a Sandbox itself, which answers only with what the server decided.

    Parameters
    ----------
    sandbox
        The cluster that the path was found in. It is not touched.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.before = sandbox.snapshot()
        self._fork = sandbox.fork()
        self.runner = self._fork if isinstance(self._fork, PodRunner) and self._fork.runs_pods else None
        """The fork, if simulated nodes run its pods."""
        self.supplied: set[str] = set()
        """Namespaces that the snapshot implies but does not hold, and that were created here."""
        self.on_supply: Callable[[str], None] | None = None
        """Called with each of them."""

    def fork(self, *, release: str | None = None) -> Sandbox:
        """A fork of the fork."""
        return self._fork.fork(release=release)

    def snapshot(self) -> Snapshot:
        """The objects on the fork."""
        return self._fork.snapshot()

    def settle(self) -> None:
        """Run the controllers until nothing is left to do, if the sandbox has controllers."""
        if isinstance(self._fork, PodRunner):
            self._fork.settle()

    def perform(self, request: Request, *, identity: Identity) -> Response:
        """The answer to a request. Raises NotExecutable where the fork failed, or lacks what was not captured."""
        answer = self._fork.perform(request, identity=identity)
        if answer.status == 404:
            kind, name = _missing(answer)
            if kind == NAMESPACES and self._supply(name):
                answer = self._fork.perform(request, identity=identity)
        if answer.status >= FAULT and not self.is_unreached(request.path, answer):
            raise NotExecutable(self._why(request, answer))
        if answer.status in (403, 404) and not self.is_unreached(request.path, answer):
            self._check_captured(answer)
        if answer.status == 403:
            self._check_readable(answer)
        return answer

    def is_unreached(self, path: str, answer: Response) -> bool:
        """True if the server let a request pass, and only the node or pod that it is for does not answer."""
        if CONNECTIONS.search(path) is None:
            return False
        status = _status_of(answer)
        if answer.status == 404:  # a pod's node, where no nodes were captured
            return NODES not in self.before.captured() and f"/{_missing(answer)[1]}/" not in path
        return answer.status >= FAULT and bool(status) and status.get("reason") != "InternalError"

    def _supply(self, namespace: str) -> bool:
        """True if a namespace that must exist, since it was not captured or holds objects, was created."""
        if namespace in self.supplied or not self._implies(namespace):
            return False
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        made = self._fork.perform(Request.of("POST", "/api/v1/namespaces", body), identity=administrator())
        if made.succeeded:
            self.supplied.add(namespace)
            if self.on_supply is not None:
                self.on_supply(namespace)
        return made.succeeded

    def _implies(self, namespace: str) -> bool:
        if NAMESPACES not in self.before.captured():
            return True
        namespaced = [one.storage for one in catalogue_of(self.before).stored() if one.namespaced]
        captured = self.before.captured()
        return any(True for one in namespaced if one in captured for _ in self.before.scan(one, namespace))

    def _check_captured(self, answer: Response) -> None:
        """Raise NotExecutable if an object was not found because objects of its kind were not captured."""
        kind, name = _missing(answer)
        if kind is not None and name and kind not in self.before.captured():
            raise NotExecutable(f'{kind.resource} "{name}" is not in the dump, in which no {kind} were captured')

    def _check_readable(self, answer: Response) -> None:
        """Raise NotExecutable if a request was refused because of an object that cannot be read, such as a quota."""
        message = message_of(answer)
        if BY_THE_AUTHORIZER in message:
            return
        named = set(re.findall(r"[a-z0-9][-a-z0-9.]*", message))
        broken = [one for one in unreadable_objects(self.before) if one.name in named]
        if broken:
            raise NotExecutable(f"{message}; {_listed(broken)}")

    def _why(self, request: Request, answer: Response) -> str:
        """The reason of a failure: another server, objects that cannot be read, or a fault of this one."""
        registered = _other_server(self.before, request.path)
        if registered:
            return registered
        failed = f"the fork failed with {answer.status} ({message_of(answer).strip()}) at {request.path}"
        broken = unreadable_objects(self.before)
        if not broken:
            return failed
        return f"{failed}; {_listed(broken)}"


def _missing(answer: Response) -> tuple[GroupResource | None, str]:
    """The object that a Status calls not found."""
    status = _status_of(answer)
    if status.get("reason") != "NotFound":
        return _missing_account(str(status.get("message") or ""))
    details: Mapping[str, Any] = status.get("details") or {}
    return GroupResource(details.get("group") or "", details.get("kind") or ""), details.get("name") or ""


def _missing_account(message: str) -> tuple[GroupResource | None, str]:
    """The service account without which a pod is refused."""
    name = message.partition('serviceaccount "')[2].partition('" not found')[0]
    return (SERVICE_ACCOUNTS, name) if name else (None, "")


def _other_server(snapshot: Snapshot, path: str) -> str:
    """A sentence on the APIService whose server answers requests to a path; empty if there is none."""
    if API_SERVICES not in snapshot.captured():
        return ""
    for registered in snapshot.scan(API_SERVICES):
        service, spec = at(registered, "spec", "service"), registered.get("spec") or {}
        group_version = f"{spec.get('group') or ''}/{spec.get('version') or ''}".strip("/")
        if service and path.startswith((f"/apis/{group_version}/", f"/api/{group_version}/")):
            where = f"{service.get('namespace')}/{service.get('name')}"
            return (
                f"APIService {name_of(registered)} sends requests for {group_version} to service {where}, which only "
                "the cluster can reach; a fork does not call external servers"
            )
    return ""


class Unreadable(NamedTuple):
    """An object that does not fit the type of its kind."""

    resource: str
    namespace: str
    name: str
    error: str

    def __str__(self) -> str:
        return f"{self.resource} {f'{self.namespace}/{self.name}'.lstrip('/')} ({self.error})"


def _listed(broken: Sequence[Unreadable]) -> str:
    """A sentence on objects that cannot be read, and on what that means for the cluster."""
    others = f" and {len(broken) - SHOWN_FAULTS:,} more" if len(broken) > SHOWN_FAULTS else ""
    return (
        f"the dump has objects that cannot be read: {', '.join(map(str, broken[:SHOWN_FAULTS]))}{others}; "
        "kube-apiserver cannot decode them either, so it would fail such requests too"
    )


def unreadable_objects(snapshot: Snapshot) -> tuple[Unreadable, ...]:
    """The objects of a snapshot that do not fit their types, each with the error: O(objects), once per snapshot."""
    return _unreadable.of(snapshot, lambda found: tuple(_faults(found)))


def _faults(snapshot: Snapshot) -> Iterator[Unreadable]:
    catalogue, captured = catalogue_of(snapshot), snapshot.captured()
    for resource in catalogue.stored():
        if resource.custom or resource.storage not in captured:
            continue
        for obj in snapshot.scan(resource.storage):
            schema = catalogue.schema(GroupVersionKind(*group_version_of(obj), obj.get("kind") or resource.kind))
            try:
                decode(snapshot.behaviour, obj, schema)
            except DecodeError as error:
                yield Unreadable(resource.resource, namespace_of(obj), name_of(obj), str(error))


def _status_of(answer: Response) -> Mapping[str, Any]:
    """The Status of an answer; empty if it is none."""
    if answer.stream is not None or not answer.body:
        return {}
    try:
        found = answer.object
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) and found.get("kind") == "Status" else {}


def message_of(answer: Response) -> str:
    """The message of a Status, or the beginning of an answer that is not JSON; empty for other answers."""
    status = _status_of(answer)
    if status or answer.stream is not None or not answer.body:
        return str(status.get("message") or "")
    return "" if answer.body.startswith(b"{") else answer.body[:200].decode("utf-8", "replace")
