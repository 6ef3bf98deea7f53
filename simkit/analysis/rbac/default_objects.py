"""The default roles and bindings that the server creates, and the administrators of a cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.subject import EVERYONE, normalize_subject
from simkit.analysis.rendering import counted
from simkit.logic.rbac.aggregate import is_aggregated
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Binding, Subject
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.defaults import settled_rbac
from simkit.logic.rbac.rule import rules_of
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot


@cache
def settled_defaults(release: str) -> Mapping[Key, Object]:
    """The roles and bindings of a server of the release soon after its start, by key."""
    return settled_rbac(MemorySnapshot((), release, captured=["*"]))


def unchanged_defaults(snapshot: Snapshot) -> frozenset[Key]:
    """The keys of unchanged default roles and bindings in the snapshot.

    A default role whose rules are collected from others counts as changed where they were extended. One that carries
    the label of the defaults, but not their content, is not a default.
    """
    return _unchanged.of(snapshot, lambda one: frozenset(_among(one, settled_defaults(one.release))))


def skipped_line(count: int, noun: str = "") -> str:
    """The line that says what analyses leave out unless they are asked for it: default roles and bindings as
    kube-apiserver made them, or what they grant.

    Examples
    --------
    >>> skipped_line(120)
    'Skipped 120 unmodified default roles and bindings.'
    >>> skipped_line(1, "path")
    'Skipped 1 path that unmodified default roles and bindings grant.'
    """
    if not noun:
        return f"Skipped {count:,} unmodified default roles and bindings."
    return f"Skipped {counted(count, noun)} that unmodified default roles and bindings grant."


_unchanged: SnapshotMemo[frozenset[Key]] = SnapshotMemo()


def derive_unchanged(before: Snapshot, after: Snapshot, changed: Collection[Key]) -> None:
    """Make the answer for a snapshot out of that for another one, from which it differs by some objects."""
    known = _unchanged.known(before)
    if known is not None:
        _unchanged.of(after, lambda _: known.difference(changed).union(_among(after, changed)))


def _among(snapshot: Snapshot, keys: Iterable[Key]) -> Iterator[Key]:
    """Those of some keys that are unchanged defaults."""
    known = settled_defaults(snapshot.release)
    for key in keys:
        default = known.get(key)
        obj = None if default is None else snapshot.get(key.resource, key.name, key.namespace)
        if default is not None and obj is not None and _same(key, obj, default):
            yield key


@cache
def control_plane(release: str) -> frozenset[Subject]:
    """The service accounts in default bindings: their controllers run outside of pods."""
    bindings = (Binding.of(key, obj) for key, obj in settled_defaults(release).items() if "roleRef" in obj)
    return frozenset(one for each in bindings for one in each.subjects if one.kind == SERVICE_ACCOUNT)


def is_of_control_plane(subject: Subject, release: str) -> bool:
    """True for kube-apiserver's own users, groups and controllers, and for nodes; not for groups of everybody."""
    if subject.kind == SERVICE_ACCOUNT:
        return subject in control_plane(release)
    return subject.name.startswith("system:") and not subject.name.startswith(EVERYONE)


def _same(key: Key, obj: Object, default: Object) -> bool:
    if "roleRef" in default:
        mine, theirs = Binding.of(key, obj), Binding.of(key, default)
        return mine.role == theirs.role and set(mine.subjects) == set(theirs.subjects)
    if is_aggregated(default):
        settling = not obj.get("rules")
        same_rule = obj.get("aggregationRule") == default["aggregationRule"]
        return same_rule and (settling or set(rules_of(obj)) == set(rules_of(default)))
    return set(rules_of(obj)) == set(rules_of(default))


def administrators(snapshot: Snapshot) -> Mapping[Subject, frozenset[Key]]:
    """The users and groups besides ``system:masters`` that may do everything in the whole cluster, with the bindings
    that allow it.

    No remedy takes their access away: it would leave only ``system:masters``, whose certificates nobody may have at
    hand. Service accounts, groups of everybody, and the control plane's own users are no administrators.
    """
    return _administrators.of(snapshot, _found)


_administrators: SnapshotMemo[Mapping[Subject, frozenset[Key]]] = SnapshotMemo()


def _found(snapshot: Snapshot) -> Mapping[Subject, frozenset[Key]]:
    index = index_of(snapshot)
    found: dict[Subject, set[Key]] = defaultdict(set)
    for binding in index.bindings():
        if not binding.namespace and covers(index.rules(binding.role) or (), EVERYTHING[:1]):
            for subject in map(normalize_subject, binding.subjects):
                if subject.kind != SERVICE_ACCOUNT and not subject.name.startswith("system:"):
                    found[subject].add(binding.key)
    return {subject: frozenset(bindings) for subject, bindings in found.items()}
