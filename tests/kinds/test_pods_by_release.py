"""Pods and their containers: rules, words and warnings that depend on the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response
from tests.kinds.comparison import MERGE, cluster_of, sent

PODS = "/api/v1/namespaces/default/pods"


CONTAINER = {"name": "c", "image": "i"}


def with_account(release: str) -> simkit.Cluster:
    """A cluster in which pods can be created."""
    cluster = simkit.Cluster(release=release)
    sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    return cluster


CORE = "/api/v1/namespaces/default"


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


def causes(response: Response) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    return [(each["field"], each["message"]) for each in response.object["details"]["causes"]]


PLAIN: Mapping[str, Any] = {"containers": [{"name": "c", "image": "i"}]}


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.21", ["must specify a handler type", "must not be set for init containers"]),
        ("1.25", ["may not be set for init containers"]),
    ],
)
def test_probes_of_init_containers(release: str, told: list[str]) -> None:
    """Up to 1.24 init containers are checked like regular ones, and then refused for having probes."""
    cluster = with_account(release)
    spec = {"initContainers": [{**CONTAINER, "name": "i", "readinessProbe": {}}], "containers": [CONTAINER]}
    refused = sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).object
    messages = [each["message"] for each in refused["details"]["causes"]]
    assert len(messages) == len(told)
    assert all(end in message for end, message in zip(told, messages, strict=True))


@pytest.mark.parametrize(("release", "sign"), [("1.21", "-"), ("1.25", "+")])
def test_the_direction_of_a_change(release: str, sign: str) -> None:
    """The error of a changed pod showed the change backwards up to 1.24."""
    cluster = with_account(release)
    sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}})
    refused = sent(cluster, "PATCH", f"{PODS}/p", {"spec": {"affinity": {}}}).object
    assert f"\n{sign} \tAffinity: " in refused["message"].replace("\u00a0", " ")
    assert "&core.Affinity{}" in refused["message"].split(f"\n{sign}", 1)[1].split("\n")[0]


@pytest.mark.parametrize(("release", "grace"), [("1.25", -1), ("1.27", 1)])
def test_negative_grace_periods_of_pods(release: str, grace: int) -> None:
    """They are kept up to 1.26."""
    cluster = with_account(release)
    spec = {"containers": [CONTAINER], "terminationGracePeriodSeconds": -1}
    made = sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).object
    assert made["spec"]["terminationGracePeriodSeconds"] == grace


@pytest.mark.parametrize(("release", "kept"), [("1.31", True), ("1.32", True), ("1.33", False)])
def test_fields_of_disabled_features_in_the_status_of_pods(release: str, kept: bool) -> None:
    """Up to 1.32 a write of the status keeps them, and the next write of the pod itself takes them away."""
    cluster = simkit.Cluster(release=release)
    container = {"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}}
    sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    found = {"name": "c", "image": "i", "imageID": "i", "allocatedResourcesStatus": [{"name": "example.com/gpu"}]}
    changed = sent(cluster, "PATCH", f"{PODS}/p/status", {"status": {"containerStatuses": [found]}}).object
    assert (found.keys() <= changed["status"]["containerStatuses"][0].keys()) == kept
    labelled = sent(cluster, "PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}).object
    assert not found.keys() <= labelled["status"]["containerStatuses"][0].keys()


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.31", ["linux.uid", "must match one of the container's resource requirements"]),
        ("1.32", ["linux.uid", "must match one of the container's resource claims in a format"]),
        ("1.33", ["user.linux.uid", ""]),
    ],
)
def test_words_about_the_user_and_the_claims_of_a_container(release: str, told: list[str]) -> None:
    """Where the user stands is told from 1.33 on, and claims have health from 1.32 on; 1.33 drops what is off."""
    cluster = simkit.Cluster(release=release)
    sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    sent(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    found: dict[str, Any] = {"name": "c", "image": "i", "imageID": "i"}
    found["allocatedResourcesStatus"] = [{"name": "claim:a"}]
    found["user"] = {"linux": {"uid": -1, "gid": 1}}
    refused = sent(cluster, "PATCH", f"{PODS}/p/status", {"status": {"containerStatuses": [found]}}).object
    causes = refused["details"]["causes"]
    assert causes[0]["field"] == f"status.containerStatuses[0].{told[0]}"
    assert [told[1] in each["message"] for each in causes[1:]] == ([True] if told[1] else [])


@pytest.mark.parametrize(("release", "status"), [("1.32", 201), ("1.33", 422)])
def test_values_in_required_node_affinities(release: str, status: int) -> None:
    """Volumes and pods may ask for nodes with values that no label can have, up to 1.32."""
    cluster = simkit.Cluster(release=release)
    terms = [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["Not_Valid!"]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    volume = {"metadata": {"name": "v"}, "spec": spec}
    assert sent(cluster, "POST", "/api/v1/persistentvolumes", volume).status == status


@pytest.mark.parametrize(("release", "status"), [("1.33", 422), ("1.34", 201), ("1.35", 201)])
def test_restart_policies_of_single_containers(release: str, status: int) -> None:
    """Unknown up to 1.33, dropped at 1.34 where they are off, kept since 1.35."""
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]
    container = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": rules}
    init = {"name": "d", "image": "i", "restartPolicy": "Always"}
    spec = {"containers": [container], "initContainers": [init]}
    made = sent(simkit.Cluster(release=release), "POST", f"{CORE}/pods", named(spec))
    assert made.status == status
    if status == 201:
        assert ("restartPolicy" in made.object["spec"]["containers"][0]) is (release == "1.35")
        assert made.object["spec"]["initContainers"][0]["restartPolicy"] == "Always"


def test_changes_of_pods_warn_of_nothing() -> None:
    """Only new pods do."""
    cluster, path = simkit.Cluster(), f"{CORE}/pods"
    twice = {"env": [{"name": "E", "value": "1"}, {"name": "E", "value": "2"}]}
    made = sent(cluster, "POST", path, named({"containers": [{"name": "c", "image": "i", **twice}]}))
    changed = sent(cluster, "PATCH", f"{path}/x", {"metadata": {"labels": {"a": "b"}}})
    warned = [any(name.lower() == "warning" for name, _ in each.headers) for each in (made, changed)]
    assert warned == [True, False]


@pytest.mark.parametrize(("release", "word"), [("1.35", "Too long: may not be more than 20"), ("1.36", "Too many: 21")])
def test_many_restart_rules(release: str, word: str) -> None:
    """They are counted since 1.36."""
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
    container = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule] * 21}
    refused = sent(simkit.Cluster(release=release), "POST", f"{CORE}/pods", named({"containers": [container]}))
    assert causes(refused)[0][1].startswith(word)


def test_an_empty_restart_policy_of_an_ephemeral_container() -> None:
    """It is a restart policy all the same."""
    spec = {**PLAIN, "ephemeralContainers": [{"name": "e", "image": "i", "restartPolicy": ""}]}
    body = named({"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}})
    refused = sent(simkit.Cluster(release="1.36"), "POST", f"{CORE}/replicationcontrollers", body)
    fields = [field.removeprefix("spec.template.spec.ephemeralContainers") for field, _ in causes(refused)]
    assert fields == ["[0].restartPolicy", ""]


@pytest.mark.parametrize(("release", "word"), [("1.34", "cannot be resized"), ("1.35", "feature gate is disabled")])
def test_pods_with_resources_of_their_own_are_not_resized(release: str, word: str) -> None:
    """The refusal names the feature since 1.35."""
    cluster, whole = simkit.Cluster(release=release), {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    sent(cluster, "POST", f"{CORE}/pods", named({**PLAIN, "resources": whole}))
    assert causes(sent(cluster, "PATCH", f"{CORE}/pods/x/resize", {"spec": {}}))[0][1].endswith(word)


def test_quotas_of_requests_for_huge_pages() -> None:
    """Their size is part of the name."""
    body = named({"hard": {"requests.hugepages-2Mi": "1", "hugepages-1Gi": "1"}})
    assert sent(simkit.Cluster(), "POST", f"{CORE}/resourcequotas", body).status == 201


def test_ranges_of_limits_heed_what_is_set_for_a_pod_as_a_whole() -> None:
    """A limit of the pod counts before those of its containers."""
    cluster = simkit.Cluster(release="1.34")
    spec: dict[str, Any] = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
    sent(cluster, "POST", "/api/v1/namespaces/default/limitranges", {"metadata": {"name": "x"}, "spec": spec})
    whole = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}], "resources": whole}}
    assert sent(cluster, "POST", PODS, pod).object["message"].endswith("is 1, but limit is 2")


@pytest.mark.parametrize(("release", "status"), [("1.32", 404), ("1.33", 200)])
def test_the_size_of_a_pod_is_a_part_of_its_own(release: str, status: int) -> None:
    """Since 1.33, when its feature is on by default."""
    cluster = simkit.Cluster(release=release)
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    sent(cluster, "POST", PODS, pod)
    assert cluster.perform(Request.of("GET", f"{PODS}/x/resize")).status == status
    listed = cluster.perform(Request.of("GET", "/api/v1")).object["resources"]
    assert ("pods/resize" in {each["name"] for each in listed}) is (status == 200)


def test_mounts_of_a_container_are_dropped_by_the_pod_itself() -> None:
    """As the handlers of a node."""
    cluster = cluster_of("1.30")
    containers = [{"name": "c", "image": "i"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    mounts = [{"name": "a", "mountPath": "/x"}]
    state = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "volumeMounts": mounts}
    path = "/api/v1/namespaces/default/pods/p"
    body = {"status": {"containerStatuses": [state]}}
    kept = cluster.perform(Request.of("PATCH", f"{path}/status", body, headers=MERGE)).object
    assert kept["status"]["containerStatuses"][0]["volumeMounts"] == mounts
    labels = {"metadata": {"labels": {"a": "b"}}}
    left = cluster.perform(Request.of("PATCH", path, labels, headers=MERGE)).object
    assert "volumeMounts" not in left["status"]["containerStatuses"][0]
