"""Every grant of a snapshot as a row that is made once; answers select rows by number."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

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
