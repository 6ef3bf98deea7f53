"""The success policy and the manager of a job, also in the template of a cron job, where no gate is checked."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from simkit.meta.objects import Object

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
INDEXED = {"completionMode": "Indexed", "completions": 5, "parallelism": 1}
GATES = {"JobSuccessPolicy": True, "JobManagedBy": True}


@pytest.fixture(scope="module")
def server() -> Cluster:
    return Cluster(seed=1)


@pytest.fixture
def cluster(server: Cluster) -> Cluster:
    return server.fork()


def planned(cluster: Cluster, **spec: Any) -> Object:
    job = {"spec": {"template": TEMPLATE, **spec}}
    head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "default"}}
    made: Object = cluster.create({**head, "spec": {"schedule": "* * * * *", "jobTemplate": job}})
    kept: Object = made["spec"]["jobTemplate"]["spec"]
    return kept


def test_a_plan_keeps_what_a_job_would_lose(cluster: Cluster) -> None:
    """The features are off, but it is the job that is held to that."""
    policy = {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]}
    kept = planned(cluster, **INDEXED, successPolicy=policy, managedBy="example.com/other")
    assert kept["successPolicy"] == policy
    assert kept["managedBy"] == "example.com/other"
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}}
    job = cluster.create({**head, "spec": dict(kept)})
    assert "successPolicy" not in job["spec"]
    assert "managedBy" not in job["spec"]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({}, "at least one of succeededCount or succeededIndexes must be specified"),
        ({"succeededIndexes": "1-"}, 'cannot convert string to integer for index: ""'),
        ({"succeededIndexes": "x"}, 'cannot convert string to integer for index: "x"'),
        ({"succeededIndexes": "3,2"}, "non-increasing order, previous: 3, current: 2"),
        ({"succeededIndexes": "3-3"}, "non-increasing order, previous: 3, current: 3"),
        ({"succeededIndexes": "1-2-3"}, 'the fragment "1-2-3" violates the requirement'),
        ({"succeededIndexes": "0-5"}, 'too large index: "5"'),
        ({"succeededCount": 6}, "must be less than or equal to 5 (the number of specified completions)"),
        ({"succeededCount": -1}, "must be greater than or equal to 0"),
        ({"succeededCount": 3, "succeededIndexes": "1,2"}, "must be less than or equal to 2 (the number of indexes"),
        ({"succeededIndexes": "1," * 40_000}, "Too long: must have at most 65536 bytes"),
    ],
)
def test_rules_that_are_refused(cluster: Cluster, rule: dict[str, Any], text: str) -> None:
    """With the words of kube-apiserver."""
    with pytest.raises(StatusError) as raised:
        planned(cluster, **INDEXED, successPolicy={"rules": [rule]})
    assert text in str(raised.value)


def test_a_policy_needs_indexes_and_rules(cluster: Cluster) -> None:
    """And there are at most twenty rules."""
    with pytest.raises(StatusError, match="requires indexed completion mode"):
        planned(cluster, successPolicy={"rules": [{"succeededCount": 1}]})
    with pytest.raises(StatusError, match="at least one rules must be specified"):
        planned(cluster, **INDEXED, successPolicy={"rules": []})
    with pytest.raises(StatusError, match="must have at most 20 items"):
        planned(cluster, **INDEXED, successPolicy={"rules": [{"succeededCount": 1}] * 21})


def test_a_manager_has_the_name_of_a_domain(cluster: Cluster) -> None:
    """With something behind it, and not too much."""
    with pytest.raises(StatusError, match="must be a domain-prefixed path"):
        planned(cluster, managedBy="other")
    with pytest.raises(StatusError, match="Too long: may not be longer than 63"):
        planned(cluster, managedBy="example.com/" + "a" * 60)


@pytest.mark.parametrize(
    "change", [{"managedBy": "example.com/b"}, {"successPolicy": {"rules": [{"succeededCount": 2}]}}]
)
def test_neither_changes(change: dict[str, Any]) -> None:
    """Once there is a job."""
    cluster = Cluster(options=Options(seed=1, feature_gates=GATES))
    spec = {**INDEXED, "template": TEMPLATE, "managedBy": "example.com/a"}
    spec["successPolicy"] = {"rules": [{"succeededCount": 1}]}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}}
    made = cluster.create({**head, "spec": spec})
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    answer = cluster.perform(Request.of("PUT", path, {**made, "spec": {**made["spec"], **change}}))
    assert answer.status == 422
    assert f"spec.{next(iter(change))}: Invalid value: " in answer.object["message"]
    assert answer.object["message"].endswith("field is immutable")
