"""ReplicaSet: a number of equal pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.drafts import kept_status, owned
from simkit.kinds.parts.go_syntax import selector as shown_selector
from simkit.kinds.parts.older_workloads import FIRST, changing_selectors, keeping_dependents
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import prepare_template
from simkit.kinds.parts.replicas import replica_cells, replica_status_faults
from simkit.kinds.parts.selector_text import selector_text
from simkit.kinds.parts.workload import (
    count_faults,
    default_missing,
    immutable_selector,
    replicated_faults,
    selector_faults,
    selector_of,
    workload_warnings,
)
from simkit.kinds.strategy import Strategy, Subresource, spec_differs
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.objects import Draft, Object, at


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
    if old is None:
        return errors
    return [*errors, *errors, *immutable_selector(obj, old)]  # the real server checks an update twice


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [*replica_cells(obj, now), selector_text(at(obj, "spec", "selector"))]


_STABLE: Final = Strategy(
    default=_default,
    prepare=_prepare,
    validate=_validate,
    generation=spec_differs,
    row=_row,
    subresources={"status": Subresource(kept_status, replica_status_faults)},
    warnings=workload_warnings,
)
RULES = replace(_STABLE, older={**changing_selectors(_STABLE, FIRST), **keeping_dependents(_STABLE, "apps/v1beta2")})
