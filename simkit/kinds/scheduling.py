"""Strategies of PriorityClass, PodGroup and Workload.

Follows ``pkg/registry/scheduling`` and ``pkg/apis/scheduling/validation/validation.go``, release 1.30, and the markers
of ``k8s.io/api/scheduling/v1alpha2/types.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, columns, created
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, missing, prepared
from simkit.kinds.parts.go_printing.structures import internal_json
from simkit.kinds.parts.validation.fields import CONDITIONS, repeats, status_of
from simkit.kinds.rules import (
    FIXED,
    REQUIRED,
    Change,
    Check,
    by,
    changes,
    distinct,
    fixed,
    items,
    must,
    placed,
    row,
    table,
    validation,
)
from simkit.kinds.strategy import CHANGES, DeleteStrategy, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import Errors, FieldError, Shown, duplicate, forbidden_field, invalid_value, required
from simkit.meta.name_validation import dns_label, dns_subdomain, path_segment
from simkit.meta.objects import Object, at, name_of

POLICIES: Final = ("basic", "gang")


def exactly_one(*names: str) -> Check:
    """The check of a value that must have one of some fields."""
    listed = ", ".join(f"`{name}`" for name in names)

    def check(behaviour: ServedBehaviour, path: str, value: Object) -> Errors:
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


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    status = obj.get("status") or {}
    yield from placed("status.conditions", CONDITIONS(behaviour, status.get("conditions") or ()))
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


SYSTEM: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
"""The system's classes and their values."""
HIGHEST: Final = 1000000000


def _validate_reserved(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    if not name_of(obj).startswith("system-"):
        if obj["value"] > HIGHEST:
            yield forbidden_field(".value", f"maximum allowed value of a user defined priority is {HIGHEST}")
    elif why := _not_known(name_of(obj), obj):
        text = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
        yield forbidden_field(".metadata.name", text)


def _not_known(name: str, obj: Object) -> str:
    """The reason why a class is none of the system's."""
    if name not in SYSTEM:
        return f"{name} is not a known system priority class"
    if obj["value"] != SYSTEM[name]:
        return f"value of {name} PriorityClass must be {SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    policy = (obj.get("preemptionPolicy") or "",) if behaviour.applies("preemption-policy-column") else ()
    return [name_of(obj), obj.get("value") or 0, bool(obj.get("globalDefault")), created(obj, now), *policy]


_MOST_GROUPS: Final = 8
_CONTROLLER: Final = row(
    "spec.controllerRef",
    row("apiGroup", must.be(dns_subdomain)),
    row("kind", REQUIRED, must.be(path_segment)),
    row("name", REQUIRED, must.be(path_segment)),
)


def _unique_names(behaviour: ServedBehaviour, path: str, groups: Sequence[Object]) -> Errors:
    again = repeats(group.get("name") or "" for group in groups)
    return (duplicate(f"{path}[{index}]", _shown(groups[index])) for index in sorted(again))


def _shown(group: Object) -> Shown:
    """A template of a group in the order of its fields, its constraints even where there are none."""
    head = {"name": group.get("name") or "", "schedulingPolicy": group.get("schedulingPolicy") or {}}
    shown = {**head, "schedulingConstraints": group.get("schedulingConstraints")}
    return Shown("", shown | {name: value for name, value in group.items() if name not in shown})


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    prepare=prepared(spec=True),
    validate=validation(
        created=(
            _CONTROLLER,
            row(
                "spec.podGroupTemplates",
                REQUIRED,
                must.have_at_most(_MOST_GROUPS),
                table(
                    by(_unique_names),
                    items(row("name", REQUIRED, must.be(dns_label)), row("schedulingPolicy", POLICY, zero={})),
                ),
            ),
        ),
        changed=never_changed("controllerRef", "podGroupTemplates"),
    ),
    print_row=columns(),
)


# The first version, of 1.35


def _validate_first_policy(behaviour: ServedBehaviour, path: str, policy: Object) -> Errors:
    given = [name for name in POLICIES if policy.get(name) is not None]
    one = f"exactly one of {', '.join(f'`{name}`' for name in POLICIES)} is required"
    if not given:
        yield required(path, one)
    elif len(given) > 1:
        listed = ", ".join(f"`{name}`" for name in given)
        yield invalid_value(path, f"{{{listed}}}", f"{one}, but multiple fields are set")


def _validate_first_fixed(behaviour: ServedBehaviour, obj: Object, old: Object) -> Errors:
    spec, before = obj["spec"], old.get("spec") or {}
    if before.get("controllerRef") and spec.get("controllerRef") != before["controllerRef"]:
        shown = internal_json(behaviour.minor, "*scheduling.TypedLocalObjectReference", spec.get("controllerRef"))
        yield invalid_value("controllerRef", shown, FIXED)
    if spec.get("podGroups") != before.get("podGroups"):
        yield invalid_value(
            "podGroups", internal_json(behaviour.minor, "[]scheduling.PodGroup", spec.get("podGroups")), FIXED
        )


_FIRST: Final = replace(
    _STABLE,
    validate=validation(
        _CONTROLLER,
        row(
            "spec.podGroups",
            must.be_given("must have at least one item"),
            must.have_at_most(_MOST_GROUPS),
            items(
                row("name", must.be(dns_label), zero=""),
                distinct("name"),
                row(
                    "policy",
                    by(_validate_first_policy),
                    row("gang", row("minCount", must.be_above_zero, zero=0)),
                    zero={},
                ),
            ),
        ),
    ),
    validate_last=_validate_first_fixed,
)


STRATEGIES: Final = {
    "PodGroup": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        default=missing("spec", {"disruptionMode": "Pod"}),
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
    ),
    "PriorityClass": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        default=missing("", {"preemptionPolicy": "PreemptLowerPriority"}),
        validate=validation(
            created=(
                by(_validate_reserved),
                row("preemptionPolicy", REQUIRED, must.be_one_of("PreemptLowerPriority", "Never")),
            ),
            changed=changes(
                fixed("value", detail="may not be changed in an update.", forbidden=True),
                fixed("preemptionPolicy"),
            ),
        ),
        raises_generation=lambda *_: False,
        print_row=_row,
        delete_strategy=DeleteStrategy(
            protected=dict.fromkeys(SYSTEM, "this is a system priority class and cannot be deleted"),
            of_collection=DeleteStrategy(),  # a collection takes them along
        ),
    ),
    "Workload": replace(_STABLE, older_versions={f"{api_group('scheduling')}/v1alpha1": _FIRST}),
}
