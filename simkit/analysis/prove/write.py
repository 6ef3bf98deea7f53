"""The creation that a claim is about: unknown to the solver, and as it was found.

It has an object, a user, the namespace's labels, and the parameters of the policies that take any. Each of them is
unknown, unless a policy asks for it by name. Around the fields that a claim is about, an object is made that a server
takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.admission.simulated_writes import SnapshotReader
from simkit.analysis.catalogue import DEFINITIONS, catalogue_of
from simkit.analysis.prove.formulas import Untranslated, constant, z3
from simkit.analysis.prove.symbols import Listed, Mapped, Null, Record, Scalar, Slot, Universe
from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes
from simkit.meta.domain import DEFAULT_NAMESPACE, RBAC_GROUP, label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, Identity, administrator
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Draft, Object, at, namespace_of
from simkit.schema.catalogue import Resource
from simkit.schema.custom.structural import row_of
from simkit.schema.definitions import definitions
from simkit.schema.structural import NO_DEFAULT, Schema
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

    def _object(self) -> Record:
        """The object with what is known of each: its kind, and that it has a name and, perhaps, a namespace."""
        resource = self.resource
        found = self.root.settled("object")
        assert isinstance(found, Record)
        _settle(found, {"kind": resource.kind, "apiVersion": resource.gvk.api_version})
        metadata = found.settled("metadata")
        metadata.settled("name")
        namespace = metadata.field("namespace")[1]
        metadata.fields["namespace"] = z3.BoolVal(resource.namespaced), namespace
        return found

    def prefer(self) -> None:
        """Prefer an ordinary namespace and user; one of their own where something is asked of them."""
        universe, fields = self.universe, self.root.fields
        name = NAMESPACE if "namespaceObject" in fields else DEFAULT_NAMESPACE
        namespace = self.object.field("metadata")[1].field("namespace")[1]
        universe.likely.append(universe.is_text(namespace.term, name))
        if "user" in fields:
            universe.usual.append(universe.is_text(self.root.settled("user").field("username")[1].term, USER))

    def request(self) -> Any:
        """The value of ``request``."""
        metadata = self.object.field("metadata")[1]
        gvr, gvk = self.resource.gvr, self.resource.gvk
        kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
        resource = {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
        own = self.resource.storage == NAMESPACES
        place = metadata.field("name") if own else metadata.field("namespace")
        known: dict[str, Any] = {"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource}
        known |= {"operation": "CREATE", "dryRun": False, "options": {}}
        values = {name: known_value(value) for name, value in known.items()}
        values |= {"name": metadata.field("name")[1], "userInfo": self.root.settled("user")}
        slots = (Slot(z3.BoolVal(True), value, constant(name)) for name, value in values.items())
        return Mapped((*slots, Slot(place[0], place[1], constant("namespace"))))

    def namespace(self) -> Any:
        """The value of ``namespaceObject``."""
        if not self.resource.namespaced:
            if self.resource.storage == NAMESPACES:
                raise Untranslated("the namespace of a namespace")
            return Null()
        if "namespaceObject" in self.root.fields:
            return self.root.fields["namespaceObject"][1]
        universe, found = self.universe, self.root.settled("namespaceObject")
        metadata = found.settled("metadata")
        name = metadata.settled("name", self.object.field("metadata")[1].field("namespace")[1])
        labels = metadata.field("labels")[1]
        for slot in labels.slots:
            universe.require(z3.Not(universe.is_text(slot.key, _LABEL_OF_NAME)))
        slots = (*labels.slots, Slot(z3.BoolVal(True), name, constant(_LABEL_OF_NAME)))
        metadata.settled("labels", Mapped(slots, labels.origins))
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
            _settle(found, {"kind": kind.kind, "apiVersion": kind.api_version})
            place = {"namespace": DEFAULT_NAMESPACE} if resource.namespaced else {}
            _settle(found.settled("metadata"), {"name": PARAMETER, **place})
            self.root.settled(part, found)
            self._params[part] = resource
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


def _settle(record: Record, texts: Mapping[str, str]) -> None:
    """Give fields of a record texts that are known."""
    for name, text in texts.items():
        record.settled(name, Scalar("string", constant(text)))


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


def known_value(value: Any) -> Any:
    """A value that is known, as expressions see it."""
    if value is None:
        return Null()
    if isinstance(value, Mapping):
        items = value.items()
        return Mapped(tuple(Slot(z3.BoolVal(True), known_value(each), constant(name)) for name, each in items))
    if isinstance(value, list | tuple):
        return Listed(tuple(Slot(z3.BoolVal(True), known_value(each)) for each in value))
    if isinstance(value, bool):
        return Scalar("bool", z3.BoolVal(value))
    if isinstance(value, int):
        return Scalar("int", z3.IntVal(value))
    if isinstance(value, float):
        return Scalar("double", z3.RealVal(repr(value)))
    return Scalar("string", constant(value))


_PROBE: Final = {"exec": {"command": ["true"]}}
_OF_SECRET: Final = {"name": "a", "key": "a"}
_CONTAINER: Final = {
    "name": "c",
    "image": "example.com/image:v1",
    "ports?": [{"containerPort": 80}],
    **dict.fromkeys(("livenessProbe?", "readinessProbe?", "startupProbe?"), _PROBE),
    "lifecycle?": dict.fromkeys(("postStart?", "preStop?"), _PROBE),
    "env?": [{"name": "A", "valueFrom?": dict.fromkeys(("secretKeyRef?", "configMapKeyRef?"), _OF_SECRET)}],
    "envFrom?": [{key: {"name": "a"} for key in ("secretRef?", "configMapRef?")}],
    "volumeMounts?": [{"name": "v", "mountPath": "/a"}],
}
_POD: Final = {
    "containers": [_CONTAINER],
    "initContainers?": [{**_CONTAINER, "name": "i"}],
    "volumes?": [{"name": "v", "hostPath?": {"path": "/a"}}],
}
_ROLE: Final = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "view"}
_SUBJECT: Final = {"apiGroup": RBAC_GROUP, "kind": "User", "name": "a"}
_RULE: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_BINDING: Final = {"roleRef": _ROLE, "subjects?": [_SUBJECT]}
_LABELS: Final = {"app": "proof"}
_WORKLOAD: Final = {
    "selector": {"matchLabels": _LABELS},
    "template": {"metadata": {"labels": _LABELS}, "spec": _POD},
}
_JOB: Final = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
_BACKEND: Final = {"service": {"name": "a", "port": {"number": 80}}}
_PATH: Final = {"path": "/", "pathType": "Prefix", "backend": _BACKEND}
_STORAGE: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_PATTERNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Pod": {"spec": _POD},
    "Deployment": {"spec": _WORKLOAD},
    "ReplicaSet": {"spec": _WORKLOAD},
    "DaemonSet": {"spec": _WORKLOAD},
    "StatefulSet": {"spec": {**_WORKLOAD, "serviceName": "proof"}},
    "ReplicationController": {"spec": {"selector": _LABELS, "template": _WORKLOAD["template"]}},
    "PodTemplate": {"template": _WORKLOAD["template"]},
    "Job": {"spec": _JOB},
    "CronJob": {"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": _JOB}}},
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "Ingress": {"spec": {"defaultBackend": _BACKEND, "rules?": [{"http": {"paths": [_PATH]}}], "tls?": [{}]}},
    "PersistentVolumeClaim": {"spec": _STORAGE},
    "PersistentVolume": {
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    },
    "HorizontalPodAutoscaler": {
        "spec": {"maxReplicas": 10, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
    },
    "Role": {"rules?": [_RULE]},
    "ClusterRole": {"rules?": [_RULE]},
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
}
"""What objects of a kind need besides what their schemas require; a question mark: where they have the field at all.

