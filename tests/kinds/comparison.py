"""Servers and requests of the tests of answers that were compared with those of kube-apiserver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import simkit
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response

MERGE = {"content-type": "application/merge-patch+json"}


def cluster_of(release: str) -> Cluster:
    """A server of a release as those that were compared."""
    return simkit.Cluster(options=Options(release=release, seed=1, disable_admission_plugins=("ServiceAccount",)))


def told(cluster: Cluster, method: str, path: str, body: Mapping[str, Any]) -> list[str]:
    """The causes of a refusal, each with its field."""
    headers = MERGE if method == "PATCH" else {}
    answer = cluster.perform(Request.of(method, path, body, headers=headers)).object
    return [f"{cause['field']}: {cause['message']}" for cause in answer["details"]["causes"]]


def sent(cluster: Cluster, method: str, path: str, body: Any = None, *, kind: str = "merge-patch+json") -> Response:
    """The answer to a request with an object, or with a patch of some kind."""
    media = f"application/{kind}" if method == "PATCH" else "application/json"
    return cluster.perform(Request.of(method, path, body, headers={"content-type": media}))
