"""Strategy of Event in the core group.

Follows ``pkg/registry/core/event/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence

from simkit.kinds.parts.event import event_fields, event_row, validate_event
from simkit.kinds.strategy import DeleteStrategy, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from simkit.meta.name_validation import path_segment
from simkit.meta.objects import Object


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(validate_event(behaviour, obj, field="reportingComponent"))


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((), part=()),
    checks_new_metadata=False,
    unqualified_finalizers=True,
    validate_name=path_segment,
    validate=_validate,
    selectable_fields=event_fields,
    print_row=event_row,
    delete_strategy=DeleteStrategy(has_dependents=False),
    allow_create_on_update=True,
)
