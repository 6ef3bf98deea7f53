"""Everything about escalation can be asked of the cluster itself."""

from __future__ import annotations

import pytest

from simkit.analysis.escalation import cut
from simkit.analysis.least_privilege import least_privilege
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError
from simkit.meta.identity import service_account
from simkit.meta.message import Request
from tests.analysis.escalation.scenes import ATTACKER, scene, served
from tests.analysis.worlds import binding, rule

OBJECTS = [
    *scene(rule("create", "serviceaccounts/token"), place="ops"),
    binding("ops", "cluster-admin", "sa:ops/admin"),
]


def test_paths_are_found_drawn_proven_and_cut() -> None:
    """Without naming the snapshot or the cluster again."""
    cluster = served(*OBJECTS)
    paths = cluster.escalations(ATTACKER)
    assert paths
    assert paths.prove().proven
    assert paths.plot().axes
    assert cluster.blast_radius(ATTACKER).cluster_admin
    made = cluster.cut()
    assert made.verify()
    with cluster.what_if() as trial:
        for change in made.manifests():
            trial.apply([change])
        for key in made.deletions():
            trial.delete(key.resource.resource, key.name, key.namespace or None)
    assert not trial.escalations(ATTACKER)
    closed = trial.compare_paths(goal="cluster-admin")
    assert ("closed", ATTACKER) in set(zip(closed["change"], closed["subject"]))


def test_its_own_traffic_is_the_log_for_least_privilege() -> None:
    """The events that it recorded itself are a log as any other."""
    cluster = Cluster(options=Options(seed=2, audit_policy="Metadata"))
    for obj in OBJECTS:
        cluster.apply([obj])
    cluster.perform(Request.of("GET", "/api/v1/namespaces/dev/pods"), identity=service_account("ops", "admin"))
    made = cluster.least_privilege(cluster.audit_log(), ["sa:ops/admin"])
    assert made.verify()
    assert "least-privilege:ops:admin" in made.yaml()


def test_a_snapshot_says_that_a_proof_needs_a_cluster() -> None:
    """A cut and a proposal of a snapshot alone are verified where one says."""
    cluster = served(*OBJECTS)
    with pytest.raises(SimkitError, match="verified on a cluster"):
        cut(cluster.snapshot()).verify()
    event = {"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}
    with pytest.raises(SimkitError, match="verified on a cluster"):
        least_privilege(cluster.snapshot(), [event]).verify()
