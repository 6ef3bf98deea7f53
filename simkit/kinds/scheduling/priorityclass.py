"""Strategy of PriorityClass: validation of immutable values and reserved names, printer columns.

Follows ``pkg/registry/scheduling/priorityclass/strategy.go`` and ``pkg/apis/scheduling/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.rules import REQUIRED, by, changes, fixed, must, row, validation
from simkit.kinds.strategy import CHANGES, DeleteStrategy, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field
from simkit.meta.objects import Draft, Object, name_of

SYSTEM: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
"""The system's classes and their values."""
_STAYS: Final = "this is a system priority class and cannot be deleted"
HIGHEST: Final = 1000000000


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    draft.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _validate_reserved(behaviour: ServedBehaviour, path: str, obj: Object) -> Iterator[FieldError]:
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


def _first_only(obj: Object, old: Object) -> bool:
    """False: an update never raises the generation."""
    return False


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    policy = (obj.get("preemptionPolicy") or "",) if behaviour.applies("preemption-policy-column") else ()
    return [name_of(obj), obj.get("value") or 0, bool(obj.get("globalDefault")), created(obj, now), *policy]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
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
    raises_generation=_first_only,
    print_row=_row,
    delete_strategy=DeleteStrategy(
        protected=dict.fromkeys(SYSTEM, _STAYS),
        of_collection=DeleteStrategy(),  # a collection takes them along
    ),
)
