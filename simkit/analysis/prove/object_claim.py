"""The search for an object that some policies let pass and others refuse, confirmed by a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import orjson

from simkit.analysis.admission.simulated_writes import POLICY
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.prove.answer import NotReproduced
from simkit.analysis.prove.formulas import Formula, z3
from simkit.analysis.prove.object_search import ObjectSearch
from simkit.analysis.prove.policy import CheckedPolicy
from simkit.analysis.prove.symbols import Record, Universe
from simkit.analysis.prove.write import UnknownWrite, Write, schema_of_writes
from simkit.meta.domain import DEFAULT_NAMESPACE, RBAC_GROUP, api_group
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, namespace_of
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Sandbox, Snapshot

ROUNDS: Final = 12
"""How often the search goes on with what the server made of the object."""
_CLASSES: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "priorityClassName": (f"{api_group('scheduling')}/v1", "PriorityClass", {"value": 1}),
    "runtimeClassName": (f"{api_group('node')}/v1", "RuntimeClass", {"handler": "proof"}),
}
"""The fields of pods that name classes, each with version, kind and fields of the class."""


@dataclass(frozen=True)
class ObjectCounterexample:
    """A creation that contradicts a claim about policies.

    Attributes
    ----------
    subject
        The resource.
    write
        The write.
    reason
        What the policies say about it.
    executed
        Whether it was done on forks with the policies in force; otherwise their expressions were evaluated.
    """

    subject: str
    write: Write
    reason: str
    executed: bool = False

    @property
    def object(self) -> Object:
        """The object that is created."""
        return self.write.object

    @property
    def request(self) -> str:
        """The write, as text."""
        return f"create {self.subject}"

    def __str__(self) -> str:
        parts = [("", self.object), ("namespace", self.write.namespace)]
        parts += [("parameters", param) for param in self.write.params]
        told = [f"{name} {_shown(obj)}".strip() for name, obj in parts if obj is not None]
        who = [] if self.write.identity == administrator() else [f"by {self.write.identity.user}"]
        return f"{self.reason}: {', '.join([*told, *who])}"


def _shown(obj: Object) -> str:
    """The object without what every object has."""
    kept = ("name", "labels", "annotations")
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name in kept}
    shown = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "status")}
    return orjson.dumps({**shown, "metadata": metadata}).decode()


class Witness(NamedTuple):
    """The outcome of a search: a write with whether it was executed, the proof that there is none, or a reason."""

    write: Write | None = None
    executed: bool = False
    none: bool = False
    reason: str = ""


class ObjectClaims:
    """Claims about the new objects of one resource.

    Parameters
    ----------
    snapshot
        The cluster, whose release and custom resources count.
    resource
        The resource, as ``who_can`` takes it.
    sandbox
        The cluster on forks of which objects are written; None: expressions are evaluated only.
    """

    def __init__(self, snapshot: Snapshot, resource: str, sandbox: Sandbox | None) -> None:
        self.resource: Resource = catalogue_of(snapshot).lookup(resource)
        self._snapshot, self._sandbox = snapshot, sandbox
        self._schema = schema_of_writes(snapshot, self.resource)
        self._unknown: list[UnknownWrite] = []
        """The write of the last search."""

    def witness(self, passing: Sequence[CheckedPolicy], *, refusing: CheckedPolicy | None = None) -> Witness:
        """A creation that some policies let pass, and another one refuses."""

        def build(universe: Universe, root: Record) -> Formula:
            write = UnknownWrite(universe, root, self._snapshot, self.resource)
            self._unknown[:] = [write]
            accepted = [each.accepted(write, kept=each.facts(passes=True)) for each in passing]
            if refusing is not None:
                accepted.append(z3.Not(refusing.accepted(write, kept=refusing.facts(passes=False))))
            write.prefer()
            return z3.And(accepted or [z3.BoolVal(True)])

        return self._confirmed(ObjectSearch(self._schema, build), passing, refusing)

    def _confirmed(
        self, search: ObjectSearch, passing: Sequence[CheckedPolicy], refusing: CheckedPolicy | None
    ) -> Witness:
        """The outcome of a search, in which the server and the expressions have a say."""
        reason = ""
        for _ in range(ROUNDS):
            searched = search.run()
            if searched.found is None:
                return Witness(none=searched.none, reason=reason or searched.reason)
            write = self._unknown[-1].found(searched.found)
            if not self._holds(passing, refusing, write):
                raise NotReproduced(f"the expressions do not evaluate as the formulas say: {_json(write)}")
            if self._sandbox is None:
                return Witness(write)
            response = created(_prepared(self._sandbox, write), write, self.resource)
            if response.status >= 400:
                reason = f"An object was found, but the server refuses it for another reason: {_message(response)}"
                if search.repair(faults(response)):
                    continue
                return Witness(reason=reason)
            if self._holds(passing, refusing, replace(write, object=response.object)):
                return self._executed(self._sandbox, passing, refusing, write)
            if not search.learn(response.object):
                break
        reason = reason or "The server changes each object that was found, so that the claim no longer concerns it."
        return Witness(reason=reason)

    def _holds(self, passing: Sequence[CheckedPolicy], refusing: CheckedPolicy | None, write: Write) -> bool:
        """True if the expressions, evaluated on a write, say what is wanted."""
        if not all(policy.accepts(write, self.resource) for policy in passing):
            return False
        return refusing is None or not refusing.accepts(write, self.resource)

    def _executed(
        self, sandbox: Sandbox, passing: Sequence[CheckedPolicy], refusing: CheckedPolicy | None, write: Write
    ) -> Witness:
        """The write, taken once where the passing policies are in force, and refused where the other one is."""
        passed = created(_enforced(_prepared(sandbox, write), passing), write, self.resource)
        if passed.status >= 400:
            raise NotReproduced(f"the server refuses what the policies let pass: {_message(passed)}")
        if refusing is not None:
            refused = created(_enforced(_prepared(sandbox, write), [refusing]), write, self.resource)
            if refused.status < 400 or POLICY not in _message(refused):
                raise NotReproduced(f"the server accepts what the policies deny: {_json(write)}")
        return Witness(write, executed=True)


def _json(write: Write) -> str:
    return orjson.dumps({"object": write.object, "params": write.params}).decode()


def _message(response: Response) -> str:
    return str((response.object or {}).get("message") or "")


def _prepared(sandbox: Sandbox, write: Write) -> Sandbox:
    """A fork with what a write needs: its namespace, service account and parameters, and the right of its user."""
    fork = sandbox.fork()
    place, spec = namespace_of(write.object), write.object.get("spec") or {}
    if place and place != DEFAULT_NAMESPACE:
        _create(fork, write.namespace or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}})
    for obj in _referenced(spec if isinstance(spec, Mapping) else {}, place):
        _create(fork, obj)
    for param in write.params:
        _create(fork, param)
    if write.identity != administrator():
        subject = {"apiGroup": RBAC_GROUP, "kind": "User", "name": write.identity.user}
        role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
        header = {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "proof-user"}}
        _create(fork, {**header, "roleRef": role, "subjects": [subject]})
    return fork


def _referenced(spec: Object, place: str) -> Iterator[Object]:
    """The objects that a pod names, which must be there."""
    for account in dict.fromkeys((spec.get("serviceAccountName"), "default")) if place else ():
        if isinstance(account, str):
            metadata = {"name": account, "namespace": place}
            yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    for field, (version, kind, more) in _CLASSES.items():
        if isinstance(spec.get(field), str):
            yield {"apiVersion": version, "kind": kind, "metadata": {"name": spec[field]}, **more}


def _create(fork: Sandbox, obj: Object) -> Response:
    """Create an object as an administrator; one that is there already stays."""
    resource = catalogue_of(fork.snapshot()).resource_of(obj)
    return fork.perform(Request.of("POST", resource.collection(namespace_of(obj)), obj), identity=administrator())


def created(fork: Sandbox, write: Write, resource: Resource) -> Response:
    """The answer to a creation on a fork."""
    request = Request.of("POST", resource.collection(namespace_of(write.object)), write.object)
    return fork.perform(request, identity=write.identity)


def faults(response: Response) -> list[tuple[str, str]]:
    """The fields with which a server finds fault, with the reasons."""
    causes = at(response.object or {}, "details", "causes") or ()
    return [(each.get("field") or "", each.get("reason") or "") for each in causes]


def _enforced(fork: Sandbox, policies: Sequence[CheckedPolicy]) -> Sandbox:
    """The fork with some policies in force."""
    for policy in policies:
        for obj in policy.manifests():
            response = _create(fork, obj)
            if response.status >= 400:
                raise SimkitError(f"{policy.name}: {_message(response)}")
    return fork
