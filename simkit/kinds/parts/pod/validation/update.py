"""Validation of pod updates: only images, deadlines, added tolerations and scheduling gates may change.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.diff import change
from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.parts.go_printing.syntax import text_map
from simkit.kinds.parts.pod.qos import qos_class
from simkit.kinds.parts.pod.validation.containers import validate_image
from simkit.kinds.parts.pod.validation.scheduling import REQUIRED, validate_tolerations
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.objects import Draft, Object, at

_LARGEST: Final = 2**31 - 1
_CHANGEABLE: Final = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
)
_GRACE: Final = "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
_SHARED: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_TERM: Final = "core.NodeSelectorTerm"
_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"


def validate_change(pod: Object, old_pod: Object) -> Iterator[FieldError]:
    """The errors of changes of a pod's spec, apart from errors of the spec itself."""
    spec, old = pod["spec"], old_pod.get("spec") or {}
    for name in ("containers", "initContainers"):
        containers, before = spec.get(name) or (), old.get(name) or ()
        if len(containers) != len(before):
            yield forbidden_field(f"spec.{name}", "pod updates may not add or remove containers")
            return
        yield from _validate_image(f"spec.{name}", containers)
    deadline = list(_validate_deadline("spec.activeDeadlineSeconds", spec, old))
    yield from deadline
    if deadline and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _added_tolerations("spec.tolerations", spec.get("tolerations") or (), old.get("tolerations") or ())
    yield from _removed_gates("spec.schedulingGates", spec.get("schedulingGates") or (), old)
    if spec == old:
        return
    if _checks_quality() and (at(old_pod, "status", "qosClass") or qos_class(old)) != qos_class(spec):
        yield invalid_value("metadata", at(pod, "status", "qosClass") or "", "Pod QoS is immutable")
    munged = _munged(spec, old)
    if old.get("schedulingGates") and applies("gated-pods-narrowed"):
        yield from _validate_gated(munged, old)
    if munged != old:
        text = f"pod updates may not change fields other than {_changeable()}\n{_shown(old, munged)}"
        yield forbidden_field("spec", text)


def _checks_quality() -> bool:
    """True if a pod's quality of service may not change with its spec."""
    return applies("quality-of-service-is-kept") and not applies("quality-of-service-is-checked-in-status")


def _changeable() -> str:
    """The fields that may change, as errors list them."""
    names = (*_CHANGEABLE, _GRACE) if applies("grace-periods-mended") else _CHANGEABLE
    if applies("changeable-fields-with-commas"):
        return ",".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _validate_image(path: str, containers: Sequence[Object]) -> Iterator[FieldError]:
    for index, container in enumerate(containers):
        if not container.get("image"):
            yield required(f"{path}[{index}].image")
        yield from validate_image(f"{path}[{index}]", container)


def _validate_deadline(path: str, spec: Object, old: Object) -> Iterator[FieldError]:
    seconds, before = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if seconds is None:
        if before is not None:
            yield invalid_value(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= seconds <= _LARGEST:
        yield invalid_value(path, seconds, f"must be between 0 and {_LARGEST}, inclusive")
    elif before is not None and before < seconds:
        yield invalid_value(path, seconds, "must be less than or equal to previous value")


def _added_tolerations(path: str, tolerations: Sequence[Object], old: Sequence[Object]) -> Iterator[FieldError]:
    kept = [_timeless(one) for one in tolerations]
    if any(_timeless(one) not in kept for one in old):
        yield forbidden_field(path, "existing toleration can not be modified except its tolerationSeconds")
    else:
        yield from validate_tolerations(path, tolerations)


def _timeless(toleration: Object) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _removed_gates(path: str, gates: Sequence[Object], old: Object) -> Iterator[FieldError]:
    before = {one.get("name") for one in old.get("schedulingGates") or ()}
    for index, gate in enumerate(gates):
        if gate.get("name") not in before:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden_field(f"{path}[{index}].name", text)


def _munged(spec: Object, old: Object) -> Draft:
    """The new spec with everything that may change reset to the old values."""
    munged: Draft = dict(spec)
    for name in ("containers", "initContainers"):
        if munged.get(name):
            pairs = zip(munged[name], old[name], strict=True)
            munged[name] = [{**one, "image": before.get("image")} for one, before in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged.pop(name, None)
        if name in old:
            munged[name] = old[name]
    grace = "terminationGracePeriodSeconds"
    if (old.get(grace) or 0) < 0 and munged.get(grace) == 1 and applies("grace-periods-mended"):
        munged[grace] = old[grace]
    return munged


def _shown(old: Object, spec: Object) -> str:
    return change("core.PodSpec", _as_kept(old), _as_kept(spec))


def _as_kept(spec: Object) -> Object:
    """The spec in kube-apiserver's internal version: the host namespaces are part of the pod's security context."""
    shared = {key: spec[key] for key in _SHARED if key in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **shared}}


def _validate_gated(munged: Draft, old: Object) -> Iterator[FieldError]:
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


def _restore(munged: Draft, old: Object, name: str) -> None:
    munged.pop(name, None)
    if name in old:
        munged[name] = old[name]


def _narrowed(path: str, affinity: Object, before: Object | None) -> Iterator[FieldError]:
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
