"""Grants that a log does not show in use, and rules that are wider than the use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pandas as pd

from simkit.analysis.caveats import about_access
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.least_privilege.usage import Usage, default_bindings, granting, question_of
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import kind_of
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.analysis.rbac.tables import table
from simkit.logic.rbac.binding import Grant, Subject
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.identity import Identity
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot

COLUMNS: Final = (
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
    return table(sorted(rows, key=lambda row: row[:8]), COLUMNS)


def _marked(snapshot: Snapshot, allowed: Iterable[tuple[Identity, Action]]) -> Marks:
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
        granted = _shown(rule)
        used = tuple(sorted({_of_action(action) for action in seen}))
        unused = tuple(one for one in granted if not any(_within(action, one, rule) for action in seen))
        wild = any(ALL in listed for listed in (rule.verbs, rule.api_groups, rule.resources, rule.paths))
        verdict = "unused grant" if idle else "unused rule" if not seen else "wildcard" if wild else "unused part"
        if unused or wild:
            scope = grant.namespace or "*"
            where = (kind_of(grant.binding), grant.binding.name, kind_of(grant.role), grant.role.name, number)
            yield (verdict, text_of(subject), scope, *where, granted, used, unused)


def _shown(rule: Rule) -> tuple[str, ...]:
    """Each single permission of a rule, without its names."""
    return tuple(dict.fromkeys(_of_piece(piece) for piece in breakdown(rule)))


def _of_piece(piece: Rule) -> str:
    if piece.paths:
        return f"{piece.verbs[0]} {piece.paths[0]}"
    return f"{piece.verbs[0]} {piece.resources[0]}" + (f".{piece.api_groups[0]}" if piece.api_groups[0] else "")


def _of_action(action: Action) -> str:
    return f"{action.verb} {action.url}" if action.url else str(action._replace(name="", namespace=""))


def _within(action: Action, shown: str, rule: Rule) -> bool:
    """True if an action is an instance of a single permission in text form."""
    question = question_of(action)
    return any(_of_piece(piece) == shown and question.allowed_by(piece) for piece in breakdown(rule))
