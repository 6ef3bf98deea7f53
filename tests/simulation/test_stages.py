"""Stages of KWOK drive nodes, pods and other objects."""

from __future__ import annotations

from random import Random
from textwrap import dedent
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.simulation.stages.cel_functions import as_seen, evaluating
from simkit.simulation.stages.stage import compiled_expression
from simkit.simulation.stages.stage_files import BUNDLED, read_stages, stage_of
from tests.simulation.worlds import container, deployment, messages, phase, pod, simulated


def stage(name: str, kind: str = "Pod", group: str = "v1", **spec: Any) -> dict[str, Any]:
    """A stage."""
    meta = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}}
    return {**meta, "spec": {"resourceRef": {"apiGroup": group, "kind": kind}, "selector": {}, **spec}}


def test_pods_run_and_go_by_the_stages_of_simkit() -> None:
    """With pod-fast and node-fast nodes become ready, pods run, jobs complete, and pods are deleted."""
    cluster = simulated(2, stages=["node-fast", "pod-fast", "node-heartbeat"])
    assert [each["status"]["phase"] for each in cluster.list("nodes")] == ["Running", "Running"]
    cluster.create(deployment("web", 3))
    template = pod("sum", restartPolicy="Never")["spec"]
    cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"},
                    "spec": {"template": {"spec": template}}})  # fmt: skip
    cluster.settle()
    assert {each["status"]["phase"] for each in cluster.list("pods")} == {"Running"}
    assert len({each["status"]["podIP"] for each in cluster.list("pods")}) == 4
    assert cluster.get("deployment", "web")["status"]["readyReplicas"] == 3
    cluster.advance(seconds=5)
    assert cluster.get("job", "sum")["status"]["succeeded"] == 1
    cluster.delete("deployment", "web")
    cluster.settle()
    assert len(cluster.list("pods")) == 1


def test_delays_come_from_annotations_and_are_the_same_each_time() -> None:
    """The general stages take as long as a pod says; else chance decides, by the seed."""

    def started() -> list[str]:
        cluster = simulated(2, stages=["pod-general"])
        cluster.create(deployment("web", 4))
        told = {f"pod-{each}.stage.kwok.x-k8s.io/{what}": "7s"
                for each in ("create", "ready") for what in ("delay", "jitter-delay")}  # fmt: skip
        cluster.create(pod("slow", annotations=told))
        cluster.settle()
        cluster.advance(seconds=6)
        assert phase(cluster, "slow") == "Pending"
        assert "Created container" in messages(cluster, "Created")
        cluster.advance(seconds=9)
        assert phase(cluster, "slow") == "Running"
        return [str(each["status"]["containerStatuses"][0]["state"]) for each in cluster.list("pods")]

    assert started() == started()


def test_a_pod_is_failed_by_a_stage_with_a_weight() -> None:
    """Of two stages that match the heavier comes; templates see the annotations of the pod."""
    template = dedent("""
    phase: Failed
    {{ $told := or .metadata.annotations dict }}
    reason: {{ or (index $told "why") "Unknown" | Quote }}
    containerStatuses:
    {{ range $index, $item := .spec.containers }}
    - {name: {{ $item.name }}, image: {{ $item.image | Quote }}, imageID: "", ready: false, restartCount: 0,
       state: {terminated: {exitCode: {{ add $index 3 }}, reason: Error}}}
    {{ end }}
    """)
    running = {"key": ".status.phase", "operator": "In", "values": ["Running"]}
    chaos = stage("chaos", weight=10_000, next={"statusTemplate": template},
                  selector={"matchLabels": {"chaos": "true"}, "matchExpressions": [running]})  # fmt: skip
    idle = stage("idle", selector={"matchExpressions": [running]}, next={})
    cluster = simulated(1, stages=["pod-fast", chaos, idle])
    cluster.create(pod("bad", labels={"chaos": "true"}, annotations={"why": "Storm"}))
    cluster.create(pod("good"))
    cluster.settle()
    assert (phase(cluster, "bad"), phase(cluster, "good")) == ("Failed", "Running")
    assert cluster.get("pod", "bad")["status"]["reason"] == "Storm"
    assert container(cluster, "bad")["state"]["terminated"]["exitCode"] == 3


def test_objects_of_other_kinds_have_stages_too() -> None:
    """A custom resource gets a status, a finalizer and an object beside it; expressions may be CEL."""
    cluster = Cluster(options=Options(clock=SimulatedClock(), seed=1))
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
               "subresources": {"status": {}}}  # fmt: skip
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget"}
    cluster.create({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": {"name": "widgets.example.com"},
                    "spec": {"group": "example.com", "scope": "Namespaced", "names": names,
                             "versions": [version]}})  # fmt: skip
    made = {"template": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-{{ .metadata.name }}}\n"
                        "data: {size: {{ .spec.size | Quote }}}"}  # fmt: skip
    ready = stage("ready", "Widget", "example.com/v1",
                  selector={"matchExpressions": [{"cel": {"expression": "!has(self.status)"}}]},
                  delay={"durationFrom": {"cel": {"expression": "duration('3s')"}}},
                  steps=[{"finalizers": {"add": [{"value": "example.com/kept"}]}}, {"apply": made},
                         {"patch": {"root": "status", "subresource": "status",
                                    "template": "ready: true\nby: {{ .metadata.name }}"}}])  # fmt: skip
    cluster.add_nodes(1, stages=[ready])
    cluster.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 2}})
    cluster.settle()
    assert "status" not in cluster.get("widget", "a")
    cluster.advance(seconds=3)
    widget = cluster.get("widget", "a")
    assert widget["status"] == {"ready": True, "by": "a"}
    assert widget["metadata"]["finalizers"] == ["example.com/kept"]
    assert cluster.get("configmap", "of-a")["data"] == {"size": "2"}


