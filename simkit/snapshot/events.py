"""Events in the fields of the core group and of events.k8s.io: they are stored once and served by both groups.

pkg/apis/core/v1 and pkg/apis/events/v1 conversions, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.kinds.parts.event import NEWER, OLDER, renamed
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object

GROUP_VERSION: Final = f"{EVENTS_GROUP}/v1"


def core_event(event: Object) -> Object:
    """The event in the fields of the core group."""
    if GroupVersion.parse(event["apiVersion"]).group != EVENTS_GROUP:
        return event
    return _in_words(event, OLDER, "v1")


def group_event(event: Object) -> Object:
    """The event in the fields of the events group."""
    if GroupVersion.parse(event["apiVersion"]).group == EVENTS_GROUP:
        return event
    return _in_words(event, NEWER, GROUP_VERSION)


def _in_words(event: Object, names: Mapping[str, str], api_version: str) -> Object:
    return renamed(event, names) | {"apiVersion": api_version}
