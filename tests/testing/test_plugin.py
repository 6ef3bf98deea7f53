"""The pytest plugin collects expectations and hands out clusters."""

from __future__ import annotations

import orjson
import pytest

from tests.analysis.worlds import binding, role, rule

pytest_plugins = ["pytester"]
SUITE = """\
expectations:
- {name: ann reads pods, can: {subject: "user:ann", verb: get, resource: pods, namespace: dev}}
- {name: nobody reads secrets, nobody: {verb: get, resource: secrets, namespace: dev}}
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
    done.stdout.fnmatch_lines(["*expectation: nobody reads secrets*", "user:eve can get by RoleBinding s of Role s"])


def test_nothing_is_collected_without_a_cluster(project: pytest.Pytester) -> None:
    """Files of expectations wait until it is said what they are about; the fixture says what is missing."""
    done = project.runpytest("-p", "simkit.testing.plugin")
    done.assert_outcomes(errors=2)
    done.stdout.fnmatch_lines(["*say what the tests are about*"])


def test_a_wrong_file_is_an_error(project: pytest.Pytester) -> None:
    """The collection names the entry."""
    project.makefile(".yaml", expectations="expectations:\n- {name: nothing}\n")
    done = project.runpytest("-p", "simkit.testing.plugin", "--cluster-manifests", "dump.json", "expectations.yaml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*give exactly one of can*"])
