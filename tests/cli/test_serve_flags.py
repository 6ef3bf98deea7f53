"""Flags of the server: what they change, and what is said of those that change nothing."""

from __future__ import annotations

import argparse

import pytest

from simkit.cli import inert_flags, object_flags
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.objects import at

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "web"}]},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"type": "NodePort", "ports": [{"port": 80}]},
}


def cluster(*flags: str) -> Cluster:
    """A cluster with the options that flags give."""
    parser = argparse.ArgumentParser()
    object_flags.add_arguments(parser)
    options = {name: value for name, (value, _) in object_flags.options(parser.parse_args(flags)).items()}
    return Cluster(options=Options(seed=1, **options))


def test_pods_stay_on_bad_nodes_as_long_as_the_flags_say() -> None:
    flags = ("--default-not-ready-toleration-seconds", "20", "--default-unreachable-toleration-seconds=30")
    pod = cluster(*flags).create(POD)
    stays = {each["key"]: each["tolerationSeconds"] for each in at(pod, "spec", "tolerations")}
    assert stays == {"node.kubernetes.io/not-ready": 20, "node.kubernetes.io/unreachable": 30}


@pytest.mark.parametrize("text", ["31000-31000", "31000+0", "31000"])
def test_node_ports_come_from_the_range(text: str) -> None:
    service = cluster("--service-node-port-range", text).create(SERVICE)
    assert at(service, "spec", "ports")[0]["nodePort"] == 31000


@pytest.mark.parametrize("text", ["0-10", "200-100", "a-b", "60000+6000", ""])
def test_what_is_no_range_of_ports_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cluster("--service-node-port-range", text)
    assert "port" in capsys.readouterr().err


def test_flags_without_effect_are_named_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    inert_flags.add_arguments(parser)
    inert_flags.tell(
        parser.parse_args(
            ["--etcd-servers=https://a:2379", "--profiling", "-v", "2", "--v=4", "--kubelet-timeout", "5s"]
        )
    )
    assert capsys.readouterr().err.splitlines() == [
        "simkit: --etcd-servers has no effect: objects are kept in memory, or in the file of --storage",
        "simkit: --profiling has no effect: the process is not looked into",
        "simkit: --v has no effect: there is no such log",
        "simkit: --kubelet-timeout has no effect: there are no nodes to connect to",
    ]


def test_flags_without_effect_are_not_in_the_help() -> None:
    parser = argparse.ArgumentParser()
    inert_flags.add_arguments(parser)
    assert "--etcd-servers" not in parser.format_help()
