"""Everything that an upgrade from one release to a later one breaks: where, for whom, how sure, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.audit_log.requests import RecordedRequest, recorded_requests
from simkit.analysis.forked import on_all_cores
from simkit.analysis.rbac.tables import SEVERITY_WORDS, table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Result
from simkit.analysis.upgrade.behaviour.find import BehaviourSearch
from simkit.analysis.upgrade.definitions import CustomVersions
from simkit.analysis.upgrade.items import Break, Item, Items, chart_release, read_items, stored_items, with_bodies
from simkit.analysis.upgrade.named_versions import CONFIGURATION, RULE, STREAMS, ItemBindings, NamedVersions
from simkit.analysis.upgrade.refused_objects import UnknownFields, validation_breaks
from simkit.analysis.upgrade.removed_resources import (
    CHECK,
    FAILS_ALREADY,
    NOT_READ,
    GoneVersions,
    fails_already,
    misread,
    served_elements,
    unread,
)
from simkit.analysis.upgrade.replay import Refusals, refusals
from simkit.analysis.upgrade.requests import CALLER, NOISE, Metrics, caller_breaks, metric_breaks
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import html_text
from simkit.schema.lifecycle import lifecycle_of, successor
from simkit.schema.releases import is_release, minor_of
from simkit.seams.caveats import Caveat, not_read
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.field_types import without_mismatches
from simkit.snapshot.sources import Source

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simkit.analysis.upgrade.proof import UpgradeProof
    from simkit.analysis.upgrade.upgrade_plan import UpgradePlan

SUMMARY_COLUMNS: Final = ("release", "check", "severity", "breaks", "count", "example")
_OF_VERSIONS: Final = (CHECK, CALLER)
OF_REMOVALS: Final = (*_OF_VERSIONS, NOISE, RULE, CONFIGURATION)
"""The checks that are about API versions which are not served any more."""
WORTH_A_PROCESS: Final = 1_000
"""Items that are looked at in a process of their own, where there are cores."""


@dataclass(frozen=True, slots=True)
class UpgradeReport(Result):
    """The breaks of an upgrade and further notes, worst first."""

    span: ReleaseSpan
    rows: tuple[Break, ...]
    items: tuple[Item, ...] = field(default=(), repr=False)
    callers_known: bool = False
    """True if recorded requests or metrics were given; without them nothing is known of callers."""
    requests: tuple[RecordedRequest, ...] = field(default=(), repr=False)
    """The recorded requests for what goes."""
    refused: Refusals = field(default=Refusals(), repr=False)
    """The other recorded requests that a later release refuses."""
    sandbox: Sandbox | None = field(default=None, repr=False, compare=False)
    after: Sandbox | None = field(default=None, repr=False, compare=False)
    """The sandbox after a change that is no upgrade."""

    @property
    def caveats(self) -> tuple[Caveat, ...]:  # type: ignore[override]
        """The limit of a report on a source of which parts could not be read, or have values that no server takes."""
        unread = sum(row.check in (NOT_READ, FAILS_ALREADY) for row in self.rows)
        return (not_read(unread),) if unread else ()

    @property
    def title(self) -> str:
        return str(self.span)

    @property
    def has_impact(self) -> bool:
        """True if anything stops working."""
        return any(row.breaks for row in self.rows)

    def __bool__(self) -> bool:
        return self.has_impact

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """One row per finding: release, severity, breaks, check, what, where, who, evidence, remedy, source, then
        api_version, kind, namespace, name, field, file, line."""
        return _table(self.rows)

    def breaks(self) -> pd.DataFrame:
        """The rows of ``to_frame`` that stop working."""
        return _table([row for row in self.rows if row.breaks])

    def of(self, *checks: str) -> UpgradeReport:
        """The report of some checks alone."""
        return replace(self, rows=tuple(row for row in self.rows if row.check in checks))

    def summary(self) -> pd.DataFrame:
        """DataFrame with one row per release and check: severity (the worst), breaks, count, example."""
        groups: dict[tuple[str, str, bool | None], list[Break]] = {}
        for row in self.rows:
            groups.setdefault((row.release, row.check, row.breaks), []).append(row)
        rows: list[tuple[Any, ...]] = []
        for (release, check, breaks), found in sorted(groups.items(), key=lambda each: _order(each[1][0])):
            worst = max((row.severity for row in found), key=SEVERITY_WORDS.index)
            rows.append((release, check, worst, breaks, len(found), found[0].where))
        return _table(rows, SUMMARY_COLUMNS)

    def validated(self) -> UpgradeReport:
        """The report with what only the later release refuses, found by trying every object on forks.

        Raises SimkitError for a report without a cluster to fork.
        """
        rows = (*self.rows, *validation_breaks(self.items, self._forkable(), self.span))
        return replace(self, rows=tuple(sorted(rows, key=_order)))

    def _forkable(self) -> Sandbox:
        if self.sandbox is None:
            raise SimkitError("to execute anything, ask it of a cluster: cluster.upgrade_report(...), or give sandbox=")
        return self.sandbox

    def versions(self) -> tuple[tuple[str, str], ...]:
        """The API versions with kinds that are concerned, the oldest first."""
        found = {(row.api_version, row.kind) for row in self.rows if row.check in _OF_VERSIONS}
        return tuple(sorted(each for each in found if lifecycle_of(*each) is not None))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The lives of the versions that are concerned and of their successors, with the objects and callers on each.

        Raises SimkitError where no version is concerned.
        """
        from simkit.analysis.plots.timeline import timeline as draw

        lanes = self._lanes()
        if not len(lanes):
            raise SimkitError("no API version is concerned: there is no timeline to show")
        return draw(lanes, now=self.span.start, target=self.span.end, ax=ax)

    def _lanes(self) -> pd.DataFrame:
        from simkit.analysis.upgrade.timeline import LANE_COLUMNS, timeline

        kinds = {kind for _, kind in self.versions()}
        groups = {version.partition("/")[0] if "/" in version else "" for version, _ in self.versions()}
        groups |= {
            successor(*each, self.span.end).partition("/")[0]
            for each in self.versions()
            if successor(*each, self.span.end)
        }
        lanes = timeline(sorted(groups), kinds=sorted(kinds)) if kinds else table([], LANE_COLUMNS)
        callers = Counter((row.api_version, row.kind) for row in self.rows if row.check == CALLER)
        written = Counter((row.api_version, row.kind) for row in self.rows if row.check == CHECK)
        pairs = list(zip(lanes["api_version"], lanes["kind"], strict=True))
        lanes["objects"] = [written[pair] for pair in pairs]
        lanes["callers"] = [callers[pair] if self.callers_known else None for pair in pairs]
        return lanes

    def plan(self) -> UpgradePlan:
        """The steps to take, hop by hop: what before which, from when on it can be done, what comes after."""
        from simkit.analysis.upgrade.upgrade_plan import plan_of

        return plan_of(self.span, self.rows, self.items)

    def prove(self) -> UpgradeProof:
        """Execute the manifests and recorded requests that break on forks at the releases on the way, as they are and
        mended: the proof has both answers.

        Raises SimkitError for a report without a cluster to fork.
        """
        from simkit.analysis.upgrade.proof import prove_upgrade

        removed = GoneVersions(self.span).removed
        sandbox = self._forkable()
        return prove_upgrade(sandbox, self.span, self.items, self.requests, removed, self.refused, after=self.after)

    def __repr__(self) -> str:
        count = sum(bool(row.breaks) for row in self.rows)
        worst = Counter(row.severity for row in self.rows if row.breaks)
        told = ", ".join(f"{worst[word]} {word}" for word in reversed(SEVERITY_WORDS) if worst[word])
        callers = "" if self.callers_known else "; callers are not known without an audit log"
        breaks = (
            f"{counted(count, 'thing')} break{'s' if count == 1 else ''}"
            if count
            else "nothing breaks" + " of what was read" * bool(self.caveats)
        )
        return f"<UpgradeReport {self.title}: {breaks}{f' ({told})' if told else ''}{callers}>"

    def _repr_html_(self) -> str:
        from simkit.analysis.readable_frame import ReadableFrame

        head = html_text(repr(self)[1:-1].removeprefix("UpgradeReport "))
        return f"<p><b>{head}</b></p>{ReadableFrame(self.summary())._repr_html_() if self.rows else ''}"


