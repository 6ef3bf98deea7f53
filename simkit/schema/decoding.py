"""Decoding of a JSON value as one of the release's types.

Errors of later releases name structs that other structs hold without a field name of their own: the types of
``k8s.io/api`` with ``json:",inline"``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft, Object
from simkit.schema.decode_pass import ConversionPass, DecodeError, DecodePass
from simkit.schema.decoders import struct
from simkit.schema.pruning import prune
from simkit.schema.structural import Schema

__all__ = ["DecodeError", "Decoded", "decode", "normalise"]


class Decoded(NamedTuple):
    """Result of decoding: the object, and its unknown and duplicate fields in document order."""

    object: Draft
    problems: Sequence[str]
    """Sentences such as ``unknown field "spec.foo"``: warnings, or together the error of strict validation."""


def decode(
    behaviour: ServedBehaviour, value: Any, schema: Schema, *, under: Iterable[str] = (), converted: bool = False
) -> Decoded:
    """The decoded object of a built-in type, or of a custom kind (a schema without a name: see ``pruning``).

    Unknown fields are dropped and told of. Zero values are written or left out as kube-apiserver does it: an empty
    list of a RoleBinding's subjects is left out, rules that a Role lacks are null, a container has ``resources: {}``.
    Moments, quantities and base64 come out in their canonical form. The result shares nothing with the value but
    strings and the content of fields of any type.

    Parameters
    ----------
    value
        A mapping as ``jsontext.parse`` gives it, with repeated keys, or any plain one.
    schema
        A definition with named fields, from ``Catalogue.schema``.
    under
        Names that problems (not errors) have in front: ``("metadata",)`` where the value is the metadata of an object
        whose other parts are read differently.
    converted
        The value was never text, but came of a strategic merge: see ``converting``. Unknown fields are told of by name.

    Raises
    ------
    DecodeError
        For a value of a wrong type; the message begins as kube-apiserver's does: ``json: cannot unmarshal ...``.

    Notes
    -----
    About 5 microseconds for a small object, 40 for a pod.
    """
    if not schema.name:
        return Decoded(*prune(behaviour, value, schema))
    read = struct(schema)
    told = partial(with_embedded, schema) if behaviour.applies("embedded-structs-in-paths") else iter
    reading = ConversionPass() if converted else DecodePass(told=told)
    result = read(value if isinstance(value, dict) else dict(value), reading)
    if reading.error is not None:
        raise DecodeError(reading.error)
    problems = reading.problems
    if under and problems:
        prefix = "".join(f"{name}." for name in under)
        problems = [text.replace('"', f'"{prefix}', 1) for text in problems]
    return Decoded(result, sorted(problems) if converted else problems)


def normalise(behaviour: ServedBehaviour, value: Any, schema: Schema) -> Draft:
    """The object as kube-apiserver would write it; unknown fields are dropped silently. Raises DecodeError."""
    return decode(behaviour, value, schema).object


def with_empty_parts(obj: Object, sent: Any, schema: Schema) -> Object:
    """The object with the empty lists and maps that its client sent: Go's structs have them, and their JSON does not.

    The same object if there are none. Lists must have kept their order.

    Examples
    --------
    >>> from simkit.meta.names import GroupVersionKind
    >>> from simkit.schema.catalogue import Catalogue
    >>> schema = Catalogue.for_release("1.30").schema(GroupVersionKind("", "v1", "Pod"))
    >>> with_empty_parts({"spec": {"nodeName": "a"}}, {"metadata": {"labels": {}}, "spec": {"volumes": []}}, schema)
    {'spec': {'nodeName': 'a', 'volumes': []}}
    """
    found: dict[str, Any] = {}
    for name, item in sent.items() if isinstance(sent, Mapping) else ():
        node = schema.fields.get(name)
        if node is None:
            continue
        if name in obj:
            part = _with_empty_items(obj[name], item, node)
            if part is not obj[name]:
                found[name] = part
        elif (item == [] and node.type == "array") or (item == {} and node.values is not None):
            found[name] = item
    return {**obj, **found} if found else obj


def _with_empty_items(value: Any, sent: Any, node: Schema) -> Any:
    if isinstance(value, Mapping) and node.fields:
        return with_empty_parts(value, sent, node)
    if not isinstance(value, list) or not isinstance(sent, list) or node.items is None or len(value) != len(sent):
        return value
    made = [_with_empty_items(item, given, node.items) for item, given in zip(value, sent, strict=True)]
    return value if all(new is item for new, item in zip(made, value, strict=True)) else made


_NAMED: Final[Mapping[str, str]] = {"name": "LocalObjectReference"}
_DEVICES: Final[Mapping[str, str]] = {"opaque": "DeviceConfiguration"}
_RULES: Final = ("apiGroups", "apiVersions", "resources", "scope")
_SOME: Final[Mapping[str, Mapping[str, str]]] = {
    "ConfigMapEnvSource": _NAMED,
    "ConfigMapKeySelector": _NAMED,
    "ConfigMapProjection": _NAMED,
    "ConfigMapVolumeSource": _NAMED,
    "SecretEnvSource": _NAMED,
    "SecretKeySelector": _NAMED,
    "SecretProjection": _NAMED,
    "Probe": dict.fromkeys(("exec", "httpGet", "tcpSocket", "grpc"), "ProbeHandler"),
    "IngressRule": {"http": "IngressRuleValue"},
    "DeviceAllocationConfiguration": _DEVICES,
    "DeviceClaimConfiguration": _DEVICES,
    "DeviceClassConfiguration": _DEVICES,
    "RuleWithOperations": dict.fromkeys(_RULES, "Rule"),
    "NamedRuleWithOperations": {
        "operations": "RuleWithOperations",
        **dict.fromkeys(_RULES, "RuleWithOperations.Rule"),
    },
}
"""The embedded struct of each such field, by the struct that holds it."""
_OTHERS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "EphemeralContainer": ("EphemeralContainerCommon", frozenset({"targetContainerName"})),
    "Volume": ("VolumeSource", frozenset({"name"})),
    "PersistentVolumeSpec": (
        "PersistentVolumeSource",
        frozenset(
            {
                "capacity",
                "accessModes",
                "claimRef",
                "persistentVolumeReclaimPolicy",
                "storageClassName",
                "mountOptions",
                "volumeMode",
                "nodeAffinity",
                "volumeAttributesClassName",
            }
        ),
    ),
}
"""Structs of which all fields but some are those of an embedded one."""


def with_embedded(schema: Schema, fields: Sequence[str]) -> Iterator[str]:
    """The names of a path of fields, with the embedded structs on the way.

    Parameters
    ----------
    schema
        Where the path starts.

    Examples
    --------
    >>> from simkit.meta.names import GroupVersionKind
    >>> from simkit.schema.catalogue import Catalogue
    >>> pod = Catalogue.for_release("1.36").schema(GroupVersionKind("", "v1", "Pod"))
    >>> ".".join(with_embedded(pod, ["spec", "volumes", "emptyDir"]))
    'spec.volumes.VolumeSource.emptyDir'
    """
    node: Schema | None = schema
    for name in fields:
        while node is not None and not node.fields and (node.items or node.values):
            node = node.items or node.values
        if node is not None and (held := _embedded(node.go_type, name)):
            yield held
        yield name
        node = (node.fields or {}).get(name) if node is not None else None


def _embedded(struct: str, field: str) -> str:
    if struct in _OTHERS:
        held, own = _OTHERS[struct]
        return "" if field in own else held
    return _SOME.get(struct, {}).get(field, "")
