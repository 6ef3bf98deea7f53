"""The graph of objects related to each node: its pods, and their volumes, accounts and claims.

Upstream: plugin/pkg/auth/authorizer/node/graph.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.logic.rbac.forkable_mapping import ForkableGroups, ForkableMapping
from simkit.meta.domain import MIRROR_POD, api_group
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.meta.podspec import containers_of
from simkit.seams.snapshot import Snapshot

PODS, NODES, SECRETS, CONFIG_MAPS, CLAIMS, VOLUMES, ACCOUNTS = (
    GroupResource("", name)
    for name in (
        "pods",
        "nodes",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "persistentvolumes",
        "serviceaccounts",
    )
)
ATTACHMENTS: Final = GroupResource(api_group("storage"), "volumeattachments")
RESOURCE_CLAIMS: Final = GroupResource(api_group("resource"), "resourceclaims")
SLICES: Final = GroupResource(api_group("resource"), "resourceslices")
FOLLOWED: Final = frozenset({PODS, VOLUMES, ATTACHMENTS, SLICES})
"""The resources whose objects make the graph."""
_OF_PODS: Final[Mapping[str, str]] = {
    "azureFile": "secretName",
    "secret": "secretName",
    **dict.fromkeys(("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"), "secretRef"),
    "csi": "nodePublishSecretRef",
}
"""The fields in which a pod's volumes name a secret."""
_OF_VOLUMES: Final[Mapping[str, Sequence[str]]] = {
    "azureFile": ("secretName",),
    **dict.fromkeys(("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"), ("secretRef",)),
    "csi": ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"),
}
"""The fields in which persistent volumes name a secret that the node reads."""

Keys = frozenset[Key]


