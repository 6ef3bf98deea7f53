"""The access index of a snapshot, computed once, and group membership."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.objects import (
    NAMESPACES,
    RBAC,
    SERVICE_ACCOUNTS,
    captured_objects,
    require_captured,
    require_snapshot,
)
from simkit.analysis.rbac.subject import Members, groups_in, identity_of, implied_groups, parse_subject
from simkit.logic.authorizers.chain import AuthorizerChain
from simkit.logic.rbac.binding import (
    GROUP,
    RESOURCES_OF_KINDS,
    SERVICE_ACCOUNT,
    USER,
    Subject,
    key_of,
)
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, Identity
from simkit.meta.identity import SERVICE_ACCOUNTS as ALL_ACCOUNTS
from simkit.meta.names import Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.meta.python_gc import collection_paused
from simkit.seams.snapshot import Snapshot, Successor

NO_MEMBERS: Final[Members] = {}
MASTERS_GROUP: Final = Subject(GROUP, MASTERS)
"""The group whose members may do everything without a binding."""

_indexes: SnapshotMemo[AccessIndex] = SnapshotMemo()
_chains: SnapshotMemo[AuthorizerChain] = SnapshotMemo()
_known: SnapshotMemo[tuple[Subject, ...]] = SnapshotMemo()


def index_of(snapshot: Snapshot) -> AccessIndex:
    """The access index of a snapshot, computed at the first question and updated after writes to a cluster.

    Raises IncompleteSnapshot without roles or bindings.
    """
    return _indexes.of(snapshot, _indexed)


def chain_of(snapshot: Snapshot) -> AuthorizerChain:
    """The authorizers of a snapshot, which decide as those of its API server do."""
    return _chains.of(snapshot, lambda one: AuthorizerChain(one, index_of(one)))


def derive_index(before: Snapshot, after: Snapshot, put: Iterable[Object], gone: Iterable[Key]) -> None:
    """Make the index of a snapshot out of that of another one, from which it differs by some objects.

    Notes
    -----
    O(changed objects), where the index of the other one is known; nothing is made where it is not.
    """
    known = _indexes.known(before)
    if known is None:
        return

    def derived(_: Snapshot) -> AccessIndex:
        index = known.fork()
        for key in gone:
            index.remove(key)
        for obj in put:
            resource = {**RESOURCES_OF_KINDS, "Namespace": NAMESPACES}.get(str(obj.get("kind")))
            if resource is not None:
                index.put(key_of(obj, resource), obj)
        return index

    _indexes.of(after, derived)


def _indexed(snapshot: Snapshot) -> AccessIndex:
    require_captured(snapshot, RBAC)
    if not isinstance(snapshot, Successor):
        return _whole(snapshot)
    earlier = snapshot.earlier  # the origin of a fork: its index serves all other forks too
    index = _whole(snapshot) if earlier is None else _updated(index_of(earlier).fork(), snapshot)
    snapshot.forget()
    return index


def _whole(snapshot: Snapshot) -> AccessIndex:
    with collection_paused():
        return AccessIndex.of(snapshot)


def _updated(index: AccessIndex, snapshot: Successor) -> AccessIndex:
    """The index updated with the writes since its snapshot."""
    for key, obj in snapshot.written():
        if obj is None:
            index.remove(key)
        else:
            index.put(key, obj)
    return index


def members_in(snapshot: Snapshot, members: Members | None) -> Members:
    """The given members of groups, and those that the provider's access entries name."""
    require_snapshot(snapshot)
    access = snapshot.authorization.access
    if access is None:
        return members or NO_MEMBERS
    found = {group: tuple(subjects) for group, subjects in (members or NO_MEMBERS).items()}
    for group, principals in access.members().items():
        found[group] = tuple(dict.fromkeys((*found.get(group, ()), *principals)))
    return found


def identity_with_members(
    subject: Subject | str, members: Members = NO_MEMBERS, groups: tuple[str, ...] = ()
) -> Identity:
    """The identity of a subject with the groups that the server adds, those given, and those of a membership table."""
    if not members:
        return identity_of(subject, groups)
    known = parse_subject(subject)
    return identity_of(known, (*groups, *groups_in(members, known)))


def known_subjects(snapshot: Snapshot) -> tuple[Subject, ...]:
    """Known users and service accounts: those that bindings name, and every existing service account."""
    return _known.of(snapshot, _everybody)


def _everybody(snapshot: Snapshot) -> tuple[Subject, ...]:
    index = index_of(snapshot)
    named = {subject for subject in index.subjects() if subject.kind != GROUP}
    if index.entries is not None:
        named |= {Subject(USER, one.name) for one in index.entries.access.entries if one.kind == USER}
    accounts = captured_objects(snapshot, SERVICE_ACCOUNTS)
    return tuple(sorted(named | {Subject(SERVICE_ACCOUNT, name_of(obj), namespace_of(obj)) for obj in accounts}))


def members_of(snapshot: Snapshot, group: str, members: Members = NO_MEMBERS) -> Iterator[Subject]:
    """The subjects that are known to belong to a group: by the server's own rules, or by the membership table.

    Notes
    -----
    Groups of the server itself (``system:serviceaccounts:dev``) need the service accounts in the snapshot; without
    them only those are found which bindings name.
    """
    if group == UNAUTHENTICATED:
        yield Subject(USER, ANONYMOUS)
        return
    listed = [parse_subject(text) for text in members.get(group, ())]
    yield from dict.fromkeys(listed)
    if group == AUTHENTICATED or group.startswith(ALL_ACCOUNTS):
        tabled = {parse_subject(text) for texts in members.values() for text in texts}
        for subject in dict.fromkeys((*known_subjects(snapshot), *sorted(tabled))):
            if subject not in listed and group in identity_of(subject).groups:
                yield subject


def principals_of(subject: Subject, members: Members = NO_MEMBERS) -> tuple[Subject, ...]:
    """The subject, and as subjects all groups that it certainly belongs to."""
    if subject.kind == GROUP:
        groups = (*groups_in(members, subject), *implied_groups(subject.name))
        return (subject, *(Subject(GROUP, name) for name in dict.fromkeys(groups)))
    return (subject, *(Subject(GROUP, name) for name in identity_with_members(subject, members).groups))
