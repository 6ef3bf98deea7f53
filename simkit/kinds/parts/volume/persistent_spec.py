"""Defaulting and validation of the spec of a PersistentVolume, also inline in a VolumeAttachment.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import amounts
from simkit.kinds.parts.pod.defaults import defaulted_source
from simkit.kinds.parts.pod.validation.scheduling import NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import CHECKED_AT, DRIVER, NAMED_SECRET, REFUSED_AT, iscsi
from simkit.kinds.parts.pod.validation.volumes import SOURCES as OF_PODS
from simkit.kinds.parts.validation.fields import NO_BACKSTEPS, validate_text
from simkit.kinds.parts.volume.claim_spec import (
    VOLUME_MODES,
    validate_access_mode,
    validate_positive,
    validate_whole_negative,
)
from simkit.kinds.rules import REQUIRED, Check, Row, by, fields, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, duplicate, forbidden_field, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, qualified_name
from simkit.meta.objects import Draft, Object, at


def _reference(name: str) -> Row:
    return row(
        name,
        row("name", REQUIRED, must.be(dns_subdomain), since="long-secret-names-in-volumes"),
        row("name", REQUIRED, must.be(dns_label), until="long-secret-names-in-volumes"),
        row("namespace", REQUIRED, must.be(dns_label)),
    )


def _validate_namespace(behaviour: ServedBehaviour, path: str, namespace: str) -> Errors:
    if not namespace:
        yield invalid_value(path, "", "if the endpointnamespace is set, it must be a valid namespace name")
    else:
        yield from validate_text(path, namespace, dns_label)


_ORDER: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
_NAMESPACE_OF_SECRET: Final = row("secretRef", row("namespace", REQUIRED))
_OWN: Final[Mapping[str, Check]] = {
    "local": row("path", REQUIRED, NO_BACKSTEPS),
    "csi": table(
        row("driver", DRIVER, zero=""),
        row("volumeHandle", REQUIRED),
        _reference("controllerPublishSecretRef"),
        _reference("controllerExpandSecretRef"),
        _reference("nodePublishSecretRef"),
        _reference("nodeExpandSecretRef"),
    ),
    "glusterfs": table(OF_PODS["glusterfs"], row("endpointsNamespace", by(_validate_namespace), empty=True)),
    "azureFile": table(OF_PODS["azureFile"], row("secretNamespace", REQUIRED, when=fields.present("secretNamespace"))),
    "iscsi": iscsi("must be valid format", NAMED_SECRET),
    "cinder": table(OF_PODS["cinder"], _NAMESPACE_OF_SECRET),
    "storageos": table(OF_PODS["storageos"], _NAMESPACE_OF_SECRET),
}

SOURCES: Final[Mapping[str, Check]] = {name: _OWN.get(name) or OF_PODS[name] for name in _ORDER}
"""Every type with its check, in the order of the checks."""


_POLICIES: Final = ("Delete", "Recycle", "Retain")
_INLINE: Final = "in the context of inline volumes"


def default_sources(behaviour: ServedBehaviour, spec: Draft) -> None:
    """Set the defaults of a volume's sources."""
    for name in SOURCES:
        if spec.get(name) is not None:
            spec[name] = defaulted_source(behaviour, name, spec[name])


