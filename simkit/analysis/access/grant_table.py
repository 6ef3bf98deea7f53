"""Every grant of a snapshot as a row that is made once; answers select rows by number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import MASTERS_GROUP, index_of
from simkit.analysis.rbac.objects import EVERYWHERE, NO_BINDING, kind_of
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.analysis.rbac.tables import table
from simkit.logic.rbac.binding import Grant
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.ruleset import RuleSet
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

GRANT_COLUMNS: Final = (
    *("subject", "via_group", "scope"),
    *("binding_kind", "binding", "role_kind", "role"),
)
"""The columns of an answer that do not depend on the question."""

_MASTERS_ROW: Final = (text_of(MASTERS_GROUP), "", EVERYWHERE, "", NO_BINDING, "", "")
RuleMatch = tuple[int, tuple[str, ...]]
"""The rule that allows the request, and the only names that it holds for (empty: all)."""
Numbers = NDArray[np.int64]
MAX_CACHED_QUESTIONS: Final = 1_000
"""The number of questions whose rows are kept; each takes some bytes per row."""
_NO_RULE: Final[RuleMatch] = (-1, ())
_FIRST: Final[Numbers] = np.zeros(1, dtype=np.int64)
_NONE: Final[Numbers] = np.zeros(0, dtype=np.int64)


class PickedGrants(NamedTuple):
    """The grants that answer a question, in their order."""

    table: GrantTable
    numbers: Numbers
    rules: Numbers
    names: NDArray[Any]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row for each grant: the values of ``GRANT_COLUMNS``, the rule and the names."""
        fixed = (values[self.numbers].tolist() for values in self.table.columns.values())
        return zip(*fixed, self.rules.tolist(), self.names.tolist(), strict=True)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a table."""
        from simkit.analysis.readable_frame import ReadableFrame

        columns: dict[str, Any] = {
            name: values.take(self.numbers) for name, values in self.table.pandas_columns.items()
        }
        return ReadableFrame({**columns, "rule": self.rules.copy(), "names": self.names.copy()})


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
        rows = np.array([_MASTERS_ROW, *map(_row, grants)], dtype=object)
        self.columns: dict[str, NDArray[Any]] = dict(zip(GRANT_COLUMNS, rows.T.copy(), strict=True))
        self._codes: dict[str, int] = {"": 0}
        self._scopes: Numbers = np.zeros(len(grants) + 1, dtype=np.int64)
        alike: dict[int, tuple[Grant, list[int]]] = {}
        for number, grant in enumerate(grants, 1):
            self._scopes[number] = self._codes.setdefault(grant.namespace, len(self._codes))
            alike.setdefault(id(grant.rules), (grant, []))[1].append(number)
        self._picked: dict[tuple[Question, bool], PickedGrants] = {}
        self._by_rules: dict[RuleSet, Numbers] = {
            RuleSet.of(grant.rules): np.array(numbers, dtype=np.int64) for grant, numbers in alike.values()
        }

    @cached_property
    def pandas_columns(self) -> dict[str, Any]:
        """The columns as arrays of pandas, which tables take over without looking at each value."""
        rows = zip(*self.columns.values(), strict=True)
        return {str(name): column.array for name, column in table(rows, GRANT_COLUMNS).items()}

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
        parts = [self._in_scope(self._by_rules.get(rules, _NONE), scope) for rules in allowing]
        limits = [_NO_RULE, *allowing.values()]
        numbers = np.concatenate([_FIRST, *parts])
        which = np.repeat(np.arange(len(limits)), [1, *map(len, parts)])
        order = np.argsort(numbers)
        numbers, which = numbers[order], which[order]
        if own_names:
            kept = np.array([self._counts(number, limits[one][1]) for number, one in zip(numbers, which)])
            numbers, which = numbers[kept], which[kept]
        names = np.empty(len(limits), dtype=object)
        names[:] = [each for _, each in limits]
        rules = np.array([rule for rule, _ in limits], dtype=np.int64)
        return PickedGrants(self, numbers, rules[which], names[which])

    def _in_scope(self, numbers: Numbers, scope: str | None) -> Numbers:
        """Those of a rule set's grants that are cluster-wide or in a namespace; for None all."""
        if scope is None:
            return numbers
        scope_of, code = self._scopes.__getitem__, self._codes.get(scope, 0)  # grants are ordered by their scope
        wide = numbers[: bisect_right(numbers, 0, key=scope_of)]
        if not code:
            return wide
        first, last = (find(numbers, code, key=scope_of) for find in (bisect_left, bisect_right))
        return np.concatenate([wide, numbers[first:last]])

    def _counts(self, number: int, names: tuple[str, ...]) -> bool:
        """True if the grant ever applies to a request for one of the names."""
        scope = self.columns["scope"][number]
        return not names or scope == EVERYWHERE or scope in names


_tables: SnapshotMemo[GrantTable] = SnapshotMemo()


def grant_table(snapshot: Snapshot) -> GrantTable:
    """The table of a snapshot's grants, made at the first question."""
    return _tables.of(snapshot, lambda one: GrantTable(index_of(one)))


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
