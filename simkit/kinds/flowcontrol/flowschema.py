"""Strategy of FlowSchema: defaulting, validation, printer columns.

Follows ``pkg/registry/flowcontrol/flowschema/strategy.go`` and ``pkg/apis/flowcontrol/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_metadata_and_all_but_status, null_where_empty, own_copy, own_items
from simkit.kinds.parts.flowcontrol.flow_condition import validate_flow_condition
from simkit.kinds.parts.flowcontrol.mandatory import mandatory_spec, same
from simkit.kinds.parts.flowcontrol.rules import validate_policy_rule
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.conditions import status_of
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_LAST: Final = 10000
_METHODS: Final = ("ByNamespace", "ByUser")
_LISTS: Final = {"resourceRules": ("apiGroups", "resources", "verbs"), "nonResourceRules": ("nonResourceURLs", "verbs")}


def _default(draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}
    for rule in own_items(own_copy(draft, "spec"), "rules"):
        null_where_empty(rule, "subjects")
        for part, names in _LISTS.items():
            for one in own_items(rule, part):
                null_where_empty(one, *names)


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return [*_validate_fields(obj["spec"], name_of(obj)), *_validate_fixed(obj["spec"], name_of(obj))]


def _validate_fixed(spec: Object, name: str) -> Iterator[FieldError]:
    """The errors of changes to mandatory flow schemas."""
    wanted = mandatory_spec("FlowSchema", name)
    if wanted is not None and not same(spec, wanted):
        shown = structure("flowcontrol.FlowSchemaSpec", spec)
        yield invalid_value("spec", shown, f"spec of '{name}' must equal the fixed value")


def _validate_fields(spec: Object, name: str) -> Iterator[FieldError]:
    path, precedence = "spec.matchingPrecedence", spec["matchingPrecedence"]
    if precedence <= 0:
        yield invalid_value(path, precedence, "must be a positive value")
    if precedence > _LAST:
        yield invalid_value(path, precedence, f"must not be greater than {_LAST}")
    if precedence == 1 and name != "exempt":
        yield invalid_value(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = structure("flowcontrol.FlowDistinguisherMethod", method)
        yield unsupported("spec.distinguisherMethod.type", shown, _METHODS)
    level = at(spec, "priorityLevelConfiguration", "name") or ""
    path = "spec.priorityLevelConfiguration.name"
    if not level:
        yield required(path, "must reference a priority level")
    else:
        yield from validate_text(path, level, dns_subdomain)
    for index, rule in enumerate(spec.get("rules") or ()):
        yield from validate_policy_rule(f"spec.rules[{index}]", rule)


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return validate_flow_condition(obj)


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    dangling = status_of(obj, "Dangling")
    return [
        name_of(obj),
        at(spec, "priorityLevelConfiguration", "name") or "",
        spec.get("matchingPrecedence") or 0,
        at(spec, "distinguisherMethod", "type") or NONE,
        created(obj, now),
        dangling.get("status") if dangling is not None else "?",
    ]


def _order(obj: Object) -> tuple[int, str]:
    """The sort key in the order of matching."""
    return at(obj, "spec", "matchingPrecedence") or 0, name_of(obj)


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    row_sort_key=_order,
    subresources={"status": Subresource(keep_metadata_and_all_but_status, _validate_status)},
    status_reset_fields=(("metadata",),),
)
