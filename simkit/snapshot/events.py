"""Events are kept once and shown by two groups: the fields of one view in the words of the other."""

from __future__ import annotations

from typing import Any, Final

from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object

CORE_TO_GROUP: Final = {
    "message": "note",
    "involvedObject": "regarding",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""Field names that differ; all others are the same in both."""
GROUP_TO_CORE: Final = {there: here for here, there in CORE_TO_GROUP.items()}
GROUP_VERSION: Final = f"{EVENTS_GROUP}/v1"


def core_event(event: Object) -> Object:
    """The event as the core group shows it."""
    if GroupVersion.parse(event["apiVersion"]).group != EVENTS_GROUP:
        return event
    return _renamed(event, GROUP_TO_CORE, "v1")


def group_event(event: Object) -> Object:
    """The event as the events group shows it."""
    if GroupVersion.parse(event["apiVersion"]).group == EVENTS_GROUP:
        return event
    return _renamed(event, CORE_TO_GROUP, GROUP_VERSION)


def _renamed(event: Object, names: dict[str, str], api_version: str) -> dict[str, Any]:
    return {names.get(field, field): value for field, value in event.items()} | {"apiVersion": api_version}
