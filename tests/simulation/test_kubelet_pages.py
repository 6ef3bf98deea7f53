"""What simulated kubelets show at their own port, through the proxy of their node."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from simkit.meta.quantity import NANO, parse
from tests.simulation.worlds import execute, pod, simulated

GI = 1024**3


def asked(cluster: Cluster, path: str, method: str = "GET", node: str = "node-0") -> tuple[int, bytes]:
    """The status and the body of an answer."""
    response = cluster.perform(Request.of(method, f"/api/v1/nodes/{node}/proxy/{path}"))
    return response.status, response.body


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Two nodes, of which the first has two pods that have run for a minute."""
    made = simulated(2)
    for name, node in (("a", "node-0"), ("b", "node-0"), ("c", "node-1")):
        made.create(pod(name, nodeName=node, requests={"cpu": "1", "memory": "2Gi"}))
    made.settle()
    made.advance(seconds=60)
    return made


def summary(cluster: Cluster) -> dict[str, Any]:
    status, body = asked(cluster, "stats/summary")
    assert status == 200
    return dict(orjson.loads(body))


def test_health_and_pods(cluster: Cluster) -> None:
    """A kubelet is well, and knows the pods of its node alone, which have no kind of their own in the list."""
    assert asked(cluster, "healthz") == (200, b"ok")
    for page in ("pods", "pods/"):
        status, body = asked(cluster, page)
        listed = orjson.loads(body)
        names = {each["metadata"]["name"] for each in listed["items"]}
        assert (status, listed["kind"]) == (200, "PodList")
        assert {"a", "b"} <= names
        assert "c" not in names
        assert all("kind" not in each and each["spec"]["nodeName"] == "node-0" for each in listed["items"])
    running = orjson.loads(asked(cluster, "runningpods/")[1])["items"]
    found = next(each for each in running if each["metadata"]["name"] == "a")
    assert found["spec"]["containers"] == [{"name": "main", "image": "app:1", "resources": {}}]


def test_the_summary_adds_up(cluster: Cluster) -> None:
    """Containers make pods, and pods with what the node needs itself make the node; it agrees with the metrics."""
    told = summary(cluster)
    pods = {each["podRef"]["name"]: each for each in told["pods"]}
    assert pods["a"]["memory"]["workingSetBytes"] == GI
    assert pods["a"]["cpu"]["usageNanoCores"] == 500_000_000
    assert pods["a"]["cpu"]["usageCoreNanoSeconds"] == pytest.approx(500_000_000 * 60, rel=0.1)
    assert pods["a"]["containers"][0]["name"] == "main"
    usage = orjson.loads(cluster.perform(Request.of("GET", "/apis/metrics.k8s.io/v1beta1/nodes/node-0")).body)["usage"]
    assert told["node"]["memory"]["workingSetBytes"] == parse(usage["memory"]).nano // NANO
    beside = sum(each["memory"]["workingSetBytes"] for each in told["pods"])
    assert 0 < told["node"]["memory"]["workingSetBytes"] - beside < GI


