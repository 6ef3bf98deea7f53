"""Requests of a log that a change of access refuses."""

from __future__ import annotations

from typing import Final

import pandas as pd

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.caveats import about_access
from simkit.analysis.least_privilege.usage import usage
from simkit.analysis.rbac.index import chain_of
from simkit.analysis.rbac.objects import snapshot_of
from simkit.analysis.rbac.subject import text_of_identity
from simkit.analysis.rbac.tables import table
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("subject", "action", "namespace", "times")


@about_access()
def refused_requests(before: Snapshot | Sandbox, after: Snapshot | Sandbox, audit_log: AuditLog) -> pd.DataFrame:
    """The requests of an audit log that were allowed before a change and are refused after it.

    Parameters
    ----------
    before
        The earlier cluster or snapshot.
    after
        The later one.
    audit_log
        What was asked: see ``read_access_requests``.

    Returns
    -------
    DataFrame
        One row per subject and action, the most frequent first: subject, action (``get secrets db``), namespace, times.

    Raises
    ------
    SimkitError
        For an audit log that is not there, and what is neither a cluster nor a snapshot.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    A request counts by the access control of both snapshots: one that no binding of ``before`` allows is left out.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
    >>> len(cluster.refused_requests(log, before=cluster))
    0
    """
    was, now = snapshot_of(before), snapshot_of(after)
    used, chain = usage(was, audit_log), chain_of(now)
    rows = [
        (
            text_of_identity(identity),
            str(action._replace(namespace="")),
            action.namespace,
            times,
        )
        for (identity, action), times in used.allowed.items()
        if (identity, action) not in used.ungranted and not chain.authorize(action.ask(identity)).allowed
    ]
    return table(sorted(rows, key=lambda row: (-row[3], row)), COLUMNS)
