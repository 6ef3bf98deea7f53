"""The creation that a claim is about: unknown to the solver, and as it was found.

It has an object, a user, the namespace's labels, and the parameters of the policies that take any. Each of them is
unknown, unless a policy asks for it by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.admission.simulated_writes import SnapshotReader
from simkit.analysis.catalogue import DEFINITIONS, catalogue_of
from simkit.analysis.prove.formulas import Formula, Untranslated
from simkit.analysis.prove.symbols import Listed, Mapped, Null, Record, Scalar, Slot, Universe
from simkit.analysis.prove.valid_object import valid_object
from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes
from simkit.meta.domain import DEFAULT_NAMESPACE, label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, Identity, administrator
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, at, namespace_of
from simkit.schema.catalogue import Resource
from simkit.schema.custom.structural import row_of
from simkit.schema.definitions import definitions
from simkit.schema.structural import Schema
from simkit.seams.snapshot import Snapshot

NAMESPACE: Final = "proof-namespace"
PARAMETER: Final = "proof-parameter"
USER: Final = "proof-user"
_LABEL_OF_NAME: Final = label("metadata.name")
_PARAMS: Final = "params "
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_USER: Final = {
    "type": "object",
    "required": ["username"],
    "fields": {"username": _TEXT, "uid": _TEXT, "groups": _TEXTS, "extra": {"type": "object", "values": _TEXTS}},
}
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True)
class Write:
    """A creation that was found.

    Attributes
    ----------
    object
        The object that is created.
    identity
        Who writes.
    namespace
        The namespace of the object, if something is asked of it.
    params
        The objects with the parameters of policies.
    """

    object: Object
    identity: Identity = field(default_factory=administrator)
    namespace: Object | None = None
    params: Sequence[Object] = ()

    def attributes(self, resource: Resource) -> AdmissionAttributes:
        """The write as admission sees it."""
        metadata = self.object.get("metadata") or {}
        name = metadata.get("name") or ""
        place = name if resource.storage == NAMESPACES else namespace_of(self.object)
        gvr, gvk = resource.gvr, resource.gvk
        return AdmissionAttributes(self.identity, "CREATE", gvr, gvk, "", place, name, self.object)

    def reader(self, snapshot: Snapshot) -> SnapshotReader:
        """The cluster with the namespace and the parameters of the write."""
        place = namespace_of(self.object)
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}} if place else None
        namespaces = [] if made is None else [self.namespace or made]
        return SnapshotReader(snapshot, [*namespaces, *self.params])


class UnknownWrite:
    """A creation that is unknown to the solver.

    Parameters
    ----------
    universe
        The variables of the solver.
    root
        A record of ``schema_of_writes``.
    snapshot, resource
        The cluster, and the resource.
    """

    def __init__(self, universe: Universe, root: Record, snapshot: Snapshot, resource: Resource) -> None:
        self.universe, self.root, self.snapshot, self.resource = universe, root, snapshot, resource
        self._params: dict[str, Resource] = {}
        if resource.custom:
            universe.custom.add("object")
        self.object = self._object()

    def part(self, name: str) -> Any:
        """A part of the write, which is there if it is asked for."""
        found = self.root.field(name)[1]
        self.root.fields[name] = self._true, found
        return found

    @property
    def _true(self) -> Formula:
        return self.universe.z3.BoolVal(True)

    def _object(self) -> Record:
        """The object with what is known of each: its kind, and that it has a name and, perhaps, a namespace."""
        universe, resource = self.universe, self.resource
        found = self.part("object")
        assert isinstance(found, Record)
        self._settle(found, {"kind": resource.kind, "apiVersion": resource.gvk.api_version})
        _, metadata = found.field("metadata")
        found.fields["metadata"] = self._true, metadata
        metadata.fields["name"] = self._true, metadata.field("name")[1]
        namespace = metadata.field("namespace")[1]
        metadata.fields["namespace"] = universe.z3.BoolVal(resource.namespaced), namespace
        return found

    def _settle(self, record: Record, texts: Mapping[str, str]) -> None:
        """Give fields of a record texts that are known."""
        for name, text in texts.items():
            record.fields[name] = self._true, Scalar("string", self.universe.constant(text))

    def prefer(self) -> None:
        """Prefer an ordinary namespace and user; one of their own where something is asked of them."""
        universe, fields = self.universe, self.root.fields
        name = NAMESPACE if "namespaceObject" in fields else DEFAULT_NAMESPACE
        namespace = self.object.field("metadata")[1].field("namespace")[1]
        universe.likely.append(universe.is_text(namespace.term, name))
        if "user" in fields:
            universe.usual.append(universe.is_text(self.part("user").field("username")[1].term, USER))

    def request(self) -> Any:
        """The value of ``request``."""
        z3, universe = self.universe.z3, self.universe
        metadata = self.object.field("metadata")[1]
        gvr, gvk = self.resource.gvr, self.resource.gvk
        kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
        resource = {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
        own = self.resource.storage == NAMESPACES
        place = metadata.field("name") if own else metadata.field("namespace")
        known = {"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource}
        slots = [
            *(Slot(self._true, known_value(universe, value), universe.constant(name)) for name, value in known.items()),
            Slot(self._true, Scalar("string", universe.constant("CREATE")), universe.constant("operation")),
            Slot(self._true, metadata.field("name")[1], universe.constant("name")),
            Slot(place[0], place[1], universe.constant("namespace")),
            Slot(self._true, self.part("user"), universe.constant("userInfo")),
            Slot(self._true, Scalar("bool", z3.BoolVal(False)), universe.constant("dryRun")),
            Slot(self._true, Mapped(()), universe.constant("options")),
        ]
        return Mapped(tuple(slots))

    def namespace(self) -> Any:
        """The value of ``namespaceObject``."""
        if not self.resource.namespaced:
            if self.resource.storage == NAMESPACES:
                raise Untranslated("the namespace of a namespace")
            return Null()
        if "namespaceObject" in self.root.fields:
            return self.root.fields["namespaceObject"][1]
        universe, found = self.universe, self.part("namespaceObject")
        _, metadata = found.field("metadata")
        found.fields["metadata"] = self._true, metadata
        name = self.object.field("metadata")[1].field("namespace")[1]
        metadata.fields["name"] = self._true, name
        labels = metadata.field("labels")[1]
        key = universe.constant(_LABEL_OF_NAME)
        for slot in labels.slots:
            universe.require(universe.z3.Not(universe.is_text(slot.key, _LABEL_OF_NAME)))
        slots = (*labels.slots, Slot(self._true, name, key))
        metadata.fields["labels"] = self._true, Mapped(slots, labels.origins)
        return found

    def params(self, kind: GroupVersionKind) -> Record:
        """The parameters of a kind, as an object of it."""
        part = f"{_PARAMS}{kind.kind}"
        if part not in self.root.fields:
            resource = catalogue_of(self.snapshot).kind(kind)
            if resource is None:
                raise Untranslated(f"parameters of the kind {kind.kind}, which the cluster does not serve")
            if resource.custom:
                self.universe.custom.add(part)
            found = Record(self.universe, schema_of(self.snapshot, resource), part)
            self._settle(found, {"kind": kind.kind, "apiVersion": kind.api_version})
            metadata = found.field("metadata")[1]
            found.fields["metadata"] = self._true, metadata
            self._settle(
                metadata, {"name": PARAMETER, **({"namespace": DEFAULT_NAMESPACE} if resource.namespaced else {})}
            )
            self.root.fields[part], self._params[part] = (self._true, found), resource
        found = self.root.fields[part][1]
        assert isinstance(found, Record)
        return found

    def found(self, parts: Mapping[str, Any]) -> Write:
        """The write with the parts that were found, of which objects are made whole."""
        obj = self._whole(parts, "object", self.resource)
        assert obj is not None
        namespace = self._whole(parts, "namespaceObject", catalogue_of(self.snapshot).lookup("namespaces"))
        params = [self._whole(parts, name, resource) for name, resource in self._params.items()]
        identity, user = administrator(), parts.get("user")
        if user is not None:
            groups = (*user.get("groups", ()), AUTHENTICATED)
            identity = Identity(
                user["username"], tuple(dict.fromkeys(groups)), user.get("uid", ""), user.get("extra", {})
            )
        return Write(obj, identity, namespace, tuple(each for each in params if each is not None))

    def _whole(self, parts: Mapping[str, Any], name: str, resource: Resource) -> Object | None:
        if name not in parts:
            return None
        return valid_object(parts[name], self.root.fields[name][1], schema_of(self.snapshot, resource), resource)


def schema_of_writes(snapshot: Snapshot, resource: Resource) -> Schema:
    """The schema of writes of a resource: the parts that may be asked for."""
    own = schema_of(snapshot, resource)
    namespace = schema_of(snapshot, catalogue_of(snapshot).lookup("namespaces"))
    schemas = {"object": own, "namespaceObject": namespace}
    fields: dict[str, Any] = {name: {"ref": name} for name in schemas}
    return Schema({"type": "object", "fields": {**fields, "user": _USER}}, schemas.__getitem__)


def schema_of(snapshot: Snapshot, resource: Resource) -> Schema:
    """The schema of a resource."""
    if not resource.custom:
        return catalogue_of(snapshot).schema(resource.gvk)
    for definition in snapshot.scan(DEFINITIONS):
        spec = definition.get("spec") or {}
        if (spec.get("group"), at(spec, "names", "plural")) == (resource.group, resource.resource):
            for version in spec.get("versions") or ():
                if version["name"] == resource.version:
                    row = row_of(at(version, "schema", "openAPIV3Schema") or {})
                    fields = {**row.get("fields", {}), "metadata": {"ref": _METADATA}}
                    required = [*row.get("required", ()), "metadata"]
                    return Schema({**row, "fields": fields, "required": required}, definitions(snapshot.release).node)
    raise SimkitError(f"the snapshot does not define {resource.resource}")


def known_value(universe: Universe, value: Any) -> Any:
    """A value that is known, as expressions see it."""
    z3 = universe.z3
    if value is None:
        return Null()
    if isinstance(value, Mapping):
        items = value.items()
        return Mapped(
            tuple(Slot(z3.BoolVal(True), known_value(universe, each), universe.constant(name)) for name, each in items)
        )
    if isinstance(value, list | tuple):
        return Listed(tuple(Slot(z3.BoolVal(True), known_value(universe, each)) for each in value))
    if isinstance(value, bool):
        return Scalar("bool", z3.BoolVal(value))
    if isinstance(value, int):
        return Scalar("int", z3.IntVal(value))
    if isinstance(value, float):
        return Scalar("double", z3.RealVal(repr(value)))
    return Scalar("string", universe.constant(value))
