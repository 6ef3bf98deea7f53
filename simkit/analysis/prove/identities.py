"""The identities that requests can carry, and the weakest of them that a grant reaches.

Identities carry what kube-apiserver adds by itself: everybody who has logged in is in ``system:authenticated``,
``system:anonymous`` is in ``system:unauthenticated`` and nowhere else, service accounts and nodes are in their groups.
Besides these groups, an identity provider may put anybody in any combination of groups. Names that begin with
``system:`` are reserved for Kubernetes, so that no provider hands them out in another way.

Grants only ever add access. So whether a grant to a user or a group allows anything new is decided by the identity
that has this user or group, and nothing besides what is implied.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, count

from simkit.analysis.rbac.subject import identity_of, normalize_subject, text_of
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.meta.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    NODE_PREFIX,
    NODES,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    Identity,
    service_account,
    split_service_account,
)

Principal = tuple[str, str]
"""The kind, User or Group, and the name, as a request carries them."""


def weakest_identity(principal: Principal, new_name: str) -> Identity | None:
    """The identity with a user name or a group, and with nothing that is not implied.

    Parameters
    ----------
    principal
        The user or the group.
    new_name
        A name that no binding names: of the user in the group, of the service account, of its namespace, of the node.

    Returns
    -------
    Identity or None
        None for ``system:masters``, whose members need no grant, and for what no request carries.

    Examples
    --------
    >>> weakest_identity(("Group", "devs"), "somebody").groups
    ('devs', 'system:authenticated')
    """
    kind, name = principal
    if kind == USER:
        return identity_of(normalize_subject(Subject(USER, name))) if name else None
    if kind != GROUP or name == MASTERS:
        return None
    if name == UNAUTHENTICATED:
        return Identity(ANONYMOUS, (UNAUTHENTICATED,))
    if name == SERVICE_ACCOUNTS:
        return service_account(new_name, new_name)
    if name == NODES:
        return Identity(f"{NODE_PREFIX}{new_name}", (NODES, AUTHENTICATED))
    prefix, _, namespace = name.rpartition(":")
    if prefix == SERVICE_ACCOUNTS and split_service_account(service_account(namespace, new_name).user):
        return service_account(namespace, new_name)
    return Identity(new_name, tuple(dict.fromkeys((name, AUTHENTICATED))))


def principals_of_identity(identity: Identity) -> tuple[Principal, ...]:
    """The user and the groups of an identity, each as bindings name them."""
    return ((USER, identity.user), *((GROUP, group) for group in identity.groups))


def holder_text(principal: Principal) -> str:
    """The subject that a binding names, as text."""
    return text_of(normalize_subject(Subject(principal[0], principal[1])))


def unused_name(wish: str, taken: Iterable[str]) -> str:
    """A name that is no part of any of the taken ones: the wish itself, or with a number.

    Examples
    --------
    >>> unused_name("somebody", {"system:serviceaccount:dev:somebody"})
    'somebody-1'
    """
    listed = tuple(taken)
    names = chain([wish], (f"{wish}-{number}" for number in count(1)))
    return next(name for name in names if not any(name in text for text in listed))
