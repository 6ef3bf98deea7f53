"""RBAC objects: roles and bindings with their keys, read from snapshots and made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from simkit.logic.rbac.binding import (
    ACCESS_ENTRIES,
    ACCESS_POLICIES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNT,
    Binding,
    Subject,
    key_of,
)
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.seams.authorization import GRANTS
from simkit.seams.snapshot import Sandbox, Snapshot

RBAC: Final = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS)
SERVICE_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
NAMESPACES: Final = GroupResource("", "namespaces")
PODS: Final = GroupResource("", "pods")

KINDS: Final = {
    ROLES: "Role",
    CLUSTER_ROLES: "ClusterRole",
    ROLE_BINDINGS: "RoleBinding",
    CLUSTER_ROLE_BINDINGS: "ClusterRoleBinding",
    **{resource: GRANTS[provider][0] for resource, provider in ACCESS_ENTRIES.items()},
    **{resource: GRANTS[provider][1] for resource, provider in ACCESS_POLICIES.items()},
}
EVERYWHERE: Final = "*"
"""The scope of a grant that holds in the whole cluster."""
NO_BINDING: Final = "(no binding)"
"""The text in the column ``binding`` for members of ``system:masters``, who need none."""


def snapshot_of(value: Snapshot | Sandbox) -> Snapshot:
    """The snapshot of a cluster; a snapshot is its own. Raises SimkitError for anything else."""
    if isinstance(value, Sandbox):
        return value.snapshot()
    require_snapshot(value)
    return value


def require_snapshot(value: object) -> None:
    """Raise SimkitError for what is no snapshot, with how to get one."""
    if hasattr(value, "captured"):
        return
    if isinstance(value, str | Path):
        raise SimkitError(f"{str(value)!r} is a text; to ask about a dump, pass simkit.load({str(value)!r}).snapshot()")
    what = f"{type(value).__name__} is no snapshot"
    raise SimkitError(f"{what}; pass cluster.snapshot(), or call the method of the cluster")


def require_captured(snapshot: Snapshot, resources: Iterable[GroupResource] = RBAC) -> None:
    """Raise IncompleteSnapshot if the snapshot lacks one of these resources, SimkitError if it is none at all."""
    require_snapshot(snapshot)
    missing = set(resources) - set(snapshot.captured())
    if missing:
        raise IncompleteSnapshot(missing)


def captured_objects(snapshot: Snapshot, resource: GroupResource) -> Iterable[Object]:
    """The objects of a resource; none where it was not captured."""
    return snapshot.scan(resource) if resource in snapshot.captured() else ()


def all_bindings(snapshot: Snapshot) -> Iterator[Binding]:
    """Every binding, cluster-wide ones first."""
    for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
        for obj in snapshot.scan(resource):
            yield Binding.of(key_of(obj, resource), obj)


def all_roles(snapshot: Snapshot) -> Iterator[tuple[Key, Object]]:
    """Every role with its key, cluster roles first."""
    for resource in (CLUSTER_ROLES, ROLES):
        for obj in snapshot.scan(resource):
            yield key_of(obj, resource), obj


def kind_of(key: Key) -> str:
    """The kind of a role or binding."""
    return KINDS.get(key.resource, key.resource.resource)


def rbac_object(key: Key, content: Mapping[str, Any]) -> dict[str, Any]:
    """A role or binding with this content, as people write it."""
    metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind_of(key), "metadata": metadata, **content}


def role_object(key: Key, rules: Iterable[Rule]) -> dict[str, Any]:
    """A role with some rules."""
    return rbac_object(key, {"rules": [rule.entry() for rule in rules]})


def binding_object(key: Key, role: Key, subject: Subject) -> dict[str, Any]:
    """A binding of a role to a subject."""
    reference = {"apiGroup": RBAC_GROUP, "kind": kind_of(role), "name": role.name}
    return rbac_object(key, {"roleRef": reference, "subjects": [subject_entry(subject)]})


def subject_entry(subject: Subject) -> dict[str, str]:
    """A subject as bindings name it."""
    if subject.kind == SERVICE_ACCOUNT:
        return {"kind": SERVICE_ACCOUNT, "namespace": subject.namespace, "name": subject.name}
    return {"kind": subject.kind, "name": subject.name, "apiGroup": RBAC_GROUP}


def no_binding(mode: str) -> str:
    """The text in the column ``binding`` for what an authorizer besides RBAC allows."""
    return f"({mode} authorizer)"


def display_name(key: Key) -> str:
    """A role or binding as text: ``RoleBinding dev/readers``.

    Examples
    --------
    >>> display_name(Key(ROLE_BINDINGS, "dev", "readers"))
    'RoleBinding dev/readers'
    """
    return f"{kind_of(key)} {key.namespace}/{key.name}" if key.namespace else f"{kind_of(key)} {key.name}"
