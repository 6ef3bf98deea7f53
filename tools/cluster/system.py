"""Objects of every cluster: the default access control, system namespaces, nodes and the accounts of controllers."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.logic.rbac.defaults import default_objects
from simkit.meta.domain import (
    CERTIFICATES_GROUP,
    NODE_LEASE_NAMESPACE,
    PUBLIC_NAMESPACE,
    SYSTEM_NAMESPACE,
    api_group,
    label,
)
from tools.cluster.build import (
    Obj,
    account,
    bound,
    bound_in,
    cluster_role,
    config_map,
    group,
    made,
    namespace,
    paths,
    role,
    rule,
    secret,
    service,
    service_account,
)
from tools.cluster.workloads import NODES, Workloads

NAMESPACES = ("default", NODE_LEASE_NAMESPACE, PUBLIC_NAMESPACE, SYSTEM_NAMESPACE)
VERSION = "v1.30.14"


def system(workloads: Workloads) -> Iterator[Obj]:
    """The objects of a fresh cluster, in the order in which they would come."""
    defaults = [dict(obj) for obj in default_objects("1.30")]
    yield from (namespace(name) for name in NAMESPACES)
    yield from defaults
    yield from (service_account("default", name) for name in NAMESPACES)
    yield from _bootstrap_access()
    yield from (
        _priority_class(*row) for row in (("system-cluster-critical", 2 * 10**9), ("system-node-critical", 2000001000))
    )
    yield from (service_account(name, SYSTEM_NAMESPACE) for name in sorted(_controllers(defaults)))
    for number, name in enumerate(NODES):
        yield _node(name, number)
        yield _lease(name)
    yield service("kubernetes", "default", 443, "10.43.0.1")
    yield from _dns(workloads)
    yield service_account("kube-proxy", SYSTEM_NAMESPACE)
    yield bound(
        "bootstrap:node-proxier",
        "system:node-proxier",
        account(SYSTEM_NAMESPACE, "kube-proxy"),
    )
    yield config_map("kube-proxy", SYSTEM_NAMESPACE, **{"config.conf": "mode: iptables\nclusterCIDR: 10.42.0.0/16\n"})
    yield from workloads.daemon_set(
        "kube-proxy",
        SYSTEM_NAMESPACE,
        f"registry.example/kube-proxy:{VERSION}",
        "kube-proxy",
        hostNetwork=True,
        priorityClassName="system-node-critical",
        container={"securityContext": {"privileged": True}},
    )
    yield config_map("cluster-info", PUBLIC_NAMESPACE, kubeconfig="apiVersion: v1\nkind: Config\n")
    keys = ("token-id", "token-secret", "usage-bootstrap-authentication")
    yield secret("bootstrap-token-depot1", SYSTEM_NAMESPACE, *keys, kind=label("token", "bootstrap"))


def _controllers(defaults: list[Obj]) -> set[str]:
    """The accounts that the default bindings name are those of the controllers."""
    subjects = (subject for obj in defaults for subject in obj.get("subjects") or ())
    return {subject["name"] for subject in subjects if subject["kind"] == "ServiceAccount"} - {"kube-proxy"}


def _bootstrap_access() -> Iterator[Obj]:
    """The objects that the installer adds so that nodes can join and administrators can work."""
    bootstrappers = group("system:bootstrappers:nodes")
    yield bound("bootstrap:cluster-admins", "cluster-admin", group("bootstrap:cluster-admins"))
    yield bound("bootstrap:node-join", "system:node-bootstrapper", bootstrappers)
    approver = f"system:{CERTIFICATES_GROUP}:certificatesigningrequests:nodeclient"
    yield bound("bootstrap:node-approve", approver, bootstrappers)
    yield bound("bootstrap:node-renew", approver.replace("nodeclient", "selfnodeclient"), group("system:nodes"))
    yield role("bootstrap:cluster-info", PUBLIC_NAMESPACE, rule("get", "configmaps", names=["cluster-info"]))
    yield bound_in(
        PUBLIC_NAMESPACE, "bootstrap:cluster-info", "Role", "bootstrap:cluster-info", group("system:unauthenticated")
    )


def _priority_class(name: str, value: int) -> Obj:
    return made(
        f"{api_group('scheduling')}/v1", "PriorityClass", name, preemptionPolicy="PreemptLowerPriority", value=value
    )


def _node(name: str, number: int) -> Obj:
    labels = {
        label("arch"): "amd64",
        label("os"): "linux",
        label("hostname"): name,
        label("zone", "topology"): f"zone-{name[6]}",
    }
    if not number:
        labels[label("control-plane", "node-role")] = ""
    capacity = {"cpu": "16", "ephemeral-storage": "200Gi", "memory": "64Gi", "pods": "110"}
    status = {
        "addresses": [
            {"address": f"192.0.2.{10 + number}", "type": "InternalIP"},
            {"address": name, "type": "Hostname"},
        ],
        "allocatable": capacity,
        "capacity": capacity,
        "conditions": [{"reason": "KubeletReady", "status": "True", "type": "Ready"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": f"dummy-{number}",
            "containerRuntimeVersion": "containerd://1.7.20",
            "kernelVersion": "6.6.0",
            "kubeProxyVersion": VERSION,
            "kubeletVersion": VERSION,
            "machineID": f"{number:032d}",
            "operatingSystem": "linux",
            "osImage": "Linux",
            "systemUUID": f"dummy-{number}",
        },
    }
    spec = {"podCIDR": f"10.42.{number}.0/24", "podCIDRs": [f"10.42.{number}.0/24"]}
    return made("v1", "Node", name, labels=labels, spec=spec, status=status)


def _lease(node: str) -> Obj:
    spec = {"holderIdentity": node, "leaseDurationSeconds": 40}
    return made(f"{api_group('coordination')}/v1", "Lease", node, NODE_LEASE_NAMESPACE, spec=spec)


def _dns(workloads: Workloads) -> Iterator[Obj]:
    yield service_account("coredns", SYSTEM_NAMESPACE)
    yield cluster_role(
        "system:coredns",
        rule("list watch", "endpoints services pods namespaces"),
        rule("list watch", "endpointslices", group="discovery"),
        paths("get", "/healthz"),
    )
    yield bound("system:coredns", "system:coredns", account(SYSTEM_NAMESPACE, "coredns"))
    yield config_map(
        "coredns", SYSTEM_NAMESPACE, Corefile=".:53 {\n  kubernetes cluster.local\n  forward . 192.0.2.53\n}\n"
    )
    yield service("coredns", SYSTEM_NAMESPACE, 53, "10.43.0.10")
    yield from workloads.deployment("coredns", SYSTEM_NAMESPACE, "registry.example/coredns:1.11.1", "coredns", 2)
