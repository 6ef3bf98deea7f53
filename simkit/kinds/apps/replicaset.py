"""ReplicaSet: a number of equal pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.cells import created
from simkit.kinds.parts.drafts import kept_status, owned
from simkit.kinds.parts.gotext import selector as shown_selector
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import names_and_images, prepare_template
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.replicas import replica_status_faults
from simkit.kinds.parts.selector_text import selector_text
from simkit.kinds.parts.workload import (
    count_faults,
    default_missing,
    immutable_selector,
    name_warnings,
    replicated_faults,
    selector_faults,
    selector_of,
)
from simkit.kinds.rules import KindRules, Subresource, spec_differs
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.objects import Draft, Object, at, name_of


def _default(draft: Draft) -> None:
    spec = owned(draft, "spec")
    default_missing(spec, {"replicas": 1})
    spec.setdefault("template", {})
    default_template(spec)


def _prepare(draft: Draft, old: Object | None) -> None:
    prepare_template(owned(draft, "spec"))
    if old is None:
        draft["status"] = {"replicas": 0}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj["spec"]
    selector = spec.get("selector")
    errors = [*count_faults("spec", spec, ("replicas", "minReadySeconds"))]
    errors += selector_faults("spec.selector", selector, "deployment")
    chosen = selector_of(selector)
    if chosen is None:
        errors.append(invalid_value("spec.selector", shown_selector(selector), "invalid label selector"))
    else:
        errors += replicated_faults("spec.template", spec, "ReplicaSet", chosen)
    return [*errors, *(immutable_selector(obj, old) if old is not None else ())]


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return [*replica_status_faults(obj.get("status") or {})]


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    if old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return ()
    named = name_warnings(obj) if old is None else ()
    return [*named, *pod_warnings("spec.template", at(obj, "spec", "template") or {})]


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = [spec.get("replicas") or 0, status.get("replicas") or 0, status.get("readyReplicas") or 0]
    listed = names_and_images(spec.get("template"))
    return [name_of(obj), *counts, created(obj, now), *listed, selector_text(spec.get("selector"))]


RULES = KindRules(
    default=_default,
    prepare=_prepare,
    validate=_validate,
    generation=spec_differs,
    row=_row,
    subresources={"status": Subresource(kept_status, _validate_status)},
    warnings=_warnings,
)
