"""Conversion of objects to the version that a snapshot answers in."""

from __future__ import annotations

from collections.abc import Callable

from simkit.kinds.conversions.convert import convert, convertible
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.objects import Object
from simkit.schema.resources import Resource
from simkit.snapshot.events import core_event
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
