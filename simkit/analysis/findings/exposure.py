"""Numbers of risky permissions by subject and by namespace, for the figures of an audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.findings.holders import Scope, holders
from simkit.analysis.findings.survey import survey_of
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import EVERYWHERE
from simkit.analysis.rbac.subject import Members, text_of
from simkit.analysis.rbac.tables import table
from simkit.logic.rbac.binding import Subject
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

REACH_COLUMNS = ("subject", "cluster_wide", "in_namespaces", "namespaces", "risky_permissions")


def _held(snapshot: Snapshot, include_defaults: bool, members: Members) -> Mapping[str, tuple[Scope, ...]]:
    """The holders of each risky permission with their namespaces."""
    survey = survey_of(snapshot, members, include_defaults=include_defaults)
    return {one.id: tuple(holders(survey, one, administrators=True)) for one in risky_permission_table().permissions}


@about_access()
def exposure(snapshot: Snapshot, *, include_defaults: bool = False, members: Members | None = None) -> pd.DataFrame:
    """The number of subjects that hold each risky permission, by namespace.

    Parameters
    ----------
    include_defaults
        Whether to count what the server's own roles and bindings give.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    DataFrame
        One row per namespace in which somebody holds one by a binding there, after a first row ``*`` for the
        whole cluster; one column per risky permission; numbers of users, groups and service accounts. Limits to
        single names are not looked at.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.exposure())
    0
    """
    import pandas as pd

    from simkit.analysis.readable_frame import ReadableFrame

    counts = exposure_counts(snapshot, include_defaults=include_defaults, members=members)
    names = [one.id for one in risky_permission_table().permissions]
    fields = [[held.get(name, 0) for name in names] for held in counts.values()]
    return ReadableFrame(fields, index=pd.Index(list(counts), name="namespace", dtype=object), columns=names, dtype=int)


def exposure_counts(
    snapshot: Snapshot, *, include_defaults: bool = False, members: Members | None = None
) -> dict[str, dict[str, int]]:
    """The numbers of ``exposure`` above zero, by namespace and risky permission, made without pandas."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for power, holding in _held(snapshot, include_defaults, members or NO_MEMBERS).items():
        for _, namespace in holding:
            counts[namespace or EVERYWHERE][power] += 1
    return {place: dict(counts[place]) for place in sorted(counts, key=lambda place: (place != EVERYWHERE, place))}


@about_access()
def reach(snapshot: Snapshot, *, include_defaults: bool = False, members: Members | None = None) -> pd.DataFrame:
    """The subjects, ordered by the severity of what they can do.

    Parameters
    ----------
    include_defaults
        Whether to count what the server's own roles and bindings give.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    DataFrame
        One row per subject that holds a risky permission, those with the longest reach first: subject (``sa:ns/name``);
        cluster_wide, how many it holds in the whole cluster; in_namespaces, how many others
        it holds in at least one namespace; namespaces, how many those are; risky_permissions, their ids.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.reach())
    0
    """
    members = members or NO_MEMBERS
    held: dict[Subject, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for power, holding in _held(snapshot, include_defaults, members).items():
        for subject, namespace in holding:
            held[subject][power].add(namespace)
    rows = []
    for subject, powers in held.items():
        wide = sum("" in places for places in powers.values())
        namespaces = set().union(*powers.values()) - {""}
        rows.append((text_of(subject), wide, len(powers) - wide, len(namespaces), tuple(powers)))
    return table(sorted(rows, key=lambda row: (-row[1], -row[2], -row[3], row[0])), REACH_COLUMNS)
