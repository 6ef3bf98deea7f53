"""Requests of a log that a change of access refuses."""

from __future__ import annotations

from typing import Final

import pandas as pd

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.least_privilege.usage import usage
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import snapshot_of
from simkit.analysis.rbac.subject import text_of, text_of_user
from simkit.analysis.rbac.tables import table
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.meta.identity import MASTERS
from simkit.snapshot.protocol import Sandbox, Snapshot

COLUMNS: Final = ("subject", "action", "namespace", "times")


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
    used, index = usage(was, audit_log), index_of(now)
    rows = [
        (
            text_of_user(identity.user) or text_of(Subject(GROUP, identity.groups[0])),
            str(action._replace(namespace="")),
            action.namespace,
            times,
        )
        for (identity, action), times in used.allowed.items()
        if (identity, action) not in used.ungranted
        and MASTERS not in identity.groups
        and not index.authorize(action.ask(identity)).allowed
    ]
    return table(sorted(rows, key=lambda row: (-row[3], row)), COLUMNS)
