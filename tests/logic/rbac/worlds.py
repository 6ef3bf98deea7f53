"""Small worlds for tests of access control: objects in memory, and the recorded ones."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any

import orjson

from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from simkit.meta.identity import AUTHENTICATED, Identity, service_account_groups, split_service_account
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.schema.behaviour import default_behaviour
from simkit.seams.authorization import stated
from tests.conformance.recordings import fresh_cluster
from tests.shared import SHARED

RESOURCES = {
    "Role": ROLES,
    "ClusterRole": CLUSTER_ROLES,
    "RoleBinding": ROLE_BINDINGS,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
}
GROUP = "rbac.authorization.k8s.io"


class World:
    """A snapshot of RBAC objects alone; everything else in the list is left out."""

    release = "1.30"
    authorization = stated(["RBAC"])
    behaviour = default_behaviour(release)

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects: dict[GroupResource, dict[tuple[str, str], Object]] = {one: {} for one in RESOURCES.values()}
        for obj in objects:
            if obj["kind"] in RESOURCES:
                self._objects[RESOURCES[obj["kind"]]][namespace_of(obj), name_of(obj)] = obj

    def captured(self) -> Collection[GroupResource]:
        return self._objects.keys()

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        return self._objects[resource].get((namespace, name))

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        return [obj for key, obj in sorted(self._objects[resource].items()) if namespace in (None, key[0])]


def role(name: str, *rules: Object, namespace: str = "", **more: Any) -> dict[str, Any]:
    """A Role, or without a namespace a ClusterRole."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "rules": list(rules), **more}


def rule(verbs: str, groups: str = "", resources: str = "", names: str = "", paths: str = "") -> dict[str, Any]:
    """A rule from words with spaces between; ``-`` stands for the core group."""
    entry: dict[str, Any] = {"verbs": verbs.split()}
    if resources:
        entry["apiGroups"] = ["" if group == "-" else group for group in (groups or "-").split()]
        entry["resources"] = resources.split()
    if names:
        entry["resourceNames"] = names.split()
    if paths:
        entry["nonResourceURLs"] = paths.split()
    return entry


def subject(text: str) -> dict[str, str]:
    """``user ann``, ``group devs`` or ``account prod/robot``."""
    kind, name = text.split(" ", 1)
    if kind == "account":
        namespace, _, account = name.rpartition("/")
        return {"kind": "ServiceAccount", "name": account, **({"namespace": namespace} if namespace else {})}
    return {"kind": kind.capitalize(), "apiGroup": GROUP, "name": name}


def binding(name: str, of: str, *subjects: str, namespace: str = "") -> dict[str, Any]:
    """A RoleBinding, or without a namespace a ClusterRoleBinding, of ``role x`` or ``clusterrole x``."""
    kind, _, named = of.partition(" ")
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": GROUP, "kind": {"role": "Role", "clusterrole": "ClusterRole"}[kind], "name": named},
        "subjects": [subject(text) for text in subjects],
    }


def recorded_objects(name: str) -> list[Object]:
    """The items of a recorded dump beside the checkout."""
    items: list[Object] = orjson.loads(gzip.decompress((SHARED / "datasets" / name).read_bytes()))["items"]
    return items


@cache
def empty_cluster() -> tuple[Object, ...]:
    """The RBAC objects of a fresh cluster."""
    return tuple(obj for obj in fresh_cluster() if obj["kind"] in RESOURCES)


def recorded_lines(name: str) -> Iterator[Any]:
    """The lines of a file of the recorded data beside the checkout, decoded."""
    with gzip.open(SHARED / "datasets" / name) as lines:
        yield from map(orjson.loads, lines)


def impersonated(user: str, groups: Iterable[str]) -> Identity:
    """The identity that impersonating a user with these groups makes."""
    account = split_service_account(user)
    chosen = tuple(groups) or (service_account_groups(account[0]) if account else ())
    return Identity(user, (*chosen, *(() if AUTHENTICATED in chosen else (AUTHENTICATED,))))