def upgrade_report(
    snapshot: Snapshot,
    to: str,
    *,
    since: str | None = None,
    audit_log: AuditLog | None = None,
    metrics: Metrics | None = None,
    manifests: Source | None = None,
    validate: bool = False,
    requests_since: str = "",
    sandbox: Sandbox | None = None,
) -> UpgradeReport:
    """Report what an upgrade to a later release breaks, where, for whom, and what to do.

    Parameters
    ----------
    to
        The release to upgrade to.
    since
        The release to upgrade from; None: the snapshot's own. An empty text: not known; then everything
        is reported that the target does not have any more.
    audit_log
        Recorded requests; without them callers are not known. Those for what both releases serve are sent to forks of
        ``sandbox`` at both: what only the later one refuses is a row with the caller.
    metrics
        The answer of ``/metrics`` of a kube-apiserver, as text or a path: it tells which deprecated versions are asked
        for, not by whom.
    manifests
        Files, folders, charts as rendered, texts or objects that are applied to the cluster beside what it holds.
    validate
        Whether to create every object as a trial on forks at both releases, to find what only the later one refuses.
    requests_since
        A day or time, ``2026-11-01``: recorded requests of before do not count, so that callers which have stopped do
        not.
    sandbox
        The cluster on whose forks recorded requests are decided, and ``validate`` and ``prove()`` execute.

    Returns
    -------
    UpgradeReport
        ``to_frame()`` has one row per finding: release (the first that has the change), severity, breaks (False for
        what is only worth knowing, missing for what could not be read), check, what, where, who, evidence, remedy,
        source, api_version, kind, namespace, name, field, file, line. ``summary()`` counts them.

    Raises
    ------
    SimkitError
        For an unknown release; the message names the newest known one. For a way back.

    Notes
    -----
    Evidence is ordered: field managers before what was applied last, requests with counts before what may be. What is
    known of releases are the tables under ``datasets``. O(size of the objects + recorded requests).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(release="1.23", seed=1)
    >>> pod = {"containers": [{"name": "a", "image": "a"}], "nodeSelector": {"node-role.kubernetes.io/master": ""}}
    >>> obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": pod}
    >>> report = cluster.upgrade_report("1.24", manifests=obj)
    >>> report.breaks()["where"].tolist()
    ['Pod probe spec.nodeSelector[node-role.kubernetes.io/master]']
    """
    span = ReleaseSpan.of(snapshot.release if since is None else since, to)
    given = read_items(manifests) if manifests is not None else Items()
    items = Items((*stored_items(snapshot), *given.items), given.templates, given.problems, given.values)
    found = report_of(items, span, audit_log=audit_log, metrics=metrics, sandbox=sandbox, requests_since=requests_since)
    return found.validated() if validate else found


