"""Roles that escalate, in many phrasings, are found and executed; look-alikes are not flagged."""

from __future__ import annotations

import pytest

from simkit.analysis.escalation import escalations, next_steps, risky_permissions
from simkit.cluster.cluster import Cluster
from tests.analysis.escalation.probes import GRANTS, LABORATORY, LOOK_ALIKES, PROBE, Probe
from tests.analysis.escalation.scenes import served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def laboratory() -> Cluster:
    return served(*LABORATORY)


def tried(laboratory: Cluster, probe: Probe) -> Cluster:
    """The laboratory with what the probe is granted, its aggregated roles filled."""
    cluster = laboratory.fork()
    for obj in probe.objects:
        cluster.apply([obj])
    cluster.settle()
    return cluster


@pytest.mark.parametrize("probe", GRANTS, ids=lambda one: one.name)
def test_a_grant_is_found_and_executed(laboratory: Cluster, probe: Probe) -> None:
    """As the primitive that it is; where it cannot be executed, with the reason."""
    cluster = tried(laboratory, probe)
    table = risky_permissions(cluster.snapshot(), PROBE, sandbox=cluster).set_index("primitive")
    assert probe.primitive in table.index
    row = table.loc[probe.primitive]
    assert row["flagged"]
    assert row["verdict"].partition(",")[0] == probe.verdict, row["reason"]
    assert row["reason"] or probe.verdict == "proven"


@pytest.mark.parametrize("probe", [one for one in GRANTS if one.goal], ids=lambda one: one.name)
def test_a_grant_that_leads_to_a_goal_is_a_path(laboratory: Cluster, probe: Probe) -> None:
    """Some path begins with the primitive, or with one that names the same, and the best one is proven."""
    cluster = tried(laboratory, probe)
    paths = escalations(cluster.snapshot(), PROBE, goal=probe.goal, ways="each")
    assert paths
    assert paths[0].prove(cluster).proven, str(paths[0].prove(cluster))


@pytest.mark.parametrize("probe", LOOK_ALIKES, ids=lambda one: one.name)
def test_a_look_alike_is_not_flagged(laboratory: Cluster, probe: Probe) -> None:
    """Neither as what it looks like nor as anything else that gives access, and nothing is reached."""
    cluster = tried(laboratory, probe)
    snapshot = cluster.snapshot()
    table = risky_permissions(snapshot, PROBE)
    flagged = table[table["flagged"]]
    assert not set(probe.never) & set(flagged["primitive"])
    assert "escalation" not in set(flagged["class"])
    assert not {path.primitives[-1] for path in next_steps(snapshot, PROBE)} & set(probe.never) - {"A4"} or probe.taken
    assert not escalations(snapshot, PROBE)
