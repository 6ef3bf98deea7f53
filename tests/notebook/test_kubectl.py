"""The kubectl of notebooks prints what kubectl prints, byte for byte, and completes what it knows."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import simkit
from simkit.meta.errors import SimkitError
from simkit.notebook.completion import completions
from simkit.notebook.kubectl.command import kubectl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: "
COMMANDS = [
    *(("get pods", ""), ("get pods missing", ""), ("get foo", ""), ("create namespace shop", "")),
    *(("create configmap a --from-literal=x=1 -n shop", ""), ("get cm a -n shop -o name", "")),
    *(("create role r --verb=get,list --resource=pods,deployments.apps -n shop", ""), ("describe role r -n shop", "")),
    *(("apply -n shop -f -", MAP + "v}"), ("apply -n shop -f -", MAP + "v}"), ("apply -n shop -f -", MAP + "w}")),
    *(("label cm a team=red -n shop", ""), ("label cm a team=blue -n shop", ""), ("get cm -n shop -l team=red", "")),
    *(("auth can-i get nodes", ""), ("auth can-i get pods --as ann", ""), ("auth whoami", "")),
    *(("api-resources", ""), ("explain pods.spec.containers.ports", ""), ("delete cm a b -n shop", "")),
]


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster whose controllers have come to rest."""
    made = simkit.Cluster(seed=1)
    made.settle()
    return made


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_it_prints_what_kubectl_prints(cluster: simkit.Cluster, tmp_path: Path) -> None:
    """Text and exit code of each command against a served cluster and against one in this process."""
    own = cluster.fork()
    server = cluster.serve(kubeconfig=tmp_path / "kubeconfig")
    try:
        for line, text in COMMANDS:
            command = ["kubectl", "--kubeconfig", str(tmp_path / "kubeconfig"), *shlex.split(line)]
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            printed = kubectl(own, line, text)
            assert (printed.text, printed.code) == (done.stdout + done.stderr, done.returncode), line
    finally:
        server.stop()


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
