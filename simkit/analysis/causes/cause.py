"""A root cause with all that follows from it, a list of them, and the effects of remedies on the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.nature import NATURES, Nature
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.plan.candidates import SURELY
from simkit.analysis.plan.greedy import Question, Round, first_round, next_change
from simkit.analysis.rbac.objects import NAMESPACES
from simkit.analysis.rbac.subject import Members, text_of
from simkit.analysis.rbac.tables import records, table
from simkit.analysis.rendering import counted, html_lines
from simkit.analysis.result import InLines
from simkit.logic.rbac.binding import Subject
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


COLUMNS: Final = (
    *("cause", "kind", "nature", "product", "namespace", "severity", "closes", "loses", "subjects", "paths", "goals"),
    *("through", "findings", "checks", "reaches", "share", "remedy", "command"),
)
BINDING: Final = "binding"
ROLE_RULE: Final = "role rule"
LABEL: Final = "label"
MISSING: Final = "missing object"
ACCOUNT: Final = "service account"
SHOWN: Final = 12


@dataclass(frozen=True)
class Cause:
    """The source of findings and paths: an object, or a missing one.

    ``closes`` is the number of escalation paths that its remedy closes, counted on a copy of the cluster with the
    remedy applied. ``paths`` are the paths that begin with it; each path has one cause. ``through`` counts the paths
    that begin elsewhere and use it in a later step. Removing one cause may not close a path that has another route.
    ``reaches`` is the number of subjects and objects that the subjects of the cause can reach.
    """

    key: Key
    kind: str
    nature: Nature
    text: str
    bound: tuple[Subject, ...]
    findings: tuple[Finding, ...] = field(repr=False)
    paths: tuple[Path, ...] = field(repr=False)
    through: int
    reaches: int
    rules: tuple[int, ...]
    remedy: Remedy = field(repr=False, compare=False)
    obj: Object | None = field(repr=False, compare=False, default=None)
    """The object as it is stored."""
    closes: int = 0
    """The number of paths that its remedy closes; 0 where it has none, or all of them have another route."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Everybody whose paths begin with it, and those that it names."""
        return tuple(dict.fromkeys((*map(text_of, self.bound), *(path.subject for path in self.paths))))

    @property
    def severity(self) -> Severity:
        """That of the worst finding or path."""
        levels = [finding.severity for finding in self.findings]
        levels += [Severity.named(path.severity) for path in self.paths]
        return max(levels, default=Severity.INFO)

    @property
    def goals(self) -> Mapping[str, int]:
        """The number of paths to each goal."""
        return dict(Counter(path.goal.name for path in self.paths))

    @property
    def checks(self) -> tuple[str, ...]:
        """The ids of the checks that found something."""
        return tuple(dict.fromkeys(finding.check for finding in self.findings))

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces of its object and of what it causes; a Namespace is its own."""
        own = self.key.name if self.key.resource == NAMESPACES else self.key.namespace
        return frozenset((own, *(finding.namespace for finding in self.findings)))

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The severity with what it gives, and the number of paths and findings that begin with it."""
        counts = f"{counted(len(self.paths), 'path')}, {counted(len(self.findings), 'finding')}"
        return html_lines([f"{self.severity}: {self.text}", str(self.nature.name), counts])