class NodeGraph:
    """The objects related to each node. ``put`` and ``remove`` keep it up to date, and it forks.

    Notes
    -----
    A question costs O(pods of the node). ``fork`` must not run at the same time as a write.
    """

    def __init__(self) -> None:
        self._nodes: ForkableMapping[Key, str] = ForkableMapping()
        """The node of each pod that has one."""
        self._uses: ForkableGroups[str, Key, Keys] = ForkableGroups()
        """The pods of each node, and the objects that they use."""
        self._claims: ForkableMapping[str, Key] = ForkableMapping()
        """The claim of each bound volume."""
        self._secrets: ForkableGroups[Key, str, Keys] = ForkableGroups()
        """The secrets of the volumes bound to each claim."""
        self._attached: ForkableMapping[Key, str] = ForkableMapping()
        """The node of each volume attachment and resource slice."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> NodeGraph:
        """The graph of everything in a snapshot."""
        graph = cls()
        captured = set(snapshot.captured())
        for resource in FOLLOWED & captured:
            for obj in snapshot.scan(resource):
                graph.put(Key(resource, namespace_of(obj), name_of(obj)), obj)
        return graph

    def fork(self) -> NodeGraph:
        """An independent graph with the same content, in constant time."""
        other = NodeGraph()
        other._nodes, other._uses = self._nodes.fork(), self._uses.fork()
        other._claims, other._secrets = self._claims.fork(), self._secrets.fork()
        other._attached = self._attached.fork()
        return other

    def related(self, node: str, key: Key) -> bool:
        """True if a node has to do with an object."""
        if key.resource in (ATTACHMENTS, SLICES):
            return self._attached.get(key) == node
        if key.resource == VOLUMES:
            claim = self._claims.get(key.name)
            return claim is not None and self._used(node, claim)
        return self._used(node, key) or (key.resource == SECRETS and self._of_volume(node, key))

    def nodes(self) -> set[str]:
        """The names of all nodes to which something is related."""
        return {*self._nodes.values(), *self._attached.values()}

    def used(self, node: str) -> set[Key]:
        """The pods of a node, and what they use, with the secrets of their volumes."""
        used = {key for uses in self._uses.members(node) for key in uses}
        claims = [key for key in used if key.resource == CLAIMS]
        return used.union(*(secrets for claim in claims for secrets in self._secrets.members(claim)))

    def _used(self, node: str, key: Key) -> bool:
        return any(key in uses for uses in self._uses.members(node))

    def _of_volume(self, node: str, secret: Key) -> bool:
        return secret in self.used(node)

    def put(self, key: Key, obj: Object) -> None:
        """Add an object, or replace it."""
        self.remove(key)
        if key.resource == PODS:
            self._put_pod(key, obj)
        elif key.resource == VOLUMES:
            self._put_volume(key, obj)
        elif node := at(obj, "spec", "nodeName") or obj.get("nodeName"):
            self._attached.put(key, node)

    def _put_pod(self, key: Key, pod: Object) -> None:
        node = at(pod, "spec", "nodeName")
        if not node:
            return
        self._nodes.put(key, node)
        mirrored = MIRROR_POD in annotations_of(pod)
        self._uses.put(node, key, frozenset((key, *(() if mirrored else used_by_pod(pod)))))

    def _put_volume(self, key: Key, volume: Object) -> None:
        reference = at(volume, "spec", "claimRef")
        if not reference:
            return
        claim = Key(CLAIMS, reference.get("namespace") or "", reference.get("name") or "")
        self._claims.put(key.name, claim)
        self._secrets.put(claim, key.name, frozenset(secrets_of_volume(volume, claim.namespace)))

    def remove(self, key: Key) -> None:
        """Remove an object, known or not."""
        if key.resource == PODS:
            node = self._nodes.get(key)
            if node is not None:
                self._nodes.remove(key)
                self._uses.remove(node, key)
        elif key.resource == VOLUMES:
            claim = self._claims.get(key.name)
            if claim is not None:
                self._claims.remove(key.name)
                self._secrets.remove(claim, key.name)
        else:
            self._attached.remove(key)


def used_by_pod(pod: Object) -> Iterator[Key]:
    """The objects that the node of a pod has to read for it."""
    namespace, spec = namespace_of(pod), pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        yield Key(ACCOUNTS, namespace, spec["serviceAccountName"])
    for secret in _names(spec.get("imagePullSecrets")):
        yield Key(SECRETS, namespace, secret)
    for container in containers_of(spec):
        yield from _of_environment(container, namespace)
    for volume in spec.get("volumes") or ():
        yield from _of_volume_source(volume, namespace, name_of(pod))
    for status in at(pod, "status", "resourceClaimStatuses") or ():
        if status.get("resourceClaimName"):
            yield Key(RESOURCE_CLAIMS, namespace, status["resourceClaimName"])
    extended = at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    if extended:
        yield Key(RESOURCE_CLAIMS, namespace, extended)
    for claim in spec.get("resourceClaims") or ():
        named = claim.get("resourceClaimName") or at(claim, "source", "resourceClaimName")
        if named:
            yield Key(RESOURCE_CLAIMS, namespace, named)


def _names(references: Any) -> list[str]:
    return [each["name"] for each in references or () if each and each.get("name")]


def _of_environment(container: Mapping[str, Any], namespace: str) -> Iterator[Key]:
    for source in container.get("envFrom") or ():
        yield from _secret_or_map(source, "Ref", namespace)
    for variable in container.get("env") or ():
        yield from _secret_or_map(variable.get("valueFrom") or {}, "KeyRef", namespace)


def _secret_or_map(source: Mapping[str, Any], end: str, namespace: str) -> Iterator[Key]:
    """The secret or the config map that a source names in a field with this end."""
    for resource, word in ((SECRETS, "secret"), (CONFIG_MAPS, "configMap")):
        for name in _names([source.get(f"{word}{end}")]):
            yield Key(resource, namespace, name)


def _of_volume_source(volume: Mapping[str, Any], namespace: str, pod: str) -> Iterator[Key]:
    for source, field in _OF_PODS.items():
        named = at(volume, source, field)
        name = named if isinstance(named, str) else (named or {}).get("name")
        if name:
            yield Key(SECRETS, namespace, name)
    for name in _names([volume.get("configMap")]):
        yield Key(CONFIG_MAPS, namespace, name)
    for projected in at(volume, "projected", "sources") or ():
        yield from _secret_or_map(projected, "", namespace)
    claim = at(volume, "persistentVolumeClaim", "claimName")
    if claim:
        yield Key(CLAIMS, namespace, claim)
    if volume.get("ephemeral") is not None:
        yield Key(CLAIMS, namespace, f"{pod}-{volume.get('name', '')}")


def secrets_of_volume(volume: Object, namespace: str) -> Iterator[Key]:
    """The secrets for mounting a persistent volume; those without a namespace are in the claim's."""
    for source, fields in _OF_VOLUMES.items():
        for field in fields:
            named = at(volume, "spec", source, field)
            if isinstance(named, str) and named:
                yield Key(SECRETS, at(volume, "spec", source, "secretNamespace") or namespace, named)
            elif isinstance(named, Mapping) and named.get("name"):
                yield Key(SECRETS, named.get("namespace") or namespace, named["name"])
