"""VolumeAttachment: that a volume is to be attached to a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.bounds import text_faults
from simkit.kinds.parts.cells import created
from simkit.kinds.parts.drafts import kept_status, owned
from simkit.kinds.parts.go_syntax import pointer, printed, struct
from simkit.kinds.parts.pod.volume_sources import driver_faults
from simkit.kinds.parts.volume_spec import default_sources, inline_volume_faults
from simkit.kinds.strategy import MetadataChecks, Strategy, Subresource
from simkit.meta.fielderror import FieldError, Shown, forbidden_field, invalid_value, required, too_long
from simkit.meta.format import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_LARGEST: Final = 256 * 1024
_LONGEST_MESSAGE: Final = 1024


def _default(draft: Draft) -> None:
    if at(draft, "spec", "source", "inlineVolumeSpec") is not None:
        default_sources(owned(draft, "spec", "source", "inlineVolumeSpec"))


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {"attached": False}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    faults = [*_faults(spec), *_reported_faults("status", obj.get("status") or {})]
    if old is None:
        return [*faults, *_new_faults(spec)]
    if spec == old.get("spec"):
        return [*faults, *faults]  # the real server checks an update twice
    return [*faults, *faults, invalid_value("spec", _shown(spec), "field is immutable")]


def _faults(spec: Object) -> Iterator[FieldError]:
    if not spec.get("attacher"):
        yield required("spec.attacher")
    source = spec.get("source") or {}
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield required("spec.source", _ONE_SOURCE)
    elif name is not None and inline is not None:
        yield forbidden_field("spec.source", _ONE_SOURCE)
    elif inline is not None:
        yield from inline_volume_faults("spec.source.inlineVolumeSpec", inline)
    elif not name:
        yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    yield from text_faults("spec.nodeName", spec.get("nodeName") or "", dns_subdomain)


def _new_faults(spec: Object) -> Iterator[FieldError]:
    """What only a new attachment is held to."""
    yield from driver_faults("spec.attacher", spec.get("attacher") or "")
    name = at(spec, "source", "persistentVolumeName")
    if name is not None:
        yield from text_faults("spec.source.persistentVolumeName", name, dns_subdomain)


def _reported_faults(path: str, status: Object) -> Iterator[FieldError]:
    """What an attacher reports has bounds; the one of errors is told as that of the metadata, as the real server does.

    Lengths are those of UTF-8, in bytes.
    """
    texts = (status.get("attachmentMetadata") or {}).items()
    if sum(len(key.encode()) + len(value.encode()) for key, value in texts) > _LARGEST:
        yield too_long(f"{path}.attachmentMetadata", _LARGEST)
    for name in ("attachError", "detachError"):
        if len((at(status, name, "message") or "").encode()) > _LONGEST_MESSAGE:
            yield too_long(f"{path}.{name}.message", _LARGEST)


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


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    volume = at(spec, "source", "persistentVolumeName") or ""
    attached = bool(at(obj, "status", "attached"))
    return [name_of(obj), spec.get("attacher") or "", volume, spec.get("nodeName") or "", attached, created(obj, now)]


RULES = Strategy(
    metadata_checks=MetadataChecks(changes=0, whole=2),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    row=_row,
    subresources={"status": Subresource(kept_status, _validate)},
    needs_version=True,
    delete_returns_object=True,
)
