"""Strategy of Event in the core group.

Follows ``pkg/registry/core/event/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.event import event_fields, event_row, validate_event
from simkit.kinds.strategy import DeleteStrategy, MetadataChecks, Strategy
from simkit.meta.name_validation import path_segment

STRATEGY = Strategy(
    metadata_checks=MetadataChecks((), part=()),
    checks_new_metadata=False,
    unqualified_finalizers=True,
    validate_name=path_segment,
    validate=lambda behaviour, obj, _: validate_event(behaviour, obj, field="reportingComponent"),
    selectable_fields=event_fields,
    print_row=event_row,
    delete_strategy=DeleteStrategy(has_dependents=False),
    allow_create_on_update=True,
)
