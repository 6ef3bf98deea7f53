"""Validation of pod updates: only images, deadlines, added tolerations and scheduling gates may change.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.diff import change
from simkit.kinds.parts.go_printing.structures import internal_pod_spec, structure, structures, text_map
from simkit.kinds.parts.pod.qos import qos_class
from simkit.kinds.parts.pod.validation.containers import IMAGE
from simkit.kinds.parts.pod.validation.scheduling import REQUIRED, TOLERATION
from simkit.kinds.rules import items, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import MIRROR_POD
from simkit.meta.fielderror import Errors, FieldError, forbidden_field, invalid_value
from simkit.meta.objects import Draft, Object, annotations_of, at
from simkit.meta.quantity import parse

_LARGEST: Final = 2**31 - 1
_CHANGEABLE: Final = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
)
_GRACE: Final = "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
_TERM: Final = "core.NodeSelectorTerm"
_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"


def validate_change(behaviour: ServedBehaviour, pod: Object, old_pod: Object) -> Errors:
    """The errors of changes of a pod's spec, apart from errors of the spec itself."""
    spec, old = pod["spec"], old_pod.get("spec") or {}
    for name in ("containers", "initContainers"):
        containers, before = spec.get(name) or (), old.get(name) or ()
        if len(containers) != len(before):
            yield forbidden_field(f"spec.{name}", "pod updates may not add or remove containers")
            return
        yield from placed(f"spec.{name}", _IMAGES(behaviour, containers))
    deadline = list(_validate_deadline("spec.activeDeadlineSeconds", spec, old))
    yield from deadline
    if deadline and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _added_tolerations(
        behaviour, "spec.tolerations", spec.get("tolerations") or (), old.get("tolerations") or ()
    )
    yield from _removed_gates("spec.schedulingGates", spec.get("schedulingGates") or (), old)
    if spec == old:
        return
    if _checks_quality(behaviour) and (at(old_pod, "status", "qosClass") or qos_class(behaviour, old)) != qos_class(
        behaviour, spec
    ):
        yield invalid_value("metadata", at(pod, "status", "qosClass") or "", "Pod QoS is immutable")
    munged = _munged(behaviour, spec, old)
    if old.get("schedulingGates") and behaviour.applies("gated-pods-narrowed"):
        yield from _validate_gated(munged, old)
    if munged != old:
        shown = change(behaviour, "core.PodSpec", internal_pod_spec(old), internal_pod_spec(munged))
        text = f"pod updates may not change fields other than {_changeable(behaviour)}\n{shown}"
        yield forbidden_field("spec", text)


def _checks_quality(behaviour: ServedBehaviour) -> bool:
    """True if a pod's quality of service may not change with its spec."""
    return behaviour.applies("quality-of-service-is-kept") and not behaviour.applies(
        "quality-of-service-is-checked-in-status"
    )


def _changeable(behaviour: ServedBehaviour) -> str:
    """The fields that may change, as errors list them."""
    names = (*_CHANGEABLE, _GRACE) if behaviour.applies("grace-periods-mended") else _CHANGEABLE
    if behaviour.applies("changeable-fields-with-commas"):
        return ",".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


_IMAGES: Final = items(table(row("image", must.be_given()), IMAGE))


