"""kubectl of notebooks: the program of this machine, and the commands that simkit has without it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import simkit
from simkit.meta.errors import SimkitError
from simkit.notebook.kubectl import program
from simkit.notebook.kubectl.command import kubectl, without_program
from simkit.notebook.magics import completions

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: "
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
       "spec": {"containers": [{"name": "web", "image": "nginx"}]}}  # fmt: skip
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
    followed = kubectl(cluster, "edit cm b")
    assert (followed.code, "%%apply" in followed.text) == (1, True)


@pytest.mark.slow
@needs_kubectl
def test_a_command_that_follows_is_ended(cluster: simkit.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell has to end, and says that it was ended."""
    monkeypatch.setattr(program, "_FOLLOWING", 6)
    followed = kubectl(cluster, "get ns -w -o name")
    assert followed.text.startswith("namespace/")
    assert followed.text.endswith("kubectl in a terminal\n")


def test_what_a_terminal_would_heed_is_written_out(cluster: simkit.Cluster) -> None:
    """Texts of the cluster move no cursor and set no clipboard."""
    event = {"metadata": {"name": "e", "namespace": "default"}, "message": "a\x1b]52;c;eA==\x07b", "type": "Normal",
             "reason": "R", "involvedObject": {"kind": "Namespace", "name": "default", "namespace": "default"}}  # fmt: skip
    cluster.create({"apiVersion": "v1", "kind": "Event", **event})
    for run in (kubectl, without_program):
        for line in ("get events", "describe namespace default", "get events -o yaml"):
            assert "\x1b" not in run(cluster, line).text


def test_a_condition_is_waited_for_on_a_simulated_clock() -> None:
    """The clock is turned until it holds, or the time is over."""
    made = simkit.Cluster(options=simkit.Options(clock=simkit.SimulatedClock()))
    made.add_nodes(1)
    made.create(POD)
    assert str(kubectl(made, "wait --for=condition=Ready pod/web --timeout=60s")) == "pod/web condition met\n"
    late = kubectl(made, "wait --for=condition=Nonsense pod/web --timeout=5s")
    assert (late.text, late.code) == ("error: timed out waiting for the condition on pods/web\n", 1)


def test_documents_are_printed(cluster: simkit.Cluster) -> None:
    """An object comes without its managed fields, several as a list."""
    without_program(cluster, "apply -f -", MAP + "v}")
    text = without_program(cluster, "get cm b -o yaml").text
    assert "data:\n  k: v\nkind: ConfigMap\n" in text
    assert "managedFields" not in text
    assert '"kind": "List"' in without_program(cluster, "get cm -o json").text
    assert without_program(cluster, "get cm b -o jsonpath={.data.k}").text == "v"
    shown = without_program(cluster, "get cm b -o custom-columns=NAME:.metadata.name,K:.data.k").text
    assert shown.split() == ["NAME", "K", "b", "v"]


def test_objects_are_described_and_changed(cluster: simkit.Cluster) -> None:
    """The fields of any kind with its Events; labels, patches and deletions."""
    cluster.create(POD)
    assert without_program(cluster, "label pod web tier=front").text == "pod/web labeled\n"
    assert "tier: front" in without_program(cluster, "describe pod web").text.replace("Tier:  front", "tier: front")
    patched = without_program(cluster, """patch pod web -p '{"metadata":{"annotations":{"a":"b"}}}'""")
    assert patched.text == "pod/web patched\n"
    assert without_program(cluster, "delete pod web").text == 'pod "web" deleted\n'
    assert without_program(cluster, "auth can-i delete pods --as user:ann").code == 1
    assert "services" in without_program(cluster, "api-resources").text


def test_secrets_are_not_described() -> None:
    """Only the sizes of their values are."""
    made = simkit.Cluster(seed=1)
    made.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "hunter2"}})
    told = without_program(made, "describe secret s").text
    assert ("aHVudGVyMg" in told, "bytes" in told) == (False, True)


def test_rights_are_those_of_the_user(cluster: simkit.Cluster) -> None:
    """Requests are made in the name of ``--as``, and refusals are the server's."""
    printed = without_program(cluster, "get secrets --as user:ann")
    assert not printed
    assert printed.text.startswith('Error from server (Forbidden): secrets is forbidden: User "ann" cannot list')
    assert "&quot;ann&quot;" in printed._repr_html_()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("frobnicate", 'error: "frobnicate" needs kubectl'),
        ("drain node-0", "simkit has: annotate, api-resources, apply"),
        ("create configmap a", "create -f FILE"),
        ("get pods --nope", "error: unknown flag: --nope"),
        ("get", "error: Required resource not specified."),
        ("get pods -o sideways", "error: unable to match a printer"),
        ("delete cm", "error: resource(s) were provided, but no name was specified"),
        ("apply -f nowhere.yaml", 'error: the path "nowhere.yaml" does not exist'),
        ("get 'pods", "error: No closing quotation"),
        ("get pods -o jsonpath={.items[0", "unterminated array"),
        ("get pods -o custom-columns=NAME", "expected <header>:<json-path-expr>"),
        ("get ns -o name --sort-by=.nothing", "couldn't find any field with path"),
        ("wait --for=nonsense ns/default", "next: --for=condition=Ready"),
    ],
)
def test_mistakes_are_told(cluster: simkit.Cluster, line: str, told: str) -> None:
    """Wrong use ends with exit code 1 and a sentence."""
    printed = without_program(cluster, line)
    assert printed.code == 1
    assert told in printed.text


@pytest.mark.parametrize(
    ("line", "begun", "word"),
    [
        ("%kubectl ge", "ge", "get"),
        ("%kubectl get nam", "nam", "namespaces"),
        ("%kubectl get ns kube-s", "kube-s", "kube-system"),
        ("%kubectl get ns/kube-s", "ns/kube-s", "ns/kube-system"),
        ("%kubectl get cm -n kube-system kube-r", "kube-r", "kube-root-ca.crt"),
        ("%kubectl get cm -n kube-p", "kube-p", "kube-public"),
        ("%kubectl get cm -o ya", "ya", "yaml"),
        ("%kubectl auth can-i del", "del", "delete"),
        ("%kubectl auth can-i delete deplo", "deplo", "deployments"),
        ("%kubectl get --al", "--al", "--all-namespaces"),
    ],
)
def test_words_are_completed(cluster: simkit.Cluster, line: str, begun: str, word: str) -> None:
    """Commands, kinds, names, namespaces, forms of output, verbs and flags."""
    assert word in completions(cluster, line, begun)


@pytest.mark.slow
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
