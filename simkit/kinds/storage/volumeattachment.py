"""Strategy of VolumeAttachment: validation, status subresource, printer columns.

Follows ``pkg/registry/storage/volumeattachment/strategy.go`` and ``pkg/apis/storage/validation/validation.go``, release
1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy, prepared
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.printers.cells import columns, flag
from simkit.kinds.parts.volume.persistent_spec import default_sources, validate_inline_volume
from simkit.kinds.rules import REQUIRED, by, fields, fixed, last, must, row, table, validation
from simkit.kinds.strategy import WHOLE, MetadataCheck, MetadataChecks, Strategy, Subresource, again
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, too_long
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at

_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_ONCE: Final = "attachments-checked-once"
_LARGEST: Final = 256 * 1024


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if at(draft, "spec", "source", "inlineVolumeSpec") is not None:
        default_sources(behaviour, own_copy(draft, "spec", "source", "inlineVolumeSpec"))


_BOTH: Final = fields.present("persistentVolumeName", "inlineVolumeSpec")
_NAME: Final = must.be_given("must specify non empty persistentVolumeName")


def _validate_reported(behaviour: ServedBehaviour, path: str, metadata: Mapping[str, str]) -> Iterator[FieldError]:
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > _LARGEST:
        yield too_long(path, _LARGEST)


def _validate_message(behaviour: ServedBehaviour, path: str, message: str) -> Iterator[FieldError]:
    """The error of a long message: its limit is named as the metadata's, as in kube-apiserver."""
    if len(message.encode()) > 1024:
        yield too_long(path, _LARGEST)


_ERROR: Final = table(
    row("message", by(_validate_message)),
    row("errorCode", must.be_between(0, 2**31 - 1)),
)
_validate: Final = validation(
    row("spec.attacher", DRIVER, zero="", since="attachers-checked-as-drivers"),
    row("spec.attacher", REQUIRED, until="attachers-checked-as-drivers"),
    row(
        "spec.source",
        row("", must.be_set(_ONE_SOURCE), when=fields.absent("persistentVolumeName", "inlineVolumeSpec")),
        row("", must.be_refused(_ONE_SOURCE), when=_BOTH),
        row("inlineVolumeSpec", by(validate_inline_volume), unless=_BOTH),
        row("persistentVolumeName", _NAME, when=fields.present("persistentVolumeName"), unless=_BOTH),
        zero={},
    ),
    row("spec.nodeName", must.be(dns_subdomain), zero=""),
    row("status.attachmentMetadata", by(_validate_reported)),
    row("status.attachError", _ERROR),
    row("status.detachError", _ERROR),
    created=(
        row("spec.attacher", DRIVER, zero="", until="attachers-checked-as-drivers"),
        row("spec.source.persistentVolumeName", must.be(dns_subdomain), empty=True),
    ),
)


def _validate_part(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    errors = _validate(behaviour, obj, old)
    return errors if behaviour.applies(_ONCE) else [*errors, *errors]


_AGAIN: Final = MetadataCheck(whole=True, until="attachments-checked-once")
STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(_AGAIN, again("attachments-checked-once")), part=(WHOLE, _AGAIN)),
    default=_default,
    prepare=prepared(status={"attached": False}),
    validate=_validate,
    validate_last=last(fixed("spec", zero={}, shown=partial(structure, "storage.VolumeAttachmentSpec"))),
    print_row=columns("spec.attacher", "spec.source.persistentVolumeName", "spec.nodeName", flag("status.attached")),
    subresources={"status": Subresource(keep_all_but_own_status, _validate_part)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
    return_deleted_object=True,
)
