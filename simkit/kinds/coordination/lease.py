"""Strategy of Lease: validation and printer columns.

Follows ``pkg/registry/coordination/lease/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.coordinated_strategy import validate_coordinated_strategy
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.objects import Draft, Object, at, name_of


def _prepare(draft: Draft, old: Object | None) -> None:
    draft["spec"] = draft.get("spec") or {}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"]))


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from validate_nonnegative("spec.leaseTransitions", spec.get("leaseTransitions"))
    strategy = spec.get("strategy")
    if strategy is not None:
        yield from validate_coordinated_strategy("spec.strategy", strategy)
    if spec.get("preferredHolder") and not strategy:
        yield forbidden_field("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), at(obj, "spec", "holderIdentity") or "", created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    unqualified_finalizers=True,
    prepare=_prepare,
    validate=_validate,
    print_row=_row,
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
