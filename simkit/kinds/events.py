"""Strategy of Event in the group events. It is stored as an Event of the core group.

Follows ``pkg/apis/core/validation/events.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from simkit.kinds.parts.event import STRICT, event_fields, event_row, strict_changes, validate_event
from simkit.kinds.rules import at_root
from simkit.kinds.strategy import CHANGES, WHOLE, DeleteStrategy, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.fielderror import FieldError
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Object

_BEFORE: Final = f"{EVENTS_GROUP}/v1beta1"


def _lenient(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors in both versions, which are those of the core group: the beta version requires no more."""
    return list(validate_event(behaviour, obj, field="reportingController"))


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    return at_root(STRICT(behaviour, obj)) if old is None else list(strict_changes(behaviour, obj, old))


_LENIENT: Final = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    validate_name=path_segment,
    checks_new_metadata=False,
    unqualified_finalizers=True,
    validate=_lenient,
    selectable_fields=event_fields,
    print_row=event_row,
    delete_strategy=DeleteStrategy(has_dependents=False),
    allow_create_on_update=True,
)


STRATEGIES: Final = {
    "Event": replace(
        _LENIENT,
        metadata_checks=MetadataChecks((CHANGES,)),
        validate_name=dns_subdomain,
        unqualified_finalizers=False,
        validate_first=_lenient,
        validate=_validate,
        checks_new_metadata=True,
        older_versions={_BEFORE: _LENIENT},
    ),
}
