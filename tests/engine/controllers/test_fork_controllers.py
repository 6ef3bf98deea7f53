"""The controllers of a fork go on where its origin's were at the fork, whoever of the two runs first."""

from __future__ import annotations

import pytest

import simkit
from simkit.cluster.options import Options
from tests.engine.controllers.worlds import job, names, say

TTL = 100


@pytest.fixture
def origin() -> simkit.Cluster:
    """A cluster at rest whose finished job is to be removed later: only the controller's queue knows when."""
    cluster = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    cluster.settle()
    cluster.create(job("j", ttlSecondsAfterFinished=TTL))
    cluster.settle()
    say(cluster, names(cluster, "pods")[0], "Succeeded")
    cluster.settle()
    assert names(cluster, "jobs") == ["j"]
    return cluster


def pass_time(cluster: simkit.Cluster) -> None:
    """Let the job's time come, and the controllers see it."""
    assert isinstance(cluster.clock, simkit.SimulatedClock)
    cluster.clock.advance(TTL + 1)
    cluster.settle()


def test_the_origin_goes_on_before_the_fork_does(origin: simkit.Cluster) -> None:
    """What the origin's controllers have done since is not known to those of the fork."""
    fork = origin.fork()
    pass_time(origin)
    assert names(origin, "jobs") == []
    assert names(fork, "jobs") == ["j"]
    pass_time(fork)
    assert names(fork, "jobs") == []


def test_a_fork_of_a_fork_that_never_ran(origin: simkit.Cluster) -> None:
    """It knows what the first one knew."""
    between = origin.fork()
    last = between.fork()
    pass_time(origin)
    pass_time(last)
    assert names(last, "jobs") == []
    assert names(between, "jobs") == ["j"]
    pass_time(between)
    assert names(between, "jobs") == []


def test_a_fork_keeps_its_origin_until_its_controllers_run(origin: simkit.Cluster) -> None:
    """It needs the origin's controllers until its own know what those knew, and no longer."""
    fork = origin.fork()
    runner = origin._control_plane.runner
    assert list(runner._heirs) == [fork._control_plane.runner]
    fork.settle()
    assert not list(runner._heirs)
    assert fork._control_plane.runner._origin is None
