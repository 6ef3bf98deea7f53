"""The roles of Azure for the objects of AKS clusters, as rules of RBAC.

The authorization webhook of AKS asks Azure for one data action per request: the resource with ``read``, ``write`` or
``delete``, whatever its subresource, except for ``pods/exec``; and ``bind``, ``escalate``, ``use`` and ``impersonate``.

References
----------
github.com/kubeguard/guard, authz/providers/azure/rbac/checkaccessreqhelper.go, of 2026-04-30; "Understand Azure role
definitions" in the documentation of Azure; datasets/providers/aks-roles.json.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.meta import datasets
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.cloud.output import EVERYTHING, matches, rules_of

CLUSTERS: Final = "microsoft.containerservice/managedclusters/"
"""The beginning of the actions on clusters, in small letters: Azure does not tell letters of different size apart."""
_VERBS: Final = {
    "read": ("get", "list", "watch"),
    "write": ("create", "patch", "update"),
    "delete": ("delete", "deletecollection"),
}
_SPECIAL: Final = (
    *((verb, RBAC_GROUP, resource) for verb in ("bind", "escalate") for resource in ("clusterroles", "roles")),
    *(("impersonate", "", resource) for resource in ("groups", "serviceaccounts", "users")),
)
"""Further verbs, each with a resource that has it."""
_EVERY_PATH: Final = ({"verbs": ["*"], "nonResourceURLs": ["*"]},)


class Permissions(NamedTuple):
    """One block of permissions of a role: patterns of actions, in small letters."""

    actions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()
    without_data: tuple[str, ...] = ()
    condition: str = ""


class Role(NamedTuple):
    """A role by its name, with its permissions."""

    name: str
    permissions: tuple[Permissions, ...]

    def parts(self) -> Iterator[tuple[str, Role]]:
        """The conditions of its blocks, each with the role that its blocks make."""
        for condition in dict.fromkeys(one.condition for one in self.permissions):
            yield condition, Role(self.name, tuple(one for one in self.permissions if one.condition == condition))

    def may(self, action: str) -> bool:
        """True if the role allows one of the actions on a cluster."""
        return any(_covers(one.actions, one.without, f"{CLUSTERS}{action}") for one in self.permissions)

    def does(self, action: str) -> bool:
        """True if the role allows an action, in small letters."""
        return any(_covers(one.actions, one.without, action) for one in self.permissions)

    def rules(self, release: str, custom: Collection[tuple[str, str]]) -> tuple[Object, ...]:
        """The rules of its data actions, for the resources of a release and some custom ones."""
        blocks = [one for one in self.permissions if one.data_actions]
        if any(_is_everything(one.data_actions) and not one.without_data for one in blocks):
            return (*EVERYTHING, *_EVERY_PATH)
        allowed: dict[tuple[str, str], list[str]] = {}
        for group, resource, verbs, actions in _requests(release, custom):
            if any(_covers(one.data_actions, one.without_data, action) for one in blocks for action in actions):
                allowed.setdefault((group, resource), []).extend(verbs)
        paths = _EVERY_PATH if any(_is_everything(one.data_actions) for one in blocks) else ()
        return (*rules_of(allowed), *paths)


def permissions_of(block: Mapping[str, Any], condition: str = "") -> Permissions:
    """The permissions in a block of a role definition, whose fields hold lists of texts."""
    actions, without, data_actions, without_data = (
        tuple(one.lower() for one in block.get(name) or ())
        for name in ("actions", "notActions", "dataActions", "notDataActions")
    )
    return Permissions(actions, without, data_actions, without_data, condition)


@cache
def built_in_roles() -> Mapping[str, Role]:
    """The built-in roles by their ids; those that grant nothing in clusters have no permissions."""
    table = datasets.load("providers/aks-roles.json")
    found = {
        number: Role(role["name"], tuple(map(permissions_of, role["permissions"])))
        for number, role in table["roles"].items()
    }
    return found | {number: Role("", ()) for number in table["without"]}


def _covers(patterns: Iterable[str], without: Iterable[str], action: str) -> bool:
    return any(matches(one, action) for one in patterns) and not any(matches(one, action) for one in without)


def _is_everything(patterns: Iterable[str]) -> bool:
    """True if some patterns name every action on objects of clusters, paths included."""
    return any(matches(one, f"{CLUSTERS}*") for one in patterns)


def _requests(
    release: str, custom: Collection[tuple[str, str]]
) -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """Group, resource with subresource, verbs, and the data actions of which one is needed, for every request."""
    for group, resource, subresources in _resources(release):
        for action, verbs in _VERBS.items():
            for subresource in ("", *subresources):
                name = f"{resource}/{subresource}" if subresource else resource
                asked = (
                    f"{resource}/exec/action" if (resource, subresource) == ("pods", "exec") else f"{resource}/{action}"
                )
                yield group, name, verbs, (_action(group, asked),)
    for group, resource in custom:
        for action, verbs in _VERBS.items():
            for name in (resource, f"{resource}/status", f"{resource}/scale"):
                yield (
                    group,
                    name,
                    verbs,
                    (_action(group, f"{resource}/{action}"), _action("", f"customresources/{action}")),
                )
    for verb, group, resource in _SPECIAL:
        yield group, resource, (verb,), (_action(group, f"{resource}/{verb}/action"),)


def _action(group: str, rest: str) -> str:
    return f"{CLUSTERS}{group}/{rest}" if group else f"{CLUSTERS}{rest}"


@cache
def _resources(release: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Group, name and subresources of each resource of a release."""
    listed = Catalogue.for_release(release, everything=True).resources()
    found = {(one.group, one.resource): tuple(one.subresources) for one in listed}
    return tuple((group, resource, subresources) for (group, resource), subresources in sorted(found.items()))
