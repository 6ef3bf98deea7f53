"""The limits of answers about access: one decorator puts those of the snapshot on whatever a question gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.objects import snapshot_of
from simkit.analysis.result import Result
from simkit.logic.authorizers.node_graph import NODES, PODS
from simkit.logic.rbac.aggregate import is_aggregated, with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.meta.objects import name_of
from simkit.seams.caveats import Caveat, not_captured
from simkit.seams.snapshot import Snapshot

P = ParamSpec("P")
A = TypeVar("A")
ATTRIBUTE: Final = "caveats"
"""The name in ``attrs`` of tables, and of the attribute of other answers."""
_known: SnapshotMemo[tuple[Caveat, ...]] = SnapshotMemo()


def caveats_of(snapshot: Snapshot) -> tuple[Caveat, ...]:
    """The limits of every answer about access to the cluster of a snapshot."""
    return _known.of(snapshot, _of_snapshot)


def _of_snapshot(snapshot: Snapshot) -> tuple[Caveat, ...]:
    """The limits that the authorizers have, and those of what they look at and the snapshot lacks."""
    found, looked_at = snapshot.authorization.caveats, "Node" in snapshot.authorization.decided
    missing = {PODS, NODES}.difference(snapshot.captured()) if looked_at else ()
    return (*found, *_unfilled(snapshot), *([not_captured(missing)] if missing else ()))


def _unfilled(snapshot: Snapshot) -> Iterator[Caveat]:
    """The limit of manifests with aggregated roles, whose rules a controller has yet to write."""
    roles = list(snapshot.scan(CLUSTER_ROLES)) if CLUSTER_ROLES in snapshot.captured() else []
    empty = {name_of(role) for role in roles if is_aggregated(role) and not role.get("rules")}
    filled = with_aggregated_rules(roles) if empty else ()
    names = sorted(name_of(role) for role in filled if name_of(role) in empty and role.get("rules"))
    if names:
        told = f"Incomplete: {', '.join(names)} aggregate ClusterRoles, and have no rules before a controller has run."
        yield Caveat("incomplete-rules", told)


def about_access() -> Callable[[Callable[P, A]], Callable[P, A]]:
    """A decorator for questions about access, whose first argument is a snapshot or a cluster.

    Their answers carry the limits of the snapshot: tables in ``attrs["caveats"]``, other answers in ``caveats``.
    """

    def decorated(question: Callable[P, A]) -> Callable[P, A]:
        @wraps(question)
        def told(*args: P.args, **named: P.kwargs) -> A:
            answer = question(*args, **named)
            first: Any = args[0] if args else next(iter(named.values()))
            snapshot: Snapshot = first if hasattr(first, "captured") else snapshot_of(first)
            return with_caveats(answer, caveats_of(snapshot))

        return told

    return decorated


def with_caveats(answer: A, caveats: Iterable[Caveat]) -> A:
    """The answer with limits; nothing changes where there are none."""
    found = tuple(caveats)
    if not found:
        return answer
    carrier: Any = answer
    if isinstance(answer, Result):
        object.__setattr__(answer, ATTRIBUTE, tuple(dict.fromkeys((*answer.caveats, *found))))
    elif hasattr(answer, "attrs"):  # a DataFrame
        told = (*carrier.attrs.get(ATTRIBUTE, ()), *(caveat.text for caveat in found))
        carrier.attrs[ATTRIBUTE] = tuple(dict.fromkeys(told))
    else:  # a graph of networkx
        carrier.graph[ATTRIBUTE] = tuple(caveat.text for caveat in found)
    return answer
