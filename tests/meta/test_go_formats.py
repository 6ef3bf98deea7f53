"""Durations and fractions are read and written as Go does it."""

from __future__ import annotations

import pytest

from simkit.meta.duration import nanoseconds, seconds
from simkit.meta.go_fmt import format_float, format_value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("+-1s", 'time: invalid duration "+-1s"'),
    ],
)
def test_texts_that_are_no_durations(text: str, message: str) -> None:
    """Each is refused with the message of Go's ParseDuration."""
    with pytest.raises(ValueError, match="time: ") as raised:
        nanoseconds(text)
    assert str(raised.value) == message


def test_durations() -> None:
    """Parts add up; digits below a nanosecond are dropped."""
    assert nanoseconds("1h1m1.5s") == 3_661_500_000_000
    assert nanoseconds("0.9999999999s") == 999_999_999
    assert nanoseconds("1.s") == nanoseconds("+1s") == 10**9
    assert seconds("-.5s") == -0.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (1e-5, "1e-05"),
        (0.25, "0.25"),
        (-2.0, "-2"),
    ],
)
def test_fractions_as_go_prints_them(value: float, text: str) -> None:
    """Whole ones too get an exponent from a million on, as ``%v`` has it; ints get none."""
    assert format_float(value) == text
    assert format_value([value, 10**6]) == f"[{text} 1000000]"
