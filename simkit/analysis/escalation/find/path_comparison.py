"""Escalation paths that are new or closed between two snapshots."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import COLUMNS, escalations, path_row
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import snapshot_of
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.seams.snapshot import Sandbox, Snapshot


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
    members = members or NO_MEMBERS
    old, new = (
        {
            (path.subject, path.goal.name): path
            for path in escalations(one, goal=goal, direct=True, include_defaults=True, members=members)
        }
        for one in (snapshot_of(before), snapshot_of(after))
    )
    rows = []
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        change = _change(was, now)
        if change:
            shown = now or was
            assert shown is not None
            rows.append((change, *path_row(shown), was.hops if was else None))
    return table(rows, ("change", *COLUMNS, "hops_before"))


def _change(was: Path | None, now: Path | None) -> str:
    if was is None or now is None:
        return "new" if was is None else "closed"
    if was.hops == now.hops:
        return ""
    return "shorter" if now.hops < was.hops else "longer"
