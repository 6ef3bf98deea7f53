"""Moments and base64 are read and refused as kube-apiserver's language does it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.schema.time_and_bytes import TextError, canonical_base64, canonical_micro_time, canonical_time

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)


@given(MOMENTS)
@settings(max_examples=100)
def test_moments_are_the_same_in_utc(moment: datetime) -> None:
    """Reading changes the zone and the precision of a moment, nothing else."""
    text = moment.isoformat()
    assert datetime.fromisoformat(canonical_time(text) or "") == moment.astimezone(UTC).replace(microsecond=0)
    micro = moment.isoformat(timespec="microseconds")
    assert datetime.fromisoformat(canonical_micro_time(micro) or "") == moment


TIME_ERRORS = [
    ("yesterday", ': cannot parse "yesterday" as "2006"'),
    ("2024-05-01", ': cannot parse "" as "T"'),
    ("2024-05-01 10:00:00Z", ': cannot parse " 10:00:00Z" as "T"'),
    ("2024-05-01T10:00:00", ': cannot parse "" as "Z07:00"'),
    ("2024-05-01T10:00:00Zx", ': extra text: "x"'),
]


@pytest.mark.parametrize(("text", "why"), TIME_ERRORS)
def test_misshapen_moments_are_explained(text: str, why: str) -> None:
    """The error shows the rest that does not fit and the piece of the layout that it should have been."""
    with pytest.raises(TextError) as caught:
        canonical_time(text)
    assert str(caught.value) == f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00"{why}'


@pytest.mark.parametrize(
    ("text", "why"),
    [("2024-13-01T10:00:00Z", "month"), ("2024-02-30T10:00:00Z", "day"), ("2024-02-01T25:00:00Z", "hour")],
)
def test_impossible_moments_are_out_of_range(text: str, why: str) -> None:
    """A month, day or hour that does not exist is named."""
    with pytest.raises(TextError, match=f"{why} out of range"):
        canonical_time(text)


def test_the_zero_moment_is_nothing() -> None:
    """The first moment of year one means that there is none."""
    assert canonical_time("0001-01-01T00:00:00Z") is None
    assert canonical_micro_time("0001-01-01T00:00:00.000000Z") is None


@pytest.mark.parametrize(
    ("text", "position"),
    [("not base64!", 3), ("***", 0), ("QQ=", 3), ("QQ", 0), ("Q===", 1), ("QQ==x", 4), ("QUJDR", 4), ("QQ=a", 2)],
)
def test_corrupt_base64_is_located(text: str, position: int) -> None:
    """The error names the byte at which reading ended."""
    with pytest.raises(TextError, match=f"illegal base64 data at input byte {position}$"):
        canonical_base64(text)