def validate_volume_spec(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of the spec of a PersistentVolume."""
    yield from _validate_mode(behaviour, path, spec)
    yield from _validate_capacity(f"{path}.capacity", spec.get("capacity"))
    policy = spec["persistentVolumeReclaimPolicy"]
    if policy not in _POLICIES:
        yield unsupported(f"{path}.persistentVolumeReclaimPolicy", policy, _POLICIES)
    if spec.get("nodeAffinity") is not None:
        yield from _validate_affinity(behaviour, f"{path}.nodeAffinity.required", spec["nodeAffinity"])
    yield from _validate_source(behaviour, path, spec, affine=spec.get("nodeAffinity") is not None)
    if spec.get("storageClassName"):
        yield from validate_text(f"{path}.storageClassName", spec["storageClassName"], dns_subdomain)
    if spec["volumeMode"] not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES)
    if spec.get("volumeAttributesClassName") is not None and behaviour.applies("classes-of-volume-attributes-checked"):
        yield from _validate_attributes_class(path, spec)


def _validate_attributes_class(path: str, spec: Object) -> Errors:
    name = spec["volumeAttributesClassName"]
    if not name:
        yield required(f"{path}.volumeAttributesClassName", "an empty string is disallowed")
    else:
        yield from validate_text(f"{path}.volumeAttributesClassName", name, dns_subdomain)
    if spec.get("csi") is None:
        yield required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def validate_inline_volume(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of an inline volume spec of an attachment, which must be that of a CSI volume."""
    for name in ("claimRef", "capacity"):
        if spec.get(name):
            yield forbidden_field(f"{path}.{name}", f"may not be specified {_INLINE}")
    if spec.get("csi") is None:
        yield required(f"{path}.csi", f"has to be specified {_INLINE}")
    yield from _validate_mode(behaviour, path, spec)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        yield forbidden_field(f"{path}.persistentVolumeReclaimPolicy", f"may only be Retain {_INLINE}")
    if spec.get("nodeAffinity") is not None:
        yield forbidden_field(f"{path}.nodeAffinity", f"may not be specified {_INLINE}")
    yield from _validate_source(behaviour, path, spec, affine=False)
    if spec.get("storageClassName"):
        yield forbidden_field(f"{path}.storageClassName", f"may not be specified {_INLINE}")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        yield forbidden_field(f"{path}.volumeMode", f"may not specify volumeMode other than Filesystem {_INLINE}")


def _validate_mode(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes")
    yield from validate_access_mode(behaviour, f"{path}.accessModes", modes)


def _validate_capacity(path: str, capacity: Object | None) -> Errors:
    if not capacity:
        yield required(path)
    given = capacity or {}
    if given.keys() != {"storage"}:
        yield unsupported(path, amounts(capacity), ("storage",))
    for name in sorted(given):
        yield from validate_whole_negative(f"{path}[{name}]", given[name])
        yield from validate_positive(f"{path}[{name}]", given[name])


def _validate_affinity(behaviour: ServedBehaviour, path: str, affinity: Object) -> Errors:
    if affinity.get("required") is None:
        yield required(path, "must specify required node constraints")
    else:
        yield from placed(path, NODE_SELECTOR(behaviour, affinity["required"]))


def _validate_source(behaviour: ServedBehaviour, path: str, spec: Object, *, affine: bool) -> Errors:
    """The errors of the sources; ``affine`` says whether a node affinity is set, which a local one needs."""
    present = [name for name in SOURCES if spec.get(name) is not None]
    for index, name in enumerate(present):
        if index and name != "flexVolume":
            yield forbidden_field(f"{path}.{REFUSED_AT.get(name, name)}", "may not specify more than 1 volume type")
        else:
            yield from placed(f"{path}.{CHECKED_AT.get(name, name)}", SOURCES[name](behaviour, spec[name]))
    if not present:
        yield required(path, "must specify a volume type")
    if present[:1] == ["local"] and not affine:
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    host, policy = at(spec, "hostPath", "path"), spec.get("persistentVolumeReclaimPolicy")
    if host and not posixpath.normpath(host).strip("/") and policy == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden_field(f"{path}.persistentVolumeReclaimPolicy", text)


_REPEATED: Final = 10_000
"""Errors about equal terms; kube-apiserver tells one for each pair of them."""


def validate_topology(behaviour: ServedBehaviour, path: str, terms: Sequence[Object]) -> Errors:
    """The errors of terms: each needs distinct keys with distinct values.

    kube-apiserver compares a term with all before it and with as many empty ones as there are terms.
    """
    left, seen = _REPEATED, Counter[frozenset[tuple[str, frozenset[str]]]]({frozenset(): len(terms)})
    for index, term in enumerate(terms):
        where = f"{path}[{index}]"
        keys: dict[str, frozenset[str]] = {}
        for number, one in enumerate(term.get("matchLabelExpressions") or ()):
            yield from _validate_expression(f"{where}.matchLabelExpressions[{number}]", one, keys)
        found = frozenset(keys.items())
        told = min(seen[found], left)
        left -= told
        yield from [duplicate(f"{where}.matchLabelExpressions", "")] * told
        seen[found] += 1


def _validate_expression(path: str, expression: Object, keys: dict[str, frozenset[str]]) -> Errors:
    key, values = expression.get("key") or "", expression.get("values") or ()
    if not values:
        yield required(f"{path}.values")
    known = set[str]()
    for index, value in enumerate(values):
        if value in known:
            yield duplicate(f"{path}.values[{index}]", value)
        known.add(value)
    yield from validate_text(f"{path}.key", key, qualified_name)
    if key in keys:
        yield duplicate(f"{path}.key", key)
    keys[key] = frozenset(values)


_MOST_PARAMETERS: Final = 512
_LARGEST: Final = 256 * 1024


def validate_provisioner(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    """The errors of the name of a driver or provisioner."""
    if not name:
        yield required(path, name)
    else:
        yield from validate_text(path, name.lower(), qualified_name)


def validate_parameters(behaviour: ServedBehaviour, path: str, parameters: Mapping[str, str]) -> Errors:
    """The errors of parameters: how many there are, and how large."""
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long(path, _MOST_PARAMETERS)
        return
    for key in parameters:
        if not key:
            yield invalid_value(path, key, "field can not be empty.")
    if sum(len(key) + len(value) for key, value in parameters.items()) > _LARGEST:
        yield too_long(path, _LARGEST)
