"""VolumeAttachment: that a volume is to be attached to a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.bounds import text_faults
from simkit.kinds.parts.cells import created
from simkit.kinds.parts.drafts import kept_status
from simkit.kinds.parts.gotext import pointer, printed, struct
from simkit.kinds.parts.pod.volume_sources import driver_faults
from simkit.kinds.rules import KindRules, Subresource
from simkit.meta.fielderror import FieldError, Shown, invalid_value, required
from simkit.meta.format import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {"attached": False}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    faults = list(_faults(obj.get("spec") or {}))
    if old is not None and obj.get("spec") != old.get("spec"):
        faults.append(invalid_value("spec", _shown(obj.get("spec") or {}), "field is immutable"))
    return faults


def _faults(spec: Object) -> Iterator[FieldError]:
    if not spec.get("attacher"):
        yield required("spec.attacher")
    else:
        yield from driver_faults("spec.attacher", spec["attacher"])
    if not spec.get("nodeName"):
        yield required("spec.nodeName")
    else:
        yield from text_faults("spec.nodeName", spec["nodeName"], dns_subdomain)
    source = spec.get("source") or {}
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
    elif name is not None and inline is not None:
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        yield invalid_value("spec.source", "", text)
    elif name is not None and not name:
        yield required("spec.source.persistentVolumeName")
    elif name is not None:
        yield from text_faults("spec.source.persistentVolumeName", name, dns_subdomain)


def _shown(spec: Object) -> Shown:
    """The spec as Go prints the structure; what it refers to cannot be told."""
    source = spec.get("source") or {}
    inside = struct(
        "storage.VolumeAttachmentSource",
        ("PersistentVolumeName", pointer("string", source.get("persistentVolumeName"))),
        ("InlineVolumeSpec", pointer("core.PersistentVolumeSpec", source.get("inlineVolumeSpec"))),
    )
    return struct(
        "storage.VolumeAttachmentSpec",
        ("Attacher", printed(spec.get("attacher"))),
        ("Source", inside.text),
        ("NodeName", printed(spec.get("nodeName"))),
    )


def _status_faults(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return ()


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    volume = at(spec, "source", "persistentVolumeName") or ""
    attached = bool(at(obj, "status", "attached"))
    return [name_of(obj), spec.get("attacher") or "", volume, spec.get("nodeName") or "", attached, created(obj, now)]


RULES = KindRules(
    prepare=_prepare,
    validate=_validate,
    row=_row,
    subresources={"status": Subresource(kept_status, _status_faults)},
    needs_version=True,
    delete_returns_object=True,
)
