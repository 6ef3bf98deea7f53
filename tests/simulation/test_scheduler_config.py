"""The scheduler follows a KubeSchedulerConfiguration."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.client.lister import Lister
from simkit.cluster.cluster import Cluster
from simkit.meta.errors import SimkitError
from simkit.schema.behaviour import default_behaviour
from simkit.simulation.scheduler.node_filters import balance_score, fit_score
from simkit.simulation.scheduler.plugin_arguments import DEFAULT, plugins_of
from simkit.simulation.scheduler.scheduler_config import scheduler_config
from tests.simulation.worlds import deployment, node_of, phase, pod, simulated


def configuration(*profiles: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A document with profiles."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**head, "profiles": list(profiles), **fields}


def arguments(plugin: str, **given: Any) -> dict[str, Any]:
    """The arguments of a plugin, as a profile has them."""
    return {"pluginConfig": [{"name": plugin, "args": given}]}


def strategy(kind: str, **more: Any) -> dict[str, Any]:
    """A scoring strategy over CPU alone."""
    return {"scoringStrategy": {"type": kind, "resources": [{"name": "cpu", "weight": 1}], **more}}


def test_profiles_decide_by_the_name_of_the_scheduler() -> None:
    """One fills nodes, the default one spreads; events and messages name the profile, and other names wait for others."""
    cluster = simulated(3)
    fill = {"schedulerName": "fill", **arguments("NodeResourcesFit", **strategy("MostAllocated"))}
    fill["plugins"] = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]}}
    cluster.configure_scheduler(configuration({"schedulerName": "default-scheduler"}, fill))
    for number in range(6):
        cluster.create(pod(f"fill-{number}", requests={"cpu": "1"}, schedulerName="fill"))
        cluster.settle()
    assert len({node_of(cluster, f"fill-{number}") for number in range(6)}) == 1
    for number in range(3):
        cluster.create(pod(f"usual-{number}", requests={"cpu": "1"}))
        cluster.settle()
    assert len({node_of(cluster, f"usual-{number}") for number in range(3)}) > 1
    cluster.create(pod("other", schedulerName="somebody"))
    fork = cluster.fork()
    fork.create(pod("more", requests={"cpu": "1"}, schedulerName="fill"))
    for each in (cluster, fork):
        each.settle()
        assert phase(each, "other") == "Pending"
    assert node_of(fork, "more") == node_of(cluster, "fill-0")
    sources = {each.get("reportingComponent") for each in cluster.list("events") if each["reason"] == "Scheduled"}
    assert sources == {"fill", "default-scheduler"}


def test_a_plugin_may_be_switched_off() -> None:
    """Without the filter for taints a pod goes to a tainted node; without preemption nobody leaves."""
    cluster = simulated(1, taints=[{"key": "a", "effect": "NoSchedule"}])
    cluster.create(pod("p"))
    cluster.settle()
    assert phase(cluster, "p") == "Pending"
    off = {"plugins": {"multiPoint": {"disabled": [{"name": "TaintToleration"}, {"name": "DefaultPreemption"}]}}}
    cluster.configure_scheduler(configuration(off))
    cluster.advance(seconds=5)
    assert phase(cluster, "p") == "Running"
    value = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}
    cluster.create(value)
    cluster.create(pod("low", requests={"cpu": "8"}))
    cluster.settle()
    cluster.create(pod("top", requests={"cpu": "8"}, priorityClassName="high"))
    cluster.settle()
    assert (phase(cluster, "low"), phase(cluster, "top")) == ("Running", "Pending")


def test_arguments_count() -> None:
    """Added affinity, constraints of a list, and resources that are ignored."""
    cluster = simulated(4, zones=["a", "b"])
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    cluster.configure_scheduler(
        configuration(
            {"schedulerName": "default-scheduler"},
            {"schedulerName": "in-a", **arguments("NodeAffinity", addedAffinity=required)},
            {"schedulerName": "strict", **arguments("PodTopologySpread", defaultingType="List", defaultConstraints=[
                {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}])},
            {"schedulerName": "lax", **arguments("NodeResourcesFit", ignoredResourceGroups=["x.test"])},
        )
    )  # fmt: skip
    cluster.create(deployment("a", 6, schedulerName="in-a"))
    cluster.create(deployment("s", 6, schedulerName="strict"))
    cluster.create(pod("lax", requests={"x.test/gpu": "1"}, schedulerName="lax", container={
        "resources": {"requests": {"x.test/gpu": "1"}, "limits": {"x.test/gpu": "1"}}}))  # fmt: skip
    cluster.settle()
    assert phase(cluster, "lax") == "Running"
    nodes = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in cluster.list("pods", "default")}
    assert {node for name, node in nodes.items() if name.startswith("a-")} <= {"node-0", "node-2"}
    spread = [node for name, node in nodes.items() if name.startswith("s-")]
    assert max(map(spread.count, spread)) - min(spread.count(f"node-{number}") for number in range(4)) <= 1
    cluster.create(pod("b", nodeSelector={"topology.kubernetes.io/zone": "b"}, schedulerName="in-a"))
    cluster.settle()
    (told,) = [each for each in cluster.get("pod", "b")["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert "2 node(s) didn't match scheduler-enforced node affinity" in told["message"]
    assert "2 node(s) didn't match Pod's node affinity/selector" in told["message"]


def scores(score: Any, used: str, asked: str) -> list[int]:
    """The scores of an empty node, and of one on which some CPU is requested, for a pod."""
    cluster = simulated(2)
    cluster.create(pod("there", requests={"cpu": used, "memory": "1Gi"}, nodeName="node-1"))
    cluster.settle()
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    from simkit.simulation.scheduler.node_info import PodInfo
    from simkit.simulation.scheduler.view import View

    view = View(simulation.scheduler.cache, Lister(cluster.snapshot()))
    wanted = PodInfo(pod("p", requests={"cpu": asked}))
    nodes = sorted(simulation.scheduler.cache.nodes(), key=lambda info: info.name)
    found: list[int] = score(wanted, view, nodes)
    return found


def test_strategies_score_as_in_the_sources() -> None:
    """With eight CPUs: an empty node, and one with four in use, for a pod that asks for two."""
    cpu = [{"name": "cpu", "weight": 1}]
    given = {"resources": cpu}
    assert scores(fit_score({"type": "LeastAllocated", **given}), "4", "2") == [75, 25]
    assert scores(fit_score({"type": "MostAllocated", **given}), "4", "2") == [25, 75]
    shape = {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10}, {"utilization": 100, "score": 1}]
    }
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": shape, **given}
    assert scores(fit_score(ratio), "4", "2") == [50, 55]
    both = [*cpu, {"name": "memory", "weight": 1}]
    assert scores(balance_score(both), "4", "2") == [87, 64]


def test_plugins_are_merged_as_in_the_sources() -> None:
    """Own weights replace those of all points, what is only enabled for one point comes last, and ``*`` leaves none."""
    score = [name for name, weight in DEFAULT if weight]
    plain = plugins_of(None, "x")
    assert [name for name, _ in plain["score"] if name != "VolumeBinding"] == score
    given = {"score": {"enabled": [{"name": "ImageLocality", "weight": 7}], "disabled": [{"name": "NodeAffinity"}]}}
    found = plugins_of(given, "x")
    assert found["score"][0] == ("ImageLocality", 7)
    assert "NodeAffinity" not in dict(found["score"])
    assert "NodeAffinity" in dict(found["filter"])
    none = {"multiPoint": {"enabled": [{"name": "NodeName"}], "disabled": [{"name": "*"}]}}
    some = {
        **none,
        "queueSort": {"enabled": [{"name": "PrioritySort"}]},
        "bind": {"enabled": [{"name": "DefaultBinder"}]},
    }
    assert plugins_of(some, "x")["filter"] == [("NodeName", 1)]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "Pod"}, "the document is no KubeSchedulerConfiguration"),
        (
            {**configuration(), "apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
            'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" at '
            "release 1.30; write kubescheduler.config.k8s.io/v1",
        ),
        (configuration({"name": "x"}), 'strict decoding error: unknown field "profiles[0].name"'),
        (configuration(parallelism="many"), "parallelism: must be a whole number"),
        (
            configuration(extenders=[{"urlPrefix": "http://x", "prioritizeVerb": "p"}]),
            "extenders: the simulated scheduler asks none; remove them, or run kube-scheduler itself",
        ),
        (
            configuration({"schedulerName": "a"}, {"schedulerName": "a"}, {}),
            '[profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName", '
            "profiles[2].schedulerName: Required value]",
        ),
        (
            configuration(percentageOfNodesToScore=101),
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            configuration({"plugins": {"score": {"enabled": [{"name": "Coscheduling"}]}}}),
            'creating profile for scheduler name default-scheduler: ScorePlugin "Coscheduling" does not exist',
        ),
        (
            configuration({"plugins": {"score": {"enabled": [{"name": "NodePorts"}]}}}),
            'creating profile for scheduler name default-scheduler: plugin "NodePorts" does not extend ScorePlugin plugin',
        ),
        (
            configuration({"plugins": {"bind": {"disabled": [{"name": "*"}]}}}),
            "creating profile for scheduler name default-scheduler: at least one bind plugin is needed for profile with "
            'scheduler name "default-scheduler"',
        ),
        (
            configuration(arguments("NodeResourcesFit", strategy="x")),
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: strict decoding error: "
            'unknown field "strategy"',
        ),
        (
            configuration(arguments("NodeResourcesFit", **strategy("Least"))),
            'profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Least": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        ),
        (
            configuration(arguments("NodeResourcesFit", **strategy("RequestedToCapacityRatio"))),
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio: Required value: must be specified "
            "when type is RequestedToCapacityRatio",
        ),
        (
            configuration(arguments("InterPodAffinity", hardPodAffinityWeight=101)),
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
    ],
)  # fmt: skip
def test_wrong_documents_are_refused(document: dict[str, Any], message: str) -> None:
    """With the words of kube-scheduler where it has some."""
    with pytest.raises(SimkitError) as found:
        scheduler_config(document, default_behaviour("1.30"))
    assert str(found.value) == message


def test_the_percentage_of_nodes_bounds_the_search() -> None:
    """Of 200 nodes, half are looked at for five percent of a smaller share, since a hundred are the least."""
    from simkit.simulation.scheduler.algorithm import nodes_to_find

    assert [nodes_to_find(*given) for given in ((50, 10), (200, 60), (200, 10), (5000, 0), (5000, 70))] == [
        50, 120, 100, 500, 3500]  # fmt: skip


def test_the_command_line_reads_a_file(tmp_path: Any) -> None:
    """A wrong file is told with its name."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofile: []\n")
    cluster = Cluster(seed=1)
    with pytest.raises(SimkitError, match=r'scheduler.yaml: strict decoding error: unknown field "profile"'):
        cluster.configure_scheduler(file)
