"""Rules 3 and 4 of the deprecation policy: deprecation, removal and replacement of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from simkit.logic.lifecycle.calendar import Calendar, Release, Track, track_of
from simkit.logic.lifecycle.document import Group, History, Version
from simkit.logic.lifecycle.findings import BETA, STABLE_ONCE, Edition, Finding, Weight, ended_early


def _each(history: History) -> Iterator[tuple[Group, Version]]:
    for group in history.groups:
        for version in group.versions:
            yield group, version


def _name(group: Group, version: Version) -> str:
    text = f"{group.name}/{version.name}" if group.name else version.name
    return f"{text} {', '.join(version.kinds)}" if version.kinds else text


def replacements_are_as_stable(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 3: a version is deprecated in favour of one at least as stable, which is served by then."""
    for group, version in _each(history):
        if not version.deprecated or not version.replacement:
            continue
        home, _, wanted = version.replacement.rpartition("/")
        if track_of(wanted) < version.track:
            text = f"deprecated in {version.deprecated} in favour of the less stable {version.replacement}"
            yield Finding("3", _name(group, version), text)
        found = _versions(history, home or group.name, wanted, version)
        place = calendar.position(version.deprecated)
        if found and not any(each.is_served(place, calendar) for each in found):
            yield _not_there(history, group, version, found, calendar)


def _not_there(history: History, group: Group, version: Version, found: list[Version], calendar: Calendar) -> Finding:
    """A replacement that was not served yet: a notice if another one at least as stable was."""
    place = calendar.position(version.deprecated)
    others = [
        f"{home.name}/{each.name}"
        for home, each in _each(history)
        if each is not version and set(each.kinds) & set(version.kinds) and each.track >= version.track
        if each.is_served(place, calendar) and not (each.deprecated and calendar.position(each.deprecated) <= place)
    ]
    ready = min((each.introduced for each in found if each.introduced), key=calendar.position, default="")
    text = f"deprecated in {version.deprecated}, when {version.replacement} was not served"
    text += f" but {others[0]} was" if others else ""
    weight: Weight = "notice" if others else "breach"
    return Finding("3", _name(group, version), text, weight, calendar.release(ready) if ready else None)


def _versions(history: History, group: str, name: str, of: Version) -> list[Version]:
    """The versions of a name that serve the kinds of another version."""
    found = [each for home, each in _each(history) if home.name == group and each.name == name]
    return [each for each in found if not of.kinds or not each.kinds or set(of.kinds) & set(each.kinds)]


def stable_versions_stay(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 4a, stable: a version may be deprecated, but not removed within a major version of the project.

    The first edition wanted a year and three releases instead.
    """
    for group, version in _each(history):
        if version.track is not Track.GA or not version.removed:
            continue
        if edition.stable_stays:
            if not _outlived_its_major(version, calendar):
                text = f"a stable version, removed in {version.removed}"
                yield Finding("4a", _name(group, version), text)
        else:
            name = _name(group, version)
            yield from ended_early("4a", name, version.deprecated, version.removed, STABLE_ONCE, calendar)


def _outlived_its_major(version: Version, calendar: Calendar) -> bool:
    """True if a version was removed in a later major version than that of its introduction."""
    start = calendar.major(version.introduced or calendar.releases[0].name)
    end = calendar.major(version.removed)
    return start is not None and end is not None and start < end


def betas_are_deprecated_in_time(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 4a, beta, first limit: deprecated at most nine months or three releases after its introduction."""
    for group, version in _each(history):
        if version.track is not Track.BETA or not version.introduced:
            continue
        end = version.deprecated or version.removed or calendar.last.name
        if calendar.within(version.introduced, end, BETA):
            continue
        due, lasted = calendar.after(version.introduced, BETA), calendar.describe(version.introduced, end)
        state = f"deprecated in {end}" if version.deprecated else f"not deprecated in {end}"
        text = f"{state}, {lasted} after its introduction; due by {due}"
        yield Finding("4a", _name(group, version), text, edition.weight)


def betas_are_served_long_enough(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 4a, beta, second limit: served for nine months and three releases after its deprecation, then removed."""
    for group, version in _each(history):
        if version.track is not Track.BETA:
            continue
        name = _name(group, version)
        if version.removed:
            yield from ended_early("4a", name, version.deprecated, version.removed, BETA, calendar)
        if version.deprecated and edition.is_present:
            yield from _overrun(name, version, calendar)


def _overrun(name: str, version: Version, calendar: Calendar) -> Iterator[Finding]:
    due = calendar.after(version.deprecated, BETA)
    until = version.removed or calendar.last.name
    if calendar.position(until) > calendar.position(due.name) or (not version.removed and until == due.name):
        text = f"deprecated in {version.deprecated}, to end with {due}, served until {until}"
        text = text if version.removed else f"deprecated in {version.deprecated}, to end with {due}, still served"
        yield Finding("4a", name, text, "overrun")


def stored_versions_stay_readable(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 4a's note: every stored version can be read forever."""
    for group, version in _each(history):
        if version.decodable_until and version.name in group.storage.values():
            text = f"was stored, and cannot be read from {version.decodable_until} on"
            yield Finding("4a", _name(group, version), text)


def preferred_and_stored_versions_overlap(history: History, calendar: Calendar, edition: Edition) -> Iterator[Finding]:
    """Rule 4b: they change only after a release that serves the old and the new one, so that a rollback works.

    Moves away from an alpha are exempt, as in the policy's own table.
    """
    for group in history.groups:
        for what, moves in (("preferred", group.preferred), ("storage", group.storage)):
            yield from _moves(group, what, moves, calendar)


def _moves(group: Group, what: str, moves: Mapping[str, str], calendar: Calendar) -> Iterator[Finding]:
    ordered = sorted(moves.items(), key=lambda move: calendar.position(move[0]))
    for (_, old), (release, new) in pairwise(ordered):
        if old == new or track_of(old) is Track.ALPHA:
            continue
        missing = _missing(group, old, new, calendar.position(release), calendar)
        if missing:
            name = f"{what} version of {group.name or 'the core group'}"
            text = f"moves from {old} to {new} in {release}, but {'; '.join(missing)}"
            found = _overlap(group, old, new, calendar)
            if found is not None:
                yield Finding("4b", name, text, earliest=found)
            else:
                kept = f"{old} is still served then"
                yield Finding("4b", name, text, earliest=_second(group, new, calendar), provided=kept)


def _overlap(group: Group, old: str, new: str, calendar: Calendar) -> Release | None:
    """The first release whose predecessor serves both versions, as it does itself; None where there is none."""
    places = range(1, len(calendar.releases))
    return next((calendar.at(place) for place in places if not _missing(group, old, new, place, calendar)), None)


def _missing(group: Group, old: str, new: str, place: int, calendar: Calendar) -> list[str]:
    """What a release, by its position, and the one before it do not serve of two versions."""
    return [
        f"{calendar.at(each).name} does not serve {name}"
        for each in (place - 1, place)
        for name in (old, new)
        if not any(version.is_served(each, calendar) for version in group.versions if version.name == name)
    ]


def _second(group: Group, new: str, calendar: Calendar) -> Release | None:
    """The release after the introduction of a version: the first that complies if the old version is kept."""
    starts = [calendar.position(each.introduced) for each in group.versions if each.name == new and each.introduced]
    return calendar.at(min(starts) + 1) if starts else None
