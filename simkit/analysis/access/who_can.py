"""The subjects that have a permission, with the grants that give it: each is a row that is made once per snapshot."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.access.constraint_lists import rows_of_lists
from simkit.analysis.access.resolve import (
    Permission,
    check_verb,
    connection_subresource,
    connection_verbs,
    limits,
    question_of,
    resolve_permission,
    scope_of,
    verbs_of,
)
from simkit.analysis.access.undecided import unknown_holders
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import about_access, with_caveats
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import MASTERS_GROUP, chain_of, index_of, members_in, members_of
from simkit.analysis.rbac.objects import EVERYWHERE, NO_BINDING, kind_of, no_binding
from simkit.analysis.rbac.subject import Members, normalize_subject, parse_subject, text_of, text_of_identity
from simkit.analysis.rbac.tables import table
from simkit.analysis.rbac.unknown_names import warn_of_unknown_namespace
from simkit.logic.authorizers.chain import AuthorizerChain
from simkit.logic.rbac.binding import GROUP, Grant
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.ruleset import RuleSet
from simkit.seams.authorization import GRANTS
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

GRANT_COLUMNS: Final = (
    *("subject", "via_group", "scope"),
    *("binding_kind", "binding", "role_kind", "role"),
)
"""The columns of an answer that do not depend on the question."""
COLUMNS: Final = (*GRANT_COLUMNS, "rule", "names")
_KINDS: Final = frozenset(grant for grant, _, _ in GRANTS.values())
"""What stands for the kind of a binding in rows about grants of providers."""


@about_access()
def who_can(
    snapshot: Snapshot,
    verb: str,
    resource: str = "",
    *,
    subresource: str = "",
    name: str | None = "",
    namespace: str | None = None,
    url: str = "",
    api_group: str | None = None,
    expand_groups: bool = False,
    members: Members | None = None,
    max_hops: int | None = None,
) -> pd.DataFrame:
    """Every subject that may do something, with the binding, role and rule that allow it.

    Parameters
    ----------
    verb
        A verb of requests, or one that the server asks about by itself: bind, escalate, impersonate, use, approve,
        sign, attest. ``exec``, ``attach`` and ``portforward`` of pods are answered by the verbs that work at the
        release: create, and before 1.35 also get, by which WebSockets are opened.
    resource
        Plural, singular, short name or kind, with group or subresource if wanted: ``pods``, ``po``,
        ``deployments.apps``, ``pods/log``. For the special verbs also users, groups, uids, userextras/KEY, signers.
    subresource
        The same as behind the slash of ``resource``.
    name
        The name of one object. Empty: requests without a name, so that grants for single names do not count. None: any
        object, even if only one; the column ``names`` tells which.
    namespace
        Where. None: in any namespace or in all; ``*``: only in the whole cluster. It has no meaning for resources
        without a namespace and is not looked at there. A namespace that does not exist gets a warning.
    url
        A path that is no resource, instead of a resource: ``/metrics``.
    api_group
        The API group. With it the question is taken as it is written, as in an access review: any resource and verb,
        and the namespace also for resources that have none.
    expand_groups, members
        Whether to list, after each group, the subjects known to be in it: by the server's rules, and by the table
        ``members`` of groups that an identity provider keeps.
    max_hops
        Also list subjects that can get the permission with at most this number of escalation steps.

    Returns
    -------
    DataFrame
        One row per subject and grant: subject (``sa:ns/name``); via_group, the group (``group:devs``) by which an
        expanded row has it; scope (a namespace, or ``*`` for everywhere); binding_kind, binding; role_kind, role;
        rule, the index of the rule in the role; names, the only objects it holds for (empty: all). Members of
        ``system:masters`` come first: no binding lets them, no binding can stop them. With ``max_hops`` also hops (0
        for whom a binding lets at once) and path, the ids of the primitives on the shortest way; rows with hops name
        no binding.

    Raises
    ------
    UnknownResource, SimkitError
        For words that name nothing, with near ones.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    The answers are the authorizers' own: a subject is in the table exactly if a request of it, or of some member of
    the group, would be allowed. Nodes that the Node authorizer allows it have ``(Node authorizer)`` in place of a
    binding; the names of their own objects stand in ``names``. Those whom a SecurityContextConstraints of OpenShift
    names in its own lists may ``use`` it for the admission of pods; their rows say so. O(distinct rule lists that name
    the resource, plus rows); asked again of the same snapshot, O(rows). With the Node authorizer also O(nodes).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.who_can("escalate", "roles")[["subject", "binding"]].values.tolist()
    [['group:system:masters', '(no binding)'], ['group:system:masters', 'cluster-admin']]
    """
    found = holders_of(**locals())
    made = found.grants.to_frame() if isinstance(found.grants, PickedGrants) else table(found.grants, found.columns)
    made.attrs["question"] = found.question
    return with_caveats(made, found.caveats)


class Holders(NamedTuple):
    """The subjects that may do something: what ``who_can`` answers, for those who need no table."""

    question: str
    columns: tuple[str, ...]
    grants: PickedGrants | list[tuple[Any, ...]]
    caveats: tuple[Caveat, ...] = ()
    """Of whom it is not known whether they may."""

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """The rows of the table."""
        return self.grants.rows() if isinstance(self.grants, PickedGrants) else self.grants


def holders_of(
    snapshot: Snapshot,
    verb: str,
    resource: str = "",
    *,
    subresource: str = "",
    name: str | None = "",
    namespace: str | None = None,
    url: str = "",
    api_group: str | None = None,
    expand_groups: bool = False,
    members: Members | None = None,
    max_hops: int | None = None,
) -> Holders:
    """The answer of ``who_can`` to the same arguments, made without pandas."""
    members = members_in(snapshot, members)
    connection = "" if url or api_group is not None else connection_subresource(snapshot, verb, resource)
    if connection:
        options: dict[str, Any] = {"name": name, "namespace": namespace, "expand_groups": expand_groups}
        options |= {"members": members, "max_hops": max_hops}
        ways = [holders_of(snapshot, one, f"pods/{connection}", **options) for one in connection_verbs(snapshot)]
        caveats = tuple(dict.fromkeys(one for way in ways for one in way.caveats))
        rows = _joined(row for way in ways for row in way.rows())
        return Holders(f"{connection} pods", ways[0].columns, rows, caveats)
    index = index_of(snapshot)
    where = scope_of(namespace)
    asked = resolve_permission(
        snapshot, verb, resource, subresource=subresource, name=name or "", url=url, api_group=api_group
    )
    if asked.namespaced:
        warn_of_unknown_namespace(snapshot, where)
    if api_group is None:
        check_verb(verb, verbs_of(index.all_grants()), catalogue_of(snapshot))
    question = question_of(asked, where, any_name=name is None)
    chain, caveats = chain_of(snapshot), tuple(unknown_holders(index, question))
    picked = _picked(snapshot, index, question, asked)
    others = [*_of_other_authorizers(chain, question), *rows_of_lists(snapshot, question)]
    entries = index.entries if index.entries and index.entries.denials else None
    if chain.has_rbac and not others and not expand_groups and max_hops is None and entries is None:
        return Holders(str(asked), COLUMNS, picked, caveats)
    rows = list(picked.rows())
    rows = [*(rows if chain.has_rbac else rows[:1]), *others]
    if expand_groups:
        rows = [one for row in rows for one in (row, *_expanded(snapshot, row, members))]
    if entries is not None:
        kind = COLUMNS.index("binding_kind")
        rows = [
            row
            for row in rows
            if row[kind] not in _KINDS or not entries.denies_question(question, parse_subject(row[0]))
        ]
    if max_hops is None:
        return Holders(str(asked), COLUMNS, rows, caveats)
    rows = list(_with_escalations(rows, snapshot, question, asked, members, max_hops))
    return Holders(str(asked), (*COLUMNS, "hops", "path"), rows, caveats)


def _joined(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of several verbs as one table: a grant once, by its first rule, and those of the whole cluster first."""
    rule, scope = COLUMNS.index("rule"), COLUMNS.index("scope")
    grants: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows:
        grants.setdefault((*row[:rule], *row[rule + 1 :]), row)
    return sorted(grants.values(), key=lambda row: bool(row[scope] != "*"))


