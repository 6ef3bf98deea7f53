"""Validation and preparation of pod templates.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.pod.profiles import (
    validate_annotation_value,
    validate_app_armor_agreement,
    validate_field_agreement,
    without_init_annotations,
)
from simkit.kinds.parts.pod.validation.spec import validate_pod_spec
from simkit.kinds.parts.validation.object_meta import validate_annotations, validate_labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, unsupported
from simkit.meta.objects import Draft, Object, annotations_of, at, labels_of
from simkit.meta.podspec import CONTAINER_LISTS

_INIT = "initContainers"
_POLICY, _RULES = "restartPolicy", "restartPolicyRules"


def without_restart_policies(behaviour: ServedBehaviour, spec: Object, old: Object) -> Object:
    """The spec of a pod without such policies, the very same where it may have them, as where the old one has some.

    Init containers that always restart keep their policy: they are sidecars.
    """
    if (
        behaviour.applies("container-restart-rules")
        or not behaviour.applies("restart-policies-dropped")
        or _has_policies(old)
    ):
        return spec
    if not any(_told(key, one) for key in CONTAINER_LISTS for one in spec.get(key) or ()):
        return spec
    return {**spec, **{key: [_without_told(key, one) for one in spec[key]] for key in CONTAINER_LISTS if spec.get(key)}}


def _has_policies(spec: Object) -> bool:
    plain = any(one.get(_POLICY) is not None for one in spec.get("containers") or ())
    return plain or any(_told(_INIT, one) for one in spec.get(_INIT) or ())


def _told(key: str, container: Object) -> set[str]:
    """The fields of a container that only the feature allows."""
    sidecar = key == _INIT and container.get(_POLICY) == "Always"
    policy = {_POLICY} if container.get(_POLICY) is not None and not sidecar else set[str]()
    return {*policy, _RULES} if container.get(_RULES) is not None else policy


def _without_told(key: str, container: Any) -> Any:
    gone = _told(key, container)
    return {name: value for name, value in container.items() if name not in gone} if gone else container


_MOUNTS = "volumeMounts"


def without_image_volumes(behaviour: ServedBehaviour, spec: Object, old: Object) -> Object:
    """The spec of a pod without such volumes, the very same where it may have them, as where the old one has some."""
    names = _names(spec)
    if not names or behaviour.applies("image-volumes") or _names(old):
        return spec
    made = _less(dict(spec), "volumes", names)
    for key in CONTAINER_LISTS:
        if made.get(key):
            made[key] = [_less(dict(one), _MOUNTS, names) for one in made[key]]
    return made


def _names(spec: Object) -> set[Any]:
    return {one.get("name") for one in spec.get("volumes") or () if one.get("image") is not None}


def _less(holder: Draft, key: str, names: set[Any]) -> Draft:
    """A holder without the entries of a list that have these names."""
    kept = [one for one in holder.get(key) or () if one.get("name") not in names]
    if kept:
        holder[key] = kept
    else:
        holder.pop(key, None)
    return holder


def validate_template(behaviour: ServedBehaviour, path: str, template: Object) -> Errors:
    """All errors of a pod template in itself."""
    spec = template.get("spec") or {}
    yield from validate_metadata(behaviour, path, template)
    yield from validate_pod_spec(behaviour, f"{path}.spec", spec, None)
    yield from validate_field_agreement(f"{path}.spec", template, spec)
    yield from validate_app_armor_agreement(f"{path}.spec", template, spec)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        yield forbidden_field(f"{path}.spec.ephemeralContainers", text)


def validate_metadata(behaviour: ServedBehaviour, path: str, template: Object) -> Errors:
    """The errors of the labels and annotations of a template."""
    yield from validate_labels(behaviour, f"{path}.labels", labels_of(template))
    yield from validate_annotations(behaviour, f"{path}.annotations", annotations_of(template))
    yield from validate_annotation_value(behaviour, f"{path}.annotations", template, template.get("spec") or {})


def validate_lasting(path: str, template: Object, kind: str) -> Errors:
    """The errors of a template for pods with restart policy Always."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        yield unsupported(f"{path}.spec.restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden_field(f"{path}.spec.activeDeadlineSeconds", text)


def prepare_template(behaviour: ServedBehaviour, holder: Draft, old: Object | None = None) -> None:
    """Drop from the template the fields that are not stored there; the draft must own the holder."""
    if holder.get("template") is None:
        return
    made: Draft = dict(holder["template"])
    without_init_annotations(made)
    spec = without_restart_policies(
        behaviour, without_image_volumes(behaviour, made.get("spec") or {}, old or {}), old or {}
    )
    if spec is not made.get("spec"):
        made["spec"] = spec
        holder["template"] = made
    if made.get("metadata") is not holder["template"].get("metadata"):
        holder["template"] = made


def names_and_images(template: Any) -> tuple[str, str]:
    """The names and the images of the containers, separated by commas."""
    containers: Sequence[Object] = at(template, "spec", "containers") or ()
    names = ",".join(one.get("name") or "" for one in containers)
    return names, ",".join(one.get("image") or "" for one in containers)
