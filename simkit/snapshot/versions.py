"""Conversion of objects to the version that a snapshot answers in; events are stored once, and served by two groups.

pkg/apis/core/v1 and pkg/apis/events/v1 conversions, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from simkit.kinds.conversions.convert import convert, convertible
from simkit.kinds.parts.event import NEWER, OLDER, renamed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object
from simkit.schema.resources import Resource
from simkit.snapshot.resources import ResourceIndex, RESTMapping

Conversion = Callable[[Object], Object]


def to_preferred(mapping: RESTMapping, index: ResourceIndex, api_version: str) -> Conversion | None:
    """The conversion of objects in this version to the preferred version of their resource; None if there is none.

    None where nothing is to be done: they have that version already, or the release does not know the kind. A version
    that no release converts is left as it is: its fields may have other meanings.
    """
    served = mapping.served
    if served is None:
        return None
    if served.group == EVENTS_GROUP and mapping.stored != mapping.resource:
        return core_event
    preferred = index.catalogue.preferred(mapping.stored)
    if preferred is None or preferred.api_version == api_version:
        return None
    if preferred.custom:
        return _relabelled(preferred.api_version)
    return _by_family(served, preferred, api_version, index.catalogue.behaviour)


def _relabelled(api_version: str) -> Conversion:
    return lambda obj: {**obj, "apiVersion": api_version}


def _by_family(
    served: Resource, preferred: Resource, api_version: str, behaviour: ServedBehaviour
) -> Conversion | None:
    """The conversion within the versions of a kind; None if no release had one."""
    target = preferred.api_version
    if not convertible(served.kind, api_version, target):
        return None
    return lambda obj: convert(obj, target, behaviour)


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
