"""Strategy of PriorityClass: validation of immutable values and reserved names, printer columns.

Follows ``pkg/registry/scheduling/priorityclass/strategy.go`` and ``pkg/apis/scheduling/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import validate_immutable_field
from simkit.kinds.strategy import CHANGES, DeleteStrategy, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, required, unsupported
from simkit.meta.objects import Draft, Object, name_of

SYSTEM: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
"""The system's classes and their values."""
_STAYS: Final = "this is a system priority class and cannot be deleted"
HIGHEST: Final = 1000000000
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def _default(draft: Draft) -> None:
    draft.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj) if old is None else _changes(obj, old))


def _validate_fields(obj: Object) -> Iterator[FieldError]:
    name = name_of(obj)
    if name.startswith("system-"):
        why = _not_known(name, obj)
        if why:
            text = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            yield forbidden_field("metadata.name", text)
    elif obj["value"] > HIGHEST:
        yield forbidden_field("value", f"maximum allowed value of a user defined priority is {HIGHEST}")
    if not obj["preemptionPolicy"]:
        yield required("preemptionPolicy")
    elif obj["preemptionPolicy"] not in _POLICIES:
        yield unsupported("preemptionPolicy", obj["preemptionPolicy"], _POLICIES)


def _not_known(name: str, obj: Object) -> str:
    """The reason why a class is none of the system's."""
    if name not in SYSTEM:
        return f"{name} is not a known system priority class"
    if obj["value"] != SYSTEM[name]:
        return f"value of {name} PriorityClass must be {SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""


def _changes(obj: Object, old: Object) -> Iterator[FieldError]:
    if obj["value"] != old.get("value"):
        yield forbidden_field("value", "may not be changed in an update.")
    yield from validate_immutable_field("preemptionPolicy", obj.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _first_only(obj: Object, old: Object) -> bool:
    """False: an update never raises the generation."""
    return False


def _row(obj: Object, now: float) -> Sequence[Any]:
    policy = (obj.get("preemptionPolicy") or "",) if applies("preemption-policy-column") else ()
    return [name_of(obj), obj.get("value") or 0, bool(obj.get("globalDefault")), created(obj, now), *policy]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    validate=_validate,
    raises_generation=_first_only,
    print_row=_row,
    delete_strategy=DeleteStrategy(
        protected=dict.fromkeys(SYSTEM, _STAYS),
        of_collection=DeleteStrategy(),  # a collection takes them along
    ),
)