def test_only_the_nodes_that_were_added_with_stages_are_driven_by_them() -> None:
    """Beside them kubelets run programs; a fork goes on with both."""
    cluster = simulated(1, name="real-{}")
    cluster.add_nodes(1, name="staged-{}", stages=["node-fast", "pod-fast"])
    for node in ("real-0", "staged-0"):
        cluster.create(pod(node, nodeName=node, command=["sh", "-c", "exit 3"], restartPolicy="Never"))
    fork = cluster.fork()
    fork.settle()
    assert (phase(fork, "real-0"), phase(fork, "staged-0")) == ("Failed", "Running")


def test_what_is_wrong_in_a_stage_is_said_at_once() -> None:
    """With the stage, the field and the reason; a template that fails is told as an event."""
    for wrong, told in (
        ({"weight": -1}, "spec.weight"),
        ({"surprise": 1}, "spec.surprise"),
        ({"selector": {"matchExpressions": [{"key": ".a |", "operator": "Exists"}]}}, "is not a query"),
        ({"selector": {"matchExpressions": [{"cel": {"expression": "1 +"}}]}}, "cannot be compiled"),
        ({"next": {"statusTemplate": "{{ if .a }}"}}, "unexpected end"),
    ):
        with pytest.raises(SimkitError, match=f"stage 'odd'.*{told}"):
            stage_of(stage("odd", **wrong))
    cluster = simulated(1, stages=[stage("odd", next={"statusTemplate": "{{ .status.phase.deep }}"})])
    cluster.create(pod("web"))
    cluster.settle()
    assert any("can't evaluate field deep" in each for each in messages(cluster, "StageFailed"))


def test_all_stages_of_simkit_can_be_read() -> None:
    """Each by its name."""
    assert [len(read_stages(each)) for each in BUNDLED] == [3, 4, 1, 1]


def definition() -> dict[str, Any]:
    """The definition of stages, without the details of KWOK's."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "stages.kwok.x-k8s.io"},
        "spec": {
            "group": "kwok.x-k8s.io",
            "names": {"kind": "Stage", "plural": "stages", "singular": "stage", "listKind": "StageList"},
            "scope": "Cluster",
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
        },
    }


def failing(name: str, expression: str, delay: int = 0) -> dict[str, Any]:
    """A stage that fails running pods for which an expression holds."""
    selector = {"matchLabels": {"chaos": "yes"}, "matchExpressions": [
        {"cel": {"expression": "self.status.phase == 'Running'"}}, {"cel": {"expression": expression}}]}  # fmt: skip
    steps = {"statusTemplate": "phase: Failed\nreason: Chaos", "statusSubresource": "status"}
    return stage(name, selector=selector, delay={"durationMilliseconds": delay}, next=steps)


def test_stages_are_objects_of_the_cluster_too() -> None:
    """They count while they are there, beside kubelets, also for forks; a wrong one is told as an event about it."""
    cluster = simulated(1)
    cluster.create(definition())
    cluster.settle()
    for name in ("one", "two"):
        cluster.create(pod(name, labels={"chaos": "yes"}))
    cluster.settle()
    assert {phase(cluster, name) for name in ("one", "two")} == {"Running"}
    cluster.create(failing("chaos", "self.metadata.name == 'one'", delay=30_000))
    cluster.settle()
    fork = cluster.fork()
    assert phase(cluster, "one") == "Running"
    for each in (cluster, fork):
        each.advance(seconds=30)
        assert (phase(each, "one"), phase(each, "two")) == ("Failed", "Running")
    cluster.apply(failing("chaos", "SinceSecond(self) > 90.0"))
    cluster.advance(seconds=20)
    assert phase(cluster, "two") == "Running"
    cluster.delete("stages.kwok.x-k8s.io", "chaos")
    cluster.create(failing("wrong", "Usage(self, 'cpu') > 1.0"))
    cluster.advance(minutes=5)
    assert phase(cluster, "two") == "Running"
    (told,) = messages(cluster, "StageInvalid")
    assert "the stage: stage 'wrong': the expression \"Usage(self, 'cpu') > 1.0\" cannot be compiled" in told


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("SinceSecond(self)", 60.0),
        ("self.SinceSecond()", 60.0),
        ("UnixSecond(Now())", 1704067260.0),
        ("self.metadata.creationTimestamp.UnixSecond()", 1704067200.0),
        ("Now() - self.metadata.creationTimestamp == duration('60s')", True),
        ("string(Quantity('100m') + Quantity('1') == Quantity('1100m'))", "true"),
        ("self.spec.containers[0].resources.requests['cpu'] * 3 == Quantity('1.5')", True),
        ("self.spec.containers[0].resources.requests['cpu'] / 4.0 == Quantity('125m')", True),
        ("Quantity('1') - self.spec.containers[0].resources.requests['cpu'] >= '500m'.Quantity()", True),
        ("-Quantity('1Ki') < Quantity('0')", True),
        ("Rand() < 1.0 && Rand() >= 0.0", True),
    ],
)
def test_expressions_have_the_functions_of_kwok(expression: str, value: object) -> None:
    """Times, chance and quantities, as functions and as methods."""
    requests = {"requests": {"cpu": "500m"}}
    seen = as_seen({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c", "resources": requests}]},
    })  # fmt: skip
    with evaluating(1704067260.0, Random(1)):
        assert compiled_expression(expression).evaluate({"self": seen}).value == value
