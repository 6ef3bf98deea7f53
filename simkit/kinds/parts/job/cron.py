"""Cron schedules: parsing, and the errors of invalid ones.

Follows ``github.com/robfig/cron/v3, parser.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from simkit.meta.duration import nanoseconds
from simkit.meta.integers import parse_int, saturating_int


class BadSchedule(ValueError):
    """A text that is no schedule; the message is kube-apiserver's."""


class Bounds(NamedTuple):
    """The smallest and largest value of a field, and names that stand for values."""

    low: int
    high: int
    names: Sequence[str] = ()


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: Final = (Bounds(0, 59), Bounds(0, 23), Bounds(1, 31), Bounds(1, 12, _MONTHS), Bounds(0, 6, _DAYS))
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_STAR: Final = ("*", "?")


class Schedule(NamedTuple):
    """The values of each field, and whether the two fields of days are unrestricted.

    ``every`` is the text of a duration for schedules that only count time.
    """

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = False
    any_weekday: bool = False
    every: str = ""


def parse(text: str) -> Schedule:
    """The schedule in a text; a time zone in front is skipped.

    Raises
    ------
    BadSchedule
        In kube-apiserver's words.

    Examples
    --------
    >>> sorted(parse("*/20 3 * * mon-wed").minutes)
    [0, 20, 40]
    """
    if not text:
        raise BadSchedule("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        _, _, text = text.partition(" ")
        text = text.strip()
    if text.startswith("@"):
        return _descriptor(text)
    fields = text.split()
    if len(fields) != len(FIELDS):
        raise BadSchedule(f"expected exactly {len(FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = map(_field, fields, FIELDS)
    return Schedule(minutes, hours, days, months, weekdays, _is_star(fields[2]), _is_star(fields[4]))


def _is_star(field: str) -> bool:
    return any(part.partition("/")[0] in _STAR and part.partition("/")[2] in ("", "1") for part in field.split(","))


def _descriptor(text: str) -> Schedule:
    if text in _DESCRIPTORS:
        return parse(_DESCRIPTORS[text])
    if not text.startswith(_EVERY):
        raise BadSchedule(f"unrecognized descriptor: {text}")
    every = text.removeprefix(_EVERY)
    try:
        nanoseconds(every)
    except ValueError as error:
        raise BadSchedule(f"failed to parse duration {text}: {error}") from None
    return Schedule(every=every)


def _field(field: str, bounds: Bounds) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        if part:
            found |= _range(part, bounds)
    return frozenset(found)


def _range(text: str, bounds: Bounds) -> set[int]:
    span, *steps = text.split("/")
    ends = span.split("-")
    if ends[0] in _STAR:
        low, high, single = bounds.low, bounds.high, False
    else:
        low = high = _value(ends[0], bounds)
        single = len(ends) == 1
        if len(ends) == 2:
            high = _value(ends[1], bounds)
        elif len(ends) > 2:
            raise BadSchedule(f"too many hyphens: {text}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        high = bounds.high if single else high
    elif len(steps) > 1:
        raise BadSchedule(f"too many slashes: {text}")
    _check(text, low, high, step, bounds)
    return set(range(low, high + 1, step))


def _check(text: str, low: int, high: int, step: int, bounds: Bounds) -> None:
    if low < bounds.low:
        raise BadSchedule(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise BadSchedule(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise BadSchedule(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")


def _value(text: str, bounds: Bounds) -> int:
    name = text.lower()
    return bounds.names.index(name) + bounds.low if name in bounds.names else _number(text)


def _number(text: str) -> int:
    number = parse_int(text)
    if number is None:
        error = "invalid syntax" if saturating_int(text) is None else "value out of range"
        raise BadSchedule(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {error}')
    if number < 0:
        raise BadSchedule(f"negative number ({number}) not allowed: {text}")
    return number