def _with_escalations(
    rows: list[tuple[Any, ...]],
    snapshot: Snapshot,
    question: Question,
    asked: Permission,
    members: Members,
    hops: int,
) -> Iterator[tuple[Any, ...]]:
    """The rows, followed by one for each subject that reaches the permission by escalation, the nearest first."""
    from simkit.analysis.escalation.find.goal import question_goal
    from simkit.analysis.escalation.find.queries import escalations  # the larger part of this floor, rarely asked for

    yield from ((*row, 0, ()) for row in rows)
    at_once = {row[0] for row in rows}
    ways = escalations(
        snapshot, goal=question_goal(str(asked), question), max_hops=hops, include_defaults=True, members=members
    )
    for path in ways:
        if path.start.subject is not None and path.subject not in at_once:
            yield (path.subject, "", "", "", "", "", "", -1, (), path.hops, path.primitives)


def _picked(snapshot: Snapshot, index: AccessIndex, question: Question, asked: Permission) -> PickedGrants:
    """The row of ``system:masters``, and one for each grant that allows the request."""

    def allowing() -> Mapping[RuleSet, RuleMatch]:
        found = index.allowing(question).items()
        return {rules: limits(rules.rules, first, question) for rules, first in found}

    known = _tables.of(snapshot, lambda one: GrantTable(index_of(one)))
    return known.answer(question, allowing, own_names=asked.is_namespace)


