"""Cells of Table rows: ages, durations, labels.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.strategy import RowPrinter
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.objects import Object, at, metadata, name_of

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR: Final = 365 * DAY


def age(time: str | None, now: float) -> str:
    """The time since a moment in human-readable form.

    Examples
    --------
    >>> age("1970-01-01T00:00:00Z", 200)
    '3m20s'
    >>> age(None, 0)
    '<unknown>'
    """
    return duration(now - moment(time)) if time else UNKNOWN


_SCALE: Final = (
    (2 * MINUTE, 1, "s", 1, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 1, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 1, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 1, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)
"""The limit of each form (seconds), the unit and its letter, the unit of the rest and its letter if shown."""


def duration(passed: float) -> str:
    """A duration in the one or two units for its size.

    Examples
    --------
    >>> duration(90), duration(200), duration(5 * HOUR + 61), duration(9 * DAY + 1)
    ('90s', '3m20s', '5h1m', '9d')
    """
    whole = int(passed)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    for limit, unit, letter, rest, rest_letter in _SCALE:
        if whole < limit:
            left = whole % unit // rest
            return f"{whole // unit}{letter}" + (f"{left}{rest_letter}" if left and rest_letter else "")
    return f"{whole // YEAR}y"


def created(obj: Object, now: float) -> str:
    """The age of an object."""
    return age(metadata(obj).get("creationTimestamp"), now)


Column = str | Callable[[Object], Any]
"""A column of a Table: the path of a field, shown as an empty text where it is absent, or a function of the object."""


def columns(*shown: Column) -> RowPrinter:
    """A printer of the name, some columns and the age."""
    readers = [_reader(column) for column in shown]
    return lambda _, obj, now: [name_of(obj), *(read(obj) for read in readers), created(obj, now)]


def by_release(change: str, since: RowPrinter, before: RowPrinter) -> RowPrinter:
    """The printer of the releases where a change of behaviour applies, or else that of the ones before."""
    return lambda behaviour, obj, now: (since if behaviour.applies(change) else before)(behaviour, obj, now)


def _reader(column: Column) -> Callable[[Object], Any]:
    if not isinstance(column, str):
        return column
    steps = column.split(".")
    return lambda obj: at(obj, *steps) or ""


def number(path: str) -> Callable[[Object], Any]:
    """The column of a number, which is 0 where it is absent."""
    return lambda obj: at(obj, *path.split(".")) or 0


def flag(path: str) -> Callable[[Object], Any]:
    """The column of a truth value."""
    return lambda obj: bool(at(obj, *path.split(".")))


def count(path: str) -> Callable[[Object], Any]:
    """The column of the number of a list's items."""
    return lambda obj: len(at(obj, *path.split(".")) or ())


def few(texts: Sequence[str], absent: str, most: int = 3) -> str:
    """The first texts, and the number of others.

    Examples
    --------
    >>> few(["a", "b", "c", "d", "e"], NONE), few([], NONE)
    ('a,b,c + 2 more...', '<none>')
    """
    more = len(texts) - most
    return (",".join(texts[:most]) or absent) + (f" + {more} more..." if more > 0 else "")


def pairs(labels: Mapping[str, Any] | None) -> str:
    """Labels as ``key=value``, sorted, separated by commas."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def generated_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    """Name, the source object, age."""
    source = obj.get("generatedFrom")
    shown = "" if source is None else f"{source.get('kind', '')}.{source.get('apiGroup', '')} {source.get('name', '')}"
    return [name_of(obj), shown, created(obj, now)]


_WORDS: Final[Mapping[str, str]] = {"In": "in", "NotIn": "notin"}


def selector_text(selector: Object | None) -> str:
    """Requirements sorted by key, ``<none>`` if there are none.

    Examples
    --------
    >>> selector_text({"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})
    'a,b=1'
    """
    if not selector:
        return NONE
    labels: Mapping[str, str] = selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    parts += [(one["key"], _text(one)) for one in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts)) or NONE


def _text(expression: Object) -> str:
    key, operator = expression["key"], expression.get("operator") or ""
    if operator in _WORDS:
        return f"{key} {_WORDS[operator]} ({','.join(sorted(expression.get('values') or ()))})"
    return key if operator == "Exists" else f"!{key}"


def selector_structure(selector: Object) -> str:
    """The selector as a protobuf message prints it, which one kind's table shows.

    Examples
    --------
    >>> selector_structure({"matchLabels": {"a": "b"}})
    '&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}'
    """
    labels: Mapping[str, str] = selector.get("matchLabels") or {}
    shown = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(_requirement(one) for one in selector.get("matchExpressions") or ())
    parts = f"MatchLabels:map[string]string{{{shown}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},"
    return f"&LabelSelector{{{parts}}}"


def _requirement(expression: Object) -> str:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = " ".join(expression.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
