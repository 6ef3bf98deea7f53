"""Warnings about namespaces and subjects that a question can hardly mean."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import index_of, known_subjects
from simkit.analysis.rbac.objects import NAMESPACES, RBAC, SERVICE_ACCOUNTS
from simkit.analysis.rbac.subject import is_principal, parse_subject, text_of
from simkit.logic.rbac.binding import GROUP, ROLE_BINDINGS, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.errors import SimkitError, UnknownNamespace, UnknownSubject
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.identity import SERVICE_ACCOUNTS as EVERY_ACCOUNT
from simkit.meta.objects import name_of
from simkit.meta.warning import warn_user
from simkit.seams.authorization import PRINCIPAL
from simkit.seams.snapshot import Snapshot


def check_namespace(snapshot: Snapshot, namespace: str | None) -> None:
    """Raise SimkitError for an empty namespace, and warn of one that the snapshot does not have."""
    if namespace is not None and not namespace.strip():
        raise SimkitError("the namespace is empty: name one, or leave it out (None) for all of them")
    warn_of_unknown_namespace(snapshot, namespace)


def warn_of_unknown_namespace(snapshot: Snapshot, namespace: str | None) -> None:
    """Warn if a snapshot has namespaces, but not this one: the answer may not be the intended one."""
    if not namespace or namespace == "*" or NAMESPACES not in snapshot.captured():
        return
    if snapshot.get(NAMESPACES, namespace) is not None or any(True for _ in snapshot.scan(ROLE_BINDINGS, namespace)):
        return
    listed = [name_of(one) for one in snapshot.scan(NAMESPACES)]
    if listed:
        near = get_close_matches(namespace, listed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        warn_user(UnknownNamespace(f"there is no namespace {namespace!r}{hint}"))


def known_subject(snapshot: Snapshot, subject: Subject | str) -> Subject:
    """The subject that a question is about, with a warning if it can hardly be meant.

    That is a service account which neither exists nor is named by a binding, and a user that no binding names where
    bindings name a group of that name, or the server has a user or group of its own that is called so behind
    ``system:``. Other users and groups are known to the identity provider only.
    """
    who = parse_subject(subject)
    likely = _likely.of(snapshot, lambda _: set())
    if who not in likely:
        doubt = doubt_about(snapshot, who)
        if doubt:
            warn_user(UnknownSubject(doubt))
        else:
            likely.add(who)
    return who


def warn_of_unnamed_subject(subject: Subject | str, *snapshots: Snapshot) -> None:
    """Warn of a subject that no binding of any of the snapshots names, where a person has typed it.

    Users whom bindings do not name are common, so that programs are not warned of them. Groups of the server are known.
    """
    who = parse_subject(subject)
    doubts = [unnamed(one, who) for one in snapshots]
    if all(doubts):
        warn_user(UnknownSubject(doubts[-1]))


def unnamed(snapshot: Snapshot, subject: Subject | str, *, warned: bool = False) -> str:
    """A sentence on a subject that neither exists nor is named by a binding, with near ones; empty for others.

    Where ``known_subject`` has warned, it is empty too for those of whom that warns.
    """
    who = parse_subject(subject)
    if not set(RBAC) <= set(snapshot.captured()) or (warned and doubt_about(snapshot, who)):
        return ""
    if who.kind == SERVICE_ACCOUNT:
        return doubt_about(snapshot, who)
    index = index_of(snapshot)
    named = [one for one in index.subjects() if one.kind == who.kind]
    has_entry = index.entries is not None and (who.name in index.entries or len(index.entries.users(who.name)) > 1)
    if who in named or has_entry or who.name.startswith("system:"):
        return ""
    told = f"no binding names {text_of(who)}"
    if index.entries is not None and who.name.startswith("arn:"):
        return f"{told}; write {PRINCIPAL}{who.name} for a role or user of IAM"
    same = [text_of(one) for one in index.subjects() if one.kind == SERVICE_ACCOUNT and one.name == who.name]
    near = same or get_close_matches(text_of(who), map(text_of, named), n=1, cutoff=_SIMILAR)
    return doubt_about(snapshot, who) or (f"{told}; did you mean {near[0]}?" if near else told)


MEANT: Final = {
    name.removeprefix("system:"): Subject(kind, name)
    for kind, names in (
        (GROUP, (AUTHENTICATED, UNAUTHENTICATED, MASTERS, EVERY_ACCOUNT)),
        (USER, (ANONYMOUS, "system:kube-scheduler", "system:kube-controller-manager", "system:kube-proxy")),
    )
    for name in names
}
"""The server's own users and groups by their names without ``system:``."""
_SIMILAR: Final = 0.8
"""The likeness of a name that may be meant: one letter of eight is another."""
_likely: SnapshotMemo[set[Subject]] = SnapshotMemo()
"""Subjects of which no warning is due."""


def doubt_about(snapshot: Snapshot, subject: Subject | str) -> str:
    """The reason why a subject is unlikely, of which every answer warns; empty for none."""
    who = parse_subject(subject)
    if who.kind == SERVICE_ACCOUNT and SERVICE_ACCOUNTS in snapshot.captured():
        return _doubt_of_account(snapshot, who)
    if is_principal(who):
        return _doubt_of_principal(snapshot, who)
    group, meant, index = Subject(GROUP, who.name), MEANT.get(who.name), index_of(snapshot)
    if any(True for _ in index.grants_of_subject(who)):
        return ""
    if meant is not None:
        return f"no binding names {text_of(who)}; did you mean {text_of(meant)}?"
    if who.kind == USER and any(True for _ in index.grants_of_subject(group)):
        return f"no binding names {text_of(who)}; did you mean {text_of(group)}?"
    return ""


def _doubt_of_principal(snapshot: Snapshot, who: Subject) -> str:
    entries = index_of(snapshot).entries
    provider = "EKS" if who.name.startswith(PRINCIPAL) else "GKE"
    if entries is None:
        return f"who {text_of(who)} is in the cluster is not known; add the export of {provider} (--cloud, cloud=)"
    if who.name in entries:
        return ""
    short = {one.name.rpartition("/")[2]: one.name for one in entries.access.entries}
    near = get_close_matches(who.name.rpartition("/")[2], short, n=1)
    told = f"{provider} maps {text_of(who)} to no user of the cluster"
    return f"{told}; did you mean {short[near[0]]}?" if near else told


def _doubt_of_account(snapshot: Snapshot, who: Subject) -> str:
    if snapshot.get(SERVICE_ACCOUNTS, who.name, who.namespace) is not None:
        return ""
    known = known_subjects(snapshot)
    accounts = [text_of(one) for one in known if one.kind == SERVICE_ACCOUNT]
    if who in known or not accounts:
        return ""
    near = get_close_matches(text_of(who), accounts, n=1)
    return f"there is no service account {text_of(who)}" + (f"; did you mean {near[0]}?" if near else "")
