"""ReplicationController: equal pods by a plain selector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.cells import pairs
from simkit.kinds.parts.drafts import kept_status, owned
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import prepare_template
from simkit.kinds.parts.replicas import replica_cells, replica_status_faults
from simkit.kinds.parts.workload import (
    count_faults,
    default_missing,
    replicated_faults,
    template_warnings,
    workload_warnings,
)
from simkit.kinds.strategy import Deletion, Strategy, Subresource, spec_differs
from simkit.meta import labels
from simkit.meta.fielderror import FieldError, required
from simkit.meta.objects import Draft, Object, at, labels_of


def _default(draft: Draft) -> None:
    spec = owned(draft, "spec")
    default_missing(spec, {"replicas": 1})
    default_template(spec)
    of_pods = labels_of(spec.get("template") or {})
    if of_pods:
        if not spec.get("selector"):
            spec["selector"] = dict(of_pods)
        if not labels_of(draft):
            draft["metadata"]["labels"] = dict(of_pods)


def _prepare(draft: Draft, old: Object | None) -> None:
    prepare_template(owned(draft, "spec"))
    if old is None:
        draft["status"] = {"replicas": 0}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj["spec"]
    selector = spec.get("selector") or {}
    errors = [*count_faults("spec", spec, ("minReadySeconds",))]
    if not selector:
        errors.append(required("spec.selector"))
    errors += count_faults("spec", spec, ("replicas",))
    if spec.get("template") is None:
        errors.append(required("spec.template"))
    else:
        chosen = labels.of_object({"matchLabels": selector})
        errors += replicated_faults("spec.template", spec, "ReplicationController", chosen)
    return errors if old is None else [*errors, *errors]  # the real server checks an update twice


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    """Of an update the real server looks at the template that was there before."""
    if old is None:
        return workload_warnings(obj, None)
    return template_warnings({**old, "metadata": obj["metadata"]}, old)


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [*replica_cells(obj, now), pairs(at(obj, "spec", "selector"))]


def _fields(obj: Object) -> dict[str, str]:
    return {"status.replicas": str(at(obj, "status", "replicas") or 0)}


RULES = Strategy(
    default=_default,
    prepare=_prepare,
    validate=_validate,
    generation=spec_differs,
    fields=_fields,
    row=_row,
    subresources={"status": Subresource(kept_status, replica_status_faults)},
    warnings=_warnings,
    deletion=Deletion(orphans=True),
)
