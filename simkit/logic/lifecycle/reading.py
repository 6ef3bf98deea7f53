"""The reader of histories: errors have the place and the message."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ValidationError

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.language.yaml.small_files import text_of_file
from simkit.logic.lifecycle.calendar import Calendar
from simkit.logic.lifecycle.document import Group, History
from simkit.meta.errors import SimkitError
from simkit.schema.versions import is_version

Location = tuple[str | int, ...]
_LIFE: Final = ("introduced", "deprecated", "hidden", "removed")
"""The fields of an element in the order in which their releases must come."""
_RELEASES: Final = (*_LIFE, "release", "decodable_until")


def read_history(source: str | Path) -> History:
    """The history in a YAML file, or in YAML text with more than one line.

    Raises
    ------
    SimkitError
        With every place where the document is not as it must be, and what is wrong.

    Examples
    --------
    >>> text = '''
    ... groups:
    ... - name: shop.example.com
    ...   versions: [{name: v1beta1, introduced: "1.28"}]
    ... '''
    >>> read_history(text).groups[0].versions[0].track.name
    'BETA'
    """
    is_text = isinstance(source, str) and "\n" in source
    text = str(source) if is_text else text_of_file(source)
    where = "the history" if is_text else f"the history in {source}"
    try:
        document = decode(text) or {}
    except BrokenText as error:
        raise SimkitError(f"{where} is no YAML: {error}") from None
    try:
        history = History.model_validate(document)
    except ValidationError as error:
        errors = [(each["loc"], each["msg"].removeprefix("Value error, ")) for each in error.errors()]
    else:
        errors = list(_errors(history))
    if errors:
        told = "; ".join(f"{'.'.join(map(str, place))}: {text}" for place, text in errors)
        raise SimkitError(f"{where} is not as it must be: {told}")
    return history


# What only the whole document can tell


def _errors(history: History) -> Iterator[tuple[Location, str]]:
    """Unknown releases, releases in a wrong order, and invalid version names."""
    try:
        calendar = history.calendar
    except SimkitError as error:
        yield ("releases",), str(error)
        return
    for number, group in enumerate(history.groups):
        for place, version in enumerate(group.versions):
            if not is_version(version.name):
                text = f"{version.name!r} is no version; write v1, v1beta1 or v1alpha1"
                yield ("groups", number, "versions", place, "name"), text
        for moves in ("preferred", "storage"):
            for release, name in getattr(group, moves).items():
                yield from _known(calendar, ("groups", number, moves, release), release)
                if all(each.name != name for each in group.versions):
                    yield ("groups", number, moves, release), f"the group has no version {name!r}"
    wrong = list(_walked(history, (), calendar))
    yield from wrong
    for number, group in enumerate(() if wrong else history.groups):
        yield from _not_served_at_first(group, ("groups", number, "preferred"), calendar)


def _not_served_at_first(group: Group, place: Location, calendar: Calendar) -> Iterator[tuple[Location, str]]:
    """A first preferred version that its release does not serve. Later moves are judged by rule 4b."""
    known = [release for release in group.preferred if not list(_known(calendar, place, release))]
    first = min(known, key=calendar.position, default=None)
    named = [each for each in group.versions if first is not None and each.name == group.preferred[first]]
    if first is not None and named and not any(each.is_served(calendar.position(first), calendar) for each in named):
        yield (*place, first), f"{first} does not serve {group.preferred[first]}"


def _walked(part: BaseModel, place: Location, calendar: Calendar) -> Iterator[tuple[Location, str]]:
    for name in type(part).model_fields:
        value = getattr(part, name)
        if name in _RELEASES and value:
            yield from _known(calendar, (*place, name), value)
        elif isinstance(value, BaseModel):
            yield from _walked(value, (*place, name), calendar)
        elif isinstance(value, tuple):
            for number, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _walked(item, (*place, name, number), calendar)
    yield from _in_order(part, place, calendar)


def _known(calendar: Calendar, place: Location, release: str) -> Iterator[tuple[Location, str]]:
    try:
        calendar.position(release)
    except SimkitError:
        names = [each.name for each in calendar.releases]
        near = difflib.get_close_matches(release, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {names[0]} to {names[-1]}, and later ones"
        yield place, f"there is no release {release!r}; {hint}"


def _in_order(part: BaseModel, place: Location, calendar: Calendar) -> Iterator[tuple[Location, str]]:
    told = [(name, getattr(part, name)) for name in _LIFE if getattr(part, name, "")]
    if any(True for name, release in told for _ in _known(calendar, place, release)):
        return
    for (first, start), (second, end) in itertools.pairwise(told):
        if calendar.position(end) < calendar.position(start):
            yield (*place, second), f"{second} in {end}, before it was {first} in {start}"