Of a list, the element stands for each one.
"""
_EXAMPLES: Final = {"string": "a", "integer": 1, "number": 1.0, "boolean": True}


def valid_object(found: Object, root: Record, schema: Schema, resource: Resource) -> Draft:
    """An object with the found fields, and all that one of its kind needs besides.

    Parameters
    ----------
    found
        The fields that a claim is about.
    root
        The same fields, of which those count too that are found absent.
    schema
        The schema of the kind.
    resource
        What it is.
    """
    made = _completed(found, root, schema, _PATTERNS.get(resource.kind, {}))
    return {"apiVersion": resource.gvk.api_version, "kind": resource.kind, **made}


def _completed(found: Any, asked: Any, schema: Schema, pattern: Any) -> Any:
    """A part of the object: found values stay, absent ones stay absent, and the pattern gives the others."""
    if isinstance(found, Mapping) and schema.values is None:
        known = asked.fields if isinstance(asked, Record) else {}
        wanted = {name: value for name, value in _needed(pattern or {}).items() if name not in known}
        made = {**wanted, **found}
        for name in schema.required:
            if name not in made and name not in known:
                made[name] = _example(schema.fields[name])
        return {name: _field(name, value, known, schema, pattern, name in found) for name, value in made.items()}
    if isinstance(found, list) and schema.items is not None:
        each = pattern[0] if isinstance(pattern, list) and pattern else None
        slots = list(getattr(asked, "slots", ()))
        return [
            _numbered(
                _completed(value, slots[number].value if number < len(slots) else None, schema.items, each),
                number,
                value,
            )
            for number, value in enumerate(found)
        ]
    return found


def _needed(pattern: Any) -> Any:
    """A pattern without the fields that objects need not have."""
    if isinstance(pattern, list):
        return [_needed(each) for each in pattern]
    if not isinstance(pattern, Mapping):
        return pattern
    return {name: _needed(value) for name, value in pattern.items() if not name.endswith("?")}


def _field(name: str, value: Any, known: Mapping[str, Any], schema: Schema, pattern: Any, found: bool) -> Any:
    node = schema.fields.get(name)
    if node is None or not found:
        return value
    inner = pattern.get(name, pattern.get(f"{name}?")) if isinstance(pattern, Mapping) else None
    return _completed(value, known[name][1] if name in known else None, node, inner)


def _numbered(element: Any, number: int, found: Any) -> Any:
    """An element of a list under a name of its own, unless its name was found."""
    if isinstance(element, Mapping) and "name" in element and "name" not in found:
        return {**element, "name": f"{element['name']}{number}"}
    return element


def _example(node: Schema) -> Any:
    """Some value of a schema."""
    if node.default is not NO_DEFAULT and node.default not in ("", {}):
        return node.default
    if node.enum:
        return node.enum[0]
    if node.type == "array":
        return [_example(node.items)] if node.items is not None else []
    if node.type == "object":
        return {name: _example(node.fields[name]) for name in node.required if name in node.fields}
    checks: Mapping[str, Any] = node.row.get("checks", {})
    if node.type in ("integer", "number") and "minimum" in checks:
        return checks["minimum"]
    return _EXAMPLES.get(node.type, 1)
