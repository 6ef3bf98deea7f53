"""The pytest plugin collects expectations and hands out clusters."""

from __future__ import annotations

import orjson
import pandas  # noqa: F401 - a run within a test forgets what it has imported, and some cannot be imported twice
import pytest
import yaml  # noqa: F401 - its loader in C builds with the classes of the first import

from tests.analysis.worlds import binding, role, rule

pytest_plugins = ["pytester"]
SUITE = """\
expectations:
- {name: ann reads pods, can: {subject: "user:ann", verb: get, resource: pods, namespace: dev}}
- {name: nobody reads secrets, never: {verb: get, resource: secrets, namespace: dev}}
"""
TEST = """\
def test_a_change(cluster):
    cluster.delete("rolebinding", "b", "dev")
    assert not cluster.can("ann", "get", "pods", namespace="dev")

def test_each_has_a_fork(cluster):
    assert cluster.can("ann", "get", "pods", namespace="dev")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a dump, expectations of it, and a test."""
    objects = [
        role("r", rule("get", "pods")),
        binding("b", "r", "user:ann", namespace="dev"),
        role("s", rule("get", "secrets"), namespace="dev"),
        binding("s", "s", "user:eve", namespace="dev", local=True),
    ]
    items = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).decode()
    pytester.makefile(".json", dump=items)
    pytester.makefile(".yaml", expectations=SUITE)
    pytester.makepyfile(test_own=TEST)
    return pytester


@pytest.mark.parametrize("option", ["--cluster-manifests", "--cluster"])
def test_expectations_are_tests(project: pytest.Pytester, option: str) -> None:
    """One passes, one fails with whom and why; tests in Python get forks of the same cluster."""
    if option == "--cluster":  # a dump holds bindings of both kinds
        items = orjson.loads((project.path / "dump.json").read_bytes())
        items["items"].append(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBindingList", "items": []}
        )
        (project.path / "dump.json").write_bytes(orjson.dumps(items))
    done = project.runpytest("-p", "simkit.testing.plugin", option, "dump.json")
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        ["*expectation: nobody reads secrets*", "user:eve can get secrets in dev: RoleBinding dev/s grants Role dev/s*"]
    )


def test_no_expectations_are_collected_without_a_cluster(project: pytest.Pytester) -> None:
    """Files of expectations wait until it is said what they are about; the fixture is a new cluster."""
    done = project.runpytest("-p", "simkit.testing.plugin")
    done.assert_outcomes(failed=2)  # it has no binding b
    done.stdout.fnmatch_lines(["*not found*"])


OPTIONS = """\
import pytest

def test_from_the_ini_file(cluster):
    assert cluster.release == "1.33"
    assert [each["metadata"]["name"] for each in cluster.list("nodes")] == ["node-0", "node-1"]
    assert cluster.get("configmap", "settings")["data"] == {"a": "b"}
    cluster.delete("configmap", "settings")

@pytest.mark.simkit(nodes=1, simulated_clock=True)
def test_a_marker_counts_first(cluster):
    cluster.advance(hours=1)
    assert len(cluster.list("nodes")) == 1
    assert cluster.get("configmap", "settings")

@pytest.mark.simkit(colour="red")
def test_wrong(cluster):
    pass
"""


def test_options_and_markers_say_what_the_cluster_is(pytester: pytest.Pytester) -> None:
    """Release, nodes and manifests; each test has a fork; a marker that is misspelt is an error."""
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}"
    pytester.makefile(".yaml", settings=manifest)
    pytester.makeini("[pytest]\nsimkit_release = 1.33\nsimkit_nodes = 2\nsimkit_manifests = settings.yaml\n")
    pytester.makepyfile(test_options=OPTIONS)
    done = pytester.runpytest("-p", "simkit.testing.plugin")
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines(["*the marker simkit knows*not colour*"])


def test_a_wrong_file_is_an_error(project: pytest.Pytester) -> None:
    """The collection names the entry."""
    project.makefile(".yaml", expectations="expectations:\n- {name: nothing}\n")
    done = project.runpytest("-p", "simkit.testing.plugin", "--cluster-manifests", "dump.json", "expectations.yaml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*give exactly one of can*"])


OWN_CONFIGURATION = """\
import os
from kubernetes import client, config

def test_code_that_looks_for_its_configuration(cluster, kubeconfig):
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "of-the-test"}})
    config.load_kube_config()
    assert "of-the-test" in [each.metadata.name for each in client.CoreV1Api().list_namespace().items]
    assert os.environ["KUBECONFIG"] == str(kubeconfig)

def test_nothing_stays():
    assert "KUBECONFIG" not in os.environ
    assert config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION == "~/.kube/config"
"""


@pytest.mark.slow
def test_code_finds_the_cluster_by_itself(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fixture, code that loads its configuration reaches the cluster."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    pytester.makepyfile(OWN_CONFIGURATION)
    pytester.runpytest_subprocess("-p", "simkit.testing.plugin").assert_outcomes(passed=2)