def report_of(
    items: Items,
    span: ReleaseSpan,
    *,
    audit_log: AuditLog | None = None,
    metrics: Metrics | None = None,
    sandbox: Sandbox | None = None,
    requests_since: str = "",
) -> UpgradeReport:
    """The report about some items that are read already."""
    gone = GoneVersions(span)
    sound, rows = _sound(items.items, span)
    rows += _of_items(sound, span, gone)
    search = BehaviourSearch(span)
    for template in items.templates:
        rows += gone.template(template, left_out=items.leaves_out(template))
        rows += search.template(template)
    for each in items.values:
        rows += search.values(each)
    rows += map(misread, items.problems)
    asked: tuple[RecordedRequest, ...] = ()
    refused = Refusals()
    if audit_log is not None:
        recorded = tuple(each for each in recorded_requests(audit_log, paths=True) if each.time >= requests_since)
        asked = tuple(each for each in recorded if gone.removed.resource(each.api_version, each.resource) is not None)
        rows += caller_breaks(recorded, gone.removed, span)
        if sandbox is not None and span.start:
            gone_too = set(map(id, asked))
            refused = refusals([each for each in recorded if id(each) not in gone_too], sandbox, span)
            rows += refused.rows(span)
    if metrics is not None:
        rows += metric_breaks(metrics, gone.removed, span)
    known = audit_log is not None or metrics is not None
    return UpgradeReport(span, tuple(sorted(rows, key=_order)), items.items, known, asked, refused, sandbox)


