"""The search for an object that some policies let pass and others refuse, confirmed by a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from simkit.analysis.catalogue import DEFINITIONS, catalogue_of
from simkit.analysis.prove.answer import NotReproduced
from simkit.analysis.prove.object_search import Build, ObjectSearch
from simkit.analysis.prove.policy import CheckedPolicy, all_accepted
from simkit.analysis.prove.symbols import Formula, Record, Scalar, Universe
from simkit.analysis.prove.valid_object import valid_object
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, namespace_of
from simkit.schema.catalogue import Resource
from simkit.schema.custom.structural import row_of
from simkit.schema.definitions import definitions
from simkit.schema.structural import Schema
from simkit.seams.snapshot import Sandbox, Snapshot

ROUNDS: Final = 6
"""How often the search goes on with what the server made of the object."""
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_POLICY: Final = "ValidatingAdmissionPolicy"
_PLURALS: Final = {_POLICY: "validatingadmissionpolicies", f"{_POLICY}Binding": "validatingadmissionpolicybindings"}


@dataclass(frozen=True)
class ObjectCounterexample:
    """An object that contradicts a claim about policies.

    Attributes
    ----------
    subject
        The resource.
    object
        The object.
    reason
        What the policies say about it.
    executed
        Whether it was created on forks with the policies in force; otherwise their expressions were evaluated.
    """

    subject: str
    object: Object
    reason: str
    executed: bool = False

    @property
    def request(self) -> str:
        """The creation of the object."""
        return f"create {self.subject}"

    def __str__(self) -> str:
        shown = {name: value for name, value in self.object.items() if name not in ("apiVersion", "kind", "status")}
        return f"{self.reason}: {orjson.dumps(_shown(shown)).decode()}"


def _shown(obj: Object) -> Object:
    metadata = {
        name: value for name, value in obj.get("metadata", {}).items() if name in ("name", "labels", "annotations")
    }
    return {**obj, "metadata": metadata}


class Verdicts(NamedTuple):
    """What policies shall say about an object: which let it pass, and which of the others refuses it."""

    passing: tuple[CheckedPolicy, ...]
    refusing: tuple[CheckedPolicy, ...] = ()


class Witness(NamedTuple):
    """The outcome of a search: an object with whether it was executed, the proof that there is none, or a reason."""

    object: Object | None = None
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
        The cluster on forks of which objects are created; None: expressions are evaluated only.
    """

    def __init__(self, snapshot: Snapshot, resource: str, sandbox: Sandbox | None) -> None:
        self.resource: Resource = catalogue_of(snapshot).lookup(resource)
        self._schema, self._sandbox = _schema(snapshot, self.resource), sandbox

    def witness(self, wanted: Verdicts) -> Witness:
        """An object that all of some policies let pass, and one of others refuses."""
        search = ObjectSearch(self._schema, self._formula(wanted), built_in=not self.resource.custom)
        for _ in range(ROUNDS):
            searched = search.run()
            if searched.found is None or searched.root is None:
                return Witness(none=searched.none, reason=searched.reason)
            obj = valid_object(searched.found, searched.root, self._schema, self.resource)
            if not self._holds(wanted, obj):
                raise NotReproduced(
                    f"the expressions do not evaluate as the formulas say: {orjson.dumps(obj).decode()}"
                )
            if self._sandbox is None:
                return Witness(obj)
            response = self._created(self._sandbox.fork(), obj)
            if response.status >= 400:
                if search.require(_required(response)):
                    continue
                told = (response.object or {}).get("message", "")
                return Witness(reason=f"An object was found, but the server refuses it for another reason: {told}")
            if self._holds(wanted, response.object):
                return self._executed(wanted, obj)
            if not search.learn(response.object):
                break
        return Witness(reason="The server changes each object that was found, so that the claim no longer concerns it.")

    def _formula(self, wanted: Verdicts) -> Build:
        """Makes the formula of objects about which policies say what is wanted."""
        resource = self.resource.group_resource

        def build(universe: Universe, root: Record) -> Formula:
            z3 = universe.z3
            self._settle_head(universe, root)
            passing = all_accepted(wanted.passing, universe, root, resource, passes=True)
            if not wanted.refusing:
                return passing
            refused = z3.Not(all_accepted(wanted.refusing, universe, root, resource, passes=False))
            return z3.And(passing, refused)

        return build

    def _settle_head(self, universe: Universe, root: Record) -> None:
        """What is known of each new object: its kind, and that it has a name and, perhaps, a namespace."""
        there = universe.z3.BoolVal(True)
        for name, text in (("kind", self.resource.kind), ("apiVersion", self.resource.gvk.api_version)):
            root.fields[name] = there, Scalar("string", universe.constant(text))
        _, metadata = root.field("metadata")
        root.fields["metadata"] = there, metadata
        metadata.fields["name"] = there, metadata.field("name")[1]
        namespace = metadata.field("namespace")[1]
        metadata.fields["namespace"] = universe.z3.BoolVal(self.resource.namespaced), namespace
        universe.likely.append(universe.is_text(namespace.term, DEFAULT_NAMESPACE))

    def _holds(self, wanted: Verdicts, obj: Object) -> bool:
        """True if the expressions, evaluated on an object, say what is wanted."""
        resource = self.resource.group_resource
        if not all(policy.accepts(obj, resource) for policy in wanted.passing):
            return False
        return not wanted.refusing or any(not policy.accepts(obj, resource) for policy in wanted.refusing)

    def _executed(self, wanted: Verdicts, obj: Object) -> Witness:
        """The object, created once where the passing policies are in force, and refused where the others are."""
        assert self._sandbox is not None
        passed = self._created(_enforced(self._sandbox, wanted.passing), obj)
        if passed.status >= 400:
            raise NotReproduced(
                f"the server refuses what the policies let pass: {(passed.object or {}).get('message')}"
            )
        if wanted.refusing:
            refused = self._created(_enforced(self._sandbox, wanted.refusing), obj)
            if refused.status < 400 or _POLICY not in (refused.object or {}).get("message", ""):
                raise NotReproduced(f"the server takes what the policies refuse: {orjson.dumps(obj).decode()}")
        return Witness(obj, executed=True)

    def _created(self, fork: Sandbox, obj: Object) -> Response:
        scope = f"/namespaces/{namespace_of(obj)}" if self.resource.namespaced else ""
        if scope and namespace_of(obj) != DEFAULT_NAMESPACE:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace_of(obj)}}
            fork.perform(Request.of("POST", "/api/v1/namespaces", namespace), identity=administrator())
        path = f"{self.resource.path}{scope}/{self.resource.resource}"
        return fork.perform(Request.of("POST", path, obj), identity=administrator())


