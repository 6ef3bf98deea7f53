"""Escalation paths that are new or closed between two snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import COLUMNS, WELL_KNOWN, escalations, path_row
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import snapshot_of
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.meta.warning import warnings_heard_by
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

Paths = dict[tuple[str, str], Path]
"""Paths by subject and goal."""


@about_access()
def compare_paths(
    before: Snapshot | Sandbox,
    after: Snapshot | Sandbox,
    *,
    goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
    members: Members | None = None,
) -> pd.DataFrame:
    """The paths that are new and those that are closed, between two snapshots or in a what-if.

    Parameters
    ----------
    before, after
        The earlier and the later cluster or snapshot.
    goal
        What for: see ``parse_goal``.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    DataFrame
        One row per subject and goal whose best path appeared (``new``), went away (``closed``), or became shorter or
        longer: change, then the columns of ``Escalations.to_frame`` and hops_before.

    Raises
    ------
    SimkitError
        For a text that is no goal.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.compare_paths(before=cluster.snapshot()))
    0
    """
    changes = changed_paths(snapshot_of(before), snapshot_of(after), goal, members or NO_MEMBERS)
    rows = ((change, *path_row(path), was.hops if was else None) for change, path, was in changes)
    return table(rows, ("change", *COLUMNS, "hops_before"))


def changed_paths(
    before: Snapshot,
    after: Snapshot,
    goal: Goal | str | Iterable[Goal | str] = WELL_KNOWN,
    members: Members = NO_MEMBERS,
) -> Iterator[tuple[str, Path, Path | None]]:
    """The rows of ``compare_paths``: the change, the path that is there or was, and the path before."""
    old, new = paths_of_both(before, after, goal, members)
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        change, shown = _change(was, now), now or was
        if change and shown:
            yield change, shown, was


def paths_of_both(
    before: Snapshot, after: Snapshot, goal: Goal | str | Iterable[Goal | str], members: Members
) -> tuple[Paths, Paths]:
    """The best path of each subject to each goal before and after, by subject and goal.

    A subject that only one side names is asked about on the other one too, where it has what all users have.
    """
    old, new = paths_of(before, goal, members), paths_of(after, goal, members)
    old |= paths_of_strangers(before, new, old, goal, members)
    return old, new | paths_of_strangers(after, old, new, goal, members)


def paths_of_strangers(
    snapshot: Snapshot,
    there: Iterable[tuple[str, str]],
    here: Iterable[tuple[str, str]],
    goal: Goal | str | Iterable[Goal | str],
    members: Members,
) -> Paths:
    """The paths in a snapshot of subjects that another one names: those of ``there`` that are not in ``here``."""
    strangers = {subject for subject, _ in there if not subject.startswith("pod:")} - {subject for subject, _ in here}
    if not strangers:
        return {}
    with warnings_heard_by(lambda _: None):  # that they are unknown on this side is no doubt about the question
        return paths_of(snapshot, goal, members, sorted(strangers))


def paths_of(
    snapshot: Snapshot, goal: Goal | str | Iterable[Goal | str], members: Members, subjects: list[str] | None = None
) -> Paths:
    """The best path of each subject, or of some, to each goal, by subject and goal."""
    found = escalations(snapshot, subjects, goal, direct=True, include_defaults=True, members=members)
    return {(path.subject, path.goal.name): path for path in found}


def _change(was: Path | None, now: Path | None) -> str:
    if was is None or now is None:
        return "new" if was is None else "closed"
    if was.hops == now.hops:
        return ""
    return "shorter" if now.hops < was.hops else "longer"
