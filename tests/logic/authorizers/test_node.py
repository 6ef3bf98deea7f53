"""The permissions of kubelets: objects of their own pods, and those that all nodes need."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.logic.authorizers.node import NodeAuthorizer
from simkit.logic.authorizers.node_graph import NodeGraph, used_by_pod
from simkit.meta.attributes import Attributes
from simkit.meta.identity import AUTHENTICATED, Identity
from simkit.meta.names import GroupResource, Key

NODE = Identity("system:node:n1", ("system:nodes", AUTHENTICATED))
OTHER = Identity("system:node:n2", ("system:nodes", AUTHENTICATED))


def pod(name: str, node: str = "n1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"nodeName": node, **spec}}


EVERYTHING = pod(
    "p",
    serviceAccountName="robot",
    imagePullSecrets=[{"name": "pull"}],
    initContainers=[{"envFrom": [{"secretRef": {"name": "init"}}, {"configMapRef": {"name": "init-map"}}]}],
    containers=[
        {
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "env-map", "key": "k"}}},
                {"name": "C", "value": "plain"},
            ]
        }
    ],
    ephemeralContainers=[{"envFrom": [{"secretRef": {"name": "debug"}}]}],
    volumes=[
        {"name": "s", "secret": {"secretName": "mounted"}},
        {"name": "m", "configMap": {"name": "map"}},
        {"name": "pr", "projected": {"sources": [{"secret": {"name": "pr"}}, {"configMap": {"name": "pr-map"}}]}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "x", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi"}}},
        {"name": "z", "azureFile": {"secretName": "azure"}},
    ],
)
VOLUME = {
    "metadata": {"name": "pv"},
    "spec": {
        "claimRef": {"namespace": "ns", "name": "data"},
        "csi": {
            "nodeStageSecretRef": {"namespace": "storage", "name": "stage"},
            "controllerPublishSecretRef": {"namespace": "storage", "name": "controller"},
        },
    },
}
RELATED = [
    *(("secrets", name) for name in ("pull", "init", "env", "debug", "mounted", "pr", "csi", "azure")),
    *(("configmaps", name) for name in ("init-map", "env-map", "map", "pr-map")),
    *(("persistentvolumeclaims", name) for name in ("data", "p-scratch")),
]


def key(resource: str, name: str, namespace: str = "ns", group: str = "") -> Key:
    return Key(GroupResource(group, resource), namespace, name)


@pytest.fixture
def authorizer() -> NodeAuthorizer:
    graph = NodeGraph()
    graph.put(key("pods", "p"), EVERYTHING)
    graph.put(key("persistentvolumes", "pv", ""), VOLUME)
    attachment = {"metadata": {"name": "va"}, "spec": {"nodeName": "n1"}}
    graph.put(key("volumeattachments", "va", "", "storage.k8s.io"), attachment)
    return NodeAuthorizer(graph, "1.30")


def ask(verb: str, resource: str, name: str = "", who: Identity = NODE, **more: Any) -> Attributes:
    return Attributes(who, verb, resource=resource, name=name, **{"version": "v1", "namespace": "ns", **more})


@pytest.mark.parametrize(("resource", "name"), RELATED)
def test_reads_what_its_pods_use(authorizer: NodeAuthorizer, resource: str, name: str) -> None:
    """A node reads the secrets, config maps and claims of its pods, another node does not."""
    assert authorizer.authorize(ask("get", resource, name)).allowed
    refused = authorizer.authorize(ask("get", resource, name, OTHER))
    assert not refused.allowed
    assert refused.reason == "no relationship found between node 'n2' and this object"


def test_volumes_of_claims(authorizer: NodeAuthorizer) -> None:
    """A claim leads on to its volume and to the secrets that the node mounts it with, not to the controller's."""
    assert authorizer.authorize(ask("get", "persistentvolumes", "pv", namespace="")).allowed
    assert authorizer.authorize(ask("get", "secrets", "stage", namespace="storage")).allowed
    assert not authorizer.authorize(ask("get", "secrets", "controller", namespace="storage")).allowed
    attached = ask("get", "volumeattachments", "va", group="storage.k8s.io", namespace="")
    assert authorizer.authorize(attached).allowed


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (ask("delete", "secrets", "mounted"), "can only read resources of this type"),
        (ask("get", "secrets", "mounted", subresource="x"), "cannot read subresource"),
        (ask("list", "secrets", namespace=""), "can only read namespaced object of this type"),
        (ask("list", "secrets"), "No Object name found"),
        (ask("list", "persistentvolumeclaims"), "can only get individual resources of this type"),
        (ask("get", "persistentvolumeclaims", "data", subresource="x"), "cannot get subresource"),
        (ask("get", "persistentvolumeclaims", "data", subresource="status"), "can only get/update/patch this type"),
        (ask("create", "serviceaccounts", "robot"), "can only create token subresource of serviceaccount"),
        (ask("get", "serviceaccounts", "robot"), "can only create tokens for individual service accounts"),
        (
            ask("get", "leases", "n1", group="coordination.k8s.io"),
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            ask("list", "leases", group="coordination.k8s.io", namespace="kube-node-lease"),
            "can only get, create, update, patch, or delete a node lease",
        ),
        (
            ask("get", "leases", "n2", group="coordination.k8s.io", namespace="kube-node-lease"),
            "can only access node lease with the same name as the requesting node",
        ),
        (
            ask("get", "csinodes", "n2", group="storage.k8s.io", namespace=""),
            "can only access CSINode with the same name as the requesting node",
        ),
        (ask("get", "pods", who=Identity("system:node:", ("system:nodes",))), 'unknown node for user "system:node:"'),
    ],
)
def test_reasons(authorizer: NodeAuthorizer, question: Attributes, reason: str) -> None:
    """A refusal says what would be allowed instead."""
    decision = authorizer.authorize(question)
    assert (decision.allowed, decision.reason) == (False, reason)


