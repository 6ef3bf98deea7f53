"""Objects in the version that a snapshot answers in."""

from __future__ import annotations

from collections.abc import Callable

from simkit.kinds.index import rules_of
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.objects import Object
from simkit.snapshot.events import core_event
from simkit.snapshot.resources import Place, ResourceIndex

Conversion = Callable[[Object], Object]


def to_preferred(place: Place, index: ResourceIndex, api_version: str) -> Conversion | None:
    """How objects of this version become objects of the preferred version of where they are kept.

    None where nothing is to be done: they have that version already, or the release does not know the kind. A version
    that no rule of its kind converts is left as it is: its fields may have other meanings.
    """
    served = place.served
    if served is None:
        return None
    if served.group == EVENTS_GROUP and place.stored != place.resource:
        return core_event
    preferred = index.catalogue.preferred(place.stored)
    if preferred is None or preferred.api_version == api_version:
        return None
    if preferred.custom:
        return _relabelled(preferred.api_version)
    return _by_rules(place, preferred.version, api_version)


def _relabelled(api_version: str) -> Conversion:
    return lambda obj: {**obj, "apiVersion": api_version}


def _by_rules(place: Place, version: str, api_version: str) -> Conversion | None:
    """Through the storage version, by the conversions of the kind; None where one of them is missing."""
    served = place.served
    assert served is not None
    rules = rules_of(served.storage_gvk.group_kind)
    old = api_version.rpartition("/")[2]
    up = (rules.to_storage or {}).get(old)
    down = (rules.from_storage or {}).get(version)
    if (up is None and old != served.storage_version) or (down is None and version != served.storage_version):
        return None
    target = f"{served.group}/{version}" if served.group else version

    def convert(obj: Object) -> Object:
        stored = up(obj) if up else obj
        return {**(down(stored) if down else stored), "apiVersion": target}

    return convert
