"""Objects larger than what etcd takes are refused by every store, in the words of kube-apiserver on etcd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request

CRON = "/apis/batch/v1/namespaces/default/cronjobs"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"


def _cron(kibibytes: int) -> dict[str, Any]:
    containers = [{"name": "a", "image": "a", "args": ["y" * (kibibytes * 1024)]}]
    pod = {"spec": {"restartPolicy": "Never", "containers": containers}}
    spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": pod}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"generateName": "c-"}, "spec": spec}


@pytest.fixture(params=["memory", "sqlite"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    where = "memory" if request.param == "memory" else f"sqlite:{tmp_path / 'store.db'}"
    return Cluster(options=Options(seed=1, storage=where, controllers=()))


@pytest.mark.parametrize(
    ("kibibytes", "status", "told"),
    [
        (1500, 201, ""),
        (1540, 500, "etcdserver: request is too large"),
        (2000, 500, "etcdserver: request is too large"),
        (2900, 500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max ("),
    ],
)
def test_objects_of_these_sizes(cluster: Cluster, kibibytes: int, status: int, told: str) -> None:
    """As recorded from kube-apiserver 1.30 on etcd 3.5; what is refused leaves nothing behind."""
    answer = cluster.perform(Request.of("POST", CRON, _cron(kibibytes)))
    assert (answer.status, answer.object.get("message", "")[: len(told)]) == (status, told)
    assert len(cluster.list("cronjobs", "default")) == (status == 201)


@pytest.mark.slow
def test_built_in_kinds_are_measured_as_they_are_stored(cluster: Cluster) -> None:
    """The names of fields count little in protobuf: 2 MB of JSON may fit."""
    variables = [{"name": "A", "value": "b"}] * 80_000
    spec = {"containers": [{"name": "a", "image": "a", "env": variables}]}
    made = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"spec": spec}}
    answer = cluster.perform(Request.of("POST", TEMPLATES, made))
    assert answer.status == 201
    assert len(answer.body) > 1536 * 1024
