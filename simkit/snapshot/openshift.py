"""The users of OpenShift and their groups, which its API servers read from objects of the cluster.

References
----------
"Understanding authentication" in the documentation of OpenShift Container Platform (users, groups, virtual groups);
github.com/openshift/library-go, pkg/authentication/bootstrapauthenticator (``kube:admin``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta import datasets
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of
from simkit.seams.authorization import OPENSHIFT, AccessEntry, Named, ProviderAccess
from simkit.seams.snapshot import Snapshot

USERS: Final = GroupResource("user.openshift.io", "users")
GROUPS: Final = GroupResource("user.openshift.io", "groups")
CONSTRAINTS: Final = GroupResource("security.openshift.io", "securitycontextconstraints")
OAUTH: Final = "system:authenticated:oauth"
"""The group of everybody who has logged in."""
_SECRETS: Final = GroupResource("", "secrets")
_AUTHENTICATIONS: Final = GroupResource("config.openshift.io", "authentications")
_PEOPLE: Final = frozenset((USERS, GROUPS))
FIRST_ADMINISTRATOR: Final = AccessEntry("kube:admin", "kube:admin", (OAUTH, "system:cluster-admins"), (), "kube:admin")
"""The user whose password the installer keeps in the secret ``kubeadmin``, until somebody deletes it."""


def names_people(key: Key) -> bool:
    """True for the objects from which the users and their groups are read."""
    return key.resource in _PEOPLE or key == Key(_SECRETS, SYSTEM_NAMESPACE, "kubeadmin")


def named_by(constraint: Object) -> Iterator[Named]:
    """The users and groups that a SecurityContextConstraints names in its own lists."""
    for field, kind in (("users", "User"), ("groups", "Group")):
        names = constraint.get(field)
        yield from ((kind, str(name)) for name in (names if isinstance(names, list) else ()))


def served(word: str) -> tuple[GroupResource, bool] | None:
    """The resource of OpenShift's own groups that a word names, and whether it is namespaced; None for other words.

    Examples
    --------
    >>> served("scc"), served("users")
    ((GroupResource(group='security.openshift.io', resource='securitycontextconstraints'), False), None)
    """
    table = datasets.load("providers/openshift-resources.json")
    name = table["short"].get(word, word)
    for namespaced, groups in ((True, table["namespaced"]), (False, table["cluster"])):
        for group, resources in groups.items():
            for resource in resources:
                alone = resource not in ("users", "groups") and name == resource
                if alone or name == f"{resource}.{group}.openshift.io":
                    return GroupResource(f"{group}.openshift.io", resource), namespaced
    return None


def access_of(snapshot: Snapshot) -> ProviderAccess:
    """The users that the objects of a cluster name, with their groups.

    Examples
    --------
    >>> from simkit.snapshot.load import load
    >>> group = "{apiVersion: user.openshift.io/v1, kind: Group, metadata: {name: devs}, users: [ann]}"
    >>> access_of(load(group, captured=["*"]).snapshot()).members()["devs"]
    ('user:ann',)
    """
    captured = snapshot.captured()
    groups: dict[str, list[str]] = {}
    for user in snapshot.scan(USERS) if USERS in captured else ():
        groups.setdefault(name_of(user), [])
    for group in snapshot.scan(GROUPS) if GROUPS in captured else ():
        listed = group.get("users")
        for name in listed if isinstance(listed, list) else ():
            if isinstance(name, str) and name:
                groups.setdefault(name, []).append(name_of(group))
    entries = [AccessEntry(name, name, (*dict.fromkeys(mine), OAUTH), (), name) for name, mine in groups.items()]
    if _SECRETS in captured and snapshot.get(_SECRETS, "kubeadmin", SYSTEM_NAMESPACE) is not None:
        entries.append(FIRST_ADMINISTRATOR)
    return ProviderAccess(OPENSHIFT, "", tuple(entries), tuple(_missing(snapshot)))


def _missing(snapshot: Snapshot) -> Iterator[str]:
    """What is not known of who is in which group."""
    captured = snapshot.captured()
    if not {USERS, GROUPS} <= {*captured}:
        yield "the users and groups of OpenShift were not captured, so who is in which group is not known"
    for group in snapshot.scan(GROUPS) if GROUPS in captured else ():
        listed = [] if group.get("users") is None else group["users"]
        if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
            yield f"users of the group {name_of(group)!r} could not be read"
    for one in snapshot.scan(_AUTHENTICATIONS) if _AUTHENTICATIONS in captured else ():
        if at(one, "spec", "type") in ("OIDC", "None"):
            yield "users and their groups come from an external provider, and are not in the cluster"
