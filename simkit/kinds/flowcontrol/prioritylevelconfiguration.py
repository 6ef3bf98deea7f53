"""Strategy of PriorityLevelConfiguration: defaulting, validation, printer columns.

Follows ``pkg/registry/flowcontrol/prioritylevelconfiguration/strategy.go`` and
``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.conversions.moved_fields import KEEP_ZERO
from simkit.kinds.parts.copy_on_write import keep_metadata_and_all_but_status, own_copy, prepared
from simkit.kinds.parts.flowcontrol.rules import FLOW_STATUS, mandatory_spec, same
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.rules import by, fields, must, row, table, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of
from simkit.meta.wording import Worded

_SHARES: Final = "nominalConcurrencyShares"
_QUEUING: Final = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
_HASH_BITS: Final = 60


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    if spec.get("exempt") is not None:
        exempt = own_copy(spec, "exempt")
        exempt.setdefault(_SHARES, 0)
        exempt.setdefault("lendablePercent", 0)
    if spec.get("limited") is not None:
        limited = own_copy(spec, "limited")
        limited.setdefault(_SHARES, 30)
        if behaviour.applies("levels-lend-seats"):
            limited.setdefault("lendablePercent", 0)
        if at(limited, "limitResponse", "queuing") is not None:
            queuing = own_copy(limited, "limitResponse", "queuing")
            queuing.update({name: value for name, value in _QUEUING.items() if not queuing.get(name)})


def _validate_note(behaviour: ServedBehaviour, path: str, obj: Object) -> Iterator[FieldError]:
    """The error of the annotation of v1beta3, which other versions may not have."""
    if KEEP_ZERO in annotations_of(obj):
        yield forbidden_field(".metadata.annotations", f"annotation '{KEEP_ZERO}' is forbidden")


def _validate_fixed(behaviour: ServedBehaviour, path: str, obj: Object) -> Iterator[FieldError]:
    """The errors of changes to mandatory priority levels, except the shares of the exempt one."""
    spec, name = obj["spec"], name_of(obj)
    wanted = mandatory_spec(behaviour, "PriorityLevelConfiguration", name)
    if wanted is None:
        return
    shown, free = structure("flowcontrol.PriorityLevelConfigurationSpec", spec), "exempt" in wanted
    compared = {**spec, "exempt": wanted["exempt"]} if free else spec
    but = " except the 'spec.exempt' field" if free else ""
    if not same(compared, wanted):
        yield invalid_value(".spec", shown, f"spec of '{name}'{but} must equal the fixed value")


def _differs_from_name(obj: Object) -> bool:
    return bool((name_of(obj) == "exempt") != (at(obj, "spec", "type") == "Exempt"))


def _validate_queuing(behaviour: ServedBehaviour, path: str, queuing: Object) -> Iterator[FieldError]:
    queues, hand = queuing["queues"], queuing["handSize"]
    if hand <= 0:
        yield invalid_value(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid_value(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        sizes = f"deckSize {queues} and handSize {hand}"
        text = f"required entropy bits of {sizes} should not be greater than {_HASH_BITS}"
        yield invalid_value(f"{path}.handSize", hand, text)


_ONLY: Final = Worded(
    "exempt-levels-in-plain-words",
    "must be 'Exempt' if and only if `name` is 'exempt'",
    "type must be 'Exempt' if and only if name is 'exempt'",
)
_AMOUNT: Final = must.hold(lambda number: number > 0, "must be positive")
_SHARE: Final = row(_SHARES, must.hold(lambda shares: shares >= 0, "must be a non-negative integer"))
_PERCENT: Final = row("lendablePercent", must.be_between(0, 100))
_EXEMPT: Final = fields.equal("type", "Exempt")
_LIMITED: Final = fields.equal("type", "Limited")
_QUEUE: Final = fields.equal("type", "Queue")
_RULES: Final = validation(
    by(_validate_note),
    row("spec.type", must.be_otherwise(_ONLY), when=_differs_from_name, zero=""),
    row(
        "spec",
        row("limited", must.be_absent("must be nil if the type is not Limited", pointer=True), when=_EXEMPT),
        row("exempt", _SHARE, _PERCENT, when=_EXEMPT),
        row("exempt", must.be_absent("must be nil if the type is Limited", pointer=True), when=_LIMITED),
        row(
            "limited",
            must.be_given("must not be empty when type is Limited", pointer=True),
            table(
                _SHARE,
                row(
                    "limitResponse",
                    row(
                        "queuing",
                        must.be_absent("must be nil if limited.limitResponse.type is not Limited", pointer=True),
                        when=fields.equal("type", "Reject"),
                    ),
                    row("type", must.be_one_of("Queue", "Reject"), zero=""),
                    row(
                        "queuing",
                        must.be_given("must not be empty if limited.limitResponse.type is Limited", pointer=True),
                        table(
                            row("queueLengthLimit", _AMOUNT),
                            row(
                                "queues",
                                _AMOUNT,
                                must.hold(lambda most: most <= 10**7, "must not be greater than 10000000"),
                            ),
                            by(_validate_queuing),
                        ),
                        when=_QUEUE,
                    ),
                    zero={},
                ),
                _PERCENT,
                row(
                    "borrowingLimitPercent",
                    must.hold(lambda percent: percent >= 0, "if specified, must be a non-negative integer"),
                ),
            ),
            when=_LIMITED,
        ),
        row("type", must.be_one_of("Exempt", "Limited"), zero=""),
    ),
    by(_validate_fixed),
)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    queuing = at(spec, "limited", "limitResponse", "queuing") or {}
    shares = at(spec, "limited", _SHARES)
    queues = [queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")]
    return [name_of(obj), spec.get("type") or "", NONE if shares is None else shares, *queues, created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    default=_default,
    prepare=prepared(status={}),
    validate=_RULES,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_metadata_and_all_but_status, FLOW_STATUS)},
    status_reset_fields=(("metadata",),),
)
