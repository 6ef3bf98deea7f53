"""Strategy of Namespace: name label, phase, finalizers of its spec, status and finalize subresources.

Follows ``pkg/registry/core/namespace/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.cells import columns
from simkit.kinds.parts.copy_on_write import keep_all_but_status
from simkit.kinds.rules import by, row, validation
from simkit.kinds.strategy import CHANGES, WHOLE, DeleteStrategy, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import NAMESPACE_FINALIZER, label
from simkit.meta.fielderror import Errors, FieldError, invalid_value
from simkit.meta.name_validation import dns_label, qualified_name
from simkit.meta.objects import Draft, Object, at, labels_of

_NAME_LABEL = label("metadata.name")
_STANDARD = frozenset({NAMESPACE_FINALIZER, "orphan", "foregroundDeletion"})


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    metadata = draft["metadata"]
    name = metadata.get("name")
    if name:
        metadata["labels"] = {**(metadata.get("labels") or {}), _NAME_LABEL: name}


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {"phase": "Active"}
        finalizers = list(at(draft, "spec", "finalizers") or ())
        if NAMESPACE_FINALIZER not in finalizers:
            finalizers.append(NAMESPACE_FINALIZER)
        draft["spec"] = {**(draft.get("spec") or {}), "finalizers": finalizers}


def _validate_finalizer(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    yield from (invalid_value(path, name, text) for text in qualified_name(name))
    if "/" not in name and name not in _STANDARD:
        yield invalid_value(path, name, "name is neither a standard finalizer name nor is it fully qualified")


def _validate_finalizers(behaviour: ServedBehaviour, path: str, names: Sequence[str]) -> Errors:
    """The errors of finalizers, which are told without their places."""
    return (error for name in names for error in _validate_finalizer(behaviour, path, name))


_validate: Final = validation(row("spec.finalizers", by(_validate_finalizers)))
_validate_finalize: Final = validation(row("spec.finalizers[]", by(_validate_finalizer)))


def _merge_status(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    keep_all_but_status(behaviour, draft, live)
    draft["status"] = {**(draft.get("status") or {})}
    draft["status"]["phase"] = draft["status"].get("phase") or "Active"


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The error of a phase that does not match the deletion timestamp."""
    phase, going = at(obj, "status", "phase") or "", bool(obj["metadata"].get("deletionTimestamp"))
    wanted = "Terminating" if going else "Active"
    if phase == wanted:
        return ()
    text = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if going else ''}empty"
    return [invalid_value("status.Phase", phase, text)]


def _merge(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Keep everything but metadata: finalizers and status have endpoints of their own."""
    for name in ("spec", "status"):
        draft.pop(name, None)
        if name in live:
            draft[name] = live[name]


def _merge_finalize(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    spec = draft.get("spec") or {}
    for name in set(draft) - {"metadata", "kind", "apiVersion"}:
        del draft[name]
    draft.update({name: value for name, value in live.items() if name not in ("metadata", "spec")})
    draft["spec"] = {"finalizers": list(spec.get("finalizers") or ())} if spec.get("finalizers") else {}


def _is_kept(obj: Object) -> bool:
    return bool(at(obj, "spec", "finalizers"))


def _prepare_for_delete(draft: Draft) -> None:
    draft["status"] = {**(draft.get("status") or {}), "phase": "Terminating"}


def _fields(obj: Object) -> dict[str, str]:
    return {"status.phase": at(obj, "status", "phase") or "", "name": labels_of(obj).get(_NAME_LABEL, "")}


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE, CHANGES)),
    validate_name=dns_label,
    default=_default,
    prepare=_prepare,
    validate=_validate,
    selectable_fields=_fields,
    print_row=columns("status.phase"),
    subresources={
        "": Subresource(_merge, _validate, owns_all=True),
        "finalize": Subresource(_merge_finalize, _validate_finalize),
        "status": Subresource(_merge_status, _validate_status),
    },
    return_deleted_object=True,
    delete_strategy=DeleteStrategy(is_kept=_is_kept, prepare_for_delete=_prepare_for_delete, timestamp_only=True),
)
