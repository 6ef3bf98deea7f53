"""A fresh server holds what kube-apiserver makes for itself."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.meta.objects import Object
from tests.conformance.recordings import fresh_cluster
from tools import compile_bootstrap

OWN = (("ConfigMap", "kube-root-ca.crt"), ("ConfigMap", "kube-apiserver-legacy-service-account-token-tracking"))
"""Objects whose content is each server's own."""
KINDS = (
    "Namespace",
    "Service",
    "Endpoints",
    "EndpointSlice",
    "FlowSchema",
    "PriorityLevelConfiguration",
    "PriorityClass",
)


def essence(obj: Object) -> Any:
    """An object without what differs from server to server."""
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in ("uid", "resourceVersion", "creationTimestamp", "managedFields")
    }
    text = orjson.dumps({**obj, "metadata": metadata}, option=orjson.OPT_SORT_KEYS).decode()
    text = text.replace("192.0.2.2", "192.0.2.1").replace("46443", "6443")
    found = orjson.loads(text)
    for condition in (found.get("status") or {}).get("conditions") or ():
        condition.pop("lastTransitionTime")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_as_recorded(kind: str) -> None:
    """The objects of a kind are those of a fresh cluster of kube-apiserver 1.30, whole."""
    wanted = {obj["metadata"]["name"]: essence(obj) for obj in fresh_cluster() if obj["kind"] == kind}
    made = {obj["metadata"]["name"]: essence(obj) for obj in Cluster(seed=1).list(kind)}
    assert made == wanted


def test_records_of_itself() -> None:
    """The day of its start is kept; without authorities for clients there are none to tell other servers."""
    cluster = Cluster(seed=1)
    names = {obj["metadata"]["name"]: obj for obj in cluster.list("configmap", "kube-system")}
    assert "extension-apiserver-authentication" not in names
    since = names["kube-apiserver-legacy-service-account-token-tracking"]["data"]["since"]
    assert len(since) == len("2024-01-01")


@pytest.mark.parametrize("release", ["1.16", "1.22", "1.27", "1.32"])
def test_other_releases(release: str) -> None:
    """If a release serves other versions, the objects that fit them are made, and the rest is left out."""
    cluster = Cluster(release, seed=1)
    assert cluster.get("service", "kubernetes", "default")["spec"]["clusterIP"] == "10.96.0.1"
    resource = cluster.engine.catalogue.lookup("priorityclasses")
    assert resource is not None


def test_the_table_can_be_made_again(tmp_path: Path) -> None:
    """The tool gives the bundled bytes."""
    objects = tmp_path / "objects.json.gz"
    objects.write_bytes(gzip.compress(orjson.dumps({"items": fresh_cluster()})))
    assert compile_bootstrap.main(["--objects", str(objects), "--out", str(tmp_path)]) == 0
    made = (tmp_path / "bootstrap" / "flow-1.30.json").read_bytes()
    bundled = Path(__file__).resolve().parents[2] / "datasets" / "bootstrap" / "flow-1.30.json"
    assert made == bundled.read_bytes()