def _sound(items: Sequence[Item], span: ReleaseSpan) -> tuple[list[Item], list[Break]]:
    """The items without values of wrong types, which no server takes, and a row for each such value.

    Objects of a snapshot have none.
    """
    sound: list[Item] = []
    rows: list[Break] = []
    for item in items:
        if not item.file and item.origin == "stored":
            sound.append(item)
            continue
        obj, wrong = without_mismatches(item.obj, span.start or span.end)
        sound.append(replace(item, obj=obj) if wrong else item)
        rows += [fails_already(item, str(each)) for each in wrong]
    return sound, rows


def _of_items(items: Sequence[Item], span: ReleaseSpan, gone: GoneVersions) -> list[Break]:
    search = BehaviourSearch(span, items)
    custom, fields, bindings = CustomVersions(items), UnknownFields(span), ItemBindings(items)
    named = NamedVersions(gone.removed, span, bindings)

    def found(some: Sequence[Item]) -> Iterator[Break]:
        for item, body in with_bodies(some):
            yield from gone.find(item, body)
            for row in search.find(item, body):
                yield bindings.judged(item, row) if row.check == STREAMS else row
            yield from custom.find(item)
            yield from fields.find(item)
            yield from named.find(item)
            release = chart_release(item.obj)
            if release is not None and release.unread:
                yield unread(item.title, release.unread, item)

    return on_all_cores(lambda some: list(found(some)), items, least=WORTH_A_PROCESS)


def _table(rows: Sequence[tuple[Any, ...]], columns: tuple[str, ...] = Break._fields) -> pd.DataFrame:
    return table(rows, columns).astype({"breaks": "boolean"})  # missing: it could not be read


def _order(row: Break) -> tuple[Any, ...]:
    """The sort key of a break: severity, release and place."""
    release = minor_of(row.release) if row.release else 0
    return (not row.breaks, -SEVERITY_WORDS.index(row.severity), release, row.check, row.where, row.file, row.line or 0)


class ApiDisablingSandbox(Sandbox, Protocol):
    """A sandbox whose forks can have API versions disabled, as ``--runtime-config`` of kube-apiserver does."""

    @property
    def dump(self) -> Dump | None:
        """The dump that the sandbox was loaded from, with objects in the versions in which they were written; or
        None."""
        ...

    def with_apis_disabled(self, *elements: str) -> Sandbox:
        """Return a fork that does not serve the given groups, versions or resources of versions."""
        ...


def removal_report(
    cluster: ApiDisablingSandbox, *elements: str, release: str | None = None, audit_log: AuditLog | None = None
) -> UpgradeReport:
    """Report everything that uses API versions which a cluster no longer serves, or which another release removes.

    Parameters
    ----------
    cluster
        The cluster that is looked at.
    elements
        Versions (``flowcontrol.apiserver.<domain>/v1beta3``), groups or resources of versions to disable. Of those
        that an earlier release removed, the report lists what is still written in them and who asks for them. A single
        release, ``1.32``, is the same as ``release="1.32"``.
    release
        The release to upgrade to, instead of elements.
    audit_log
        Recorded requests; without them callers are not known.

    Returns
    -------
    UpgradeReport
        The rows of ``upgrade_report`` about API versions: objects and manifests that are written in them or name them,
        callers, rules of roles, and webhooks and policies. ``prove()`` sends the recorded requests to forks of the
        cluster, as it is and after the change.

    Raises
    ------
    SimkitError
        Where neither elements nor a release are given, or both, where neither the release nor an earlier
        one serves an element, and where the release to upgrade to is an earlier one.

    Notes
    -----
    The cluster is not changed. O(size of the snapshot + recorded requests).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> cluster.removal_report(release="1.32").has_impact
    False
    """
    if release is None and len(elements) == 1 and is_release(elements[0]):
        release, elements = elements[0], ()
    if bool(elements) == bool(release):
        raise SimkitError(
            "name either API versions such as policy/v1beta1, or the release of the upgrade: --to 1.33 "
            "(in Python, release='1.33')"
        )
    now = cluster.snapshot().release
    span = ReleaseSpan.of(now, release) if release else ReleaseSpan(now, now, elements)
    found = report_of(Items(tuple(stored_items(cluster.snapshot(), cluster.dump))), span, audit_log=audit_log)
    after = None if release else cluster.with_apis_disabled(*served_elements(span))
    return replace(found.of(*OF_REMOVALS), sandbox=cluster, after=after)
