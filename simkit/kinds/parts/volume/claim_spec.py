"""Validation of the spec of a PersistentVolumeClaim and of claim templates.

Follows ``pkg/apis/core/validation/validation.go`` and ``pkg/api/persistentvolumeclaim/util.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import pointer
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR, validate_annotations, validate_labels
from simkit.kinds.rules import REQUIRED, by, fields, must, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, Shown, forbidden_field, invalid_value, quoted, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import METADATA_FIELDS, Object
from simkit.meta.quantity import NANO, parse
from simkit.meta.wording import Worded

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_ALONE: Final = "ReadWriteOncePod"
_SHORT: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _validate_whole(behaviour: ServedBehaviour, path: str, amount: str) -> Errors:
    whole = parse(amount).whole
    if whole < 0:
        yield invalid_value(path, whole, "must be a valid resource quantity")


POSITIVE: Final = must.hold(lambda amount: parse(amount).nano > 0, "must be greater than zero")
WHOLE_NEGATIVE: Final = by(_validate_whole)
"""The check of an amount that may not be negative, which the error shows as an integer."""


def _validate_access_modes(behaviour: ServedBehaviour, path: str, modes: Sequence[str]) -> Errors:
    """The errors of invalid access modes, or of modes that exclude each other."""
    known = _ACCESS_MODES if behaviour.applies("volumes-for-one-pod") else _ACCESS_MODES[:-1]
    yield from (unsupported(path, mode, known) for mode in modes if mode not in known)
    if _ALONE in known and _ALONE in modes and any(mode != _ALONE and mode in known for mode in modes):
        yield forbidden_field(path, "may not use ReadWriteOncePod with other access modes")


ACCESS_MODES: Final = by(_validate_access_modes)


def _sources_together(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    source, reference = spec["dataSource"], spec["dataSourceRef"]
    parent = pointer("field.Path", {})
    shown = Shown(f'field.Path{{name:"dataSource", index:"", parent:{parent}}}', {})  # a path, which has no JSON form
    if reference.get("namespace"):
        yield invalid_value(path, shown, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid_value(path, shown, "must match dataSourceRef")


_DEFAULT_GROUP: Final = Worded(
    "default-group-of-sources-told", "must be 'PersistentVolumeClaim' when referencing the default apiGroup", ""
)
_SOURCE: Final = table(
    row("name", REQUIRED),
    row("kind", REQUIRED),
    row(
        "",
        must.be_otherwise(_DEFAULT_GROUP, lambda source: source.get("kind") or ""),
        when=lambda source: not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim",
    ),
    row("apiGroup", must.be(dns_subdomain), since="groups-of-sources-checked"),
    row("namespace", must.be(dns_label)),
)
CLAIM_SPEC: Final = table(
    row("accessModes", must.be_given("at least 1 access mode is required")),
    row("selector", LABEL_SELECTOR),
    row("accessModes", ACCESS_MODES),
    row("resources.requests.storage", must.be_given(pointer=True), POSITIVE, told="resources[storage]"),
    row("storageClassName", must.be(dns_subdomain)),
    row("volumeMode", must.be_one_of(*VOLUME_MODES), empty=True),
    row("dataSource", _SOURCE),
    row("dataSourceRef", _SOURCE),
    row("", by(_sources_together), when=fields.present("dataSource", "dataSourceRef")),
    row("volumeAttributesClassName", must.be(dns_subdomain), since="classes-of-volume-attributes-checked"),
)


def fraction_warnings(behaviour: ServedBehaviour, path: str, amount: str | None) -> Iterator[str]:
    """The warning about an amount of storage that is no whole number of bytes."""
    if amount is not None and parse(amount).nano % NANO and behaviour.applies("fractions-of-claims-warned"):
        yield f"{path}: fractional byte value {quoted(amount)} is invalid, must be an integer"


def modes_text(modes: Sequence[str]) -> str:
    """Distinct access modes abbreviated, in canonical order.

    Examples
    --------
    >>> modes_text(["ReadOnlyMany", "ReadWriteOnce"])
    'RWO,ROX'
    """
    return ",".join(short for mode, short in _SHORT.items() if mode in modes)


_GO_NAMES: Final = {"uid": "uID"}
_NOT_SET: Final = must.be_absent(
    Worded("claim-templates-of-any-kind", "cannot be set", "cannot be set for an ephemeral volume")
)
TEMPLATE_METADATA: Final = row(
    "metadata",
    row("annotations", by(validate_annotations)),
    row("labels", by(validate_labels)),
    *(
        row(name, _NOT_SET, told=_GO_NAMES.get(name, ""))
        for name in METADATA_FIELDS
        if name not in ("labels", "annotations")
    ),
)
"""The metadata of a template, which may have labels and annotations only."""
CLAIM_TEMPLATE: Final = table(TEMPLATE_METADATA, row("spec", CLAIM_SPEC, zero={}))