def test_the_summary_tells_of_disks() -> None:
    """Files that containers write are seen in their layer or volume, and all of it on the disk of the node."""
    cluster = simulated(1)
    data = {"name": "settings", "namespace": "default"}
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": data, "data": {"a": "b"}})
    volumes = [
        {"name": "room", "emptyDir": {}},
        {"name": "fast", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "told", "configMap": {"name": "settings"}},
        {"name": "host", "hostPath": {"path": "/var"}},
    ]
    mounts = {"volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in ("room", "fast")]}
    command = ["sh", "-c", "echo hello; head -c 5000 /dev/zero > /tmp/x; sleep 1d"]
    cluster.create(pod("a", command=command, volumes=volumes, container=mounts))
    cluster.settle()
    before = summary(cluster)["node"]["fs"]
    execute(cluster, "a", "sh", "-c", "head -c 9000 /dev/zero > /room/y; echo > /fast/z")
    told = summary(cluster)
    node, own = told["node"], told["pods"][0]
    main, volume = own["containers"][0], {each["name"]: each for each in own["volume"]}
    assert (main["rootfs"]["usedBytes"], main["rootfs"]["inodesUsed"]) == (8192, 1)
    assert 0 < main["logs"]["usedBytes"] < 100
    assert (volume["room"]["usedBytes"], volume["told"]["usedBytes"]) == (12288, 4096)
    assert (volume["fast"]["capacityBytes"], volume["fast"]["availableBytes"]) == (1024**2, 1024**2 - 4096)
    assert "host" not in volume
    assert own["ephemeral-storage"]["usedBytes"] == 8192 + 12288 + 4096 + main["logs"]["usedBytes"]
    assert node["fs"]["usedBytes"] - before["usedBytes"] == 12288
    assert node["fs"]["capacityBytes"] == 100 * GI == node["fs"]["usedBytes"] + node["fs"]["availableBytes"]
    assert set(node["runtime"]) == {"imageFs", "containerFs"}
    assert (node["rlimit"]["curproc"], own["process_stats"]) == (1, {"process_count": 1})
    assert own["network"]["interfaces"][0]["rxBytes"] == 0


def test_the_summary_tells_of_claims() -> None:
    """The volume of a claim has the size of the claim, and is not on the disk of the node."""
    cluster = simulated(1)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    own = {"name": "data", "namespace": "default"}
    cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": own, "spec": claim})
    volumes = [{"name": "room", "persistentVolumeClaim": {"claimName": "data"}}]
    mounts = {"volumeMounts": [{"name": "room", "mountPath": "/room"}]}
    cluster.create(pod("a", command=["sh", "-c", "echo > /room/x; sleep 1d"], volumes=volumes, container=mounts))
    cluster.settle()
    told = next(each for each in summary(cluster)["pods"][0]["volume"] if each["name"] == "room")
    assert told["pvcRef"] == own
    assert (told["usedBytes"], told["capacityBytes"]) == (4096, GI)


def test_metrics_of_resources(cluster: Cluster) -> None:
    """The families that metrics-server reads, with the amounts of the summary."""
    status, body = asked(cluster, "metrics/resource")
    families = {each.name: each.samples for each in text_string_to_metric_families(body.decode())}
    assert status == 200
    memory = {tuple(each.labels.values()): each.value for each in families["container_memory_working_set_bytes"]}
    assert memory["main", "default", "a"] == GI
    pods = {each["podRef"]["name"]: each for each in summary(cluster)["pods"]}
    spent = {each.labels["pod"]: each.value for each in families["pod_cpu_usage_seconds"]}
    assert spent["a"] == pytest.approx(pods["a"]["cpu"]["usageCoreNanoSeconds"] / 1e9)
    assert families["node_cpu_usage_seconds"][0].value > sum(spent.values())
    assert [each.value for each in families["resource_scrape_error"]] == [0]


def test_metrics_of_the_kubelet_and_of_cadvisor(cluster: Cluster) -> None:
    """What Prometheus reads through the proxy: the pods that run, and what their containers use and may use."""
    own = {each.name: each.samples for each in text_string_to_metric_families(asked(cluster, "metrics")[1].decode())}
    running = len(orjson.loads(asked(cluster, "runningpods")[1])["items"])
    assert own["kubelet_running_pods"][0].value == running
    assert own["kubelet_node_name"][0].labels == {"node": "node-0"}
    assert own["kubernetes_build_info"][0].labels["minor"] == "30"
    status, body = asked(cluster, "metrics/cadvisor")
    families = {each.name: each.samples for each in text_string_to_metric_families(body.decode())}
    memory = {each.labels["pod"]: each for each in families["container_memory_working_set_bytes"]}
    assert (status, memory["a"].value, memory["a"].labels["container"]) == (200, GI, "main")
    assert memory["a"].labels["name"] in cluster.get("pod", "a")["status"]["containerStatuses"][0]["containerID"]
    spent = {each.labels["pod"]: each.value for each in families["container_cpu_usage_seconds"]}
    assert spent["a"] == pytest.approx(30, rel=0.1)
    assert [each.value for each in families["machine_cpu_cores"]] == [8]


def test_tries_of_probes_are_counted() -> None:
    """Each try of a probe is counted by its result, also over restarts; a fork goes on with the numbers."""
    cluster = simulated(1)
    probe = {"exec": {"command": ["test", "-e", "/tmp/well"]}, "periodSeconds": 5, "failureThreshold": 100}
    given = {"readinessProbe": probe}
    cluster.create(pod("a", command=["sh", "-c", "sleep 12; touch /tmp/well; sleep 1d"], container=given))
    cluster.settle()
    cluster.advance(23)
    for each in (cluster, cluster.fork()):
        text = asked(each, "metrics/probes")[1].decode()
        family = next(each for each in text_string_to_metric_families(text) if each.name == "prober_probe")
        counts = {each.labels["result"]: each.value for each in family.samples if each.name == "prober_probe_total"}
        assert counts == {"failed": 3, "successful": 2}
        labels = {name: text for name, text in family.samples[0].labels.items() if name not in ("result", "pod_uid")}
        assert labels == {"probe_type": "Readiness", "container": "main", "pod": "a", "namespace": "default"}


def test_the_configuration_is_the_one_of_the_node() -> None:
    """What a test has set is told, in the notation of a KubeletConfiguration."""
    cluster = Cluster("1.30")
    soft = {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "90s"}}
    cluster.add_nodes(1, capacity={"cpu": "4", "memory": "8Gi", "pods": "50"}, eviction_hard={}, eviction=soft)
    told = orjson.loads(asked(cluster, "configz")[1])["kubeletconfig"]
    assert (told["maxPods"], told["evictionHard"], told["evictionSoftGracePeriod"]) == (
        50,
        {},
        {"memory.available": "1m30s"},
    )
    assert (told["clusterDNS"], told["evictionPressureTransitionPeriod"]) == (["10.96.0.10"], "5m0s")


def test_other_pages_methods_and_ports(cluster: Cluster) -> None:
    """What is not there is said by the kubelet, and what listens nowhere by the server."""
    assert asked(cluster, "none") == (404, b"404 page not found\n")
    assert asked(cluster, "pods", "POST")[0] == 405
    assert asked(cluster, "healthz", node="node-0:10250") == (200, b"ok")
    assert asked(cluster, "healthz", node="node-0:10255")[0] == 503
    cluster = cluster.fork()
    cluster.stop_node("node-0")
    assert asked(cluster, "healthz")[0] == 503