def _validate_deadline(path: str, spec: Object, old: Object) -> Errors:
    seconds, before = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if seconds is None:
        if before is not None:
            yield invalid_value(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= seconds <= _LARGEST:
        yield invalid_value(path, seconds, f"must be between 0 and {_LARGEST}, inclusive")
    elif before is not None and before < seconds:
        yield invalid_value(path, seconds, "must be less than or equal to previous value")


def _added_tolerations(
    behaviour: ServedBehaviour, path: str, tolerations: Sequence[Object], old: Sequence[Object]
) -> Errors:
    kept = [_timeless(one) for one in tolerations]
    if any(_timeless(one) not in kept for one in old):
        yield forbidden_field(path, "existing toleration can not be modified except its tolerationSeconds")
    else:
        yield from placed(path, _TOLERATIONS(behaviour, tolerations))


_TOLERATIONS: Final = items(TOLERATION)


def _timeless(toleration: Object) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _removed_gates(path: str, gates: Sequence[Object], old: Object) -> Errors:
    before = {one.get("name") for one in old.get("schedulingGates") or ()}
    for index, gate in enumerate(gates):
        if gate.get("name") not in before:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden_field(f"{path}[{index}].name", text)


def _munged(behaviour: ServedBehaviour, spec: Object, old: Object) -> Draft:
    """The new spec with everything that may change reset to the old values."""
    munged: Draft = dict(spec)
    for name in ("containers", "initContainers"):
        if munged.get(name):
            pairs = zip(munged[name], old[name], strict=True)
            munged[name] = [{**one, "image": before.get("image")} for one, before in pairs]
        else:
            munged.pop(name, None)
    _restore(munged, old, "activeDeadlineSeconds", "schedulingGates", "tolerations")
    grace = "terminationGracePeriodSeconds"
    if (old.get(grace) or 0) < 0 and munged.get(grace) == 1 and behaviour.applies("grace-periods-mended"):
        munged[grace] = old[grace]
    return munged


def _validate_gated(munged: Draft, old: Object) -> Errors:
    """The errors of further changes of a pod with scheduling gates: node selection may become narrower."""
    wanted, before = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if wanted != before:
        if any(wanted.get(key) != value for key, value in before.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            yield invalid_value("spec.nodeSelector", text_map(wanted or None), text)
        _restore(munged, old, "nodeSelector")
    node, node_before = at(munged, "affinity", "nodeAffinity"), at(old, "affinity", "nodeAffinity")
    if node != node_before:
        yield from _narrowed("spec.affinity.nodeAffinity", node or {}, node_before)
        affinity = {key: value for key, value in (munged.get("affinity") or {}).items() if key != "nodeAffinity"}
        if node_before is not None:
            affinity["nodeAffinity"] = node_before
        munged["affinity"] = affinity
        if not affinity and "affinity" not in old:
            del munged["affinity"]


def _restore(munged: Draft, old: Object, *names: str) -> None:
    for name in names:
        munged.pop(name, None)
        if name in old:
            munged[name] = old[name]


def _narrowed(path: str, affinity: Object, before: Object | None) -> Errors:
    had = (before or {}).get(REQUIRED)
    if had is None:
        return
    at_required = f"{path}.{REQUIRED}"
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    old_terms = had.get("nodeSelectorTerms") or ()
    if not old_terms:
        return
    if len(terms) != len(old_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid_value(f"{at_required}.nodeSelectorTerms", structures(_TERM, terms or None), text)
        return
    for index, (term, old_term) in enumerate(zip(terms, old_terms, strict=True)):
        for name in ("matchExpressions", "matchFields"):
            kept, rules = term.get(name) or (), old_term.get(name) or ()
            if list(kept[: len(rules)]) != list(rules) or (not old_term and term):
                yield invalid_value(f"{at_required}.nodeSelectorTerms[{index}]", structure(_TERM, term), _ADDITIONS)
                break


_LISTS: Final = ("containers", "initContainers")
_RESIZED: Final = ("cpu", "memory")
_ONLY: Final = "only cpu and memory resources are mutable"


def validate_resize(
    behaviour: ServedBehaviour, pod: Object, old_pod: Object, spec_errors: list[FieldError]
) -> list[FieldError]:
    """The errors of a resize, among them those of the pod in itself."""
    spec, old = pod["spec"], old_pod["spec"]
    refused = _refusal(behaviour, old_pod, spec, old)
    if refused:
        return [forbidden_field("[]", refused)]  # what a path of an empty name looks like
    errors = list(spec_errors)
    if (at(old_pod, "status", "qosClass") or qos_class(behaviour, old)) != qos_class(behaviour, spec):
        text = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid_value("spec", at(pod, "status", "qosClass") or "", text))
    if not _supported(old_pod):
        errors.append(forbidden_field("spec", "Pod running on node without support for resize"))
    if spec.get("resources") is not None or old.get("resources") is not None:
        errors += _validate_pod_level(spec, old)
    order = [*_validate_order(spec, old)]
    if order:
        return [*errors, *order]
    errors += _validate_removed(behaviour, spec, old)
    errors += _validate_others(behaviour, spec, old)
    if not errors and _without_resized(spec) != _without_resized(old):
        errors.append(forbidden_field("spec", _ONLY))
    return errors


_WHOLE: Final = (
    "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature "
    "gate is disabled"
)


def _refusal(behaviour: ServedBehaviour, old_pod: Object, spec: Object, old: Object) -> str:
    """The reason why a pod cannot be resized at all; empty if it can."""
    whole = any(at(each, "resources", side) for each in (spec, old) for side in ("requests", "limits"))
    if whole and not behaviour.applies("resize-of-pod-level-resources"):
        return (
            _WHOLE
            if behaviour.applies("resize-of-whole-pods-named")
            else "pods with pod-level resources cannot be resized"
        )
    if MIRROR_POD in annotations_of(old_pod):
        return "static pods cannot be resized"
    return "windows pods cannot be resized" if at(old, "os", "name") == "windows" else ""


def _supported(pod: Object) -> bool:
    """True if the node of a pod reports resources of running containers."""
    for status in at(pod, "status", "containerStatuses") or ():
        if at(status, "state", "running") is not None:
            return status.get("resources") is not None
    return True


def _validate_pod_level(spec: Object, old: Object) -> Errors:
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


def _validate_order(spec: Object, old: Object) -> Errors:
    for name in _LISTS:
        containers, before = spec.get(name) or (), old.get(name) or ()
        if len(containers) != len(before):
            yield forbidden_field(f"spec.{name}", f"{name} may not be added or removed on resize")
            continue
        for index, (new, one) in enumerate(zip(containers, before, strict=True)):
            if new.get("name") != one.get("name"):
                text = f"{name} may not be renamed or reordered on resize"
                yield forbidden_field(f"spec.{name}[{index}].name", text)


def _validate_removed(behaviour: ServedBehaviour, spec: Object, old: Object) -> Errors:
    for name in reversed(_LISTS):
        for index, (new, before) in enumerate(zip(spec.get(name) or (), old.get(name) or (), strict=True)):
            if name == "containers" or _is_sidecar(before) or behaviour.applies("resize-of-init-containers"):
                yield from _validate_container(behaviour, f"spec.{name}[{index}].resources", new, before)


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _validate_container(behaviour: ServedBehaviour, path: str, container: Object, before: Object) -> Errors:
    for side in ("requests", "limits"):
        new, old = at(container, "resources", side) or {}, at(before, "resources", side) or {}
        if old.keys() - new.keys():
            yield forbidden_field(f"{path}.{side}", f"resource {side} cannot be removed")
    if behaviour.applies("resize-keeps-memory-limits"):
        yield from _validate_memory(f"{path}.limits[memory]", container, before)


def _validate_memory(path: str, container: Object, before: Object) -> Errors:
    """A memory limit that gets lower while the container runs on."""
    policies = {one.get("resourceName"): one.get("restartPolicy") for one in container.get("resizePolicy") or ()}
    new, old = at(container, "resources", "limits", "memory"), at(before, "resources", "limits", "memory")
    if policies.get("memory") == "RestartContainer" or new is None:
        return
    if old is None:
        yield forbidden_field(path, "memory limits cannot be added unless resizePolicy is RestartContainer")
    elif parse(new).nano < parse(old).nano:
        yield forbidden_field(path, "memory limits cannot be decreased unless resizePolicy is RestartContainer")


def _validate_others(behaviour: ServedBehaviour, spec: Object, old: Object) -> Errors:
    for new, before in zip(spec.get("containers") or (), old.get("containers") or (), strict=True):
        if _masked(new) != _masked(before):
            yield forbidden_field("spec", _ONLY)
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=True)
    for index, (new, before) in enumerate(pairs):
        yield from _validate_init(behaviour, f"spec.initContainers[{index}]", new, before)


def _validate_init(behaviour: ServedBehaviour, path: str, container: Object, before: Object) -> Errors:
    every = behaviour.applies("resize-of-init-containers")
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
