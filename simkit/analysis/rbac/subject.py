"""Subjects in text form: ``user:alice``, ``group:devs``, ``sa:namespace/name``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.errors import SimkitError
from simkit.meta.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    Identity,
    service_account,
    split_service_account,
)

EVERYONE: Final = (AUTHENTICATED, UNAUTHENTICATED, ANONYMOUS, SERVICE_ACCOUNTS)
"""Names of groups that contain everybody, everybody without a credential, or every workload."""

Members = Mapping[str, Iterable[str]]
"""The members of groups that the cluster does not know: group name to subjects, as ``parse_subject`` reads them."""


def parse_subject(subject: Subject | str) -> Subject:
    """The subject that a text names.

    ``alice`` and ``user:alice`` are users, ``group:devs`` a group, ``sa:ns/name`` and
    ``system:serviceaccount:ns:name`` a service account. Other names that begin with ``system:`` are users.

    Parameters
    ----------
    subject
        ``user:alice``, ``group:devs``, ``sa:namespace/name``, or a subject.

    Returns
    -------
    Subject
        The subject of a binding.

    Raises
    ------
    SimkitError
        Where the text is empty or a service account lacks its namespace.

    Examples
    --------
    >>> parse_subject("sa:ci/runner")
    Subject(kind='ServiceAccount', name='runner', namespace='ci')
    >>> text_of(parse_subject("alice"))
    'user:alice'
    """
    if isinstance(subject, Subject):
        return subject
    kind, _, rest = subject.partition(":")
    if kind == "sa":
        return _parse_service_account(subject, rest)
    if kind == "group" and rest:
        return Subject(GROUP, rest)
    name = rest if kind == "user" else subject
    if not name or kind == "group":
        raise SimkitError(f"{subject!r} names no subject; write alice, user:alice, group:devs or sa:namespace/name")
    return normalize_subject(Subject(USER, name))


def _parse_service_account(text: str, rest: str) -> Subject:
    namespace, slash, name = rest.partition("/") if "/" in rest else rest.partition(":")
    if not (namespace and slash and name):
        raise SimkitError(f"{text!r} lacks the namespace or the name of the service account; write sa:namespace/name")
    return Subject(SERVICE_ACCOUNT, name, namespace)


def text_of(subject: Subject) -> str:
    """The subject as ``parse_subject`` reads it.

    Parameters
    ----------
    subject
        A subject of a binding.

    Returns
    -------
    str
        ``user:alice``, ``group:devs`` or ``sa:namespace/name``.
    """
    if subject.kind == SERVICE_ACCOUNT:
        return f"sa:{subject.namespace}/{subject.name}"
    return f"{subject.kind.lower()}:{subject.name}"


def normalize_subject(subject: Subject) -> Subject:
    """The subject; a service account that is written as a user becomes a service account."""
    account = split_service_account(subject.name) if subject.kind == USER else None
    return Subject(SERVICE_ACCOUNT, account[1], account[0]) if account else subject


def text_of_user(name: str) -> str:
    """The subject whose requests carry this user name; empty for none.

    Examples
    --------
    >>> text_of_user("system:serviceaccount:ci:runner"), text_of_user("ann"), text_of_user("")
    ('sa:ci/runner', 'user:ann', '')
    """
    return text_of(normalize_subject(Subject(USER, name))) if name else ""


def identity_of(subject: Subject | str, groups: Iterable[str] = ()) -> Identity:
    """The identity that requests of the subject carry, with the groups that the server adds by itself.

    A group becomes some member of it, without a name of its own.

    Parameters
    ----------
    subject
        A subject, or its text.
    groups
        Further groups of the identity.

    Returns
    -------
    Identity
        The user, service account or member of a group, with the groups that the server adds.

    Examples
    --------
    >>> identity_of("group:devs").groups
    ('devs', 'system:authenticated')
    """
    subject, extra = parse_subject(subject), several_groups(groups)
    if subject.kind == SERVICE_ACCOUNT:
        known = service_account(subject.namespace, subject.name)
        return Identity(known.user, _merged(extra, known.groups))
    if subject.kind == GROUP:
        return Identity("", _merged((subject.name, *extra), implied_groups(subject.name)))
    implied = UNAUTHENTICATED if subject.name == ANONYMOUS else AUTHENTICATED
    return Identity(subject.name, _merged(extra, (implied,)))


def several_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """Names of groups as a tuple. Raises SimkitError for a single text, whose letters would count as names.

    Examples
    --------
    >>> several_groups(["devs"])
    ('devs',)
    """
    if isinstance(groups, str):
        raise SimkitError(f"groups are several names, not one text; write groups=[{groups!r}]")
    return tuple(groups)


def implied_groups(group: str) -> tuple[str, ...]:
    """The groups that every member of a group also belongs to; all but unauthenticated users are authenticated."""
    if group == UNAUTHENTICATED:
        return ()
    if group.startswith(f"{SERVICE_ACCOUNTS}:"):
        return (SERVICE_ACCOUNTS, AUTHENTICATED)
    return (AUTHENTICATED,)


def groups_in(members: Members, subject: Subject) -> tuple[str, ...]:
    """The groups of a membership table that name the subject.

    Examples
    --------
    >>> groups_in({"devs": ["alice", "sa:ci/runner"]}, parse_subject("alice"))
    ('devs',)
    """
    return tuple(group for group, names in members.items() if subject in map(parse_subject, names))


def _merged(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
