"""Permissions in use by an audit log, those that it does not show in use, and those that a change would refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from simkit.analysis.audit_log.events import AuditLog, read_events
from simkit.analysis.audit_log.span import LogSpan, span_text
from simkit.analysis.caveats import about_access, with_caveats
from simkit.analysis.least_privilege.recorded_access import AccessRequest, Action, Use, access_requests_among
from simkit.analysis.rbac.index import chain_of, index_of
from simkit.analysis.rbac.objects import kind_of, snapshot_of
from simkit.analysis.rbac.subject import normalize_subject, text_of, text_of_identity
from simkit.analysis.rbac.tables import BOOTSTRAP_LABEL, BOOTSTRAP_VALUE, table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Result
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, GROUP, ROLE_BINDINGS, Grant, Subject, key_of
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.domain import CERTIFICATES_GROUP, RBAC_GROUP
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.names import Key
from simkit.meta.objects import labels_of
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("subject", "action", "namespace", "times")
FOREIGN: Final = 3
"""A log is foreign if no binding grants what this many times more users did than subjects whose access was used."""


@dataclass(frozen=True)
class Usage(Result):
    """The access requests of a log, each with the bound subject whose grant allowed it.

    ``by_subject`` leaves out what the server's default bindings allow: they stay. ``ungranted`` was allowed in the log,
    and no binding of the snapshot allows it.
    """

    by_subject: Mapping[Subject, Counter[Action]]
    allowed: Mapping[Use, int]
    denied: Mapping[Use, int]
    ungranted: Mapping[Use, int] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    """The moments of the first and the last event, in seconds since the epoch; None where the log tells none."""
    requests: tuple[int, int] = (0, 0)
    """How many requests were allowed and denied; ``allowed`` counts also what impersonations and bindings need."""

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
        (allowed, denied), span = self.requests, f" {span_text(self.span)}" if self.span else ""
        return (
            f"{counted(allowed, 'allowed request')} and {denied:,} denied{span},"
            f" which used {counted(len(self.allowed), 'different permission')} by the access of "
            f"{counted(len(self.by_subject), 'subject')}"
        )

    __repr__ = __str__

    def limits(self) -> tuple[Caveat, ...]:
        """The limits of answers that rest on the log: its span, and whether it is of another cluster."""
        told = [Caveat("log-span", f"The log has {self}; what was used at other times counts as unused.")]
        if FOREIGN * len(self.by_subject) < len({identity for identity, _ in self.ungranted}):
            text = "No binding grants what most users in the log did: it may be the log of another cluster."
            told.append(Caveat("foreign-log", text))
        return tuple(told)


def usage(snapshot: Snapshot, audit_log: AuditLog | Iterable[AccessRequest]) -> Usage:
    """The access that a log shows in use, by the subjects that bindings of the snapshot name.

    Parameters
    ----------
    audit_log
        See ``read_access_requests``; or some of what that function gives, which tells no times.

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
    allowed: Counter[Use] = Counter()
    denied: Counter[Use] = Counter()
    bodies: dict[Use, list[Mapping[str, object]]] = {}
    span, requests = LogSpan(), [0, 0]
    for use in _recorded(audit_log, span):
        requests[not use.allowed] += not use.implied
        key = (use.identity, use.action)
        (allowed if use.allowed else denied)[key] += 1
        if use.body is not None:
            bodies.setdefault(key, []).append(use.body)
    for (identity, action), found in list(bodies.items()):
        for one in found:
            for more in _checked_besides(snapshot, identity, action, one):
                allowed[identity, more] += 1
    attributed = _attributed(snapshot, allowed, denied)
    return replace(attributed, span=span.moments, requests=(requests[0], requests[1]))


def _recorded(log: AuditLog | Iterable[AccessRequest], span: LogSpan) -> Iterator[AccessRequest]:
    """The access requests of a log, whose span is noted, or those that were read before."""
    parts: Iterator[Any] = iter(() if isinstance(log, str | bytes | Path) else log)
    first = next(parts, None)
    if isinstance(first, AccessRequest):
        yield from chain((first,), parts)
    else:
        events = cast("AuditLog", log) if first is None else chain((first,), parts)
        yield from access_requests_among(span.noted(read_events(events)))


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


