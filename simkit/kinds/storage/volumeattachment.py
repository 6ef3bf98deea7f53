"""Strategy of VolumeAttachment: validation, status subresource, printer columns.

Follows ``pkg/registry/storage/volumeattachment/strategy.go`` and ``pkg/apis/storage/validation/validation.go``, release
1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.volume_sources import validate_driver
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.volume.persistent_spec import default_sources, validate_inline_volume
from simkit.kinds.strategy import WHOLE, MetadataCheck, MetadataChecks, Strategy, Subresource, again
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, Shown, forbidden_field, invalid_value, required, too_long
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_LARGEST: Final = 256 * 1024
_LONGEST_MESSAGE: Final = 1024


def _default(draft: Draft) -> None:
    if at(draft, "spec", "source", "inlineVolumeSpec") is not None:
        default_sources(own_copy(draft, "spec", "source", "inlineVolumeSpec"))


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {"attached": False}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    errors = [*_validate_fields(spec), *_validate_reported("status", obj.get("status") or {})]
    return errors if old is not None else [*errors, *_validate_new(spec)]


def _validate_change(obj: Object, old: Object) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    return [] if spec == old.get("spec") else [invalid_value("spec", _shown(spec), "field is immutable")]


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    if applies("attachers-checked-as-drivers"):
        yield from validate_driver("spec.attacher", spec.get("attacher") or "")
    elif not spec.get("attacher"):
        yield required("spec.attacher")
    source = spec.get("source") or {}
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield required("spec.source", _ONE_SOURCE)
    elif name is not None and inline is not None:
        yield forbidden_field("spec.source", _ONE_SOURCE)
    elif inline is not None:
        yield from validate_inline_volume("spec.source.inlineVolumeSpec", inline)
    elif not name:
        yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    yield from validate_text("spec.nodeName", spec.get("nodeName") or "", dns_subdomain)


def _validate_new(spec: Object) -> Iterator[FieldError]:
    """The errors that only a new attachment is checked for."""
    if not applies("attachers-checked-as-drivers"):
        yield from validate_driver("spec.attacher", spec.get("attacher") or "")
    name = at(spec, "source", "persistentVolumeName")
    if name is not None:
        yield from validate_text("spec.source.persistentVolumeName", name, dns_subdomain)


def _validate_reported(path: str, status: Object) -> Iterator[FieldError]:
    """The errors of an attacher's report, which has limits; that of errors is named as the metadata's, as in
    kube-apiserver.

    Lengths are those of UTF-8, in bytes.
    """
    texts = (status.get("attachmentMetadata") or {}).items()
    if sum(len(key.encode()) + len(value.encode()) for key, value in texts) > _LARGEST:
        yield too_long(f"{path}.attachmentMetadata", _LARGEST)
    for name in ("attachError", "detachError"):
        if len((at(status, name, "message") or "").encode()) > _LONGEST_MESSAGE:
            yield too_long(f"{path}.{name}.message", _LARGEST)
        code = at(status, name, "errorCode") or 0
        if code < 0:
            yield invalid_value(f"{path}.{name}.errorCode", code, f"must be between 0 and {2**31 - 1}, inclusive")


def _shown(spec: Object) -> Shown:
    """The spec as Go prints the struct; pointers are not resolved."""
    return structure("storage.VolumeAttachmentSpec", spec)


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    volume = at(spec, "source", "persistentVolumeName") or ""
    attached = bool(at(obj, "status", "attached"))
    return [name_of(obj), spec.get("attacher") or "", volume, spec.get("nodeName") or "", attached, created(obj, now)]


def _once() -> bool:
    return applies("attachments-checked-once")


def _validate_part(obj: Object, old: Object | None) -> Sequence[FieldError]:
    errors = _validate(obj, old)
    return errors if _once() else [*errors, *errors]


_AGAIN: Final = MetadataCheck(whole=True, until=_once)
STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(_AGAIN, again(_once)), part=(WHOLE, _AGAIN)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    validate_last=_validate_change,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_part)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
    return_deleted_object=True,
)