def _of_other_authorizers(chain: AuthorizerChain, question: Question) -> Iterator[tuple[Any, ...]]:
    """A row for each subject and place that an authorizer besides RBAC allows."""
    for other in chain.others:
        end = ("", no_binding(other.mode), "", "", -1)
        for identity in other.identities:
            for namespace, names in other.allowed(identity, question).items():
                yield (text_of_identity(identity), "", namespace or EVERYWHERE, *end, names)


def _expanded(snapshot: Snapshot, row: tuple[Any, ...], members: Members) -> Iterator[tuple[Any, ...]]:
    holder = parse_subject(row[0])
    if holder.kind == GROUP:
        for subject in members_of(snapshot, holder.name, members):
            yield (text_of(subject), row[0], *row[2:])


_MASTERS_ROW: Final = (text_of(MASTERS_GROUP), "", EVERYWHERE, "", NO_BINDING, "", "")
RuleMatch = tuple[int, tuple[str, ...]]
"""The rule that allows the request, and the only names that it holds for (empty: all)."""
Numbers = Sequence[int]
"""The numbers of rows, in their order."""
MAX_CACHED_QUESTIONS: Final = 1_000
"""The number of questions whose rows are kept; each takes some bytes per row."""
_NO_RULE: Final[RuleMatch] = (-1, ())


