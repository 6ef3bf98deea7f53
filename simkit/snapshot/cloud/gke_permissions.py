"""The roles and permissions of IAM for the objects of GKE clusters, as rules of RBAC.

References
----------
"Google Kubernetes Engine roles and permissions" in the documentation of IAM; "GKE API permissions" in that of Google
Kubernetes Engine; datasets/providers/gke-iam-roles.json.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.meta.objects import Object
from simkit.snapshot.cloud.output import EVERYTHING, matches, rules_of, texts

_SERVICE: Final = "container.googleapis.com/"
_NOT_OF_KUBERNETES: Final = ("clusters", "operations", "hostServiceAgent")
"""The first words of permissions for the GKE API."""


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = datasets.load("providers/gke-iam-roles.json")
    return table


def permissions_of(role: str) -> tuple[str, ...] | None:
    """The permissions of a predefined or basic role for objects of clusters; None for a role that is not known."""
    table = _table()
    rows = table["roles"].get(table["same"].get(role, role))
    if rows is not None:
        return tuple(f"container.{name}.{verb}" for name, verbs in rows.items() for verb in verbs.split())
    service, _, name = role.removeprefix("roles/").partition(".")
    without = table["without"].get(service) if role.startswith("roles/") else None
    return None if without is None or name not in without.split(" ") else ()


@cache
def _everything() -> frozenset[str]:
    return frozenset(permissions_of("roles/container.admin") or ())


def denied_permissions(rule: Mapping[str, Any]) -> tuple[str, ...]:
    """The permissions for clusters that a deny rule takes away, which it writes as ``container.googleapis.com/A.B``.

    Examples
    --------
    >>> denied_permissions({"deniedPermissions": ["container.googleapis.com/secrets.*"]})[:2]
    ('container.secrets.create', 'container.secrets.delete')
    """
    denied, excepted = (
        [one.removeprefix(_SERVICE) for one in texts(rule, name, optional=True) if one.startswith(_SERVICE)]
        for name in ("deniedPermissions", "exceptionPermissions")
    )
    known = {one.partition(".")[2] for one in _everything()} | {one for one in denied if "*" not in one}
    return tuple(
        f"container.{one}"
        for one in sorted(known)
        if any(matches(pattern, one) for pattern in denied) and not any(matches(pattern, one) for pattern in excepted)
    )


def rules_of_permissions(
    permissions: Collection[str], custom: Collection[tuple[str, str]] = ()
) -> tuple[tuple[Object, ...], tuple[str, ...]]:
    """The rules of some IAM permissions, and those of the permissions about clusters that are not known.

    ``custom`` has the groups and names of the cluster's custom resources. Who has every permission may do everything.

    Examples
    --------
    >>> rules_of_permissions(["container.pods.getLogs", "storage.buckets.get"])[0]
    ({'verbs': ['get'], 'apiGroups': [''], 'resources': ['pods/log']},)
    """
    if _everything() <= set(permissions):
        return EVERYTHING, ()
    allowed: dict[tuple[str, str], list[str]] = {}
    strange = []
    for permission in permissions:
        service, _, rest = permission.partition(".")
        if service == "container":
            targets = _targets(*rest.split("."), custom=custom)
            if targets is None:
                strange.append(permission)
            for group, resource, verbs in targets or ():
                allowed.setdefault((group, resource), []).extend(verbs)
    return rules_of(allowed), tuple(strange)


def _targets(
    name: str, verb: str = "", *, custom: Collection[tuple[str, str]]
) -> list[tuple[str, str, list[str]]] | None:
    """The groups, resources and verbs of a permission; None if it is not known."""
    table = _table()
    if (name, verb) == ("clusters", "impersonate"):
        return [("", who, ["impersonate"]) for who in ("users", "groups", "serviceaccounts")]
    if name in _NOT_OF_KUBERNETES or name in table["obsolete"] or verb == "initialize":
        return []
    listed = [one.partition(".") for one in table["resources"].get(name, "").split()]
    named = {(group, resource) for resource, _, group in listed}
    if name == "thirdPartyObjects":
        own = {one for text in table["resources"].values() for one in text.split()}
        named = {(group, resource) for group, resource in custom if f"{resource}.{group}" not in own}
    elif not named:
        return None
    subresource, verbs = table["subresources"].get(verb, ("", table["verbs"].get(verb)))
    if verbs is None:
        return None
    suffix = f"/{subresource}" if subresource else ""
    return [(group, f"{resource}{suffix}", verbs) for group, resource in sorted(named)]
