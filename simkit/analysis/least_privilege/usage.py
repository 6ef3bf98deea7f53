"""Permissions in use by an audit log, attributed to the subjects that bindings name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pandas as pd

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.least_privilege.audit_events import read_access_requests
from simkit.analysis.least_privilege.recorded_access import AccessRequest, Action
from simkit.analysis.rbac.index import chain_of, index_of
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL, BOOTSTRAP_VALUE, table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Result
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, GROUP, ROLE_BINDINGS, Grant, Subject, key_of
from simkit.logic.rbac.question import Question
from simkit.meta.domain import CERTIFICATES_GROUP, RBAC_GROUP
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.names import Key
from simkit.meta.objects import labels_of
from simkit.seams.snapshot import Snapshot

COLUMNS: Final = ("subject", "action", "namespace", "times")


@dataclass(frozen=True)
class Usage(Result):
    """The access requests of a log, each with the bound subject whose grant allowed it.

    ``by_subject`` leaves out what the server's default bindings allow: they stay. ``ungranted`` was allowed in the log,
    and no binding of the snapshot allows it.
    """

    by_subject: Mapping[Subject, Counter[Action]]
    allowed: Mapping[tuple[Identity, Action], int]
    denied: Mapping[tuple[Identity, Action], int]
    ungranted: Mapping[tuple[Identity, Action], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(actions) for actions in self.by_subject.values())

    def to_frame(self) -> pd.DataFrame:
        """One row per subject and action: subject, action, namespace, times."""
        rows = [
            (text_of(subject), str(action._replace(namespace="")), action.namespace, times)
            for subject, actions in sorted(self.by_subject.items())
            for action, times in sorted(actions.items())
        ]
        return table(rows, COLUMNS)

    def __str__(self) -> str:
        return (
            f"{counted(sum(self.allowed.values()), 'allowed request')} ({len(self.allowed):,} different), "
            f"{sum(self.denied.values()):,} denied, by the access of {counted(len(self.by_subject), 'subject')}"
        )

    __repr__ = __str__


def usage(snapshot: Snapshot, audit_log: AuditLog | Iterable[AccessRequest]) -> Usage:
    """The access that a log shows in use, by the subjects that bindings of the snapshot name.

    Parameters
    ----------
    audit_log
        See ``read_access_requests``; or uses that were read before.

    Returns
    -------
    Usage
        ``.to_frame()`` has one row per subject and action: subject, action, namespace, times.

    Raises
    ------
    SimkitError
        For an audit log that is not there.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    O(events + different requests x bindings of their subject).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
    >>> len(cluster.usage(log))
    0
    """
    allowed: Counter[tuple[Identity, Action]] = Counter()
    denied: Counter[tuple[Identity, Action]] = Counter()
    bodies: dict[tuple[Identity, Action], list[Mapping[str, object]]] = {}
    for use in _uses(audit_log):
        key = (use.identity, use.action)
        (allowed if use.allowed else denied)[key] += 1
        if use.body is not None:
            bodies.setdefault(key, []).append(use.body)
    for (identity, action), found in list(bodies.items()):
        for one in found:
            for more in _checked_besides(snapshot, identity, action, one):
                allowed[identity, more] += 1
    return _attributed(snapshot, allowed, denied)


def _uses(log: AuditLog | Iterable[AccessRequest]) -> Iterator[AccessRequest]:
    if isinstance(log, list | tuple) and log and isinstance(log[0], AccessRequest):
        yield from (one for one in log if isinstance(one, AccessRequest))
    else:
        yield from read_access_requests(log)  # type: ignore[arg-type]


def _checked_besides(
    snapshot: Snapshot, identity: Identity, action: Action, body: Mapping[str, object]
) -> Iterator[Action]:
    """Further checks of the server for a write: to bind a role, to escalate one, to approve for a signer."""
    chain, more = chain_of(snapshot), None
    if action.api_group == RBAC_GROUP and action.resource in ("rolebindings", "clusterrolebindings"):
        reference = body.get("roleRef")
        if isinstance(reference, Mapping):
            plural = str(reference.get("kind", "")).lower() + "s"
            more = Action("bind", RBAC_GROUP, plural, "", action.namespace, str(reference.get("name")))
    elif action.api_group == RBAC_GROUP and action.resource in ("roles", "clusterroles"):
        more = action._replace(verb="escalate")
    elif action.api_group == CERTIFICATES_GROUP and action.subresource == "approval":
        spec = body.get("spec")
        signer = str(spec.get("signerName")) if isinstance(spec, Mapping) else ""
        more = Action("approve", CERTIFICATES_GROUP, "signers", "", "", signer)
    if more is not None and chain.authorize(more.ask(identity)).allowed:
        yield more


def _attributed(
    snapshot: Snapshot, allowed: Counter[tuple[Identity, Action]], denied: Counter[tuple[Identity, Action]]
) -> Usage:
    kept = default_bindings(snapshot)
    by_subject: dict[Subject, Counter[Action]] = {}
    ungranted: dict[tuple[Identity, Action], int] = {}
    for (identity, action), times in allowed.items():
        if MASTERS in identity.groups:
            continue
        grants = [grant for grant, _ in granting(snapshot, identity, action)]
        if not grants:
            ungranted[identity, action] = times
        elif not any(grant.binding in kept for grant in grants):
            # The subject itself before its groups: what is granted twice needs to be granted once.
            best = min((normalize_subject(grant.subject) for grant in grants), key=lambda one: (one.kind == GROUP, one))
            by_subject.setdefault(best, Counter())[action] += times
    return Usage(by_subject, dict(allowed), dict(denied), ungranted)


def granting(snapshot: Snapshot, identity: Identity, action: Action) -> Iterator[tuple[Grant, int]]:
    """Every grant that allows an action, with its rule."""
    question = question_of(action)
    for grant in index_of(snapshot).grants(identity):
        if question.reaches(grant.namespace):
            for number, rule in enumerate(grant.rules):
                if question.allowed_by(rule):
                    yield grant, number
                    break


def question_of(action: Action) -> Question:
    """The question of an action, without its user. A namespace itself is asked for under its own name."""
    if action.url:
        return Question(action.verb, path=action.url)
    where = action.namespace
    return Question(action.verb, action.api_group, action.resource, action.subresource, where, action.name)


def default_bindings(snapshot: Snapshot) -> frozenset[Key]:
    """The bindings that the server creates and maintains."""
    return frozenset(
        key_of(obj, resource)
        for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)
        for obj in snapshot.scan(resource)
        if labels_of(obj).get(BOOTSTRAP_LABEL) == BOOTSTRAP_VALUE
    )
