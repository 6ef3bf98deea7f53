"""What a proof about roles and bindings says of a cluster whose other authorizers decide, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from simkit.analysis.caveats import caveats_of
from simkit.logic.authorizers.chain import RBAC
from simkit.logic.authorizers.node_graph import FOLLOWED
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Snapshot

ALWAYS_ALLOW: Final = "AlwaysAllow"


def undecided(snapshot: Snapshot) -> str:
    """The reason for which nothing can be proven from roles and bindings of a cluster; empty if something can."""
    authorization = snapshot.authorization
    unknown = [mode for mode in authorization.modes if mode not in authorization.decided]
    if unknown:
        named = " and ".join(unknown)
        return (
            f"The decisions of the authorizer {named} are not in the cluster's objects, and it may allow or deny more."
        )
    if RBAC not in authorization.modes:
        named = ", ".join(authorization.modes)
        return f"RBAC is not among the authorizers ({named}), so roles and bindings grant nothing."
    if ALWAYS_ALLOW in authorization.modes:
        return "The authorizer AlwaysAllow allows everything to everybody, whatever roles and bindings say."
    return ""


def different(before: Snapshot, after: Snapshot) -> str:
    """The reason for which authorizers besides RBAC may have come to allow more; empty if they have not.

    The decisions of the Node authorizer follow from the pods, volumes and attachments of each node, and from the
    release; those of ABAC from its policy file.
    """
    first, second = before.authorization, after.authorization
    if first.modes != second.modes:
        return f"The authorizers differ: {', '.join(first.modes)} before, {', '.join(second.modes)} after."
    if first.policies != second.policies:
        return "The policy files of the authorizer ABAC differ."
    if "Node" not in first.modes:
        return ""
    if before.release != after.release or dict(first.feature_gates) != dict(second.feature_gates):
        return "The releases or feature gates differ, by which the Node authorizer decides about kubelets."
    moved = sorted(resource.resource for resource in FOLLOWED if not _same(before, after, resource))
    if moved:
        return f"Different {', '.join(moved)} let the Node authorizer allow kubelets other objects than before."
    return ""


def _same(before: Snapshot, after: Snapshot, resource: GroupResource) -> bool:
    if resource not in before.captured() or resource not in after.captured():
        return resource not in before.captured() and resource not in after.captured()
    return list(_decisive(before.scan(resource))) == list(_decisive(after.scan(resource)))


def _decisive(objects: Iterable[Object]) -> Iterator[tuple[Object, Object]]:
    """What the Node authorizer looks at: names and specifications."""
    for obj in objects:
        metadata = obj.get("metadata") or {}
        yield {name: metadata.get(name) for name in ("name", "namespace", "annotations")}, obj.get("spec") or {}


def scope_caveats(snapshots: Iterable[Snapshot]) -> tuple[Caveat, ...]:
    """The limits of what the snapshots show, each once."""
    return tuple(dict.fromkeys(caveat for snapshot in snapshots for caveat in caveats_of(snapshot)))
