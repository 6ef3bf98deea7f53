"""Rules 1 and 2 of the deprecation policy: no removal within a version, and no loss between versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from simkit.logic.lifecycle.calendar import Calendar
from simkit.logic.lifecycle.document import Element, Group, History, Version
from simkit.logic.lifecycle.edition import Edition
from simkit.logic.lifecycle.findings import Finding
from simkit.logic.lifecycle.stability import Track, track_of


def nothing_goes_within_a_version(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 1: an element is removed only by a new version, and never changed significantly within one."""
    groups = {group.name: group for group in history.groups}
    for element in history.elements:
        if track_of(element.version) is Track.ALPHA or _is_alpha_annotation(element):
            continue
        name = f"{element.sort} {element.name} of {_version_name(element)}"
        if element.removed and not _version_went(groups, element, calendar):
            yield Finding("1", name, f"removed in {element.removed} while its version is still served")
        for change in element.changes:
            if change.narrows:
                yield Finding("1", name, f"changed in {change.release}: {change.what}")


def _version_name(element: Element) -> str:
    return f"{element.group}/{element.version}" if element.group else element.version


def _is_alpha_annotation(element: Element) -> bool:
    return element.sort == "annotation" and "alpha" in element.name.partition("/")[0].split(".")


def _version_went(groups: Mapping[str, Group], element: Element, calendar: Calendar) -> bool:
    """True if the element was removed with its version or later."""
    versions = groups[element.group].versions if element.group in groups else ()
    ends = [version.removed for version in _about(versions, element)]
    return bool(ends) and all(end and calendar.position(end) <= calendar.position(element.removed) for end in ends)


def _about(versions: Sequence[Version], element: Element) -> list[Version]:
    """The versions of an element: those of its kind, if its name begins with one."""
    named = [version for version in versions if version.name == element.version]
    kind = element.name.partition(".")[0]
    of_kind = [version for version in named if kind in version.kinds]
    return of_kind or named


def numbers_are_not_reused(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """The binary side of rule 1: a number means one field forever."""
    owners: dict[tuple[str, int], str] = {}
    for field in sorted(
        history.protobuf, key=lambda each: calendar.position(each.introduced) if each.introduced else 0
    ):
        owner = owners.setdefault((field.message, field.number), field.name)
        if owner != field.name:
            text = f"number {field.number} belonged to {owner}"
            yield Finding("1", f"protobuf field {field.message}.{field.name}", text)


def round_trips(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 2: objects are converted to other versions of a release and back without loss."""
    for trip in history.round_trips:
        if trip.lost:
            there, back = trip.between
            what = ", ".join(trip.lost)
            yield Finding("2", f"{trip.kind} {there} through {back}", f"loses {what} in release {trip.release}")
