"""Uids of the source of names, and times of a simulated clock."""

from __future__ import annotations

import math
import random
import uuid

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.clock import NameSource, SimulatedClock, SystemClock


def test_uids_are_random_uuids() -> None:
    """They are those of the standard library for the same bits."""
    source, bits = NameSource(7), random.Random(7)
    for _ in range(200):
        assert source.uid() == str(uuid.UUID(int=bits.getrandbits(128), version=4))


@pytest.mark.parametrize("seconds", [-5.0, math.nan, math.inf, -math.inf, 1e300, 253_402_300_800.0])
def test_times_that_there_are_not(seconds: float) -> None:
    """A clock neither stands still silently nor leaves the dates that objects can tell."""
    clock = SimulatedClock()
    before = clock.now()
    for advance in (clock.advance, simkit.Cluster(options=Options(clock=clock)).advance):
        with pytest.raises(ValueError, match=r"turned back|no time from 1970"):
            advance(seconds)
    assert clock.now() == before


def test_a_clock_that_is_turned_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that was to be tried again in a second, and files to be read again, waited for a day."""
    steady, turned = 0.0, 0.0
    monkeypatch.setattr("time.time", lambda: 1e9 + steady + turned)
    monkeypatch.setattr("time.monotonic", lambda: steady)
    clock = SystemClock()
    assert clock.now() == 1e9
    steady, turned = 10.0, -86_400.0
    assert clock.now() == 1e9 + 5
    steady = 20.0
    assert clock.now() == clock.now() == 1e9 + 10
    steady = 4 * 86_400.0
    assert clock.now() == 1e9 + 3 * 86_400.0
    turned = 60.0
    assert clock.now() == 1e9 + steady + 60
