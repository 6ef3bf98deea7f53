"""Flags of the server: what they change, and what is said of those that change nothing."""

from __future__ import annotations

import argparse

import pytest

import simkit
from simkit.cli import inert_flags, main
from simkit.cli.pages import PageParser
from simkit.cli.serve import add_options
from simkit.cli.server_options import server_options
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.objects import at
from tools.facts import read

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


def parser() -> PageParser:
    """The parser of the command."""
    made = PageParser()
    add_options(made)
    return made


def cluster(*flags: str) -> Cluster:
    """A cluster with the options that flags give."""
    return Cluster(options=Options(**{**server_options(parser().parse_args(flags)), "release": "1.30", "seed": 1}))


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
def test_malformed_port_ranges_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cluster("--service-node-port-range", text)
    assert "port" in capsys.readouterr().err


def test_flags_without_effect_are_named_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    inert_flags.tell(
        parser().parse_args(
            [
                "--etcd-servers-overrides=/events#https://a:2379",
                "--profiling",
                "--kubelet-timeout",
                "5s",
            ]
        )
    )
    assert set(capsys.readouterr().err.splitlines()) == {
        "simkit: --etcd-servers-overrides has no effect: objects are kept in memory, or in the file of --storage",
        "simkit: --profiling has no effect: the process is not looked into",
        "simkit: --kubelet-timeout has no effect: there are no nodes to connect to",
    }


def test_every_flag_of_the_real_server_is_known() -> None:
    """Those that were measured, in all their spellings; what does nothing here says so."""
    flags = read("flags-1.30.json")["flags"]
    known = {option for action in parser()._actions for option in action.option_strings}
    assert [name for name in flags if f"--{name}" not in known] == []


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--version"], ["serve", "--version"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out == f"simkit {simkit.__version__}\n"


def test_flags_without_effect_are_not_in_the_help() -> None:
    made = argparse.ArgumentParser()
    inert_flags.add_arguments(made)
    assert "--etcd-servers" not in made.format_help()