@dataclass(frozen=True, repr=False)
class Causes(InLines, Sequence[Cause]):
    """Root causes, first those that should be looked at first. Each path and each finding has exactly one."""

    causes: tuple[Cause, ...]

    def __len__(self) -> int:
        return len(self.causes)

    def __getitem__(self, number: Any) -> Any:
        return Causes(self.causes[number]) if isinstance(number, slice) else self.causes[number]

    def __iter__(self) -> Iterator[Cause]:
        return iter(self.causes)

    @property
    def paths(self) -> int:
        """The number of paths of all causes."""
        return sum(len(one.paths) for one in self.causes)

    def to_frame(self) -> pd.DataFrame:
        """One row per cause: cause, kind, nature, product, namespace, severity, closes (paths that the remedy closes),
        loses (permissions, by what-if), subjects (number), paths, goals (paths to each), through (paths that pass it
        besides), findings, checks (ids), reaches (places), share (of all paths), remedy, command.
        """
        return table(self._rows(), COLUMNS)

    def to_records(self) -> list[dict[str, object]]:
        """The rows of ``to_frame`` as mappings from column to value, made without pandas."""
        return records(self._rows(), COLUMNS)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        every = max(self.paths, 1)
        return (_row(one, every) for one in self.causes)

    def summary(self) -> pd.DataFrame:
        """One row per nature: what, count (causes), paths, findings."""
        return table(self._natures(), ("what", "count", "paths", "findings"))

    def summary_records(self) -> list[dict[str, object]]:
        """The rows of ``summary`` as mappings from column to value, made without pandas."""
        return records(self._natures(), ("what", "count", "paths", "findings"))

    def _natures(self) -> Iterator[tuple[Any, ...]]:
        for name in NATURES:
            found = [one for one in self.causes if one.nature.name == name]
            paths, findings = sum(len(one.paths) for one in found), sum(len(one.findings) for one in found)
            yield name, len(found), paths, findings

    def filter(
        self,
        *,
        severity: Severity | str | None = None,
        namespace: str | None = None,
        nature: str | Iterable[str] | None = None,
    ) -> Causes:
        """Some of the causes.

        Parameters
        ----------
        severity
            This severity or a worse one.
        namespace
            Causes whose object is in this namespace, or is the namespace, and those elsewhere of findings in it.
        nature
            Causes of this nature, or of one of these.

        Returns
        -------
        Causes
            The causes that are left, in the same order.
        """
        level = Severity.named(severity) if isinstance(severity, str) else severity
        natures = (nature,) if isinstance(nature, str) else tuple(nature or NATURES)
        kept = (one for one in self.causes if one.nature.name in natures and (level is None or one.severity >= level))
        return Causes(tuple(one for one in kept if namespace is None or namespace in one.namespaces))

    def of(self, finding: Finding) -> Cause | None:
        """The cause of a finding."""
        return next((one for one in self.causes if any(finding is known for known in one.findings)), None)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The causes as bars of paths and findings, in a figure of its own unless axes are given."""
        from simkit.analysis.plots.charts import causes_bars

        return causes_bars(self.to_frame(), ax=ax)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        findings = sum(len(one.findings) for one in self.causes)
        yield f"{counted(len(self), 'cause')} of {counted(self.paths, 'path')} and {counted(findings, 'finding')}"
        for one in self.causes[:SHOWN]:
            carries = f"{counted(len(one.paths), 'path')}, {counted(len(one.findings), 'finding')}"
            yield f"{one.nature}: {one.text} ({carries}; its remedy closes {one.closes:,})"
        if len(self) > SHOWN:
            yield f"... and {len(self) - SHOWN} more"


def _row(one: Cause, every: int) -> tuple[Any, ...]:
    return (
        *(one.text, one.kind, one.nature.name, one.nature.product, one.key.namespace, one.severity.word, one.closes),
        len(one.remedy.permissions),
        *(len(one.subjects), len(one.paths), dict(one.goals), one.through, len(one.findings), one.checks),
        *(one.reaches, round(len(one.paths) / every, 4), one.remedy.text, "; ".join(one.remedy.commands())),
    )


_known: SnapshotMemo[dict[tuple[str, ...], MeasuredEffects]] = SnapshotMemo()


def effects_of(snapshot: Snapshot, members: Members, paths: Sequence[Path]) -> MeasuredEffects:
    """The effects of changes on the paths to some goals, measured once per snapshot."""
    goals = tuple({path.goal.name: path.goal for path in paths}.values())
    if members:
        return MeasuredEffects(snapshot, members, goals)
    known = _known.of(snapshot, lambda _: {})
    names = tuple(sorted(goal.name for goal in goals))
    if names not in known:
        known[names] = MeasuredEffects(snapshot, members, goals)
    return known[names]


class MeasuredEffects:
    """The paths that changes of objects close: for each object the best change, as a plan rates it."""

    def __init__(self, snapshot: Snapshot, members: Members, goals: Sequence[Goal]) -> None:
        self._now: Round | None = None
        self._best: dict[Key, tuple[int, Candidate]] = {}
        self.first: Key | None = None
        """The object that a plan changes first."""
        if goals:
            self._now = first_round(snapshot, Question(tuple(goals), None, frozenset(), {}, False, members))
            self._look_at(self._now)

    def _look_at(self, now: Round) -> None:
        """Rate the changes that lie on some paths."""
        for change in now.open_paths.candidates_of(now.paths):
            if now.candidates.harm(change) < SURELY:
                key, closes = change.key, now.modelled([change])
                known = self._best.get(key)
                if known is None or self._order(closes, change) < self._order(*known):
                    self._best[key] = closes, change
        chosen = next_change(now, free=False, left=1)
        if chosen is not None:
            self.first = chosen[0].key
            self._best[self.first] = now.modelled([chosen[0]]), chosen[0]

    def _order(self, closes: int, change: Candidate) -> tuple[int, int, float, str]:
        assert self._now is not None
        return -closes, self._now.candidates.harm(change), self._now.candidates.cost(change), str(change)

    def changed(self, key: Key) -> bool:
        """True if a change of an object lies on a path."""
        return key in self._best

    def closing(self, key: Key) -> int:
        """The number of paths that the best change of an object closes at most."""
        return self._best[key][0] if key in self._best else 0

    def best(self, key: Key, advised: Remedy) -> tuple[Remedy, int]:
        """The remedy that closes more paths in the cluster as it would be, with their number: the best change of an
        object, or the one that is advised; of two that close as many the one that takes fewer permissions.
        """
        now = self._now
        if now is None or (not advised and key not in self._best):
            return advised, 0
        options = [advised] if advised else []
        if key in self._best:
            chosen = now.candidates.remedy(self._best[key][1])
            options += [chosen] if chosen.changes != advised.changes else []
        measured = [(now.closed_by(one), one) for one in options]
        most = max(closes for closes, _ in measured)
        equal = [one for closes, one in measured if closes == most]
        return equal[0] if len(equal) == 1 else min(equal, key=lambda one: len(one.permissions)), most