def test_its_own_and_everybodys(authorizer: NodeAuthorizer) -> None:
    """A node has its lease and list of drivers, tokens of its pods' accounts, and what the default role gives."""
    lease: dict[str, Any] = {"group": "coordination.k8s.io", "namespace": "kube-node-lease"}
    assert authorizer.authorize(ask("update", "leases", "n1", **lease)).allowed
    assert authorizer.authorize(ask("create", "csinodes", group="storage.k8s.io", namespace="")).allowed
    assert authorizer.authorize(ask("create", "serviceaccounts", "robot", subresource="token")).allowed
    assert authorizer.authorize(ask("patch", "persistentvolumeclaims", "data", subresource="status")).allowed
    assert authorizer.authorize(ask("list", "pods", namespace="")).allowed
    assert not authorizer.authorize(ask("delete", "namespaces", "ns")).allowed


def test_others_are_not_its_business(authorizer: NodeAuthorizer) -> None:
    """Only members of the nodes' group with a node's name are nodes."""
    for who in (Identity("ann"), Identity("system:node:n1"), Identity("ann", ("system:nodes",))):
        decision = authorizer.authorize(ask("get", "secrets", "mounted", who))
        assert (decision.allowed, decision.reason) == (False, "")
        assert authorizer.rules_for(who, "ns").error == ""
    assert authorizer.rules_for(NODE, "ns").incomplete


def test_mirror_pods_open_nothing() -> None:
    """A node cannot make itself a relation by a mirror pod."""
    graph = NodeGraph()
    mirror = {**EVERYTHING, "metadata": {**EVERYTHING["metadata"], "annotations": {"kubernetes.io/config.mirror": "x"}}}
    graph.put(key("pods", "p"), mirror)
    assert not graph.related("n1", key("secrets", "mounted"))


def test_follows_the_store_and_forks_with_it() -> None:
    """The relation comes and goes with the pod; what happens on a fork stays there."""
    cluster = Cluster(options=Options(seed=1, authorization_mode=("Node", "RBAC")))
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
    secret = ask("get", "secrets", "mounted")
    assert not cluster.authorize(secret).allowed
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "ns"}})
    made = pod("p", serviceAccountName="robot", containers=[{"name": "c", "image": "i"}])
    made["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "mounted"}}]
    fork = cluster.fork()
    fork.create({"apiVersion": "v1", "kind": "Pod", **made})
    assert fork.authorize(secret).allowed
    assert not cluster.authorize(secret).allowed
    again = fork.fork()
    again.engine.store.delete(key("pods", "p"), expect=None)
    assert not again.authorize(secret).allowed
    assert fork.authorize(secret).allowed


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.tuples(st.sampled_from(["put", "remove"]), NAMES, st.sampled_from(["n1", "n2", ""]), NAMES))


@settings(max_examples=60)
@given(STEPS, st.integers(0, 10))
def test_agrees_with_a_naive_reading(steps: list[tuple[str, str, str, str]], forked_at: int) -> None:
    """After any history, forked anywhere, the graph says what a look at all pods says."""
    graph, pods = NodeGraph(), dict[str, dict[str, Any]]()
    for number, (step, name, node, secret) in enumerate(steps):
        if number == forked_at:
            graph = graph.fork()
        if step == "remove":
            pods.pop(name, None)
            graph.remove(key("pods", name))
        else:
            pods[name] = pod(name, node, imagePullSecrets=[{"name": secret}])
            graph.put(key("pods", name), pods[name])
    for node in ("n1", "n2"):
        for secret in ("a", "b", "c"):
            wanted = key("secrets", secret)
            naive = any(each["spec"]["nodeName"] == node and wanted in used_by_pod(each) for each in pods.values())
            assert graph.related(node, wanted) == naive
