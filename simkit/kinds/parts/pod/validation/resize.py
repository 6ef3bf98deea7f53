"""Validation of a changed size of a pod: only cpu and memory of its containers may change.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.kinds.parts.pod.qos import qos_class
from simkit.meta.behaviour import applies
from simkit.meta.domain import MIRROR_POD
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.objects import Object, annotations_of, at
from simkit.meta.quantity import parse

_LISTS: Final = ("containers", "initContainers")
_RESIZED: Final = ("cpu", "memory")
_ONLY: Final = "only cpu and memory resources are mutable"


def validate_resize(pod: Object, old_pod: Object, spec_errors: list[FieldError]) -> list[FieldError]:
    """The errors of a resize, among them those of the pod in itself."""
    spec, old = pod["spec"], old_pod["spec"]
    refused = _refusal(old_pod, spec, old)
    if refused:
        return [forbidden_field("[]", refused)]  # what a path of an empty name looks like
    errors = list(spec_errors)
    if (at(old_pod, "status", "qosClass") or qos_class(old)) != qos_class(spec):
        text = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid_value("spec", at(pod, "status", "qosClass") or "", text))
    if not _supported(old_pod):
        errors.append(forbidden_field("spec", "Pod running on node without support for resize"))
    if spec.get("resources") is not None or old.get("resources") is not None:
        errors += _validate_pod_level(spec, old)
    order = [*_validate_order(spec, old)]
    if order:
        return [*errors, *order]
    errors += _validate_removed(spec, old)
    errors += _validate_others(spec, old)
    if not errors and _without_resized(spec) != _without_resized(old):
        errors.append(forbidden_field("spec", _ONLY))
    return errors


_WHOLE: Final = (
    "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature "
    "gate is disabled"
)


def _refusal(old_pod: Object, spec: Object, old: Object) -> str:
    """The reason why a pod cannot be resized at all; empty if it can."""
    whole = any(at(each, "resources", side) for each in (spec, old) for side in ("requests", "limits"))
    if whole and not applies("resize-of-pod-level-resources"):
        return _WHOLE if applies("resize-of-whole-pods-named") else "pods with pod-level resources cannot be resized"
    if MIRROR_POD in annotations_of(old_pod):
        return "static pods cannot be resized"
    return "windows pods cannot be resized" if at(old, "os", "name") == "windows" else ""


def _supported(pod: Object) -> bool:
    """True if the node of a pod reports resources of running containers."""
    for status in at(pod, "status", "containerStatuses") or ():
        if at(status, "state", "running") is not None:
            return status.get("resources") is not None
    return True


def _validate_pod_level(spec: Object, old: Object) -> Iterator[FieldError]:
    new, before = spec.get("resources"), old.get("resources")
    if before is not None and new is None:
        yield forbidden_field("spec.resources", "pod-level resources cannot be removed")
        return
    for side in ("requests", "limits"):
        if (at(before or {}, side) or {}).keys() - (at(new or {}, side) or {}).keys():
            yield forbidden_field(f"spec.resources.{side}", f"pod-level resource {side} cannot be removed")
    if _rest(new or {}) != _rest(before or {}):
        yield forbidden_field("spec", "only cpu and memory resources are mutable at pod-level")


def _rest(resources: Object) -> Mapping[str, Any]:
    """The resources that no resize changes."""
    kept = {side: _others(resources.get(side)) for side in ("limits", "requests")}
    return {"claims": resources.get("claims") or None, **kept}


def _others(amounts: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {name: amount for name, amount in (amounts or {}).items() if name not in _RESIZED}


def _validate_order(spec: Object, old: Object) -> Iterator[FieldError]:
    for name in _LISTS:
        containers, before = spec.get(name) or (), old.get(name) or ()
        if len(containers) != len(before):
            yield forbidden_field(f"spec.{name}", f"{name} may not be added or removed on resize")
            continue
        for index, (new, one) in enumerate(zip(containers, before, strict=True)):
            if new.get("name") != one.get("name"):
                text = f"{name} may not be renamed or reordered on resize"
                yield forbidden_field(f"spec.{name}[{index}].name", text)


def _validate_removed(spec: Object, old: Object) -> Iterator[FieldError]:
    for name in reversed(_LISTS):
        for index, (new, before) in enumerate(zip(spec.get(name) or (), old.get(name) or (), strict=True)):
            if name == "containers" or _is_sidecar(before) or applies("resize-of-init-containers"):
                yield from _validate_container(f"spec.{name}[{index}].resources", new, before)


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _validate_container(path: str, container: Object, before: Object) -> Iterator[FieldError]:
    for side in ("requests", "limits"):
        new, old = at(container, "resources", side) or {}, at(before, "resources", side) or {}
        if old.keys() - new.keys():
            yield forbidden_field(f"{path}.{side}", f"resource {side} cannot be removed")
    if applies("resize-keeps-memory-limits"):
        yield from _validate_memory(f"{path}.limits[memory]", container, before)


def _validate_memory(path: str, container: Object, before: Object) -> Iterator[FieldError]:
    """A memory limit that gets lower while the container runs on."""
    policies = {one.get("resourceName"): one.get("restartPolicy") for one in container.get("resizePolicy") or ()}
    new, old = at(container, "resources", "limits", "memory"), at(before, "resources", "limits", "memory")
    if policies.get("memory") == "RestartContainer" or new is None:
        return
    if old is None:
        yield forbidden_field(path, "memory limits cannot be added unless resizePolicy is RestartContainer")
    elif parse(new).nano < parse(old).nano:
        yield forbidden_field(path, "memory limits cannot be decreased unless resizePolicy is RestartContainer")


def _validate_others(spec: Object, old: Object) -> Iterator[FieldError]:
    for new, before in zip(spec.get("containers") or (), old.get("containers") or (), strict=True):
        if _masked(new) != _masked(before):
            yield forbidden_field("spec", _ONLY)
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=True)
    for index, (new, before) in enumerate(pairs):
        yield from _validate_init(f"spec.initContainers[{index}]", new, before)


def _validate_init(path: str, container: Object, before: Object) -> Iterator[FieldError]:
    every = applies("resize-of-init-containers")
    if not _is_sidecar(container) and not every:
        if container != before:
            yield forbidden_field("spec", "resources for non-sidecar init containers are immutable")
        return
    if _masked(container) != _masked(before):
        where, kind = (path, "init or sidecar containers") if every else ("spec", "sidecar containers")
        yield forbidden_field(where, f"only cpu and memory resources for {kind} are mutable")
    if container != before and not _is_sidecar(container):
        for policy in container.get("resizePolicy") or ():
            if policy.get("restartPolicy") == "RestartContainer":
                text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                yield forbidden_field(path, text)


def _masked(container: Object) -> Mapping[str, Any]:
    """A container without the amounts that a resize changes."""
    return {**container, "resources": _rest(container.get("resources") or {})}


def _without_resized(spec: Object) -> Mapping[str, Any]:
    made: dict[str, Any] = {**spec, "resources": None}
    for name in _LISTS:
        made[name] = [_masked(one) for one in spec.get(name) or ()]
    return made
