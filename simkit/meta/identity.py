"""Identity: user name, uid, groups and extra attributes of a request's user.

Follows ``k8s.io/apiserver/pkg/authentication/user/user.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from simkit.meta.frozen_init import quickly_made
from simkit.meta.name_validation import dns_subdomain, is_dns_label

ANONYMOUS: Final = "system:anonymous"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"


@quickly_made
@dataclass(frozen=True, slots=True)
class Identity:
    """The user who sends a request.

    Attributes
    ----------
    user
        The name, such as ``ann`` or ``system:serviceaccount:shop:robot``.
    groups
        All groups of the user. Nothing is added: a user who logged in is also in ``system:authenticated``.
    uid
        The uid; empty where the authenticator gives none.
    extra
        Further attributes, each with a list of values.

    Examples
    --------
    >>> ann = Identity("ann", groups=("devs", "system:authenticated"))
    >>> ann.groups
    ('devs', 'system:authenticated')
    """

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)

    @property
    def service_account(self) -> tuple[str, str] | None:
        """Namespace and name of a service account; None for any other user."""
        return split_service_account(self.user)


def service_account_user(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def split_service_account(user: str) -> tuple[str, str] | None:
    """Namespace and name in a service account's user name; None for any other user.

    A name that no account can have, or in a namespace that cannot be, is that of an ordinary user.

    Examples
    --------
    >>> split_service_account("system:serviceaccount:prod:robot"), split_service_account("system:serviceaccount:A:b")
    (('prod', 'robot'), None)
    """
    if not user.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, _, name = user[len(SERVICE_ACCOUNT_PREFIX) :].partition(":")
    return None if not is_dns_label(namespace) or dns_subdomain(name) else (namespace, name)


def service_account_groups(namespace: str) -> tuple[str, str]:
    """The groups of every service account of a namespace."""
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def service_account(namespace: str, name: str, *, uid: str = "") -> Identity:
    """The identity that a service account's token authenticates.

    Parameters
    ----------
    namespace, name, uid
        The service account.

    Returns
    -------
    Identity
        Its user name, with the groups that the server adds.
    """
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return Identity(service_account_user(namespace, name), groups, uid)


def administrator(user: str = "simkit-admin") -> Identity:
    """A member of ``system:masters``, whom every authorizer allows everything; the default identity of the facade."""
    return Identity(user, (MASTERS, AUTHENTICATED))
