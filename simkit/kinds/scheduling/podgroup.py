"""Strategy of PodGroup: validation, status, printer columns.

Follows ``pkg/registry/scheduling/podgroup/strategy.go`` and the markers of ``k8s.io/api/scheduling/v1alpha2/types.go``,
release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, prepared
from simkit.kinds.parts.printers.cells import NONE, columns
from simkit.kinds.parts.validation.conditions import status_of, validate_conditions
from simkit.kinds.rules import FIXED, REQUIRED, Change, Check, by, must, row, table, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Draft, Object, at

POLICIES: Final = ("basic", "gang")


def exactly_one(*names: str) -> Check:
    """The check of a value that must have one of some fields."""
    listed = ", ".join(f"`{name}`" for name in names)

    def check(behaviour: ServedBehaviour, path: str, value: Object) -> Iterator[FieldError]:
        given = [name for name in names if value.get(name) is not None]
        if not given:
            yield invalid_value(path, "", f"must specify one of: {listed}")
        elif len(given) > 1:
            yield invalid_value(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {listed}")

    return by(check)


_AT_LEAST_ONE: Final = must.be_at_least(1)
POLICY: Final = table(exactly_one(*POLICIES), row("gang", row("minCount", REQUIRED, _AT_LEAST_ONE)))
"""The check of a policy for the pods of a group."""


def never_changed(*names: str) -> Change:
    """The check of fields of a specification that never change; the new value is not shown."""

    def check(behaviour: ServedBehaviour, obj: Object, old: Object) -> list[FieldError]:
        changed = (name for name in names if (at(obj, "spec", name) or None) != (at(old, "spec", name) or None))
        return [invalid_value(f"spec.{name}", None, FIXED) for name in changed]

    return check


_NEVER_CHANGED: Final = (
    "podGroupTemplateRef",
    "schedulingPolicy",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = draft["spec"] = dict(draft.get("spec") or {})
    if spec.get("disruptionMode") is None:
        spec["disruptionMode"] = "Pod"


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    status = obj.get("status") or {}
    yield from validate_conditions(behaviour, "status.conditions", status.get("conditions") or ())
    named = {claim.get("name") for claim in at(obj, "spec", "resourceClaims") or ()}
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        if claim.get("name") not in named:
            text = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid_value(f"status.resourceClaimStatuses[{index}].name", claim.get("name") or "", text)


def _policy(obj: Object) -> str:
    return "Gang" if at(obj, "spec", "schedulingPolicy", "gang") is not None else "Basic"


def _workload(obj: Object) -> Any:
    return at(obj, "spec", "podGroupTemplateRef", "workload", "workloadName") or NONE


def _state(obj: Object) -> Any:
    scheduled, disrupted = (status_of(obj, kind) for kind in ("PodGroupScheduled", "DisruptionTarget"))
    if disrupted is not None:
        return disrupted.get("reason") or ""
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=prepared(status={}),
    validate=validation(
        created=(
            row(
                "spec.podGroupTemplateRef",
                exactly_one("workload"),
                row(
                    "workload",
                    row("workloadName", REQUIRED, must.be(dns_subdomain)),
                    row("podGroupTemplateName", REQUIRED, must.be(dns_label)),
                ),
            ),
            row("spec.schedulingPolicy", POLICY, zero={}),
        ),
        changed=never_changed(*_NEVER_CHANGED),
    ),
    print_row=columns(_policy, _workload, _state),
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
)
