"""The authorizers of a cluster as its objects show them: static pods of kube-apiserver, marks of providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from simkit.meta.domain import MIRROR_POD, RBAC_GROUP, SYSTEM_NAMESPACE
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of
from simkit.seams.authorization import OPENSHIFT, Authorization
from simkit.seams.snapshot import Snapshot
from simkit.snapshot import openshift

_NODES: Final = GroupResource("", "nodes")
_PODS: Final = GroupResource("", "pods")
_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_ROLES: Final = (GroupResource(RBAC_GROUP, "clusterroles"), GroupResource(RBAC_GROUP, "clusterrolebindings"))
_SERVER: Final = "kube-apiserver"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of managed clusters: the marks that its objects carry, and the access that it keeps elsewhere."""

    name: str
    labels: tuple[str, ...]
    """Beginnings of the keys of labels on nodes and roles."""
    versions: tuple[str, ...]
    """Parts of the kubelet versions of nodes."""
    roles: tuple[str, ...]
    """Beginnings of the names of ClusterRoles and ClusterRoleBindings."""
    grants: str
    """The grants of access outside of the cluster's objects, in words; empty if there are none."""
    modes: tuple[str, ...] = ()
    """The authorizers of its API servers, where they are the same everywhere."""
    config_map: str = ""
    """A config map in the system namespace that only its clusters have."""


PROVIDERS: Final = (
    Provider(
        "EKS",
        ("eks.amazonaws.com/", "alpha.eksctl.io/"),
        ("-eks-",),
        ("eks:",),
        "EKS access entries and AWS IAM",
        config_map="aws-auth",
    ),
    Provider("GKE", ("cloud.google.com/gke-",), ("-gke.",), (), "Google Cloud IAM roles"),
    Provider("AKS", ("kubernetes.azure.com/",), (), ("aks-cluster-admin-binding",), "Azure roles"),
    Provider(OPENSHIFT, ("node.openshift.io/",), (), ("system:openshift:",), "", ("RBAC", "Node")),
)
"""Providers, with marks that nothing else carries."""


def authorization_in(snapshot: Snapshot) -> Authorization:
    """The authorizers of a cluster as its objects show them.

    Notes
    -----
    O(nodes, cluster roles and bindings, and pods of the system namespace).
    """
    provider = _provider_of(snapshot)
    name, outside = (provider.name, provider.grants) if provider else ("", "")
    if provider and provider.modes:
        access = openshift.access_of(snapshot) if name == OPENSHIFT else None
        return Authorization(provider.modes, name, provider=name, outside=outside, access=access)
    flags = [_flags(pod) for pod in _servers(snapshot)]
    told = {_modes(each) for each in flags}
    if len(told) != 1 or told == {()}:
        return Authorization(provider=name, outside=outside)
    return Authorization(told.pop(), f"the static pod of {_SERVER}", provider=name, outside=outside)


def _servers(snapshot: Snapshot) -> list[Object]:
    """The pods of kube-apiserver; those that a kubelet mirrors, where there are any."""
    if _PODS not in snapshot.captured():
        return []
    found = [pod for pod in snapshot.scan(_PODS, SYSTEM_NAMESPACE) if _flags(pod)]
    return [pod for pod in found if MIRROR_POD in annotations_of(pod)] or found


def _flags(pod: Object) -> Mapping[str, str]:
    """The flags of kube-apiserver in a pod, empty for any other pod. A flag's value may be the next word."""
    for container in at(pod, "spec", "containers") or ():
        words = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
        if not any(word.rpartition("/")[2] == _SERVER for word in words[:1]):
            continue
        pairs = zip(words, [*words[1:], ""], strict=True)
        split = ((word[2:].partition("="), following) for word, following in pairs if word.startswith("--"))
        return {"": _SERVER} | {name: value if equals else following for (name, equals, value), following in split}
    return {}


def _modes(flags: Mapping[str, str]) -> tuple[str, ...]:
    """The modes of some flags; none if a configuration file, which the dump does not have, names them."""
    if flags.get("authorization-config"):
        return ()
    return tuple(flags.get("authorization-mode", "AlwaysAllow").split(","))


def _provider_of(snapshot: Snapshot) -> Provider | None:
    """The provider whose marks the nodes, roles and config maps of a cluster carry."""
    captured = snapshot.captured()
    nodes = list(snapshot.scan(_NODES)) if _NODES in captured else []
    roles = [role for resource in _ROLES if resource in captured for role in snapshot.scan(resource)]
    keys = {key for obj in (*nodes, *roles) for key in labels_of(obj)}
    versions = {str(at(node, "status", "nodeInfo", "kubeletVersion") or "") for node in nodes}
    names = [name_of(role) for role in roles]
    maps = _CONFIG_MAPS in captured
    for provider in PROVIDERS:
        if (
            any(key.startswith(provider.labels) for key in keys)
            or any(part in version for part in provider.versions for version in versions)
            or any(name.startswith(provider.roles) for name in names)
            or (maps and provider.config_map and snapshot.get(_CONFIG_MAPS, provider.config_map, SYSTEM_NAMESPACE))
        ):
            return provider
    return None
