"""Plugins that are off by default, and how plugins are switched."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.cluster.plugins import PLUGINS
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.admission.objects import change, container, obj, pod, refusal


def test_plugins_are_asked_in_the_real_order() -> None:
    """Whatever is on, the order is kube-apiserver's."""
    names = list(PLUGINS.ours)
    assert names.index("NamespaceLifecycle") < names.index("ServiceAccount") < names.index("PodSecurity")
    assert names[-2:] == ["ResourceQuota", "AlwaysDeny"]


def test_unknown_plugins_are_told(making: Any) -> None:
    """A wrong name is an error that suggests the right one; a plugin cannot be both on and off."""
    with pytest.raises(SimkitError, match='plugin "PodSecurty" is unknown; did you mean PodSecurity'):
        making("PodSecurty")
    with pytest.raises(SimkitError, match="AlwaysAdmit: in --enable"):
        making("AlwaysAdmit", without=("AlwaysAdmit",))


def test_a_plugin_can_be_switched_off(making: Any) -> None:
    """Without ServiceAccount a pod needs no account."""
    assert "serviceAccountName" not in making(without=("ServiceAccount",)).create(pod())["spec"]


def test_always_deny(making: Any) -> None:
    """It refuses whatever comes after the server's own start."""
    with pytest.raises(SimkitError, match="admission control is denying all modifications"):
        making("AlwaysDeny")


def test_namespaces_come_into_being(making: Any) -> None:
    """A write into a missing namespace makes it, but not on a dry run."""
    cluster = making("NamespaceAutoProvision")
    path = "/api/v1/namespaces/new/configmaps"
    assert cluster.perform(Request.of("POST", f"{path}?dryRun=All", {"metadata": {"name": "a"}})).status == 404
    assert cluster.perform(Request.of("POST", path, {"metadata": {"name": "a"}})).status == 201
    assert cluster.get("ns", "new")["status"]["phase"] == "Active"


def test_images_are_always_pulled(making: Any) -> None:
    """Every container pulls, whatever its policy said."""
    made = making("AlwaysPullImages").create(pod(containers=[container(imagePullPolicy="Never")]))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"securityContext": {"fsGroup": 1}}, "pod.Spec.SecurityContext.FSGroup"),
        ({"securityContext": {"supplementalGroups": [1]}}, "pod.Spec.SecurityContext.SupplementalGroups"),
        ({"containers": [container(securityContext={"runAsUser": 1})]}, "SecurityContext.RunAsUser"),
        (
            {"initContainers": [container(name="i", securityContext={"seLinuxOptions": {}})]},
            "SecurityContext.SELinuxOptions",
        ),
    ],
)
def test_security_contexts_are_denied(spec: dict[str, Any], said: str) -> None:
    """Up to 1.29 a plugin refuses pods that say who they run as; what it does not look at is free."""
    options = Options(release="1.29", seed=1, enable_admission_plugins=("SecurityContextDeny",))
    cluster = Cluster(options=options)
    cluster.create(pod(containers=[container(securityContext={"runAsNonRoot": True})], name="free"))
    with pytest.raises(StatusError, match=f": {said} is forbidden"):
        cluster.create(pod(**spec))


def test_external_addresses_are_denied(making: Any) -> None:
    """New ones are refused, old ones may stay and go."""
    cluster = making("DenyServiceExternalIPs")
    spec = {"ports": [{"port": 80}], "externalIPs": ["1.2.3.4"]}
    assert "Use of external IPs is denied" in refusal(cluster, obj("v1", "Service", "s", spec=spec)).message


def test_pods_keep_others_off_their_node_only(making: Any) -> None:
    """A wider area is refused."""
    term = {"labelSelector": {}, "topologyKey": "topology.kubernetes.io/zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    text = refusal(making("LimitPodHardAntiAffinityTopology"), pod(affinity=affinity)).message
    assert "has TopologyKey topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed" in text


def test_special_resources_are_tolerated(making: Any) -> None:
    """A pod that asks for a card tolerates the nodes that are kept for it."""
    resources = {"limits": {"nvidia.com/gpu": "1"}}
    made = making("ExtendedResourceToleration").create(pod(containers=[container(resources=resources)]))
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in made["spec"]["tolerations"]


def test_owners_are_not_set_freely(making: Any) -> None:
    """Setting an owner later takes the right to delete; blocking it takes the right to its finalizers."""
    cluster = making("OwnerReferencesPermissionEnforcement")
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "patch"]}]
    cluster.create(obj("rbac.authorization.k8s.io/v1", "Role", "r", rules=rules))
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}
    cluster.create(obj("rbac.authorization.k8s.io/v1", "RoleBinding", "r", roleRef=reference, subjects=[subject]))
    ann = Identity("ann", ("system:authenticated",))
    owner = cluster.create(obj("v1", "ConfigMap", "owner"))
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    cluster.create(obj("v1", "ConfigMap", "a", meta={"ownerReferences": [owned]}), identity=ann)
    blocking = obj("v1", "ConfigMap", "b", meta={"ownerReferences": [{**owned, "blockOwnerDeletion": True}]})
    assert "you can't set finalizers on: , <nil>" in refusal(cluster, blocking, identity=ann).message
    cluster.create(obj("v1", "ConfigMap", "c"))
    path = "/api/v1/namespaces/default/configmaps/c"
    response = change(cluster, path, {"metadata": {"ownerReferences": [owned]}}, identity=ann)
    assert "cannot set an ownerRef on a resource you can't delete" in response.object["message"]


