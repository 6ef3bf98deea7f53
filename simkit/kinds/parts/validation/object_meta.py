"""Validation of ``metav1.ObjectMeta``: labels, annotations, owner references, finalizers.

Follows ``k8s.io/apimachinery/pkg/api/validation/objectmeta.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.validation.labels import validate_annotations, validate_labels
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import qualified_name
from simkit.meta.names import GroupVersion

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


def validate_object_meta(metadata: Mapping[str, Any], field: str = "metadata") -> list[FieldError]:
    """The errors of labels, annotations and owners."""
    errors: list[FieldError] = []
    if labels := metadata.get("labels"):
        errors += validate_labels(f"{field}.labels", labels)
    if annotations := metadata.get("annotations"):
        errors += validate_annotations(f"{field}.annotations", annotations)
    if owners := metadata.get("ownerReferences"):
        errors += _validate_owner(owners, f"{field}.ownerReferences")
    return errors


def _validate_owner(owners: Sequence[Mapping[str, Any]], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller, printed = "", None
    for owner in owners:
        errors += _validate_one_owner(owner, field)
        shown = _shown_owner(owner)
        if owner.get("controller"):
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {shown}'
                )
                printed = printed or structures("v1.OwnerReference", owners)  # once: there may be an error for each
                errors.append(invalid_value(field, printed, detail))
            else:
                controller = shown
    return errors


def _shown_owner(owner: Mapping[str, Any]) -> str:
    """An owner as errors name it."""
    name: str = owner.get("name", "")
    return f"{owner.get('kind', '')}/{name}" if applies("owners-told-with-kinds") else name


def _validate_one_owner(owner: Mapping[str, Any], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = owner.get("apiVersion", "")
    group_version = GroupVersion.parse(api_version) if api_version.count("/") <= 1 else GroupVersion("", "")
    if not group_version.version:
        errors.append(invalid_value(f"{field}.apiVersion", api_version, "version must not be empty"))
    errors += [
        invalid_value(f"{field}.{name}", owner.get(name, ""), _empty(name))
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    ]
    if (group_version, owner.get("kind")) == (GroupVersion("", "v1"), "Event"):
        errors.append(
            invalid_value(
                field, structure("v1.OwnerReference", owner), "/v1, Kind=Event is disallowed from being an owner"
            )
        )
    return errors


def validate_finalizers(metadata: Mapping[str, Any], field: str = "metadata") -> list[FieldError]:
    """The errors of finalizers of any kind."""
    field, finalizers = f"{field}.finalizers", metadata.get("finalizers")
    if not finalizers:
        return []
    errors = [invalid_value(field, name, text) for name in finalizers for text in qualified_name(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid_value(field, texts(finalizers), detail))
    return errors


def _empty(name: str) -> str:
    return "must not be empty" if applies("owner-errors-name-field-alone") else f"{name} must not be empty"
