"""Validation of the spec of a PersistentVolumeClaim and of claim templates.

Follows ``pkg/apis/core/validation/validation.go`` and ``pkg/api/persistentvolumeclaim/util.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import pointer
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.object_meta import validate_annotations, validate_label_selector, validate_labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, Shown, forbidden_field, invalid_value, quoted, required, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import METADATA_FIELDS, Object, at
from simkit.meta.quantity import NANO, parse
from simkit.meta.wording import Worded

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_ALONE: Final = "ReadWriteOncePod"
_SHORT: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def validate_positive(path: str, amount: str) -> Errors:
    """The error of an amount that is not positive."""
    if parse(amount).nano <= 0:
        yield invalid_value(path, amount, "must be greater than zero")


def validate_whole_negative(path: str, amount: str) -> Errors:
    """The error of a negative amount, shown as an integer."""
    whole = parse(amount).whole
    if whole < 0:
        yield invalid_value(path, whole, "must be a valid resource quantity")


def validate_access_mode(behaviour: ServedBehaviour, path: str, modes: Sequence[str]) -> Errors:
    """The errors of invalid access modes, or of modes that exclude each other."""
    known = ACCESS_MODES if behaviour.applies("volumes-for-one-pod") else ACCESS_MODES[:-1]
    yield from (unsupported(path, mode, known) for mode in modes if mode not in known)
    if _ALONE in known and _ALONE in modes and any(mode != _ALONE and mode in known for mode in modes):
        yield forbidden_field(path, "may not use ReadWriteOncePod with other access modes")


def validate_persistent_volume_claim_spec(behaviour: ServedBehaviour, path: str, spec: Object) -> Errors:
    """The errors of the spec of a claim at a path."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_label_selector(behaviour, spec.get("selector"), f"{path}.selector")
    yield from validate_access_mode(behaviour, f"{path}.accessModes", modes)
    amount = at(spec, "resources", "requests", "storage")
    if amount is None:
        yield required(f"{path}.resources[storage]")
    else:
        yield from validate_positive(f"{path}.resources[storage]", amount)
    if spec.get("storageClassName"):
        yield from validate_text(f"{path}.storageClassName", spec["storageClassName"], dns_subdomain)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)
    for name in ("dataSource", "dataSourceRef"):
        if spec.get(name) is not None:
            yield from _validate_source(behaviour, f"{path}.{name}", spec[name])
    yield from _sources_together(path, spec)
    if spec.get("volumeAttributesClassName") and behaviour.applies("classes-of-volume-attributes-checked"):
        name = spec["volumeAttributesClassName"]
        yield from validate_text(f"{path}.volumeAttributesClassName", name, dns_subdomain)


def _validate_source(behaviour: ServedBehaviour, path: str, source: Object) -> Errors:
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not source.get("name"):
        yield required(f"{path}.name")
    if not kind:
        yield required(f"{path}.kind")
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid_value(path, kind, Worded("default-group-of-sources-told", text, ""))
    if group and behaviour.applies("groups-of-sources-checked"):
        yield from validate_text(f"{path}.apiGroup", group, dns_subdomain)
    if source.get("namespace"):
        yield from validate_text(f"{path}.namespace", source["namespace"], dns_label)


def _sources_together(path: str, spec: Object) -> Errors:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    parent = pointer("field.Path", {})
    shown = Shown(f'field.Path{{name:"dataSource", index:"", parent:{parent}}}', {})  # a path, which has no JSON form
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        yield invalid_value(path, shown, text)
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid_value(path, shown, "must match dataSourceRef")


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


_OTHERS: Final = tuple(name for name in METADATA_FIELDS if name not in ("labels", "annotations"))
_GO_NAMES: Final = {"uid": "uID"}


def validate_claim_template(behaviour: ServedBehaviour, path: str, template: Object) -> Errors:
    """The errors of a template of a claim."""
    yield from validate_template_metadata(behaviour, f"{path}.metadata", template.get("metadata") or {})
    yield from validate_persistent_volume_claim_spec(behaviour, f"{path}.spec", template.get("spec") or {})


def validate_template_metadata(behaviour: ServedBehaviour, at: str, metadata: Object) -> Errors:
    """The errors of the metadata of a template: it may have labels and annotations only."""
    yield from validate_annotations(behaviour, f"{at}.annotations", metadata.get("annotations") or {})
    yield from validate_labels(behaviour, f"{at}.labels", metadata.get("labels") or {})
    of_what = "" if behaviour.applies("claim-templates-of-any-kind") else " for an ephemeral volume"
    for name in _OTHERS:
        if metadata.get(name):
            yield forbidden_field(f"{at}.{_GO_NAMES.get(name, name)}", f"cannot be set{of_what}")
