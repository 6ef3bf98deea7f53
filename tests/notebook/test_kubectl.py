"""The kubectl of notebooks: conditions, mistakes, rights, completion and magics. What it prints has a test of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import simkit
from simkit.meta.errors import SimkitError
from simkit.notebook.completion import completions
from simkit.notebook.kubectl.command import kubectl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: "


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster whose controllers have come to rest."""
    made = simkit.Cluster(seed=1)
    made.settle()
    return made


def test_a_condition_is_waited_for_on_a_simulated_clock() -> None:
    """The clock is turned until it holds, or the time is over."""
    made = simkit.Cluster(options=simkit.Options(clock=simkit.SimulatedClock()))
    made.add_nodes(1)
    printed = kubectl(made, "run web --image=nginx")
    assert str(printed) == "pod/web created\n"
    assert str(kubectl(made, "wait --for=condition=Ready pod/web --timeout=60s")) == "pod/web condition met\n"
    late = kubectl(made, "wait --for=condition=Nonsense pod/web --timeout=5s")
    assert (late.text, late.code) == ("error: timed out waiting for the condition on pods/web\n", 1)


def test_documents_are_printed(cluster: simkit.Cluster) -> None:
    """An object comes without its managed fields, several as a list."""
    kubectl(cluster, "create configmap a --from-literal=x=1")
    text = kubectl(cluster, "get cm a -o yaml").text
    assert text.startswith('apiVersion: v1\ndata:\n  x: "1"\nkind: ConfigMap\n')
    assert "managedFields" not in text
    assert '"kind": "List"' in kubectl(cluster, "get cm -o json").text


def test_rights_are_those_of_the_user(cluster: simkit.Cluster) -> None:
    """Requests are made in the name of ``--as``, and refusals are the server's."""
    printed = kubectl(cluster, "get secrets --as user:ann")
    assert not printed
    assert printed.text.startswith('Error from server (Forbidden): secrets is forbidden: User "ann" cannot list')
    assert "&quot;ann&quot;" in printed._repr_html_()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("frobnicate", 'error: unknown command "frobnicate"'),
        ("get pods --nope", "error: unknown flag: --nope"),
        ("get", "error: Required resource not specified."),
        ("get pods -o sideways", "error: unable to match a printer"),
        ("delete cm", "error: resource(s) were provided, but no name was specified"),
        ("apply -f nowhere.yaml", 'error: the path "nowhere.yaml" does not exist'),
        ("get 'pods", "error: No closing quotation"),
        ("get pods -w", "nothing can be watched; next: `wait"),
        ("edit cm a", "a cell is the editor; next: `get KIND NAME -o yaml`"),
        ("exec -it web -- sh", "next: cluster.serve"),
        ("get pods -o jsonpath={.items[0", "unterminated array"),
        ("get pods -o custom-columns=NAME", "expected <header>:<json-path-expr>"),
        ("get ns -o name --sort-by=.nothing", "couldn't find any field with path"),
        ("wait --for=nonsense ns/default", "next: --for=condition=Ready"),
    ],
)
def test_mistakes_are_told(cluster: simkit.Cluster, line: str, told: str) -> None:
    """Wrong use ends with exit code 1 and a sentence."""
    printed = kubectl(cluster, line)
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
    printed = run("kubectl", "", "# two commands\nkubectl create ns a\nget ns a -o name\n")
    assert str(printed) == "namespace/a created\nnamespace/a\n"
    line = "%kubectl get ns kube-s"
    with provisionalcompleter():
        assert "kube-system" in [each.text for each in shell.Completer.completions(line, len(line))]
