"""Strategy of PersistentVolume: defaulting, phase transition time, validation, printer columns.

Follows ``pkg/registry/core/persistentvolume/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import UNSET, created
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.go_printing.diff import change
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.warnings import VOLUMES
from simkit.kinds.parts.validation.object_meta import expression_warnings, newer_label
from simkit.kinds.parts.volume.claim_spec import modes_text
from simkit.kinds.parts.volume.persistent_spec import SOURCES, VOLUME_SPEC, default_sources
from simkit.kinds.rules import FIXED, placed
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, WriteContext
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value
from simkit.meta.objects import Draft, Object, annotations_of, at, metadata, name_of

_CLASS: Final = label("storage-class", "volume.beta")
_OPTIONS: Final = label("mount-options", "volume.beta")
_WITH_OPTIONS: Final = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "portworxVolume",
)
_ONCE_MADE: Final = "spec.persistentvolumesource is immutable after creation"
_SOURCE: Final = "core.PersistentVolumeSource"
_GROWING: Final = "controllerExpandSecretRef"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if not at(draft, "status", "phase"):
        own_copy(draft, "status")["phase"] = "Pending"
    spec = own_copy(draft, "spec")
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    default_sources(behaviour, spec)


def _prepare_with_context(
    behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext
) -> None:
    """Set the time of the last phase transition."""
    now = timestamp(circumstances.now)
    if old is None:
        draft["status"] = {"phase": "Pending", "lastPhaseTransitionTime": now}
        return
    before, status = old.get("status") or {}, draft.get("status") or {}
    moved = status.get("phase") != before.get("phase")
    told = status.get("lastPhaseTransitionTime") not in (None, before.get("lastPhaseTransitionTime"))
    if moved and not told:
        own_copy(draft, "status")["lastPhaseTransitionTime"] = now
    elif not moved and not status.get("lastPhaseTransitionTime") and before.get("lastPhaseTransitionTime"):
        own_copy(draft, "status")["lastPhaseTransitionTime"] = before["lastPhaseTransitionTime"]


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of a volume, among them of mount options in the old annotation for a type that has none."""
    yield from placed("spec", VOLUME_SPEC(behaviour, obj["spec"]))
    if _OPTIONS in annotations_of(obj) and not any(obj["spec"].get(name) is not None for name in _WITH_OPTIONS):
        text = "may not specify mount options for this volume type"
        yield forbidden_field(f"metadata.annotations.{_OPTIONS}", text)


def _validate_change(behaviour: ServedBehaviour, obj: Object, live: Object) -> Errors:
    """The errors of a change: kube-apiserver validates the new object once more before it."""
    spec, old = obj["spec"], live.get("spec") or {}
    yield from placed("spec", VOLUME_SPEC(behaviour, spec))
    sources = {name: _lasting(spec, old, name) for name in SOURCES}
    if any(sources[name] != old.get(name) for name in SOURCES):
        yield forbidden_field(
            "spec.persistentvolumesource", f"{_ONCE_MADE}\n{change(behaviour, _SOURCE, old, sources)}"
        )
    if spec.get("volumeMode") != old.get("volumeMode"):
        yield invalid_value("volumeMode", spec.get("volumeMode"), FIXED)
    before, now = old.get("nodeAffinity"), spec.get("nodeAffinity")
    renews = behaviour.applies("node-labels-of-volumes-renewed")
    if before is not None and (_renewed(before, now) if renews else before != now):
        text = f"{FIXED}, except for updating from beta label to GA" if renews else FIXED
        yield invalid_value(
            "nodeAffinity", structure("core.VolumeNodeAffinity", now) if now is not None else None, text
        )
    yield from _attribute_changes(
        behaviour, spec.get("volumeAttributesClassName"), old.get("volumeAttributesClassName")
    )


def _attribute_changes(behaviour: ServedBehaviour, name: str | None, before: str | None) -> Errors:
    """The errors of a changed class of volume attributes."""
    path = "spec.volumeAttributesClassName"
    if name != before and not behaviour.applies("classes-of-volume-attributes-checked"):
        yield forbidden_field(path, "update is forbidden when the VolumeAttributesClass feature gate is disabled")
    if name is None and before is not None:
        yield forbidden_field(path, "update from non-nil value to nil is forbidden")


def _lasting(spec: Object, old: Object, name: str) -> Object | None:
    """The source for the comparison with the old one: the secret for expanding a CSI volume may be set later."""
    source: Object | None = spec.get(name)
    if name != "csi" or source is None or at(old, "csi") is None or at(old, "csi", _GROWING) is not None:
        return source
    return {key: value for key, value in source.items() if key != _GROWING}


def _renewed(old: Object, new: Object | None) -> bool:
    """True if more than deprecated node labels was changed to the newer ones."""
    before, now = (at(one, "required", "nodeSelectorTerms") or () for one in (old, new or {}))
    if new is None or len(before) != len(now):
        return True
    return any(_term_renewed(one, other) for one, other in zip(before, now, strict=True))


def _term_renewed(old: Object, new: Object) -> bool:
    for part in ("matchExpressions", "matchFields"):
        before, now = old.get(part) or (), new.get(part) or ()
        if len(before) != len(now):
            return True
        for one, other in zip(before, now, strict=True):
            newer = {**one, "key": other.get("key")} if newer_label(one.get("key") or "") == other.get("key") else one
            if newer != other:
                return True
    return False


_GONE: Final = ("photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "cephfs", "rbd")


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    spec = obj["spec"]
    if _CLASS in annotations_of(obj) and behaviour.applies("classes-in-annotations-warned"):
        yield f'metadata.annotations[{_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" and behaviour.applies("recycling-warned"):
        text = "Instead, the recommended approach is to use dynamic provisioning."
        yield f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {text}"
    terms = at(spec, "nodeAffinity", "required", "nodeSelectorTerms") or ()
    for index, term in enumerate(terms if behaviour.applies("node-labels-of-classes-warned") else ()):
        yield from expression_warnings(behaviour, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    if behaviour.applies("classes-in-annotations-warned"):
        yield from (f"spec.{name}: {VOLUMES[name]}" for name in _GONE if spec.get(name) is not None)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    phase = "Terminating" if metadata(obj).get("deletionTimestamp") else status.get("phase") or ""
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        at(spec, "capacity", "storage") or "0",
        modes_text(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy") or "",
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        annotations_of(obj).get(_CLASS) or spec.get("storageClassName") or "",
        *([spec.get("volumeAttributesClassName", UNSET)] if behaviour.applies("classes-of-volumes-shown") else ()),
        status.get("reason") or "",
        created(obj, now),
        spec.get("volumeMode", UNSET),
    ]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(WHOLE,)),
    default=_default,
    prepare_with_context=_prepare_with_context,
    validate=_validate,
    validate_last=_validate_change,
    print_row=_row,
    warnings=_warnings,
    subresources={"status": Subresource(keep_all_but_status)},
    return_deleted_object=True,
)
