"""Schedules are read, and refused, as kube-apiserver's library does it."""

from __future__ import annotations

import pytest

from simkit.kinds.parts.job.cron import BadSchedule, parse


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty spec string"),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("@often", "unrecognized descriptor: @often"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
    ],
)
def test_bad_schedules(text: str, why: str) -> None:
    """The first thing that cannot be read is told."""
    with pytest.raises(BadSchedule) as raised:
        parse(text)
    assert str(raised.value) == why


def test_fields() -> None:
    """Lists, ranges, steps and names."""
    found = parse("1,30-32 */12 ? jan-mar,DEC 5/1")
    assert found.minutes == {1, 30, 31, 32}
    assert found.hours == {0, 12}
    assert found.months == {1, 2, 3, 12}
    assert found.weekdays == {5, 6}
    assert (found.any_day, found.any_weekday) == (True, False)


def test_descriptors() -> None:
    """Words for usual schedules, and mere spans of time."""
    assert parse("@weekly").weekdays == {0}
    assert parse("@every 1h30m").every == "1h30m"
    assert parse("TZ=UTC @hourly").minutes == {0}
