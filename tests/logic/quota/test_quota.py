"""The usage of quotas by objects, and the objects that a quota counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.kinds.parts.pod.qos import pod_limits, pod_requests
from simkit.logic.quota.calculate import best_effort, counts, total_usage, used
from simkit.logic.quota.usage import CLAIMS, PODS, SERVICES, matching, missing_resources, usage
from simkit.meta.names import GroupResource
from simkit.meta.resource_list import ResourceList, add, maximum, quantity_texts, resource_list_of, subtract
from tests.releases import BASE

AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 10**6).map(str)).map(resource_list_of)


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "c", "resources": resources}


@settings(max_examples=50)
@given(AMOUNTS, AMOUNTS)
def test_sums_and_differences_undo_each_other(left: ResourceList, right: ResourceList) -> None:
    """A subtraction undoes the addition."""
    back = subtract(add(left, right), right)
    assert {name: amount.nano for name, amount in back.items() if amount.nano} == {
        name: amount.nano for name, amount in left.items() if amount.nano
    }
    assert all(maximum(left, right)[name].nano >= amount.nano for name, amount in left.items())


def test_a_pod_asks_for_its_containers_or_its_initialization() -> None:
    """The larger of both counts, and a sidecar runs beside all that come after it."""
    pod = {
        "spec": {
            "containers": [container(requests={"cpu": "100m"}), container(requests={"cpu": "200m"})],
            "initContainers": [
                {**container(requests={"cpu": "50m"}), "restartPolicy": "Always"},
                container(requests={"cpu": "400m"}, limits={"cpu": "1"}),
            ],
        }
    }
    assert quantity_texts(pod_requests(pod)) == {"cpu": "450m"}
    assert quantity_texts(pod_limits(pod)) == {"cpu": "1"}


def test_a_pod_uses_names_for_requests_and_limits() -> None:
    """Requests count under two names, extended resources under one, overhead on top."""
    pod = {
        "spec": {
            "overhead": {"cpu": "10m"},
            "containers": [
                container(
                    requests={"cpu": "100m", "nvidia.com/gpu": "1", "hugepages-2Mi": "2Mi"}, limits={"memory": "1Gi"}
                )
            ],
        }
    }
    assert quantity_texts(usage(BASE, PODS, pod, 0.0)) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "110m",
        "requests.cpu": "110m",
        "limits.memory": "1Gi",
        "requests.nvidia.com/gpu": "1",
        "hugepages-2Mi": "2Mi",
        "requests.hugepages-2Mi": "2Mi",
    }


def test_a_pod_that_has_ended_only_counts_as_an_object() -> None:
    """Its place in the store is all that it still uses; the same holds for one stuck in ending."""
    ended = {"status": {"phase": "Failed"}, "spec": {"containers": [container(requests={"cpu": "1"})]}}
    assert quantity_texts(usage(BASE, PODS, ended, 0.0)) == {"count/pods": "1"}
    stuck = {"metadata": {"deletionTimestamp": "1970-01-01T00:00:10Z", "deletionGracePeriodSeconds": 5}, "spec": {}}
    assert "pods" in usage(BASE, PODS, stuck, 15.0)
    assert "pods" not in usage(BASE, PODS, stuck, 16.0)


@pytest.mark.parametrize(
    ("spec", "nodeports", "balancers"),
    [
        ({"type": "ClusterIP", "ports": [{}]}, "0", "0"),
        ({"type": "NodePort", "ports": [{}, {}]}, "2", "0"),
        ({"type": "LoadBalancer", "ports": [{}]}, "1", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"nodePort": 1}, {}]}, "1", "1"),
    ],
)
def test_services_use_ports_and_balancers(spec: dict[str, Any], nodeports: str, balancers: str) -> None:
    """Node ports are counted by what a service will get."""
    found = quantity_texts(usage(BASE, SERVICES, {"spec": spec}, 0.0))
    assert (found["services.nodeports"], found["services.loadbalancers"]) == (nodeports, balancers)


def test_claims_are_counted_by_class() -> None:
    """Storage counts in whole bytes, once for all and once for the class."""
    claim = {"spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}}}
    found = quantity_texts(usage(BASE, CLAIMS, claim, 0.0))
    assert found["requests.storage"] == "2"
    assert found["gold.storageclass.storage.k8s.io/requests.storage"] == "2"
    assert matching(BASE, CLAIMS, ["gold.storageclass.storage.k8s.io/persistentvolumeclaims", "pods"]) == [
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims"
    ]


def test_other_objects_are_counted() -> None:
    """Any resource can be counted; a few have a second name from before."""
    assert quantity_texts(usage(BASE, GroupResource("", "secrets"), {}, 0.0)) == {
        "count/secrets": "1",
        "secrets": "1",
    }
    assert quantity_texts(usage(BASE, GroupResource("apps", "deployments"), {}, 0.0)) == {"count/deployments.apps": "1"}


def test_resources_that_a_quota_limits_must_be_set() -> None:
    """Containers without a request for a limited resource are named."""
    pod = {"spec": {"containers": [{"name": "b"}, {"name": "a"}], "initContainers": [container(limits={"cpu": "1"})]}}
    assert (
        missing_resources(BASE, pod, ["limits.cpu", "requests.memory", "pods"])
        == "limits.cpu for: a,b; requests.memory for: a,b,c"
    )


QUOTA = {"spec": {"hard": {"pods": "5"}}}


@pytest.mark.parametrize(
    ("scope", "pod", "fits"),
    [
        ({"scopeName": "Terminating", "operator": "Exists"}, {"activeDeadlineSeconds": 5}, True),
        ({"scopeName": "NotTerminating", "operator": "Exists"}, {"activeDeadlineSeconds": 5}, False),
        ({"scopeName": "BestEffort", "operator": "Exists"}, {"containers": [{"name": "c"}]}, True),
        ({"scopeName": "NotBestEffort", "operator": "Exists"}, {"containers": [container(limits={"cpu": "1"})]}, True),
        ({"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}, {"priorityClassName": "a"}, True),
        ({"scopeName": "PriorityClass", "operator": "NotIn", "values": ["a"]}, {"priorityClassName": "b"}, True),
        ({"scopeName": "PriorityClass", "operator": "Exists"}, {}, False),
        (
            {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"},
            {
                "affinity": {
                    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaceSelector": {}}]}
                }
            },
            True,
        ),
    ],
)
def test_scopes(scope: dict[str, Any], pod: dict[str, Any], fits: bool) -> None:
    """A quota with a scope counts the pods that are in it."""
    quota = {"spec": {**QUOTA["spec"], "scopeSelector": {"matchExpressions": [scope]}}}
    assert counts(BASE, quota, PODS, {"spec": pod}, ["pods"]) is fits
    assert not counts(BASE, quota, SERVICES, {"spec": {}}, ["services"])


def test_best_effort_follows_the_status_where_there_is_one() -> None:
    """A running pod's class is what its status says."""
    assert best_effort({"status": {"qosClass": "BestEffort"}, "spec": {"containers": [container(limits={"cpu": "1"})]}})
    assert not best_effort({"spec": {"containers": [container(requests={"memory": "1"})]}})


def test_a_namespace_is_counted_by_quota_names() -> None:
    """Names that nobody uses are zero, names that nobody can count are left out."""
    pods: list[dict[str, Any]] = [
        {"spec": {"containers": [container(requests={"cpu": "1"})]}},
        {"status": {"phase": "Succeeded"}, "spec": {}},
    ]
    objects: dict[GroupResource, list[dict[str, Any]]] = {PODS: pods, GroupResource("", "secrets"): [{}, {}]}
    names = ["pods", "count/pods", "requests.cpu", "limits.cpu", "secrets", "nonsense"]
    found = used(
        BASE,
        {"spec": {}},
        names,
        lambda resource, scopes: total_usage(BASE, resource, scopes, objects.get(resource, []), 0.0),
    )
    assert quantity_texts(found) == {
        "pods": "1",
        "count/pods": "2",
        "requests.cpu": "1",
        "limits.cpu": "0",
        "secrets": "2",
    }
