"""Defaulting and validation of the spec of a PersistentVolume, also inline in a VolumeAttachment.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from simkit.kinds.parts.go_printing.structures import amounts
from simkit.kinds.parts.pod.defaults import defaulted_source
from simkit.kinds.parts.pod.validation.scheduling import NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import CHECKED_AT, DRIVER, NAMED_SECRET, REFUSED_AT, iscsi
from simkit.kinds.parts.pod.validation.volumes import SOURCES as OF_PODS
from simkit.kinds.parts.validation.fields import NO_BACKSTEPS, validate_text
from simkit.kinds.parts.volume.claim_spec import ACCESS_MODES, POSITIVE, VOLUME_MODES, WHOLE_NEGATIVE
from simkit.kinds.rules import REQUIRED, Check, Row, by, distinct, fields, must, placed, row, table
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


def default_sources(behaviour: ServedBehaviour, spec: Draft) -> None:
    """Set the defaults of a volume's sources."""
    for name in SOURCES:
        if spec.get(name) is not None:
            spec[name] = defaulted_source(behaviour, name, spec[name])


def _validate_capacity(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    path, capacity = f"{path}.capacity", spec.get("capacity")
    given = capacity or {}
    if not given:
        yield required(path)
    if given.keys() != {"storage"}:
        yield unsupported(path, amounts(capacity), ("storage",))
    for name in sorted(given):
        yield from placed(f"{path}[{name}]", _AMOUNT(behaviour, given[name]))


def _validate_source(behaviour: ServedBehaviour, path: str, spec: Object, *, inline: bool = False) -> Errors:
    present = [name for name in SOURCES if spec.get(name) is not None]
    for index, name in enumerate(present):
        if index and name != "flexVolume":
            yield forbidden_field(f"{path}.{REFUSED_AT.get(name, name)}", "may not specify more than 1 volume type")
        else:
            yield from placed(f"{path}.{CHECKED_AT.get(name, name)}", SOURCES[name](behaviour, spec[name]))
    if not present:
        yield required(path, "must specify a volume type")
    if present[:1] == ["local"] and (inline or spec.get("nodeAffinity") is None):
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    host, policy = at(spec, "hostPath", "path"), spec.get("persistentVolumeReclaimPolicy")
    if host and not posixpath.normpath(host).strip("/") and policy == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden_field(f"{path}.persistentVolumeReclaimPolicy", text)


_AMOUNT: Final = table(WHOLE_NEGATIVE, POSITIVE)
_MODES: Final = row("accessModes", REQUIRED, ACCESS_MODES)
VOLUME_SPEC: Final = table(
    _MODES,
    row("", by(_validate_capacity)),
    row("persistentVolumeReclaimPolicy", must.be_one_of("Delete", "Recycle", "Retain")),
    row(
        "nodeAffinity",
        row("required", must.be_given("must specify required node constraints", pointer=True), NODE_SELECTOR),
    ),
    row("", by(_validate_source)),
    row("storageClassName", must.be(dns_subdomain)),
    row("volumeMode", must.be_one_of(*VOLUME_MODES), empty=True),
    row(
        "",
        row("volumeAttributesClassName", must.be_given("an empty string is disallowed"), must.be(dns_subdomain)),
        row("csi", must.be_given("has to be specified when using volumeAttributesClassName", pointer=True)),
        when=fields.present("volumeAttributesClassName"),
        since="classes-of-volume-attributes-checked",
    ),
)
_INLINE: Final = "in the context of inline volumes"
_NOT_INLINE: Final = must.be_absent(f"may not be specified {_INLINE}")
INLINE_VOLUME: Final = table(
    row("claimRef", _NOT_INLINE),
    row("capacity", _NOT_INLINE),
    row("csi", must.be_given(f"has to be specified {_INLINE}", pointer=True)),
    _MODES,
    row(
        "persistentVolumeReclaimPolicy",
        must.be_refused(f"may only be Retain {_INLINE}"),
        unless=fields.equal("persistentVolumeReclaimPolicy", "Retain"),
    ),
    row("nodeAffinity", must.be_refused(f"may not be specified {_INLINE}")),
    row("", by(partial(_validate_source, inline=True))),
    row("storageClassName", _NOT_INLINE),
    row(
        "volumeMode",
        must.be_refused(f"may not specify volumeMode other than Filesystem {_INLINE}"),
        empty=True,
        unless=fields.equal("volumeMode", "Filesystem"),
    ),
)


_REPEATED: Final = 10_000
"""Errors about equal terms; kube-apiserver tells one for each pair of them."""


_EXPRESSIONS: Final = row(
    "matchLabelExpressions[]",
    row("values", REQUIRED),
    row("values[]", distinct()),
    row("key", must.be(qualified_name), zero=""),
    distinct("key"),
)


def validate_topology(behaviour: ServedBehaviour, path: str, terms: Sequence[Object]) -> Errors:
    """The errors of terms: each needs distinct keys with distinct values.

    kube-apiserver compares a term with all before it and with as many empty ones as there are terms.
    """
    left, seen = _REPEATED, Counter[frozenset[tuple[str, frozenset[str]]]]({frozenset(): len(terms)})
    for index, term in enumerate(terms):
        where = f"{path}[{index}]"
        yield from placed(where, _EXPRESSIONS(behaviour, term))
        expressions = term.get("matchLabelExpressions") or ()
        found = frozenset({one.get("key") or "": frozenset(one.get("values") or ()) for one in expressions}.items())
        told = min(seen[found], left)
        left -= told
        yield from [duplicate(f"{where}.matchLabelExpressions", "")] * told
        seen[found] += 1


_MOST_PARAMETERS: Final = 512
_LARGEST: Final = 256 * 1024


def _validate_provisioner(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    yield from validate_text(path, name.lower(), qualified_name)


def provisioner(field: str) -> Row:
    """The row of the name of a driver or provisioner."""
    return row(field, REQUIRED, by(_validate_provisioner))


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
