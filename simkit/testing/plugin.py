"""A pytest plugin: a cluster for each test, clients that reach it, and expectations of access as tests.

The fixture ``cluster`` is a fork of one that is made once, so that it costs a test next to nothing. Which one that is
say the ini file (``simkit_nodes = 3``), the command line (``--simkit-nodes 3``) or a marker (``@pytest.mark.simkit(
nodes=3)``). ``pytest --cluster dump.yaml`` collects files called ``expectations.yaml`` or ``*.expectations.yaml``, one
test for each expectation; ``--cluster-manifests`` takes manifests instead of a dump.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

pytest.register_assert_rewrite("simkit.testing.suites")  # a failure then shows the values that were compared

_NAME: Final = "expectations.yaml"
_CLIENTS: Final = ("kubernetes", "kubernetes.aio", "kubernetes_asyncio")
_REMEMBER_THE_VARIABLE: Final = tuple(
    f"{client}.config{module}" for client in _CLIENTS for module in ("", ".kube_config")
)
"""Modules that read the variable ``KUBECONFIG`` once, when they are imported."""
_LISTS: Final = {
    "crds": "custom resource definitions to apply",
    "manifests": "manifests to apply",
    "dump": "the dump that the cluster starts with",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("simkit", "a Kubernetes cluster for tests")
    group.addoption("--cluster", action="append", default=[], metavar="PATH", help="the dump that is tested")
    group.addoption(
        "--cluster-manifests", action="append", default=[], metavar="PATH", help="manifests to test instead of a dump"
    )
    group.addoption("--simkit-release", metavar="X.Y", help="the release that the cluster of tests behaves as")
    parser.addini("simkit_release", "the release that the cluster of tests behaves as")
    group.addoption("--simkit-nodes", type=int, metavar="N", help="the number of simulated nodes (default: none)")
    parser.addini("simkit_nodes", "the number of simulated nodes")
    for name, told in _LISTS.items():
        group.addoption(f"--simkit-{name}", action="append", metavar="PATH", help=told)
        parser.addini(f"simkit_{name}", told, type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", "simkit(release, crds, manifests, dump, nodes, simulated_clock): the cluster that a test wants"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Files of expectations are tests, if a cluster is given."""
    if file_path.name != _NAME and not file_path.name.endswith(f".{_NAME}"):
        return None
    from simkit.testing.options import expectation_sources

    if not expectation_sources(parent.config):
        return None
    from simkit.testing.expectation_files import ExpectationFile

    made: pytest.Collector = ExpectationFile.from_parent(parent, path=file_path)
    return made


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster that the test may change: a fork of the one that options and the marker ``simkit`` ask for."""
    from simkit.testing.options import base_cluster, expectation_sources, loaded_cluster, wanted_by

    marker = request.node.get_closest_marker("simkit")
    if marker is None and expectation_sources(request.config):
        found = loaded_cluster(request.config).fork()
    else:
        found = base_cluster(request.config, wanted_by(request.config, marker)).fork()
    found.requests.clear()
    return found


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The client configuration of an administrator; the cluster is served over HTTPS as long as the test runs.

    The variable ``KUBECONFIG`` names it. So commands that the test runs, and ``load_kube_config()`` in the code that it
    tests, reach the cluster of the test and no other.
    """
    path = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(path))
    for name in _REMEMBER_THE_VARIABLE:
        if name in sys.modules:
            monkeypatch.setattr(sys.modules[name], "KUBE_CONFIG_DEFAULT_LOCATION", str(path))
    with cluster.serve(kubeconfig=path):
        yield path


@pytest.fixture
def kubernetes_client(cluster: Cluster) -> Any:
    """An ``ApiClient`` of the official Python client, without a socket."""
    from simkit.testing.clients import kubernetes_client as made

    return made(cluster)