@dataclass(frozen=True, eq=False)
class PickedGrants:
    """The grants that answer a question, in their order, and the rule of each."""

    table: GrantTable
    numbers: Numbers
    matches: Sequence[RuleMatch]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row for each grant: the values of ``GRANT_COLUMNS``, the rule and the names."""
        return ((*self.table.rows[number], *match) for number, match in zip(self.numbers, self.matches, strict=True))

    def to_frame(self) -> pd.DataFrame:
        """The rows as a table."""
        from simkit.analysis.readable_frame import ReadableFrame

        numbers, rules, names = self._arrays
        columns: dict[str, Any] = {name: values.take(numbers) for name, values in self.table.pandas_columns.items()}
        return ReadableFrame({**columns, "rule": rules.copy(), "names": names.copy()})

    @cached_property
    def _arrays(self) -> tuple[Any, Any, Any]:
        """The numbers, rules and names as arrays of numpy, which tables take over."""
        import numpy as np  # only tables need it, and there is no build of it for every platform

        names = np.empty(len(self.matches), dtype=object)
        names[:] = [each for _, each in self.matches]
        return np.array(self.numbers), np.array([rule for rule, _ in self.matches], dtype=np.int64), names


class GrantTable:
    """The grants of an index in the order of answers, grouped by the rules that they share.

    Cluster-wide grants come first, then by namespace; groups, service accounts, users; by name. Row 0 is of the
    subject that needs no grant.

    Notes
    -----
    An answer costs O(distinct rules that allow what is asked + rows), and little for each row.
    """

    def __init__(self, index: AccessIndex) -> None:
        grants = sorted((grant for grant in index.all_grants() if grant.rules), key=_order)
        self.rows: Sequence[tuple[str, ...]] = [_MASTERS_ROW, *map(_row, grants)]
        self._codes: dict[str, int] = {"": 0}
        self._scopes = array("q", [0])
        alike: dict[int, tuple[Grant, list[int]]] = {}
        for number, grant in enumerate(grants, 1):
            self._scopes.append(self._codes.setdefault(grant.namespace, len(self._codes)))
            alike.setdefault(id(grant.rules), (grant, []))[1].append(number)
        self._picked: dict[tuple[Question, bool], PickedGrants] = {}
        self._by_rules: dict[RuleSet, Numbers] = {
            RuleSet.of(grant.rules): array("q", numbers) for grant, numbers in alike.values()
        }

    @cached_property
    def pandas_columns(self) -> dict[str, Any]:
        """The columns as arrays of pandas, which tables take over without looking at each value."""
        return {str(name): column.array for name, column in table(self.rows, GRANT_COLUMNS).items()}

    def answer(
        self, question: Question, allowing: Callable[[], Mapping[RuleSet, RuleMatch]], *, own_names: bool = False
    ) -> PickedGrants:
        """The row of ``system:masters``, and those of the grants that allow the request in its namespace.

        Parameters
        ----------
        allowing
            Gives the rules that allow it; asked once for each question, since a snapshot does not change.
        own_names
            Whether names are those of namespaces, so that a grant in a namespace counts only for that one.
        """
        key = (question, own_names)
        picked = self._picked.get(key)
        if picked is None:
            scope = "" if question.path else question.namespace
            picked = self._pick(allowing(), scope, own_names=own_names)
            if len(self._picked) < MAX_CACHED_QUESTIONS:
                self._picked[key] = picked
        return picked

    def _pick(self, allowing: Mapping[RuleSet, RuleMatch], scope: str | None, *, own_names: bool) -> PickedGrants:
        """The rows of grants in a namespace (empty: cluster-wide ones; None: all) with one of these rules."""
        matches = {0: _NO_RULE}
        for rules, match in allowing.items():
            matches |= dict.fromkeys(self._in_scope(self._by_rules.get(rules, ()), scope), match)
        numbers = sorted(
            number for number, (_, names) in matches.items() if not own_names or self._counts(number, names)
        )
        return PickedGrants(self, numbers, [matches[number] for number in numbers])

    def _in_scope(self, numbers: Numbers, scope: str | None) -> Numbers:
        """Those of a rule set's grants that are cluster-wide or in a namespace; for None all."""
        if scope is None:
            return numbers
        scope_of, code = self._scopes.__getitem__, self._codes.get(scope, 0)  # grants are ordered by their scope
        wide = numbers[: bisect_right(numbers, 0, key=scope_of)]
        if not code:
            return wide
        first, last = (find(numbers, code, key=scope_of) for find in (bisect_left, bisect_right))
        return [*wide, *numbers[first:last]]

    def _counts(self, number: int, names: tuple[str, ...]) -> bool:
        """True if the grant ever applies to a request for one of the names."""
        scope = self.rows[number][GRANT_COLUMNS.index("scope")]
        return not names or scope == EVERYWHERE or scope in names


_tables: SnapshotMemo[GrantTable] = SnapshotMemo()


def _row(grant: Grant) -> tuple[str, ...]:
    binding, role = grant.binding, grant.role
    where = grant.namespace or EVERYWHERE
    return (
        text_of(normalize_subject(grant.subject)),
        "",
        where,
        kind_of(binding),
        binding.name,
        kind_of(role),
        role.name,
    )


def _order(grant: Grant) -> tuple[Any, ...]:
    """Cluster-wide grants first, then by namespace; groups, service accounts, users; by name."""
    kind, name, namespace = normalize_subject(grant.subject)
    return (bool(grant.namespace), grant.namespace, kind, namespace, name, grant.binding.name)
