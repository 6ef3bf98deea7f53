"""Strategy of PodDisruptionBudget: validation and printer columns.

Follows ``pkg/registry/policy/poddisruptionbudget/strategy.go`` and ``pkg/apis/policy/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_status
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.go_printing.syntax import number_or_text
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.strategy import MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.fielderror import FieldError, Shown, invalid_value, unsupported
from simkit.meta.integers import saturating_int
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Draft, Object, at, name_of

_COUNTS: Final = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
_STATUS_ORDER: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_PERCENT: Final = re.compile("[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def _prepare(draft: Draft, old: Object | None) -> None:
    draft["spec"] = draft.get("spec") or {}
    if old is None:
        draft["status"] = dict.fromkeys(_COUNTS, 0)


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj.get("spec") or {}))


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid_value("spec", _shown(spec), "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            yield from _validate_amount(f"spec.{name}", spec[name])
    yield from validate_label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        yield unsupported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)


def _validate_amount(path: str, value: int | str) -> Iterator[FieldError]:
    """The errors of a number or percentage of pods."""
    if isinstance(value, int):
        yield from validate_nonnegative(path, value)
    elif not _PERCENT.fullmatch(value):
        yield invalid_value(path, number_or_text(value), _PERCENT_RULE)
    elif (saturating_int(value[:-1]) or 0) > 100:
        yield invalid_value(path, number_or_text(value), "must not be greater than 100%")


def _shown(spec: Object) -> Shown:
    """The spec as Go prints the struct."""
    return structure("policy.PodDisruptionBudgetSpec", spec)


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    status = obj.get("status") or {}
    errors = list(validate_conditions("status.conditions", status.get("conditions") or ()))
    return errors + [
        error for name in _STATUS_ORDER for error in validate_nonnegative(f"status.{name}", status.get(name))
    ]


def _row(obj: Object, now: float) -> Sequence[Any]:
    limits = [str(at(obj, "spec", name)) if name in (obj.get("spec") or {}) else "N/A" for name in _LIMITS]
    return [name_of(obj), *limits, at(obj, "status", "disruptionsAllowed") or 0, created(obj, now)]


_LIMITS: Final = ("minAvailable", "maxUnavailable")

STRATEGY = Strategy(
    metadata_checks=MetadataChecks((), part=()),
    checks_new_metadata=False,
    unqualified_finalizers=True,
    validate_name=path_segment,
    prepare=_prepare,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status, _validate_status)},
    allow_unconditional_update=False,
)
