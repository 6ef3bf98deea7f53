"""Validation and preparation of pod templates.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.pod.image_volumes import without_image_volumes
from simkit.kinds.parts.pod.restart_policies import without_restart_policies
from simkit.kinds.parts.pod.validation.annotations import (
    validate_annotation_value,
    validate_app_armor_agreement,
    validate_field_agreement,
    without_init_annotations,
)
from simkit.kinds.parts.pod.validation.spec import validate_pod_spec
from simkit.kinds.parts.validation.labels import validate_annotations, validate_labels
from simkit.meta.fielderror import FieldError, forbidden_field, unsupported
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of


def validate_template(path: str, template: Object) -> list[FieldError]:
    """All errors of a pod template in itself."""
    spec = template.get("spec") or {}
    errors = [*validate_metadata(path, template)]
    errors += validate_pod_spec(f"{path}.spec", spec, None)
    errors += validate_field_agreement(f"{path}.spec", template, spec)
    errors += validate_app_armor_agreement(f"{path}.spec", template, spec)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden_field(f"{path}.spec.ephemeralContainers", text))
    return errors


def validate_metadata(path: str, template: Object) -> Iterator[FieldError]:
    """The errors of the labels and annotations of a template."""
    yield from validate_labels(f"{path}.labels", labels_of(template))
    yield from validate_annotations(f"{path}.annotations", annotations_of(template))
    yield from validate_annotation_value(f"{path}.annotations", template, template.get("spec") or {})


def validate_lasting(path: str, template: Object, kind: str) -> Iterator[FieldError]:
    """The errors of a template for pods with restart policy Always."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        yield unsupported(f"{path}.spec.restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden_field(f"{path}.spec.activeDeadlineSeconds", text)


def prepare_template(holder: Draft, old: Object | None = None, name: str = "template") -> None:
    """Drop from the template the fields that are not stored there; the draft must own the holder."""
    if holder.get(name) is None:
        return
    made: Draft = dict(holder[name])
    without_init_annotations(made)
    spec = without_restart_policies(without_image_volumes(made.get("spec") or {}, old or {}), old or {})
    if spec is not made.get("spec"):
        made["spec"] = spec
        holder[name] = made
    if made.get("metadata") is not holder[name].get("metadata"):
        holder[name] = made


def names_and_images(template: Any) -> tuple[str, str]:
    """The names and the images of the containers, separated by commas."""
    containers: Sequence[Object] = at(template, "spec", "containers") or ()
    names = ",".join(one.get("name") or "" for one in containers)
    return names, ",".join(one.get("image") or "" for one in containers)
