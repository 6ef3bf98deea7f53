"""A running cluster is read through a kubeconfig with the official client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

import simkit
from simkit.cli import main
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.snapshot.live import PAGE, LiveCluster
from tests.analysis.worlds import account, binding, namespace, role, rule

pytest.importorskip("kubernetes.config", reason="the official client is an extra")
MANY = PAGE + 20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[simkit.Cluster, Path]]:
    """A served cluster with more config maps than a page, a secret, and an account that may list little."""
    cluster = simkit.Cluster(seed=1)
    cluster.apply([namespace("shop"), account("shop", "auditor")])
    for number in range(MANY):
        cluster.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}", "namespace": "shop"}}
        )
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}}
    cluster.apply({**secret, "stringData": {"password": "hunter2"}})
    listed = rule("list", "roles,rolebindings,clusterroles,clusterrolebindings", groups="rbac.authorization.k8s.io")
    cluster.apply([role("auditor", listed), binding("auditor", "auditor", "sa:shop/auditor")])
    cluster.settle()
    path = tmp_path_factory.mktemp("live") / "kubeconfig"
    server = cluster.serve(kubeconfig=path)
    yield cluster, path
    server.stop()


@pytest.fixture(scope="module")
def restricted(served: tuple[simkit.Cluster, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of the account."""
    cluster, path = served
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    request = Request.of("POST", "/api/v1/namespaces/shop/serviceaccounts/auditor/token", review)
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"] = {"token": cluster.perform(request).object["status"]["token"]}
    other = tmp_path_factory.mktemp("restricted") / "kubeconfig"
    other.write_text(yaml.safe_dump(config))
    return other


def test_everything_is_fetched(served: tuple[simkit.Cluster, Path]) -> None:
    """All pages come, in a copy at the server's release that answers as the original; secrets come without values."""
    cluster, path = served
    copy = simkit.fetch(kubeconfig=path)
    assert copy.release == cluster.release
    assert len(copy.list("configmaps", "shop")) == len(cluster.list("configmaps", "shop")) >= MANY
    assert copy.get("secret", "db", "shop")["data"] == {"password": ""}
    assert copy.dump is not None
    assert copy.dump.lost == ()
    question = ("list", "secrets")
    assert copy.who_can(*question).equals(cluster.who_can(*question))
    assert copy.findings().equals(cluster.findings())


def test_refused_lists_are_not_captured(restricted: Path) -> None:
    """Refusals are told, and only what came counts as known."""
    copy = simkit.fetch(kubeconfig=restricted)
    assert copy.dump is not None
    assert len(copy.who_can("get", "pods")) > 1
    told = [str(problem) for problem in copy.dump.lost]
    assert any("/api/v1/secrets" in text and "cannot list resource" in text for text in told)
    with pytest.raises(simkit.IncompleteSnapshot):
        list(copy.snapshot().scan(GroupResource("", "secrets")))


def test_some_resources_are_fetched(served: tuple[simkit.Cluster, Path]) -> None:
    """Named resources come alone."""
    copy = simkit.fetch(kubeconfig=served[1], resources=["namespaces", "roles.rbac.authorization.k8s.io"])
    assert copy.dump is not None
    assert {resource.resource for resource in copy.dump.counts} == {"namespaces", "roles"}


def test_commands_ask_a_running_cluster(
    served: tuple[simkit.Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Questions, audits and redaction take a context instead of a dump."""
    live = ["--kubeconfig", str(served[1])]
    assert main(["can-i", "list", "roles", "--as", "sa:shop/auditor", *live]) == 0
    assert main(["audit", "--fail-on", "never", "-o", "json", *live]) == 0
    target = tmp_path / "shared.json"
    assert main(["redact", "--to", str(target), *live]) == 0
    assert main(["escalations", "--goal", "cluster-admin", "--subject", "sa:shop/auditor", *live]) == 0
    assert main(["removal-report", "flowcontrol.apiserver.k8s.io/v1beta3", *live]) == 0
    assert any(obj["kind"] == "Secret" for obj in orjson.loads(target.read_bytes())["items"])
    capsys.readouterr()
    for words, told in (
        (["can-i", "get", "pods", "--as", "ann", "--dump", "x", *live], "--context NAME"),
        (["can-i", "get", "pods", "--as", "ann"], "no dump is named, and pods is no file"),
        (["audit", *live, "--context", "nowhere"], "nowhere"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    """The message names the server."""
    server = simkit.Cluster(seed=1).serve(kubeconfig=tmp_path / "kubeconfig")
    server.stop()
    gone = LiveCluster(kubeconfig=tmp_path / "kubeconfig")
    with pytest.raises(simkit.SimkitError, match="does not answer"):
        gone.release()


def test_an_auth_provider_is_refused(tmp_path: Path) -> None:
    """It may name a program; kubectl takes none since 1.26."""
    provider = {"name": "gcp", "config": {"cmd-path": "/bin/touch", "cmd-args": str(tmp_path / "ran")}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"auth-provider": provider}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_bytes(orjson.dumps(config))
    with pytest.raises(SimkitError, match="auth-provider"):
        simkit.fetch(kubeconfig=path)
    assert not (tmp_path / "ran").exists()
