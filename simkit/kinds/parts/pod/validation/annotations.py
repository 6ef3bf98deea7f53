"""Validation of pod annotations that kube-apiserver interprets.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.kinds.parts.pod.validation.security_context import every_container
from simkit.kinds.parts.validation.fields import DESCENDING
from simkit.kinds.rules import placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import MIRROR_POD, label
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, quoted
from simkit.meta.integers import parse_int
from simkit.meta.objects import Draft, Object, annotations_of, at

APP_ARMOR: Final = label("", "container.apparmor.security.beta")
SECCOMP_POD: Final = label("pod", "seccomp.security.alpha")
SECCOMP_CONTAINER: Final = label("", "container.seccomp.security.alpha")
DELETION_COST: Final = label("pod-deletion-cost", "controller")
INIT: Final = tuple(
    label(name, f"pod.{level}")
    for level in ("beta", "alpha")
    for name in ("init-containers", "init-container-statuses")
)
_LOCAL: Final = "localhost/"
_TYPES: Final = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}


def validate_annotation_value(
    behaviour: ServedBehaviour, path: str, holder: Object, spec: Object
) -> Iterator[FieldError]:
    """The errors of the values of annotations; ``holder`` is the pod or template of the spec."""
    annotations = annotations_of(holder)
    if not annotations:
        return
    if MIRROR_POD in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid_value(f"{path}[{MIRROR_POD}]", annotations[MIRROR_POD], text)
    cost = annotations.get(DELETION_COST)
    if cost is not None:
        yield from _validate_cost(f"{path}[{DELETION_COST}]", cost)
    yield from _validate_seccomp(behaviour, path, annotations)
    yield from _validate_app_armor(path, annotations, spec)


def _validate_cost(path: str, cost: str) -> Iterator[FieldError]:
    number = parse_int(cost, bits=32)
    if number is None or cost != str(number):
        yield invalid_value(path, cost, "must be a 32bit integer")


def _validate_seccomp(behaviour: ServedBehaviour, path: str, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    for key, profile in annotations.items():
        if key != SECCOMP_POD and not key.startswith(SECCOMP_CONTAINER):
            continue
        yield from validate_seccomp_note(behaviour, f"{path}.{key}", profile)


def validate_seccomp_note(behaviour: ServedBehaviour, path: str, profile: str) -> Iterator[FieldError]:
    """The errors of a seccomp profile in an annotation."""
    if profile.startswith(_LOCAL):
        yield from placed(path, DESCENDING(behaviour, profile.removeprefix(_LOCAL)))
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid_value(path, profile, "must be a valid seccomp profile")


def _validate_app_armor(path: str, annotations: Mapping[str, str], spec: Object) -> Iterator[FieldError]:
    names = {container.get("name") for _, container in every_container("", spec)}
    for key, profile in annotations.items():
        if not key.startswith(APP_ARMOR):
            continue
        container = key.removeprefix(APP_ARMOR)
        if container not in names:
            yield invalid_value(f"{path}[{key}]", container, "container not found")
        if profile and profile not in ("runtime/default", "unconfined") and not profile.startswith(_LOCAL):
            yield invalid_value(f"{path}[{key}]", profile, f"invalid AppArmor profile name: {quoted(profile)}")


def validate_annotation_change(behaviour: ServedBehaviour, path: str, pod: Object, old: Object) -> Iterator[FieldError]:
    """The errors of changed immutable annotations, and the errors of the values once more."""
    values, old_values = annotations_of(pod), annotations_of(old)
    for key, value in old_values.items():
        what = _kept(key)
        if what and values.get(key) != value:
            yield forbidden_field(f"{path}[{key}]", f"may not remove or update {what}")
    for key in values:
        what = _kept(key)
        if what and key not in old_values:
            yield forbidden_field(f"{path}[{key}]", f"may not add {what}")
    yield from validate_annotation_value(behaviour, path, pod, pod.get("spec") or {})


def _kept(key: str) -> str:
    if key.startswith(APP_ARMOR):
        return "AppArmor annotations"
    return "mirror pod annotation" if key == MIRROR_POD else ""


def validate_field_agreement(path: str, holder: Object, spec: Object) -> Iterator[FieldError]:
    """The errors of seccomp annotations that differ from the fields."""
    annotations = annotations_of(holder)
    if not annotations:
        return
    pairs = [(f"{path}.securityContext", spec, SECCOMP_POD)]
    pairs += [
        (f"{place}.securityContext", one, SECCOMP_CONTAINER + (one.get("name") or ""))
        for place, one in every_container(path, spec)
    ]
    for place, one, key in pairs:
        profile = at(one, "securityContext", "seccompProfile")
        if profile is not None and key in annotations:
            yield from _disagreement(f"{place}.seccompProfile", "seccomp", profile, annotations[key])


def _disagreement(path: str, what: str, profile: Object, value: str) -> Iterator[FieldError]:
    kind = profile.get("type")
    if kind == "Localhost":
        if not value.startswith(_LOCAL):
            yield forbidden_field(f"{path}.type", f"{what} type in annotation and field must match")
        elif value.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            yield forbidden_field(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")
    elif kind in _TYPES and value not in _TYPES[kind][: 1 if what == "apparmor" else None]:
        yield forbidden_field(f"{path}.type", f"{what} type in annotation and field must match")


def validate_app_armor_agreement(path: str, pod: Object, spec: Object) -> Iterator[FieldError]:
    """The errors of AppArmor annotations of a new pod or a template that differ from the fields."""
    annotations = annotations_of(pod)
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = at(spec, "securityContext", "appArmorProfile")
    for place, container in every_container(path, spec):
        profile = at(container, "securityContext", "appArmorProfile") or of_pod
        key = APP_ARMOR + (container.get("name") or "")
        if profile is not None and key in annotations:
            where = f"{place}.securityContext.appArmorProfile"
            yield from _disagreement(where, "apparmor", profile, annotations[key])


def without_init_annotations(holder: Draft) -> None:
    """Remove annotations in which very old clients wrote init containers."""
    annotations = annotations_of(holder)
    if any(key in annotations for key in INIT):
        kept = {key: value for key, value in annotations.items() if key not in INIT}
        holder["metadata"] = {**holder["metadata"], "annotations": kept}
        if not kept:
            del holder["metadata"]["annotations"]
