"""The search for an object that some policies let pass and others refuse, confirmed by a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import orjson

from simkit.analysis.admission.simulated_writes import POLICY
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.prove.answer import NotReproduced
from simkit.analysis.prove.formulas import Formula
from simkit.analysis.prove.object_search import Build, ObjectSearch
from simkit.analysis.prove.policy import OPERATIONS, CheckedPolicy, all_accepted
from simkit.analysis.prove.symbols import Record, Universe
from simkit.analysis.prove.write import UnknownWrite, Write, schema_of_writes
from simkit.meta.domain import DEFAULT_NAMESPACE, RBAC_GROUP, api_group
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Sandbox, Snapshot

REVIEW_GROUP: Final = api_group("authorization")
ROUNDS: Final = 12
"""How often the search goes on with what the server made of the object."""
_VERBS: Final[Mapping[str, str]] = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}


_CLASSES: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "priorityClassName": (f"{api_group('scheduling')}/v1", "PriorityClass", {"value": 1}),
    "runtimeClassName": (f"{api_group('node')}/v1", "RuntimeClass", {"handler": "proof"}),
}
"""The fields of pods that name classes, each with version, kind and fields of the class."""


@dataclass(frozen=True)
class ObjectCounterexample:
    """A write that contradicts a claim about policies.

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
        """The object that is written."""
        return self.write.present

    @property
    def request(self) -> str:
        """The write, as text."""
        return f"{_VERBS[self.write.operation]} {self.subject}"

    def __str__(self) -> str:
        parts = [("", self.object), ("was", self.write.old), ("namespace", self.write.namespace)]
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


Group = tuple[CheckedPolicy, ...]


class Verdicts(NamedTuple):
    """What policies shall say about an object: which let it pass, and which of the others refuses it."""

    passing: Group
    refusing: Group = ()


class Witness(NamedTuple):
    """The outcome of a search: a write with whether it was executed, the proof that there is none, or a reason."""

    write: Write | None = None
    executed: bool = False
    none: bool = False
    reason: str = ""


class ObjectClaims:
    """Claims about the writes of one resource.

    Parameters
    ----------
    snapshot
        The cluster, whose release and custom resources count.
    resource
        The resource, as ``who_can`` takes it.
    sandbox
        The cluster on forks of which objects are written; None: expressions are evaluated only.
    policies
        Those that the claim is about: their first operation on the resource counts.
    """

    def __init__(
        self, snapshot: Snapshot, resource: str, sandbox: Sandbox | None, policies: Sequence[CheckedPolicy] = ()
    ) -> None:
        self.resource: Resource = catalogue_of(snapshot).lookup(resource)
        # Admission policies are not asked about reviews.
        self._snapshot, self._sandbox = snapshot, None if self.resource.group == REVIEW_GROUP else sandbox
        self.operation = next(
            (each for each in OPERATIONS if any(p.concerns(self.resource, each) for p in policies)), OPERATIONS[0]
        )
        self._schema = schema_of_writes(snapshot, self.resource)
        self._unknown: list[UnknownWrite] = []
        """The write of the last search."""

    def witness(self, wanted: Verdicts) -> Witness:
        """A write that all of some policies let pass, and one of others refuses."""
        return next(self.witnesses(wanted.passing, [wanted.refusing]))

    def witnesses(self, passing: Group, refusing: Sequence[Group]) -> Iterator[Witness]:
        """For each of some groups of policies: a write that others let pass, and one of the group refuses."""
        build = self._formulas(passing, refusing)
        search = ObjectSearch(self._schema, build)
        for number, group in enumerate(refusing):
            search.forget()
            yield self._witness(search, number, Verdicts(passing, group))

    def _witness(self, search: ObjectSearch, number: int, wanted: Verdicts) -> Witness:
        reason = ""
        for _ in range(ROUNDS):
            searched = search.run(number)
            if searched.found is None:
                return Witness(none=searched.none, reason=reason or searched.reason)
            write = self._unknown[-1].found(searched.found)
            if not self._holds(wanted, write):
                return self._disagreement(search, write)
            if self._sandbox is None:
                return Witness(write)
            response = created(_prepared(self._sandbox, write), write, self.resource)
            if response.status >= 400:
                reason = f"An object was found, but the server refuses it for another reason: {_message(response)}"
                if search.repair(faults(response)):
                    continue
                return Witness(reason=reason)
            if write.operation == "DELETE" or self._holds(wanted, replace(write, object=response.object)):
                return self._executed(wanted, write)
            if not search.learn(response.object):
                break
        reason = reason or "The server changes each object that was found, so that the claim no longer concerns it."
        return Witness(reason=reason)

    def _disagreement(self, search: ObjectSearch, write: Write) -> Witness:
        """The outcome where evaluation says other than the formulas: a fault, unless only the server can tell."""
        if search.approximations:
            return Witness(reason=f"There is no exact formula for {search.approximations[0]}.")
        raise NotReproduced(f"the expressions do not evaluate as the formulas say: {_json(write)}")

    def _formulas(self, passing: Group, refusing: Sequence[Group]) -> Build:
        """Makes the formulas of writes that policies let pass, and that each of some groups refuses."""

        def build(universe: Universe, root: Record) -> Iterator[Formula]:
            write = UnknownWrite(universe, root, self._snapshot, self.resource, self.operation)
            self._unknown[:] = [write]
            yield all_accepted(passing, write, passes=True)
            for group in refusing:
                accepted = all_accepted(group, write, passes=False)
                yield universe.z3.Not(accepted) if group else universe.z3.BoolVal(True)
            write.prefer()

        return build

    def _holds(self, wanted: Verdicts, write: Write) -> bool:
        """True if the expressions, evaluated on a write, say what is wanted."""
        if not all(policy.accepts(write, self.resource) for policy in wanted.passing):
            return False
        return not wanted.refusing or any(not policy.accepts(write, self.resource) for policy in wanted.refusing)

    def _executed(self, wanted: Verdicts, write: Write) -> Witness:
        """The write, taken once where the passing policies are in force, and refused where the others are."""
        assert self._sandbox is not None
        passed = created(_enforced(_prepared(self._sandbox, write), wanted.passing), write, self.resource)
        if passed.status >= 400:
            raise NotReproduced(f"the server refuses what the policies let pass: {_message(passed)}")
        if wanted.refusing:
            refused = created(_enforced(_prepared(self._sandbox, write), wanted.refusing), write, self.resource)
            if refused.status < 400 or POLICY not in _message(refused):
                raise NotReproduced(f"the server takes what the policies refuse: {_json(write)}")
        return Witness(write, executed=True)


def _json(write: Write) -> str:
    return orjson.dumps({"object": write.object, "oldObject": write.old, "params": write.params}).decode()


def _message(response: Response) -> str:
    return str((response.object or {}).get("message") or "")


def _prepared(sandbox: Sandbox, write: Write) -> Sandbox:
    """A fork with what a write needs: its namespace, service account and parameters, and the right of its user."""
    fork = sandbox.fork()
    place, spec = namespace_of(write.present), write.present.get("spec") or {}
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
    if write.old is not None:
        _create(fork, write.old)
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
    """The answer to a write on a fork."""
    path = resource.collection(namespace_of(write.present))
    if write.operation == "CREATE":
        return fork.perform(Request.of("POST", path, write.object), identity=write.identity)
    path = f"{path}/{quote(name_of(write.present))}"
    if write.operation == "DELETE":
        return fork.perform(Request.of("DELETE", path), identity=write.identity)
    return fork.perform(Request.of("PUT", path, write.object), identity=write.identity)


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
