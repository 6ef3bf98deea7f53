"""Strategy of FlowSchema: defaulting, validation, printer columns.

Follows ``pkg/registry/flowcontrol/flowschema/strategy.go`` and ``pkg/apis/flowcontrol/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_metadata_and_all_but_status, null_where_empty, own_copy, own_items
from simkit.kinds.parts.flowcontrol.rules import FLOW_STATUS, POLICY_RULE, mandatory_spec, same
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.conditions import status_of
from simkit.kinds.rules import by, fields, must, row, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, unsupported
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_METHODS: Final = ("ByNamespace", "ByUser")
_LISTS: Final = {"resourceRules": ("apiGroups", "resources", "verbs"), "nonResourceRules": ("nonResourceURLs", "verbs")}


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}
    for rule in own_items(own_copy(draft, "spec"), "rules"):
        null_where_empty(rule, "subjects")
        for part, names in _LISTS.items():
            for one in own_items(rule, part):
                null_where_empty(one, *names)


def _validate_fixed(behaviour: ServedBehaviour, path: str, obj: Object) -> Iterator[FieldError]:
    """The errors of changes to mandatory flow schemas."""
    spec, name = obj["spec"], name_of(obj)
    wanted = mandatory_spec(behaviour, "FlowSchema", name)
    if wanted is not None and not same(spec, wanted):
        shown = structure("flowcontrol.FlowSchemaSpec", spec)
        yield invalid_value(".spec", shown, f"spec of '{name}' must equal the fixed value")


def _validate_method(behaviour: ServedBehaviour, path: str, method: Object) -> Iterator[FieldError]:
    if method.get("type") not in _METHODS:
        yield unsupported(f"{path}.type", structure("flowcontrol.FlowDistinguisherMethod", method), _METHODS)


_RULES: Final = validation(
    row("spec.matchingPrecedence", must.hold(lambda precedence: precedence > 0, "must be a positive value")),
    row("spec.matchingPrecedence", must.hold(lambda last: last <= 10000, "must not be greater than 10000")),
    row(
        "spec.matchingPrecedence",
        must.hold(lambda first: first != 1, "only the schema named 'exempt' may have matchingPrecedence 1"),
        unless=fields.equal("metadata.name", "exempt"),
    ),
    row("spec.distinguisherMethod", by(_validate_method)),
    row(
        "spec.priorityLevelConfiguration.name",
        must.be_given("must reference a priority level"),
        must.be(dns_subdomain),
    ),
    row("spec.rules[]", POLICY_RULE),
    by(_validate_fixed),
)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
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
    validate=_RULES,
    raises_generation=spec_differs,
    print_row=_row,
    row_sort_key=_order,
    subresources={"status": Subresource(keep_metadata_and_all_but_status, FLOW_STATUS)},
    status_reset_fields=(("metadata",),),
)
