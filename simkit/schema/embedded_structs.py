"""Structs that other structs hold without a field name of their own, which errors of later releases name.

Follows the types of ``k8s.io/api`` with ``json:",inline"``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from simkit.schema.structural import Schema

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
