"""Ages are shown in the one or two units that matter."""

from __future__ import annotations

import pytest

from simkit.kinds.parts.cells import DAY, HOUR, MINUTE, YEAR, created, duration, pairs


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY, "2d"),
        (7 * DAY + 5 * HOUR, "7d5h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (3 * YEAR + 4 * DAY, "3y4d"),
        (8 * YEAR + 4 * DAY, "8y"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    """The rest is shown while it still matters."""
    assert duration(seconds) == shown


def test_no_time() -> None:
    """An object that was never stored has no age."""
    assert created({"metadata": {}}, 0) == "<unknown>"


def test_labels() -> None:
    """Labels are sorted; none are told as such."""
    assert (pairs({"b": "2", "a": "1"}), pairs(None)) == ("a=1,b=2", "<none>")
