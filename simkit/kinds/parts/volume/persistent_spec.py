"""Defaulting and validation of the spec of a PersistentVolume, also inline in a VolumeAttachment.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.go_printing.structures import amounts
from simkit.kinds.parts.pod.defaults.volumes import defaulted_source
from simkit.kinds.parts.pod.validation.scheduling import validate_node_selector
from simkit.kinds.parts.pod.validation.volume_sources import CHECKED_AT, REFUSED_AT
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.volume.claim_spec import (
    VOLUME_MODES,
    validate_access_mode,
    validate_positive,
    validate_whole_negative,
)
from simkit.kinds.parts.volume.persistent_sources import SOURCES
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, required, unsupported
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at

_POLICIES: Final = ("Delete", "Recycle", "Retain")
_INLINE: Final = "in the context of inline volumes"


def default_sources(spec: Draft) -> None:
    """Set the defaults of a volume's sources."""
    for name in SOURCES:
        if spec.get(name) is not None:
            spec[name] = defaulted_source(name, spec[name])


def validate_volume_spec(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the spec of a PersistentVolume."""
    yield from _validate_mode(path, spec)
    yield from _validate_capacity(f"{path}.capacity", spec.get("capacity") or {})
    policy = spec["persistentVolumeReclaimPolicy"]
    if policy not in _POLICIES:
        yield unsupported(f"{path}.persistentVolumeReclaimPolicy", policy, _POLICIES)
    if spec.get("nodeAffinity") is not None:
        yield from _validate_affinity(f"{path}.nodeAffinity.required", spec["nodeAffinity"])
    yield from _validate_source(path, spec, affine=spec.get("nodeAffinity") is not None)
    if spec.get("storageClassName"):
        yield from validate_text(f"{path}.storageClassName", spec["storageClassName"], dns_subdomain)
    if spec["volumeMode"] not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES)
    if spec.get("volumeAttributesClassName") is not None and applies("classes-of-volume-attributes-checked"):
        yield from _validate_attributes_class(path, spec)


def _validate_attributes_class(path: str, spec: Object) -> Iterator[FieldError]:
    name = spec["volumeAttributesClassName"]
    if not name:
        yield required(f"{path}.volumeAttributesClassName", "an empty string is disallowed")
    else:
        yield from validate_text(f"{path}.volumeAttributesClassName", name, dns_subdomain)
    if spec.get("csi") is None:
        yield required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def validate_inline_volume(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of an inline volume spec of an attachment, which must be that of a CSI volume."""
    for name in ("claimRef", "capacity"):
        if spec.get(name):
            yield forbidden_field(f"{path}.{name}", f"may not be specified {_INLINE}")
    if spec.get("csi") is None:
        yield required(f"{path}.csi", f"has to be specified {_INLINE}")
    yield from _validate_mode(path, spec)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        yield forbidden_field(f"{path}.persistentVolumeReclaimPolicy", f"may only be Retain {_INLINE}")
    if spec.get("nodeAffinity") is not None:
        yield forbidden_field(f"{path}.nodeAffinity", f"may not be specified {_INLINE}")
    yield from _validate_source(path, spec, affine=False)
    if spec.get("storageClassName"):
        yield forbidden_field(f"{path}.storageClassName", f"may not be specified {_INLINE}")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        yield forbidden_field(f"{path}.volumeMode", f"may not specify volumeMode other than Filesystem {_INLINE}")


def _validate_mode(path: str, spec: Object) -> Iterator[FieldError]:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes")
    yield from validate_access_mode(f"{path}.accessModes", modes)


def _validate_capacity(path: str, capacity: Object) -> Iterator[FieldError]:
    if not capacity:
        yield required(path)
    if set(capacity) != {"storage"}:
        yield unsupported(path, amounts(capacity or None), ("storage",))
    for name in sorted(capacity):
        yield from validate_whole_negative(f"{path}[{name}]", capacity[name])
        yield from validate_positive(f"{path}[{name}]", capacity[name])


def _validate_affinity(path: str, affinity: Object) -> Iterator[FieldError]:
    if affinity.get("required") is None:
        yield required(path, "must specify required node constraints")
    else:
        yield from validate_node_selector(path, affinity["required"])


def _validate_source(path: str, spec: Object, *, affine: bool) -> Iterator[FieldError]:
    """The errors of the sources; ``affine`` says whether a node affinity is set, which a local one needs."""
    present = [name for name in SOURCES if spec.get(name) is not None]
    for index, name in enumerate(present):
        if index and name != "flexVolume":
            yield forbidden_field(f"{path}.{REFUSED_AT.get(name, name)}", "may not specify more than 1 volume type")
        else:
            yield from SOURCES[name](f"{path}.{CHECKED_AT.get(name, name)}", spec[name])
    if not present:
        yield required(path, "must specify a volume type")
    if present[:1] == ["local"] and not affine:
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    host, policy = at(spec, "hostPath", "path"), spec.get("persistentVolumeReclaimPolicy")
    if host and not posixpath.normpath(host).strip("/") and policy == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden_field(f"{path}.persistentVolumeReclaimPolicy", text)
