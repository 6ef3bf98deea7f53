"""Rights to connections to pods that are asked for with GET."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.identity import Identity
from simkit.meta.message import Request

_GROUP = "rbac.authorization.k8s.io"
_PARTS = ("exec", "attach", "portforward")


def _cluster(release: str, *verbs: str) -> simkit.Cluster:
    """A cluster with a pod on no node, and a user with some verbs on connections."""
    cluster = simkit.Cluster(release=release)
    rule = {"apiGroups": [""], "resources": [f"pods/{part}" for part in _PARTS], "verbs": list(verbs)}
    version = f"{_GROUP}/v1"
    cluster.create({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule]})
    binding = {
        "apiVersion": version,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": _GROUP}],
    }
    cluster.create(binding)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    return cluster


def _asked(cluster: simkit.Cluster, part: str, method: str = "GET") -> tuple[int, str]:
    """Status and message of an attempt to connect."""
    request = Request.of(method, f"/api/v1/namespaces/default/pods/p/{part}")
    response = cluster.perform(request, identity=Identity("alice"))
    return response.status, response.object["message"]


_REACHED = (400, "pod p does not have a host assigned")


@pytest.mark.parametrize("part", _PARTS)
def test_a_get_needs_the_right_to_create(part: str) -> None:
    """From 1.35 on the right to get is not enough for a connection; before, it was."""
    assert _asked(_cluster("1.36", "get"), part) == (403, 'pods "p" is forbidden: ')
    assert _asked(_cluster("1.36", "get", "create"), part) == _REACHED
    assert _asked(_cluster("1.34", "get"), part) == _REACHED


@pytest.mark.parametrize("part", _PARTS)
def test_a_post_needs_nothing_else(part: str) -> None:
    """Who may create a connection may ask for it with POST."""
    assert _asked(_cluster("1.36", "create"), part, "POST") == _REACHED
