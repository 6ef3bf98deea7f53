"""Strategy of Workload: validation and printer columns.

Follows ``pkg/apis/scheduling/validation/validation.go``, release 1.35 (version v1alpha1), and the markers of
``k8s.io/api/scheduling/v1alpha2/types.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.go_printing.internal_json import internal_json
from simkit.kinds.parts.pod_groups import POLICIES, validate_fixed, validate_policy
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import FIXED, validate_required_name
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy
from simkit.meta.domain import api_group
from simkit.meta.fielderror import FieldError, Shown, duplicate, invalid_value, required, too_many
from simkit.meta.name_validation import dns_label, dns_subdomain, path_segment
from simkit.meta.objects import Draft, Object, name_of

_MOST_GROUPS: Final = 8
_CONTROLLER: Final = "spec.controllerRef"
_GROUPS: Final = "spec.podGroupTemplates"


def _prepare(draft: Draft, old: Object | None) -> None:
    draft["spec"] = draft.get("spec") or {}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec, before = obj["spec"], None if old is None else old.get("spec") or {}
    if before is not None:
        return [*validate_fixed(spec, before, "controllerRef", "podGroupTemplates")]
    errors = list(_validate_controller(spec.get("controllerRef")))
    groups = spec.get("podGroupTemplates") or ()
    if not groups:
        errors.append(required(_GROUPS))
    elif len(groups) > _MOST_GROUPS:
        errors.append(too_many(_GROUPS, len(groups), _MOST_GROUPS))
    else:
        errors += _validate_groups(groups)
    return errors


def _validate_controller(reference: Object | None) -> Iterator[FieldError]:
    if reference is None:
        return
    if reference.get("apiGroup"):
        group = reference["apiGroup"]
        yield from (invalid_value(f"{_CONTROLLER}.apiGroup", group, text) for text in dns_subdomain(group))
    for name in ("kind", "name"):
        yield from validate_required_name(f"{_CONTROLLER}.{name}", reference.get(name) or "", path_segment)


def _validate_groups(groups: Sequence[Object]) -> Iterator[FieldError]:
    seen = set[str]()
    for index, group in enumerate(groups):
        name = group.get("name") or ""
        if name in seen:
            yield duplicate(f"{_GROUPS}[{index}]", _shown(group))
        seen.add(name)
    for index, group in enumerate(groups):
        path = f"{_GROUPS}[{index}]"
        yield from validate_required_name(f"{path}.name", group.get("name") or "", dns_label)
        yield from validate_policy(f"{path}.schedulingPolicy", group.get("schedulingPolicy") or {})


def _shown(group: Object) -> Shown:
    """A template of a group in the order of its fields, its constraints even where there are none."""
    head = {"name": group.get("name") or "", "schedulingPolicy": group.get("schedulingPolicy") or {}}
    shown = {**head, "schedulingConstraints": group.get("schedulingConstraints")}
    return Shown("", shown | {name: value for name, value in group.items() if name not in shown})


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), created(obj, now)]


# The first version, of 1.35


def _validate_first(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec, groups = obj["spec"], obj["spec"].get("podGroups") or ()
    errors = list(_validate_controller(spec.get("controllerRef")))
    if not groups:
        errors.append(required("spec.podGroups", "must have at least one item"))
    elif len(groups) > _MOST_GROUPS:
        errors.append(too_many("spec.podGroups", len(groups), _MOST_GROUPS))
    else:
        errors += _validate_first_groups(groups)
    return errors


def _validate_first_groups(groups: Sequence[Object]) -> Iterator[FieldError]:
    seen = set[str]()
    for index, group in enumerate(groups):
        path, name = f"spec.podGroups[{index}]", group.get("name") or ""
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_label(name))
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _validate_first_policy(f"{path}.policy", group.get("policy") or {})


def _validate_first_policy(path: str, policy: Object) -> Iterator[FieldError]:
    given = [name for name in POLICIES if policy.get(name) is not None]
    one = f"exactly one of {', '.join(f'`{name}`' for name in POLICIES)} is required"
    if not given:
        yield required(path, one)
    elif len(given) > 1:
        listed = ", ".join(f"`{name}`" for name in given)
        yield invalid_value(path, f"{{{listed}}}", f"{one}, but multiple fields are set")
    elif "gang" in given and (policy["gang"].get("minCount") or 0) <= 0:
        yield invalid_value(f"{path}.gang.minCount", policy["gang"].get("minCount") or 0, "must be greater than zero")


def _validate_first_fixed(obj: Object, old: Object) -> Sequence[FieldError]:
    spec, before = obj["spec"], old.get("spec") or {}
    errors = list[FieldError]()
    if before.get("controllerRef") and spec.get("controllerRef") != before["controllerRef"]:
        shown = internal_json("*scheduling.TypedLocalObjectReference", spec.get("controllerRef"))
        errors.append(invalid_value("controllerRef", shown, FIXED))
    if spec.get("podGroups") != before.get("podGroups"):
        errors.append(invalid_value("podGroups", internal_json("[]scheduling.PodGroup", spec.get("podGroups")), FIXED))
    return errors


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    prepare=_prepare,
    validate=_validate,
    print_row=_row,
)
_FIRST: Final = replace(_STABLE, validate=_validate_first, validate_last=_validate_first_fixed)
STRATEGY = replace(_STABLE, older_versions={f"{api_group('scheduling')}/v1alpha1": _FIRST})