def test_namespaces_choose_nodes(making: Any) -> None:
    """A namespace's node selector is added to its pods, and may not be contradicted."""
    cluster = making("PodNodeSelector")
    note = {"metadata": {"annotations": {"scheduler.alpha.kubernetes.io/node-selector": "env=prod"}}}
    change(cluster, "/api/v1/namespaces/default", note)
    assert cluster.create(pod(nodeSelector={"a": "b"}))["spec"]["nodeSelector"] == {"env": "prod", "a": "b"}
    assert "conflicts with its namespace" in refusal(cluster, pod("q", nodeSelector={"env": "dev"})).message


def test_namespaces_choose_tolerations(making: Any) -> None:
    """A namespace gives its pods tolerations, and says which they may have."""
    cluster = making("PodTolerationRestriction", without=("DefaultTolerationSeconds",))
    prefix = "scheduler.alpha.kubernetes.io/"
    notes = {
        f"{prefix}defaultTolerations": '[{"key": "team", "operator": "Exists"}]',
        f"{prefix}tolerationsWhitelist": '[{"key": "team", "operator": "Exists"}]',
    }
    change(cluster, "/api/v1/namespaces/default", {"metadata": {"annotations": notes}})
    assert cluster.create(pod())["spec"]["tolerations"] == [{"key": "team", "operator": "Exists"}]
    error = refusal(cluster, pod("q", tolerations=[{"key": "other", "operator": "Exists"}]))
    assert (error.code, "conflict with its namespace whitelist" in error.message) == (500, True)


NODE = Identity("system:node:n1", ("system:nodes", "system:masters"))
"""A node that may do everything as far as authorization goes."""


def test_a_node_changes_itself_only(making: Any) -> None:
    """Other nodes, taints and steering labels are not for a node to change."""
    cluster = making("NodeRestriction")
    assert cluster.create(obj("v1", "Node", "n1"), identity=NODE)
    text = refusal(cluster, obj("v1", "Node", "n2"), identity=NODE).message
    assert text == 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"'
    path = "/api/v1/nodes/n1"
    for label, status in (
        ("topology.kubernetes.io/zone", 200),
        ("example.com/x", 200),
        ("kubelet.kubernetes.io/x", 200),
        ("x.node-restriction.kubernetes.io/y", 403),
        ("kubernetes.io/strange", 403),
    ):
        response = change(cluster, path, {"metadata": {"labels": {label: "v"}}}, identity=NODE)
        assert response.status == status, label
    taints: Any = {"spec": {"taints": []}}
    assert 'node "n1" is not allowed to modify taints' in change(cluster, path, taints, identity=NODE).object["message"]


def test_a_node_makes_mirror_pods_of_its_own(making: Any) -> None:
    """A pod that a node makes mirrors a static one, and is owned by the node."""
    cluster = making("NodeRestriction")
    uid = cluster.create(obj("v1", "Node", "n1"))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}
    mirror = pod(annotations={"kubernetes.io/config.mirror": "x"}, nodeName="n1")
    assert "an owner reference set to itself" in refusal(cluster, mirror, identity=NODE).message
    mirror["metadata"]["ownerReferences"] = [owner]
    assert cluster.create(mirror, identity=NODE)
    assert 'annotation, node "n1" can only create mirror pods' in refusal(cluster, pod("q"), identity=NODE).message
    cluster.create(pod("other", nodeName="n2"))
    refused = cluster.perform(Request.of("DELETE", "/api/v1/namespaces/default/pods/other"), identity=NODE)
    assert refused.status == 403
    status = change(
        cluster, "/api/v1/namespaces/default/pods/other/status", {"status": {"phase": "Running"}}, identity=NODE
    )
    assert "can only update pod status for pods with spec.nodeName set to itself" in status.object["message"]
