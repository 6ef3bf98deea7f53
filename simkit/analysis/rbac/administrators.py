"""The administrators of a cluster, whose access every remedy leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.subject import normalize_subject
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Subject
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot


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
