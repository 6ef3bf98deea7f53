"""Event: something that happened to an object, as the newer group has it. It is stored as the core group's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.event import (
    event_faults,
    event_fields,
    event_row,
    newer,
    older,
    strict_changes,
    strict_faults,
)
from simkit.kinds.rules import KindRules
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.fielderror import FieldError
from simkit.meta.format import path_segment
from simkit.meta.objects import Object

_VERSION = f"{EVENTS_GROUP}/v1"


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    faults = list(event_faults(obj, field="reportingController"))
    return [*faults, *(strict_faults(obj) if old is None else strict_changes(obj, old))]


def _row(obj: Object, now: float) -> Sequence[Any]:
    return event_row(older(obj), now)


RULES = KindRules(
    name=path_segment,
    validate=_validate,
    fields=event_fields,
    row=_row,
    put_creates=True,
    to_storage={_VERSION: older},
    from_storage={_VERSION: newer},
)