def _attributed(snapshot: Snapshot, allowed: Counter[Use], denied: Counter[Use]) -> Usage:
    kept = default_bindings(snapshot)
    by_subject: dict[Subject, Counter[Action]] = {}
    ungranted: dict[Use, int] = {}
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
    question = Question(*action)
    for grant in index_of(snapshot).grants(identity):
        if question.reaches(grant.namespace):
            for number, rule in enumerate(grant.rules):
                if question.allowed_by(rule):
                    yield grant, number
                    break


def default_bindings(snapshot: Snapshot) -> frozenset[Key]:
    """The bindings that the server creates and maintains."""
    return frozenset(
        key_of(obj, resource)
        for resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)
        for obj in snapshot.scan(resource)
        if labels_of(obj).get(BOOTSTRAP_LABEL) == BOOTSTRAP_VALUE
    )


UNUSED_COLUMNS: Final = (
    "verdict",
    "subject",
    "scope",
    "binding_kind",
    "binding",
    "role_kind",
    "role",
    "rule",
    "granted",
    "used",
    "unused",
)
Marks = Mapping[tuple[Key, Subject, int], Counter[Action]]


@about_access()
def unused_grants(snapshot: Snapshot, used: Usage) -> pd.DataFrame:
    """The permissions that the bindings of a snapshot grant and a log does not show in use.

    Parameters
    ----------
    used
        What is in use, as ``usage`` tells it.

    Returns
    -------
    DataFrame
        One row per subject, binding and rule that is not used in full: verdict (``unused grant``: nothing of the
        binding; ``unused rule``; ``unused part``; ``wildcard``: used, but by a few of the things that a ``*`` stands
        for); subject; scope; binding_kind, binding, role_kind, role, rule; granted,
        used, unused, as ``verb resource.group`` each. The server's default bindings are not listed.

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> log = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
    >>> len(cluster.unused_grants(cluster.usage(log)))
    0
    """
    marks = _marked(snapshot, used.allowed)
    kept = default_bindings(snapshot)
    rows: list[tuple[Any, ...]] = []
    for grant in index_of(snapshot).all_grants():
        if grant.binding not in kept and not grant.missing:
            rows += _rows(grant, marks)
    return table(sorted(rows, key=lambda row: row[:8]), UNUSED_COLUMNS)


def _marked(snapshot: Snapshot, allowed: Iterable[Use]) -> Marks:
    """The actions that each rule of each grant allowed."""
    marks: dict[tuple[Key, Subject, int], Counter[Action]] = {}
    for identity, action in allowed:
        for grant, rule in granting(snapshot, identity, action):
            marks.setdefault((grant.binding, normalize_subject(grant.subject), rule), Counter())[action] += 1
    return marks


def _rows(grant: Grant, marks: Marks) -> Iterator[tuple[Any, ...]]:
    subject = normalize_subject(grant.subject)
    by_rule = [marks.get((grant.binding, subject, number), Counter()) for number in range(len(grant.rules))]
    idle = not any(by_rule)
    for number, (rule, seen) in enumerate(zip(grant.rules, by_rule)):
        granted = tuple(dict.fromkeys(map(_of_piece, breakdown(rule))))
        used = tuple(sorted({str(action._replace(name="", namespace="")) for action in seen}))
        unused = tuple(one for one in granted if not any(_within(action, one, rule) for action in seen))
        wild = any(ALL in listed for listed in (rule.verbs, rule.api_groups, rule.resources, rule.paths))
        verdict = "unused grant" if idle else "unused rule" if not seen else "wildcard" if wild else "unused part"
        if unused or wild:
            scope = grant.namespace or "*"
            where = (kind_of(grant.binding), grant.binding.name, kind_of(grant.role), grant.role.name, number)
            yield (verdict, text_of(subject), scope, *where, granted, used, unused)


def _of_piece(piece: Rule) -> str:
    if piece.paths:
        return f"{piece.verbs[0]} {piece.paths[0]}"
    return f"{piece.verbs[0]} {piece.resources[0]}" + (f".{piece.api_groups[0]}" if piece.api_groups[0] else "")


def _within(action: Action, shown: str, rule: Rule) -> bool:
    """True if an action is an instance of a single permission in text form."""
    question = Question(*action)
    return any(_of_piece(piece) == shown and question.allowed_by(piece) for piece in breakdown(rule))


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
    return with_caveats(table(sorted(rows, key=lambda row: (-row[3], row)), COLUMNS), used.limits())
