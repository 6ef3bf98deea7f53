"""Strategy of PodGroup: validation, status, printer columns.

Follows ``pkg/registry/scheduling/podgroup/strategy.go`` and the markers of ``k8s.io/api/scheduling/v1alpha2/types.go``,
release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status
from simkit.kinds.parts.pod_groups import validate_fixed, validate_one_of, validate_policy
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.conditions import status_of, validate_conditions
from simkit.kinds.parts.validation.fields import validate_required_name
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_TEMPLATE: Final = "spec.podGroupTemplateRef"
_FIXED: Final = (
    "podGroupTemplateRef",
    "schedulingPolicy",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
)


def _default(draft: Draft) -> None:
    spec = draft["spec"] = dict(draft.get("spec") or {})
    if spec.get("disruptionMode") is None:
        spec["disruptionMode"] = "Pod"


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj["spec"]
    if old is not None:
        return [*validate_fixed(spec, old.get("spec") or {}, *_FIXED)]
    errors = list(_validate_template(spec.get("podGroupTemplateRef")))
    return errors + list(validate_policy("spec.schedulingPolicy", spec.get("schedulingPolicy") or {}))


def _validate_template(reference: Object | None) -> Iterator[FieldError]:
    if reference is None:
        return
    yield from validate_one_of(_TEMPLATE, reference, "workload")
    workload = reference.get("workload")
    if workload is not None:
        for name, rule in (("workloadName", dns_subdomain), ("podGroupTemplateName", dns_label)):
            yield from validate_required_name(f"{_TEMPLATE}.workload.{name}", workload.get(name) or "", rule)


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    status = obj.get("status") or {}
    errors = [*validate_conditions("status.conditions", status.get("conditions") or ())]
    named = {claim.get("name") for claim in at(obj, "spec", "resourceClaims") or ()}
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        if claim.get("name") not in named:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid_value(f"status.resourceClaimStatuses[{index}].name", claim.get("name") or "", text))
    return errors


def _row(obj: Object, now: float) -> Sequence[Any]:
    policy = "Gang" if at(obj, "spec", "schedulingPolicy", "gang") is not None else "Basic"
    workload = at(obj, "spec", "podGroupTemplateRef", "workload", "workloadName") or NONE
    scheduled, disrupted = (status_of(obj, kind) for kind in ("PodGroupScheduled", "DisruptionTarget"))
    state = "Pending"
    if scheduled is not None:
        state = "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    if disrupted is not None:
        state = disrupted.get("reason") or ""
    return [name_of(obj), policy, workload, state, created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
)
