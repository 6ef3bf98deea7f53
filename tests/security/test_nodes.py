"""The reach of a captured node: its own pods, and no other ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.identity import Identity
from simkit.meta.message import Request

NODE = Identity("system:node:n1", ("system:nodes", "system:authenticated"))
PODS = "/api/v1/namespaces/default/pods"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/robot/token"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Two nodes, each with a pod that runs as the same account."""
    options = Options(seed=1, authorization_mode=("Node", "RBAC"), enable_admission_plugins=("NodeRestriction",))
    made = Cluster(options=options)
    account = {"name": "robot", "namespace": "default"}
    made.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    for number in "12":
        made.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}})
        spec = {"nodeName": f"n{number}", "serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
        made.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec})
    return made


def uid_of(cluster: Cluster, pod: str) -> str:
    return str(cluster.get("pod", pod, namespace="default")["metadata"]["uid"])


def asked(cluster: Cluster, bound: dict[str, Any] | None, *, dry_run: bool = False) -> tuple[int, str]:
    """Code and message of a node's request for a token of the account that its pod runs as."""
    target = f"{TOKEN}?dryRun=All" if dry_run else TOKEN
    body = {"spec": {"boundObjectRef": {"apiVersion": "v1", **bound} if bound is not None else None}}
    response = cluster.perform(Request.of("POST", target, body), identity=NODE)
    return response.status, response.object.get("message", "")


