"""Clusters whose controllers run to rest on a clock that can be turned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options

Making = Callable[..., simkit.Cluster]


@pytest.fixture
def clock() -> simkit.SimulatedClock:
    """A clock that stands still until it is turned."""
    return simkit.SimulatedClock()


@pytest.fixture
def making(clock: simkit.SimulatedClock) -> Making:
    """Makes a cluster with some controllers, by default all that are on by default."""

    def make(*controllers: str, **more: Any) -> simkit.Cluster:
        return simkit.Cluster(options=Options(seed=1, clock=clock, controllers=controllers or ("*",), **more))

    return make


@pytest.fixture
def cluster(making: Making) -> simkit.Cluster:
    """A cluster with all controllers, at rest."""
    return making()
