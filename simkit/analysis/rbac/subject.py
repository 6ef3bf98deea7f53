"""Subjects in text form: ``user:alice``, ``group:devs``, ``sa:namespace/name``, ``aws:arn:aws:iam::...``, ``gcp:``; and
the members of groups, which Kubernetes does not store, read from files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from simkit.language.yaml.small_files import value_of_file
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.errors import SimkitError
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
from simkit.seams.authorization import GOOGLE, PRINCIPAL

_ACCOUNT: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_GROUPS: Final = (MASTERS, AUTHENTICATED, UNAUTHENTICATED, SERVICE_ACCOUNTS, NODES)
_AWS: Final = re.compile(r"arn:aws[\w-]*:iam::\d{12}:(?:(?:role|user)/.|root$)", re.ASCII)
EVERYONE: Final = (AUTHENTICATED, UNAUTHENTICATED, ANONYMOUS, SERVICE_ACCOUNTS)
"""Names of groups that contain everybody, everybody without a credential, or every workload."""

Members = Mapping[str, Iterable[str]]
"""The members of groups that the cluster does not know: group name to subjects, as ``parse_subject`` reads them."""


def several(subjects: Subject | str | Iterable[Subject | str]) -> tuple[Subject | str, ...]:
    """One subject, or several, as a tuple."""
    return (subjects,) if isinstance(subjects, Subject | str) else tuple(subjects)


def parse_subject(subject: Subject | str) -> Subject:
    """The subject that a text names.

    ``alice`` and ``user:alice`` are users, ``group:devs`` a group, ``sa:ns/name``, ``ns/name``,
    ``serviceaccount:ns/name`` and ``system:serviceaccount:ns:name`` a service account. Other names that begin with
    ``system:`` are users, except those of the server's own groups, which are refused without ``group:``.
    ``aws:arn:aws:iam::111122223333:role/ops`` is the user that stands for a role or user of AWS IAM. ``gcp:`` before a
    member of a policy of Google Cloud names the user or group that it is in the cluster: ``gcp:user:ann@acme.example``
    is ``user:ann@acme.example``, and ``gcp:domain:acme.example`` the user that stands for all those of a domain.

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
        Where the text is empty, a service account lacks its namespace, or a bare name is that of a group of the server:
        ``system:masters``.

    Examples
    --------
    >>> parse_subject("sa:ci/runner")
    Subject(kind='ServiceAccount', name='runner', namespace='ci')
    >>> text_of(parse_subject("alice"))
    'user:alice'
    """
    if isinstance(subject, Subject):
        return subject
    word, colon, rest = subject.partition(":")
    kind = word.lower() if colon else ""
    if kind in ("sa", "serviceaccount"):
        return _parse_service_account(subject, rest)
    if kind == "aws":
        return _parse_principal(subject, rest)
    if kind == "gcp" and rest:
        return _parse_member(rest)
    if kind == "group" and rest:
        return Subject(GROUP, rest)
    name = rest if kind == "user" else subject
    if name and kind != "user":
        _refuse_unlikely_user(name)
        if _ACCOUNT.fullmatch(name):
            return _parse_service_account(subject, name)
    if not name or kind == "group":
        raise SimkitError(f"{subject!r} is not a subject; write alice, user:alice, group:devs or sa:namespace/name")
    return normalize_subject(Subject(USER, name))


def _refuse_unlikely_user(name: str) -> None:
    """Raise SimkitError for a bare name that is a service account's or a group's rather than a user's."""
    first, _, rest = name.partition("/")
    if _ACCOUNT.fullmatch(name) and first in ("sa", "serviceaccount", "serviceaccounts"):
        raise SimkitError(f"{name!r} lacks the namespace of the service account; write sa:NAMESPACE/{rest}")
    if name in _GROUPS or name.startswith(f"{SERVICE_ACCOUNTS}:"):
        raise SimkitError(f"{name!r} is a group of Kubernetes; write group:{name}")


def _parse_principal(text: str, arn: str) -> Subject:
    if not _AWS.match(arn):
        raise SimkitError(f"{text!r} is no role or user of IAM; write aws:arn:aws:iam::ACCOUNT:role/NAME")
    return Subject(USER, f"{PRINCIPAL}{arn}")


def _parse_member(member: str) -> Subject:
    kind, _, name = member.partition(":")
    if kind == "group":
        return Subject(GROUP, name)
    if kind == "user" or (kind == "serviceAccount" and "[" not in name):
        return Subject(USER, name)
    if kind in ("serviceAccount", "principal") and "/subject/ns/" not in name:
        return Subject(USER, member)
    return Subject(USER, f"{GOOGLE}{member}")


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
        ``user:alice``, ``group:devs``, ``sa:namespace/name`` or ``aws:arn:aws:iam::...``.
    """
    if subject.kind == SERVICE_ACCOUNT:
        return f"sa:{subject.namespace}/{subject.name}"
    if is_principal(subject):
        return subject.name
    return f"{subject.kind.lower()}:{subject.name}"


def is_principal(subject: Subject) -> bool:
    """True for a user that stands for a principal of the provider, whose requests carry another name."""
    name = subject.name
    of_aws = name.startswith(PRINCIPAL) and bool(_AWS.match(name, len(PRINCIPAL)))
    return subject.kind == USER and (of_aws or name.startswith(f"{GOOGLE}domain:"))


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


def text_of_identity(identity: Identity) -> str:
    """The subject of an identity: its user, or, if it has none, its first group."""
    return text_of_user(identity.user) if identity.user else text_of(Subject(GROUP, identity.groups[0]))


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
    if subject.name.startswith(NODE_PREFIX):
        return Identity(subject.name, _merged(extra, (NODES, AUTHENTICATED)))
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


def members_of_files(paths: str | Path | Iterable[str | Path]) -> Mapping[str, tuple[str, ...]]:
    """The members of groups in tables, as all questions take them in ``members=``.

    Parameters
    ----------
    paths
        YAML or JSON files, each a mapping from the name of a group to a list of subjects. Later ones add to earlier
        ones.

    Returns
    -------
    Mapping
        Group name to subjects, each once.

    Raises
    ------
    SimkitError
        For a file that cannot be read or is no such table; it names the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("devs: [ann, sa:ci/runner]")
    ...     file.flush()
    ...     members_of_files(file.name)
    {'devs': ('ann', 'sa:ci/runner')}
    """
    found: dict[str, dict[str, None]] = {}
    for path in [paths] if isinstance(paths, str | Path) else paths:
        for group, subjects in _table(Path(path), value_of_file(Path(path))).items():
            found.setdefault(str(group), {}).update(dict.fromkeys(_checked(Path(path), one) for one in subjects))
    return {group: tuple(subjects) for group, subjects in found.items()}


def _table(path: Path, value: Any) -> Mapping[Any, list[Any]]:
    if not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
        raise SimkitError(f"{path}: write a list of subjects for each group, as in devs: [user:ann, sa:ci/runner]")
    return value


def _checked(path: Path, subject: Any) -> str:
    try:
        parse_subject(str(subject))
    except SimkitError as wrong:
        raise SimkitError(f"{path}: {wrong}") from None
    return str(subject)
