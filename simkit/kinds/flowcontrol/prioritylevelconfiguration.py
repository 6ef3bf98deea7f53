"""Strategy of PriorityLevelConfiguration: defaulting, validation, printer columns.

Follows ``pkg/registry/flowcontrol/prioritylevelconfiguration/strategy.go`` and
``pkg/apis/flowcontrol/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.conversions.prioritylevelconfiguration import KEEP_ZERO
from simkit.kinds.parts.copy_on_write import keep_metadata_and_all_but_status, own_copy
from simkit.kinds.parts.flowcontrol.flow_condition import validate_flow_condition
from simkit.kinds.parts.flowcontrol.mandatory import mandatory_spec, same
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of

_SHARES: Final = "nominalConcurrencyShares"
_QUEUING: Final = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
_MOST_QUEUES: Final = 10_000_000
_ONLY: Final = "must be 'Exempt' if and only if `name` is 'exempt'"
_HASH_BITS: Final = 60


def _default(draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    if spec.get("exempt") is not None:
        exempt = own_copy(spec, "exempt")
        exempt.setdefault(_SHARES, 0)
        exempt.setdefault("lendablePercent", 0)
    if spec.get("limited") is not None:
        limited = own_copy(spec, "limited")
        limited.setdefault(_SHARES, 30)
        if applies("levels-lend-seats"):
            limited.setdefault("lendablePercent", 0)
        if at(limited, "limitResponse", "queuing") is not None:
            queuing = own_copy(limited, "limitResponse", "queuing")
            queuing.update({name: value for name, value in _QUEUING.items() if not queuing.get(name)})


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return [
        *_validate_note(obj),
        *_validate_fields(obj["spec"], name_of(obj)),
        *_validate_fixed(obj["spec"], name_of(obj)),
    ]


def _validate_note(obj: Object) -> Iterator[FieldError]:
    """The error of the annotation of v1beta3, which other versions may not have."""
    if KEEP_ZERO in annotations_of(obj):
        yield forbidden_field("metadata.annotations", f"annotation '{KEEP_ZERO}' is forbidden")


def _validate_fixed(spec: Object, name: str) -> Iterator[FieldError]:
    """The errors of changes to mandatory priority levels, except the shares of the exempt one."""
    wanted = mandatory_spec("PriorityLevelConfiguration", name)
    if wanted is None:
        return
    shown, free = structure("flowcontrol.PriorityLevelConfigurationSpec", spec), "exempt" in wanted
    compared = {**spec, "exempt": wanted["exempt"]} if free else spec
    but = " except the 'spec.exempt' field" if free else ""
    if not same(compared, wanted):
        yield invalid_value("spec", shown, f"spec of '{name}'{but} must equal the fixed value")


def _validate_fields(spec: Object, name: str) -> Iterator[FieldError]:
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        told = (
            _ONLY
            if applies("exempt-levels-in-plain-words")
            else "type must be 'Exempt' if and only if name is 'exempt'"
        )
        yield invalid_value("spec.type", kind, told)
    if kind == "Exempt":
        if limited is not None:
            yield forbidden_field("spec.limited", "must be nil if the type is not Limited")
        if exempt is not None:
            yield from _validate_share("spec.exempt", exempt)
            yield from _validate_percent("spec.exempt", exempt)
    elif kind == "Limited":
        if exempt is not None:
            yield forbidden_field("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _validate_limited("spec.limited", limited)
    else:
        yield unsupported("spec.type", kind, ("Exempt", "Limited"))


def _validate_share(path: str, level: Object) -> Iterator[FieldError]:
    if level[_SHARES] < 0:
        yield invalid_value(f"{path}.{_SHARES}", level[_SHARES], "must be a non-negative integer")


def _validate_percent(path: str, level: Object) -> Iterator[FieldError]:
    percent = level.get("lendablePercent") or 0
    if not 0 <= percent <= 100:
        yield invalid_value(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _validate_limited(path: str, limited: Object) -> Iterator[FieldError]:
    yield from _validate_share(path, limited)
    response = limited.get("limitResponse") or {}
    kind, queuing, where = response.get("type") or "", response.get("queuing"), f"{path}.limitResponse"
    if kind == "Reject":
        if queuing is not None:
            yield forbidden_field(f"{where}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind != "Queue":
        yield unsupported(f"{where}.type", kind, ("Queue", "Reject"))
    elif queuing is None:
        yield required(f"{where}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    else:
        yield from _validate_queuing(f"{where}.queuing", queuing)
    yield from _validate_percent(path, limited)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        text = "if specified, must be a non-negative integer"
        yield invalid_value(f"{path}.borrowingLimitPercent", borrowed, text)


def _validate_queuing(path: str, queuing: Object) -> Iterator[FieldError]:
    queues, hand, length = queuing["queues"], queuing["handSize"], queuing["queueLengthLimit"]
    if length <= 0:
        yield invalid_value(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid_value(f"{path}.queues", queues, "must be positive")
    elif queues > _MOST_QUEUES:
        yield invalid_value(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        yield invalid_value(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid_value(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        sizes = f"deckSize {queues} and handSize {hand}"
        text = f"required entropy bits of {sizes} should not be greater than {_HASH_BITS}"
        yield invalid_value(f"{path}.handSize", hand, text)


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return validate_flow_condition(obj)


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    queuing = at(spec, "limited", "limitResponse", "queuing") or {}
    shares = at(spec, "limited", _SHARES)
    queues = [queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")]
    return [name_of(obj), spec.get("type") or "", NONE if shares is None else shares, *queues, created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_metadata_and_all_but_status, _validate_status)},
    status_reset_fields=(("metadata",),),
)
