"""Pods at the releases whose rules about them differ."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def clusters() -> dict[str, simkit.Cluster]:
    """A cluster of each release that is asked."""
    return {release: simkit.Cluster(release=release, seed=1) for release in ("1.30", "1.31", "1.33", "1.36")}


def pod(name: str = "a", **spec: Any) -> dict[str, Any]:
    """A pod of one container; its account needs no token."""
    containers = spec.pop("containers", [{"name": "c", "image": "i", **spec.pop("container", {})}])
    whole = {"automountServiceAccountToken": False, "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}


def create(cluster: simkit.Cluster, obj: dict[str, Any], dry: str = "?dryRun=All") -> Response:
    return cluster.perform(Request.of("POST", PODS + dry, obj))


def texts(response: Response) -> list[str]:
    """The fields of the causes of a refusal."""
    return [cause["field"] for cause in response.object["details"]["causes"]] if response.status == 422 else []


C = "spec.containers[0]"


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({"container": {"env": [{"name": "a b"}]}}, {"1.30": [f"{C}.env[0].name"], "1.33": [], "1.36": []}),
        ({"dnsConfig": {"searches": ["_a.b", "."]}}, {"1.30": ["spec.dnsConfig.searches[0]"] * 1, "1.36": []}),
        (
            {"container": {"lifecycle": {"preStop": {"sleep": {"seconds": 0}}}}},
            {"1.30": [f"{C}.lifecycle.preStop.sleep"], "1.33": [], "1.36": []},
        ),
        ({"container": {"restartPolicy": "Never"}}, {"1.33": [f"{C}.restartPolicy"], "1.36": []}),
        (
            {"container": {"restartPolicyRules": [{"action": "Odd"}]}},
            {
                "1.33": [],
                "1.36": [
                    f"{C}.restartPolicy",
                    f"{C}.restartPolicyRules[0].action",
                    f"{C}.restartPolicyRules[0].exitCodes",
                ],
            },
        ),
        ({"hostAliases": [{"ip": "010.0.0.1"}]}, {"1.30": [], "1.33": [], "1.36": ["spec.hostAliases[0].ip"]}),
        (
            {"resources": {"limits": {"cpu": "1"}}, "container": {"resources": {"limits": {"cpu": "2"}}}},
            {"1.33": [], "1.36": ["spec.resources.requests", "spec.resources.containers[0][cpu].limits"]},
        ),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}]}}}},
            {
                "1.31": [],
                "1.33": [
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                    "nodeSelectorTerms[0].matchExpressions[0].values[0]"
                ],
            },
        ),
        ({"hostUsers": False, "hostPID": True}, {"1.31": [], "1.33": ["spec.HostPID"], "1.36": ["spec.HostPID"]}),
    ],
)  # fmt: skip
def test_refusals(clusters: dict[str, simkit.Cluster], spec: dict[str, Any], refused: dict[str, list[str]]) -> None:
    """Pods that one release refuses and another accepts."""
    found = {release: texts(create(clusters[release], pod(**spec))) for release in refused}
    expected = {**refused}
    if "dnsConfig" in spec:
        expected["1.30"] = ["spec.dnsConfig.searches[0]", "spec.dnsConfig.searches[1]"]
    assert found == expected


def test_generation(clusters: dict[str, simkit.Cluster]) -> None:
    """Since 1.33 a pod counts the changes of its spec, and no others."""
    for release, seen in (("1.31", [None, None, None]), ("1.33", [1, 1, 2])):
        cluster = clusters[release]
        made = create(cluster, pod("gen"), "").object
        labelled = cluster.perform(
            Request.of("PATCH", f"{PODS}/gen", {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
        )
        changed = cluster.perform(
            Request.of("PATCH", f"{PODS}/gen", {"spec": {"activeDeadlineSeconds": 5}}, content_type=MERGE)
        )
        found = [each["metadata"].get("generation") for each in (made, labelled.object, changed.object)]
        assert found == seen


def test_label_keys_are_written_into_selectors(clusters: dict[str, simkit.Cluster]) -> None:
    """The values of matchLabelKeys: of affinity terms since 1.31, of spread constraints since 1.34."""
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a"]}
    needed = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    obj = pod(affinity={"podAntiAffinity": needed}, topologySpreadConstraints=[spread])
    obj["metadata"]["labels"] = {"a": "1"}
    expected = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}
    for release, terms, constraints in (("1.31", expected, {}), ("1.36", expected, expected)):
        spec = create(clusters[release], obj).object["spec"]
        found = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
        assert found["labelSelector"] == terms
        assert spec["topologySpreadConstraints"][0]["labelSelector"] == constraints


def test_resize(clusters: dict[str, simkit.Cluster]) -> None:
    """Through the subresource cpu and memory change, anything else stays; memory limits go down since 1.34."""
    resources = {"limits": {"memory": "2Gi", "cpu": "2"}, "requests": {"memory": "1Gi", "cpu": "1"}}
    for release, lowered in (("1.33", 422), ("1.36", 200)):
        cluster = clusters[release]
        create(cluster, pod("big", container={"resources": resources}), "")
        for body, status in (
            ({"resources": {"requests": {"cpu": "1500m"}}, "image": "other"}, 200),
            ({"resources": {"limits": {"memory": "1500Mi"}}}, lowered),
            ({"resources": {"limits": {"memory": None}}}, 422),
            ({"resources": {"requests": {"ephemeral-storage": "1Gi"}}}, 422),
        ):
            patch = {"spec": {"containers": [{"name": "c", **body}]}}
            media = "application/strategic-merge-patch+json"
            answer = cluster.perform(Request.of("PATCH", f"{PODS}/big/resize", patch, content_type=media))
            assert answer.status == status, answer.object
        found = cluster.perform(Request.of("GET", f"{PODS}/big")).object["spec"]["containers"][0]
        assert (found["image"], found["resources"]["requests"]["cpu"]) == ("i", "1500m")


def test_image_volumes_where_the_feature_is_off(clusters: dict[str, simkit.Cluster]) -> None:
    """They go with their mounts at 1.33, and stay with a pull policy at 1.36."""
    mounts = [{"name": "v", "mountPath": "/v"}]
    obj = pod(container={"volumeMounts": mounts}, volumes=[{"name": "v", "image": {"reference": "a:1"}}])
    spec = create(clusters["1.33"], obj).object["spec"]
    assert ("volumes" in spec, "volumeMounts" in spec["containers"][0]) == (False, False)
    (volume,) = create(clusters["1.36"], obj).object["spec"]["volumes"]
    assert volume == {"name": "v", "image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}


def test_pod_level_resources_decide_the_class_of_service(clusters: dict[str, simkit.Cluster]) -> None:
    """Requests of the pod follow from its limits, and its class from both."""
    whole = {"limits": {"cpu": "1", "memory": "1Gi"}}
    found = create(clusters["1.36"], pod(resources=whole)).object
    assert found["spec"]["resources"] == {"limits": whole["limits"], "requests": whole["limits"]}
    assert found["status"]["qosClass"] == "Guaranteed"
    assert create(clusters["1.33"], pod(resources=whole)).object["status"]["qosClass"] == "BestEffort"


def test_metadata_that_is_not_set(clusters: dict[str, simkit.Cluster]) -> None:
    """Templates had a creation time of null until 1.33."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    job["spec"] = {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}
    path = "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
    for release, there in (("1.33", True), ("1.36", False)):
        found = clusters[release].perform(Request.of("POST", path, job)).object
        assert ("creationTimestamp" in found["spec"]["template"]["metadata"]) is there


def test_deletion_marks_a_pod_before_it_goes(clusters: dict[str, simkit.Cluster]) -> None:
    """Watchers and the client see the time of the deletion, also of a pod without a node."""
    cluster = clusters["1.30"]
    create(cluster, pod("gone"), "")
    told = cluster.perform(Request.of("DELETE", f"{PODS}/gone")).object["metadata"]
    assert (told["deletionGracePeriodSeconds"], bool(told["deletionTimestamp"])) == (0, True)
    assert cluster.perform(Request.of("GET", f"{PODS}/gone")).status == 404