@pytest.mark.parametrize(
    ("bound", "why"),
    [
        (None, "node requested token not bound to a pod"),
        ({"kind": "Secret", "name": "s", "uid": "1"}, "node requested token not bound to a pod"),
        ({"kind": "Pod", "name": "p1"}, "node requested token with a pod binding without a uid"),
        ({"kind": "Pod", "name": "p1", "uid": "1"}, "the UID in the bound object reference (1) does not match"),
        ({"kind": "Pod", "name": "p2", "uid": ""}, "node requested token bound to a pod scheduled on a different node"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_tokens_that_a_node_does_not_get(
    cluster: Cluster, bound: dict[str, Any] | None, why: str, dry_run: bool
) -> None:
    """A node gets no token of an account but for a pod of its own, though it may ask for the account's tokens."""
    if bound is not None and bound.get("uid") == "":
        bound = {**bound, "uid": uid_of(cluster, bound["name"])}
    status, message = asked(cluster, bound, dry_run=dry_run)
    assert status == 403
    assert message.startswith(f'serviceaccounts "robot" is forbidden: {why}')


def test_the_token_that_a_node_gets(cluster: Cluster) -> None:
    """For its own pod it gets one; a pod that is not there is told as the plugin of kube-apiserver does."""
    assert asked(cluster, {"kind": "Pod", "name": "p1", "uid": uid_of(cluster, "p1")})[0] == 201
    assert asked(cluster, {"kind": "Pod", "name": "none", "uid": "1"}) == (404, 'pod "none" not found')


def test_bindings(cluster: Cluster) -> None:
    """A node that may bind pods, by mistake of somebody, may still not: no subresource but two is for nodes."""
    rules = [{"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}]
    group = "rbac.authorization.k8s.io"
    fork = cluster.fork()
    fork.create({"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "b"}, "rules": rules})
    fork.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "b"},
            "subjects": [{"kind": "Group", "name": "system:nodes", "apiGroup": group}],
        }
    )
    body = {"metadata": {"name": "p2"}, "target": {"kind": "Node", "name": "n1"}}
    response = fork.perform(Request.of("POST", f"{PODS}/p2/binding", body), identity=NODE)
    assert response.status == 403
    assert "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed" in response.body.decode(
        "unicode_escape"
    )


CSI = "none.example.com"
VOLUMES: Sequence[tuple[Sequence[Mapping[str, Any]], Sequence[str], str]] = [
    (
        [],
        [],
        'audience "" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
    ),
    (
        [],
        ["vault"],
        'audience "vault" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
    ),
    ([], ["a", "b"], "node may only request 0 or 1 audiences"),
    ([{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}], [], ""),
    ([{"projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "vault"}}]}}], ["vault"], ""),
    ([{"csi": {"driver": "d.example.com"}}], ["vault"], ""),
    ([{"persistentVolumeClaim": {"claimName": "c"}}], ["vault"], ""),
    ([{"csi": {"driver": CSI}}], [], f'error validating audience "": csidriver.storage.k8s.io "{CSI}" not found'),
    (
        [{"persistentVolumeClaim": {"claimName": "gone"}}, {"csi": {"driver": CSI}}],
        ["vault"],
        'error validating audience "vault": [persistentvolumeclaim "gone" not found, '
        f'csidriver.storage.k8s.io "{CSI}" not found]',
    ),
    (
        [{"awsElasticBlockStore": {"volumeID": "v"}}],
        [],
        'error validating audience "": csidriver.storage.k8s.io "ebs.csi.aws.com" not found',
    ),
]
"""Volumes of a pod, the audiences that its node asks a token for, and why it gets none, as 1.36 says it."""


def cluster_at(release: str) -> Cluster:
    """A node, an account, and a volume whose driver asks for tokens with an audience."""
    plugins = {"enable": ("NodeRestriction",), "disable": ("ServiceAccount",)}
    options = Options(
        release=release,
        seed=1,
        authorization_mode=("Node", "RBAC"),
        enable_admission_plugins=plugins["enable"],
        disable_admission_plugins=plugins["disable"],
    )
    made = Cluster(options=options)
    made.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    made.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}})
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d.example.com"}}
    made.create({**driver, "spec": {"tokenRequests": [{"audience": "vault"}]}})
    size = {"storage": "1Gi"}
    modes = {"accessModes": ["ReadWriteOnce"]}
    volume = {**modes, "capacity": size, "csi": {"driver": "d.example.com", "volumeHandle": "h"}}
    made.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": volume})
    claim = {**modes, "resources": {"requests": size}, "volumeName": "v"}
    made.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim})
    return made


def token_of_pod(cluster: Cluster, volumes: Sequence[Mapping[str, Any]], audiences: Sequence[str]) -> tuple[int, str]:
    """Code and message of the node's request for a token of its pod."""
    named = [{"name": f"v{number}", **each} for number, each in enumerate(volumes)]
    spec = {"nodeName": "n1", "serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**spec, "volumes": named}}
    made = cluster.create(pod)
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made["metadata"]["uid"]}
    body = {"spec": {"audiences": list(audiences), "boundObjectRef": bound}}
    response = cluster.perform(Request.of("POST", TOKEN, body), identity=NODE)
    return response.status, response.object.get("message", "")


@pytest.mark.parametrize(("volumes", "audiences", "why"), VOLUMES)
def test_the_audiences_that_a_node_may_ask_for(
    volumes: Sequence[Mapping[str, Any]], audiences: Sequence[str], why: str
) -> None:
    """From 1.33 on those that the volumes of its pod name; before, any."""
    status, message = token_of_pod(cluster_at("1.36"), volumes, audiences)
    assert status == (403 if why else 201)
    assert message == (f'serviceaccounts "robot" is forbidden: {why}' if why else "")
    assert token_of_pod(cluster_at("1.30"), volumes, audiences)[0] == 201


def test_a_node_with_a_right_of_its_own_asks_for_more() -> None:
    """A role lets nodes ask for tokens with one audience, of one account."""
    cluster = cluster_at("1.33")
    verb = "request-serviceaccounts-token-audience"
    rules = [{"apiGroups": [""], "resources": ["vault"], "verbs": [verb], "resourceNames": ["robot"]}]
    group = "rbac.authorization.k8s.io"
    cluster.create({"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": rules})
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "a"}
    nodes = {"apiGroup": group, "kind": "Group", "name": "system:nodes"}
    binding = {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"}}
    cluster.create({**binding, "roleRef": role, "subjects": [nodes]})
    assert token_of_pod(cluster, [], ["vault"])[0] == 201
    cluster.perform(Request.of("DELETE", f"{PODS}/p?gracePeriodSeconds=0"))
    assert token_of_pod(cluster, [], ["other"])[0] == 403
