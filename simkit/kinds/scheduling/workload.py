"""Strategy of Workload: validation and printer columns.

Follows ``pkg/apis/scheduling/validation/validation.go``, release 1.35 (version v1alpha1), and the markers of
``k8s.io/api/scheduling/v1alpha2/types.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from simkit.kinds.parts.copy_on_write import prepared
from simkit.kinds.parts.go_printing.structures import internal_json
from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.rules import FIXED, REQUIRED, by, distinct, items, must, row, table, validation
from simkit.kinds.scheduling.podgroup import POLICIES, POLICY, never_changed
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import FieldError, Shown, duplicate, invalid_value, required
from simkit.meta.name_validation import dns_label, dns_subdomain, path_segment
from simkit.meta.objects import Object

_MOST_GROUPS: Final = 8
_CONTROLLER: Final = row(
    "spec.controllerRef",
    row("apiGroup", must.be(dns_subdomain)),
    row("kind", REQUIRED, must.be(path_segment)),
    row("name", REQUIRED, must.be(path_segment)),
)


def _unique_names(behaviour: ServedBehaviour, path: str, groups: Sequence[Object]) -> Iterator[FieldError]:
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


def _validate_first_policy(behaviour: ServedBehaviour, path: str, policy: Object) -> Iterator[FieldError]:
    given = [name for name in POLICIES if policy.get(name) is not None]
    one = f"exactly one of {', '.join(f'`{name}`' for name in POLICIES)} is required"
    if not given:
        yield required(path, one)
    elif len(given) > 1:
        listed = ", ".join(f"`{name}`" for name in given)
        yield invalid_value(path, f"{{{listed}}}", f"{one}, but multiple fields are set")


def _validate_first_fixed(behaviour: ServedBehaviour, obj: Object, old: Object) -> Iterator[FieldError]:
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
STRATEGY = replace(_STABLE, older_versions={f"{api_group('scheduling')}/v1alpha1": _FIRST})
