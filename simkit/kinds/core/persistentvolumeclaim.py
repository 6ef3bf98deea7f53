"""Strategy of PersistentVolumeClaim: defaulting of data sources, validation, printer columns.

Follows ``pkg/registry/core/persistentvolumeclaim/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release
1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import UNSET, created
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.go_printing.diff import change
from simkit.kinds.parts.validation.resource_quantities import bare, is_native
from simkit.kinds.parts.volume.claim_spec import CLAIM_SPEC, WHOLE_NEGATIVE, fraction_warnings, modes_text
from simkit.kinds.rules import FIXED, placed, row, validation
from simkit.kinds.strategy import MetadataCheck, MetadataChecks, Strategy, Subresource, again
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, unsupported
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Draft, Object, annotations_of, at, metadata, name_of
from simkit.meta.quantity import parse

CLASS: Final = label("storage-class", "volume.beta")
"""The old annotation for the storage class."""
_ONCE: Final = "volume-claims-checked-once"
_SNAPSHOTS: Final = (api_group("snapshot.storage"), "VolumeSnapshot")
_SPEC: Final = "core.PersistentVolumeClaimSpec"
_STATES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_ONCE_BOUND: Final = "spec is immutable after creation except resources.requests{} for bound claims"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if not at(draft, "status", "phase"):
        own_copy(draft, "status")["phase"] = "Pending"
    spec = own_copy(draft, "spec")
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    if at(spec, "resources", "claims"):  # a field up to 1.28, which volume claims never keep
        own_copy(spec, "resources").pop("claims")
    if old is None:
        draft["status"] = {}
        _keep_known_source(spec)
    elif at(old, "spec", "dataSource") is None and at(old, "spec", "dataSourceRef") is None:
        _keep_known_source(spec)
    _match_sources(spec)


def _keep_known_source(spec: Draft) -> None:
    """Drop a data source other than a claim or a snapshot from the older of the two fields."""
    source = spec.get("dataSource")
    if source is None or spec.get("dataSourceRef") is not None:
        return
    if (source.get("apiGroup") or "", source.get("kind")) not in (("", "PersistentVolumeClaim"), _SNAPSHOTS):
        del spec["dataSource"]


def _match_sources(spec: Draft) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


def _validate_change(behaviour: ServedBehaviour, obj: Object, old: Object) -> Errors:
    spec, before = dict(obj.get("spec") or {}), dict(old.get("spec") or {})
    now_size, old_size = at(spec, "resources", "requests", "storage"), at(before, "resources", "requests", "storage")
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    yield from _class_changes(obj, old, spec)
    if at(obj, "status", "phase") == "Bound" and at(spec, "resources", "requests") is not None and old_size:
        requests = {**spec["resources"]["requests"], "storage": old_size}
        spec["resources"] = {**spec["resources"], "requests": requests}
    if at(obj, "status", "phase") == "Bound" and behaviour.applies("classes-of-volume-attributes-checked"):
        spec.pop("volumeAttributesClassName", None)
        spec |= {name: before[name] for name in ("volumeAttributesClassName",) if name in before}
    if spec != before:
        more = " and volumeAttributesClassName" if behaviour.applies("attributes-of-claims-may-change") else ""
        yield forbidden_field("spec", f"{_ONCE_BOUND.format(more)}\n{change(behaviour, _SPEC, before, spec)}")
    yield from _shrunk(behaviour, now_size or "0", old_size or "0", at(old, "status", "capacity", "storage") or "0")
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid_value("volumeMode", spec.get("volumeMode"), FIXED)
    if behaviour.applies("classes-of-volume-attributes-checked"):
        yield from _attribute_changes(obj["spec"].get("volumeAttributesClassName"), old)


def _shrunk(behaviour: ServedBehaviour, size: str, before: str, capacity: str) -> Errors:
    """The error of a claim that asks for less than before, or later for no more than it has got."""
    if parse(size).nano >= parse(before).nano:
        return
    path = "spec.resources.requests.storage"
    if not behaviour.applies("claims-shrink-to-capacity"):
        yield forbidden_field(path, "field can not be less than previous value")
    elif parse(size).nano <= parse(capacity).nano:
        yield forbidden_field(path, "field can not be less than status.capacity")


def _attribute_changes(name: str | None, old: Object) -> Errors:
    """The error of a claim that gives up the class of volume attributes that it has got."""
    unchanged = name == at(old, "spec", "volumeAttributesClassName")
    if unchanged or name or at(old, "status", "currentVolumeAttributesClassName") is None:
        return
    word = "nil" if name is None else "empty string"
    text = f"update to {word} is forbidden when status.currentVolumeAttributesClassName is not nil"
    yield forbidden_field("spec.volumeAttributesClassName", text)


def _class_changes(obj: Object, old: Object, spec: Draft) -> Errors:
    """The errors of a changed storage class; it may be set later if only the annotation, or none, was given."""
    notes, old_notes = annotations_of(obj), annotations_of(old)
    chosen = spec.get("storageClassName")
    late = chosen is not None and at(old, "spec", "storageClassName") is None
    annotated = CLASS in old_notes
    if not (late and annotated and chosen == old_notes[CLASS] == notes.get(CLASS, chosen)):
        now = notes.get(CLASS, "")
        if now != old_notes.get(CLASS, ""):
            yield invalid_value(f"metadata.annotations.{CLASS}", now, FIXED)
    if late and (not annotated or chosen == old_notes[CLASS]):
        del spec["storageClassName"]


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    status = obj.get("status") or {}
    yield from _validate_amounts(behaviour, "status.capacity", status.get("capacity") or {})
    yield from _validate_expansion(behaviour, status)


def _validate_amounts(behaviour: ServedBehaviour, path: str, amounts: Mapping[str, str]) -> Errors:
    for name in sorted(amounts):
        yield from placed(f"{path}[{name}]", WHOLE_NEGATIVE(behaviour, amounts[name]))


def _validate_expansion(behaviour: ServedBehaviour, status: Object) -> Errors:
    """The errors of what is told about a volume that grows: which resources, and how far."""
    if not behaviour.applies("expansions-of-claims-checked"):
        return
    path = f"status.allocatedResourceStatus{'es' if behaviour.applies('expansion-states-by-name') else ''}"
    states = status.get("allocatedResourceStatuses") or {}
    for name in sorted(states):
        yield from _validate_grown(path, name)
        if states[name] not in _STATES:
            yield unsupported(path, bare(behaviour, name), _STATES)
    path, amounts = "status.allocatedResources", status.get("allocatedResources") or {}
    for name in sorted(amounts):
        wrong = list(_validate_grown(path, name))
        yield from wrong or _validate_amounts(behaviour, path, {name: amounts[name]})


def _validate_grown(path: str, name: str) -> Errors:
    wrong = qualified_name(name)
    yield from (invalid_value(path, name, text) for text in wrong)
    if not wrong and is_native(name) and name != "storage":
        yield unsupported(path, name, ("storage",))


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    if CLASS in annotations_of(obj) and behaviour.applies("classes-in-annotations-warned"):
        yield f'metadata.annotations[{CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    amount = at(obj, "spec", "resources", "requests", "storage")
    yield from fraction_warnings(behaviour, "spec.resources.requests[storage]", amount)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    phase = "Terminating" if metadata(obj).get("deletionTimestamp") else status.get("phase") or ""
    volume = spec.get("volumeName") or ""
    size = at(status, "capacity", "storage") or "0" if volume else ""
    modes = modes_text(status.get("accessModes") or ()) if volume else ""
    chosen = annotations_of(obj).get(CLASS) or spec.get("storageClassName") or ""
    kind = [spec.get("volumeAttributesClassName", UNSET)] if behaviour.applies("classes-of-volumes-shown") else ()
    return [name_of(obj), phase, volume, size, modes, chosen, *kind, created(obj, now), spec.get("volumeMode", UNSET)]


STRATEGY = Strategy(
    stores_defaults_late=lambda obj: not at(obj, "status", "phase"),
    metadata_checks=MetadataChecks(
        (
            MetadataCheck(whole=True, until=_ONCE),
            MetadataCheck(whole=False, since=_ONCE),
            MetadataCheck(whole=True, since=_ONCE),
        ),
        after=(MetadataCheck(whole=False, until=_ONCE), MetadataCheck(whole=True, until=_ONCE), again(_ONCE)),
    ),
    validate_last=_validate_change,
    default=_default,
    prepare=_prepare,
    validate=validation(row("spec", CLAIM_SPEC)),
    print_row=_row,
    warnings=_warnings,
    subresources={"status": Subresource(keep_all_but_status, _validate_status)},
    return_deleted_object=True,
)