def _required(response: Response) -> list[str]:
    """The fields that a server misses in an object."""
    causes = at(response.object or {}, "details", "causes") or ()
    return [each.get("field") or "" for each in causes if each.get("reason") == "FieldValueRequired"]


def _enforced(sandbox: Sandbox, policies: Sequence[CheckedPolicy]) -> Sandbox:
    """A fork with some policies in force."""
    fork = sandbox.fork()
    for policy in policies:
        for obj in policy.manifests():
            path = f"/apis/{obj['apiVersion']}/{_PLURALS[obj['kind']]}"
            response = fork.perform(Request.of("POST", path, obj), identity=administrator())
            if response.status >= 400:
                raise SimkitError(f"{policy.name}: {(response.object or {}).get('message')}")
    return fork


def _schema(snapshot: Snapshot, resource: Resource) -> Schema:
    """The schema of a resource."""
    if not resource.custom:
        known = definitions(snapshot.release)
        name = known.name_of(resource.gvk)
        if name is None:
            raise SimkitError(f"release {snapshot.release} has no schema of {resource.resource}")
        return known.node(name)
    for definition in snapshot.scan(DEFINITIONS):
        if (
            at(definition, "spec", "group") == resource.group
            and at(definition, "spec", "names", "plural") == resource.resource
        ):
            for version in at(definition, "spec", "versions") or ():
                if version["name"] == resource.version:
                    row = row_of(at(version, "schema", "openAPIV3Schema") or {})
                    fields = {**row.get("fields", {}), "metadata": {"ref": _METADATA}}
                    required = [*row.get("required", ()), "metadata"]
                    return Schema({**row, "fields": fields, "required": required}, definitions(snapshot.release).node)
    raise SimkitError(f"the snapshot does not define {resource.resource}")
