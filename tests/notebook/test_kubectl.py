"""kubectl of notebooks: the program of this machine, which talks to a server of the cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import simkit
from simkit.meta.errors import SimkitError
from simkit.notebook import kubectl as program
from simkit.notebook.kubectl import completions, kubectl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: "
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster whose controllers have come to rest."""
    made = simkit.Cluster(seed=1)
    made.settle()
    return made


@pytest.mark.slow
@needs_kubectl
def test_kubectl_of_the_machine_talks_to_the_cluster(cluster: simkit.Cluster) -> None:
    """It reads the cell, writes into the same cluster, and its exit code is kept."""
    assert str(kubectl(cluster, "apply -f -", MAP + "v}")) == "configmap/b created\n"
    assert cluster.get("configmap", "b", namespace="default")["data"] == {"k": "v"}
    assert "Starting" not in kubectl(cluster, "create deployment web --image=nginx --replicas=2").text
    assert kubectl(cluster, "rollout history deployment/web").text.startswith("deployment.apps/web")
    refused = kubectl(cluster, "get pods --as ann")
    assert (refused.code, "cannot list resource" in refused.text) == (1, True)
    assert "&quot;ann&quot;" in refused._repr_html_()


@pytest.mark.slow
@needs_kubectl
def test_a_cluster_on_a_simulated_clock_answers() -> None:
    """Its certificates are good for the time that kubectl knows."""
    made = simkit.Cluster(options=simkit.Options(clock=simkit.SimulatedClock()))
    assert "namespace/default" in kubectl(made, "get namespaces -o name").text


@pytest.mark.slow
@needs_kubectl
def test_a_command_that_follows_is_ended(cluster: simkit.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell has to end, and says that it was ended."""
    monkeypatch.setattr(program, "_FOLLOWING", 2)
    followed = kubectl(cluster, "get ns -w -o name")
    assert followed.text.startswith("namespace/")
    assert followed.text.endswith("kubectl in a terminal\n")


@pytest.mark.slow
@needs_kubectl
def test_what_a_terminal_would_heed_is_written_out(cluster: simkit.Cluster) -> None:
    """Texts of the cluster move no cursor and set no clipboard."""
    event = {"metadata": {"name": "e", "namespace": "default"}, "message": "a\x1b]52;c;eA==\x07b", "type": "Normal",
             "reason": "R", "involvedObject": {"kind": "Namespace", "name": "default", "namespace": "default"}}  # fmt: skip
    cluster.create({"apiVersion": "v1", "kind": "Event", **event})
    for line in ("get events", "describe namespace default", "get events -o yaml"):
        assert "\x1b" not in kubectl(cluster, line).text


def test_mistakes_are_told(cluster: simkit.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that need a terminal, broken lines, and a machine without kubectl."""
    told = kubectl(cluster, "edit cm b")
    assert (told.code, "%%apply" in told.text) == (1, True)
    assert kubectl(cluster, "get 'pods") == program.Printed("error: No closing quotation\n", 1)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SimkitError, match="kubectl is not on this machine"):
        kubectl(cluster, "get pods")
    assert completions(cluster, "%kubectl ge", "ge") == []


@pytest.mark.slow
@needs_kubectl
@pytest.mark.parametrize(
    ("line", "begun", "word"),
    [
        ("%kubectl ge", "ge", "get"),
        ("%kubectl get nam", "nam", "namespaces"),
        ("%kubectl get ns kube-s", "kube-s", "kube-system"),
        ("%kubectl get cm -n kube-system kube-r", "kube-r", "kube-root-ca.crt"),
        ("%kubectl get cm -n kube-p", "kube-p", "kube-public"),
        ("%kubectl get cm -o ya", "ya", "yaml"),
        ("%kubectl get --all-n", "--all-n", "--all-namespaces"),
    ],
)
def test_words_are_completed(cluster: simkit.Cluster, line: str, begun: str, word: str) -> None:
    """Commands, kinds, names, namespaces, forms of output and flags."""
    assert word in completions(cluster, line, begun)


@pytest.mark.slow
@needs_kubectl
def test_magics_run_in_a_notebook(cluster: simkit.Cluster) -> None:
    """``%load_ext simkit`` gives line and cell magics on the variable ``cluster``, and their completion."""
    shell = InteractiveShell.instance()
    run: Callable[..., Any] = shell.run_cell_magic
    shell.run_line_magic("load_ext", "simkit")
    shell.user_ns.pop("cluster", None)
    with pytest.raises(SimkitError, match="no cluster named 'cluster'"):
        shell.run_line_magic("kubectl", "get ns")
    shell.user_ns["cluster"] = shell.user_ns["other"] = cluster
    assert str(run("apply", "-n default", MAP + "v}")) == "configmap/b created\n"
    assert str(shell.run_line_magic("kubectl", "get cm b -o name --cluster other")) == "configmap/b\n"
    printed = run("kubectl", "", "# two commands\nkubectl label ns default a=b\nget ns default -o name\n")
    assert str(printed) == "namespace/default labeled\nnamespace/default\n"
    line = "%kubectl get ns kube-s"
    with provisionalcompleter():
        assert "kube-system" in [each.text for each in shell.Completer.completions(line, len(line))]
