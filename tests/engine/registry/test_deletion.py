"""Deletion in two phases, where a grace period and finalizers meet."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock, moment
from simkit.meta.message import Request

PODS = "/api/v1/namespaces/default/pods"
HOLD = "example.com/hold"


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster with a pod that runs on a node and has thirty seconds to end."""
    made = simkit.Cluster(seed=1)
    made.perform(Request.of("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}))
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    body = {"metadata": {"name": "p", "finalizers": [HOLD]}, "spec": spec}
    answer = made.perform(Request.of("POST", PODS, body))
    assert answer.status == 201, answer.object
    return made


def delete(cluster: simkit.Cluster, **options: Any) -> dict[str, Any]:
    """The metadata of the pod after a delete."""
    answer = cluster.perform(Request.of("DELETE", f"{PODS}/p", {"kind": "DeleteOptions", **options}))
    assert answer.status == 200, answer.object
    found: dict[str, Any] = answer.object["metadata"]
    return found


def test_a_grace_period_shrinks_from_where_it_began(cluster: simkit.Cluster) -> None:
    """A shorter period counts from the first delete, not from now; a longer one changes nothing."""
    first = delete(cluster)
    assert first["deletionGracePeriodSeconds"] == 30
    assert delete(cluster, gracePeriodSeconds=60) == first
    second = delete(cluster, gracePeriodSeconds=10)
    assert second["deletionGracePeriodSeconds"] == 10
    assert moment(first["deletionTimestamp"]) - moment(second["deletionTimestamp"]) == 20


def test_finalizers_stay_once_deletion_waits(cluster: simkit.Cluster) -> None:
    """A later delete cannot change how dependents are treated, unless it makes the period shorter."""
    first = delete(cluster)
    assert delete(cluster, propagationPolicy="Orphan")["finalizers"] == first["finalizers"] == [HOLD]
    shorter = delete(cluster, propagationPolicy="Orphan", gracePeriodSeconds=1)
    assert shorter["finalizers"] == [HOLD, "orphan"]


def test_a_negative_period_is_one_second(cluster: simkit.Cluster) -> None:
    """Less than nothing counts as one second, also for a pod that ends already."""
    delete(cluster)
    assert delete(cluster, gracePeriodSeconds=-1)["deletionGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({"propagationPolicy": ""}, 422, 'propagationPolicy: Unsupported value: ""'),
        ({"propagationPolicy": "Orphan", "orphanDependents": False}, 422, "cannot be both set"),
        ({"preconditions": {"uid": ""}}, 409, "the UID in the precondition () does not match"),
        ({"preconditions": {"resourceVersion": ""}}, 409, "the ResourceVersion in the precondition () does not"),
        ({"apiVersion": "a/b/c"}, 500, "unexpected GroupVersion string: a/b/c"),
        ({"dryRun": ["Some"]}, 422, 'dryRun: Unsupported value: []string{"Some"}'),
        ({"gracePeriodSeconds": "5"}, 500, "json: cannot unmarshal string into Go struct field DeleteOptions."),
    ],
)
def test_options_that_are_refused(cluster: simkit.Cluster, options: dict[str, Any], status: int, message: str) -> None:
    """Given options are checked, also empty ones; the pod stays."""
    before = cluster.engine.store.revision
    answer = cluster.perform(Request.of("DELETE", f"{PODS}/p", options))
    assert answer.status == status
    assert message in answer.object["message"]
    assert cluster.engine.store.revision == before


def test_an_empty_policy_in_the_query_is_refused(cluster: simkit.Cluster) -> None:
    """An empty parameter is a policy that there is not."""
    assert cluster.perform(Request.of("DELETE", f"{PODS}/p?propagationPolicy=")).status == 422


def test_a_grace_period_of_centuries_wraps_around_as_in_go() -> None:
    """Seconds are counted in 64 bits of nanoseconds there: 2^63 - 1 of them are one second ago."""
    cluster = simkit.Cluster(options=Options(seed=1, clock=SimulatedClock()))
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 2**63 - 1}
    cluster.perform(Request.of("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}))
    made = cluster.perform(Request.of("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})).object["metadata"]
    marked = delete(cluster)
    assert moment(marked["deletionTimestamp"]) == moment(made["creationTimestamp"]) - 1
    assert delete(cluster, gracePeriodSeconds=5)["deletionGracePeriodSeconds"] < 2**63 - 1
