"""The way over several releases: what must be done before which hop, from when on it can be, what comes after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.analysis.rbac.tables import table
from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.rendering import counted
from simkit.analysis.result import Result
from simkit.analysis.upgrade.behaviour.entries import behaviour_entries
from simkit.analysis.upgrade.definitions import delays
from simkit.analysis.upgrade.items import Break, Item
from simkit.analysis.upgrade.refused_objects import FIELD
from simkit.analysis.upgrade.removed_resources import GUIDE
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.meta.names import GroupKind, GroupVersion
from simkit.meta.visible_text import html_text
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.lifecycle import lifecycle_of, successor
from simkit.schema.releases import RELEASES, minor_of
from simkit.schema.releases import release as release_dates
from simkit.schema.storageversion import stored_as

if TYPE_CHECKING:
    import pandas as pd

BEFORE: Final = "before"
AFTER: Final = "after"
ROLLBACK: Final = "rollback"
_BLOCKING: Final = ("high", "critical")
_MIGRATION: Final = "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/storage-version-migration/"


class PlanStep(NamedTuple):
    """One thing to do. ``when``: before or after the hop, or ``rollback`` for what a way back would lose.

    ``possible_from`` is the release from which on it can be done: the first one of the way where it can be done now.
    """

    hop: str
    when: str
    blocks: bool
    step: str
    why: str
    findings: int
    possible_from: str
    example: str
    source: str


@dataclass(frozen=True, slots=True)
class UpgradePlan(Result):
    """The steps of an upgrade over one or more hops, hop by hop. It is true if nothing blocks."""

    span: ReleaseSpan
    steps: tuple[PlanStep, ...]

    def __bool__(self) -> bool:
        return not any(step.blocks for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def to_frame(self) -> pd.DataFrame:
        """One row per step, in the order of the way: hop, when (before, after, rollback), blocks (whether the hop must
        wait for it), step, why, findings (how many), possible_from (a release), example, source."""
        return table(self.steps, PlanStep._fields)

    def summary(self) -> pd.DataFrame:
        """DataFrame with one row per hop: hop, end_of_life, before, blocking, after, rollback (numbers of steps)."""
        rows = []
        for hop in self.span.hops:
            own = [step for step in self.steps if step.hop == hop]
            count = Counter(step.when for step in own)
            blocking = sum(step.blocks for step in own)
            end = release_dates(hop).end_of_life
            rows.append((hop, end, count[BEFORE], blocking, count[AFTER], count[ROLLBACK]))
        return table(rows, ("hop", "end_of_life", "before", "blocking", "after", "rollback"))

    def __repr__(self) -> str:
        blocked = list(dict.fromkeys(step.hop for step in self.steps if step.blocks))
        told = f"; hops that must wait: {', '.join(blocked)}" if blocked else "; nothing blocks"
        steps = counted(len(self), "step") if len(self) else "no steps"
        return f"<UpgradePlan {self.span.start or 'any release'} -> {self.span.end}: {steps}{told}>"

    def _repr_html_(self) -> str:
        head = html_text(repr(self)[1:-1].removeprefix("UpgradePlan "))
        tables = (self.summary(), self.to_frame()) if len(self) else (self.summary(),)
        return f"<p><b>{head}</b></p>{''.join(ReadableFrame(rows)._repr_html_() for rows in tables)}"


def plan_of(span: ReleaseSpan, rows: Sequence[Break], items: Sequence[Item]) -> UpgradePlan:
    """The steps that the findings of a report and the stored objects demand."""
    steps = [*_of_breaks(span, rows), *_storage(span, items), *_rollback(span, items)]
    order = (BEFORE, AFTER, ROLLBACK)
    steps.sort(key=lambda step: (minor_of(step.hop), order.index(step.when), not step.blocks, step.step))
    return UpgradePlan(span, tuple(steps))


def _of_breaks(span: ReleaseSpan, rows: Sequence[Break]) -> Iterator[PlanStep]:
    """The repairs that are due before the hop that breaks: equal remedies are one step."""
    groups: dict[tuple[str, str, str], list[Break]] = {}
    for row in rows:
        if row.breaks or delays(row.check):
            hop = row.release if row.release and span.meets(row.release) else span.hops[0] if span.hops else span.end
            what = row.what.partition(": " if row.check == FIELD else ". ")[0]
            groups.setdefault((hop, what, _remedy(row)), []).append(row)
    for (hop, what, remedy), found in groups.items():
        first = found[0]
        blocks = any(row.breaks and row.severity in _BLOCKING for row in found)
        yield PlanStep(
            hop, BEFORE, blocks, remedy, what, len(found), _possible_from(first, span), first.where, first.source
        )


def _remedy(row: Break) -> str:
    """The remedy without what differs from object to object."""
    return row.remedy.partition(" Fields change too")[0].partition(" Only apiVersion")[0]


def _possible_from(row: Break, span: ReleaseSpan) -> str:
    """The release from which on the remedy of a row works: that of the successor, or what the table says."""
    told = next((entry.possible for entry in behaviour_entries() if entry.id == row.check), "")
    if row.api_version and lifecycle_of(row.api_version, row.kind) is not None and not told:
        version, _, kind = successor(row.api_version, row.kind, span.end).partition(" ")
        life = lifecycle_of(version, kind) if version else None
        told = life.introduced if life is not None else ""
    start = span.start or RELEASES[0]
    return told if told and minor_of(told) > minor_of(start) else start


# Storage


def _storage(span: ReleaseSpan, items: Iterable[Item]) -> Iterator[PlanStep]:
    """Resources whose objects may be stored in a version that a hop takes away, and those that get another one."""
    counts = Counter((item.group, item.kind) for item in items if item.origin == "stored")
    for before, hop in span.steps:
        yield from _storage_of_hop(before, hop, counts)


def _storage_of_hop(before: str, hop: str, counts: Mapping[tuple[str, str], int]) -> Iterator[PlanStep]:
    old, new = Catalogue.for_release(before), Catalogue.for_release(hop)
    for resource in old.stored():
        count = counts.get((resource.group, resource.kind), 0)
        later = new.preferred(resource.group_resource)
        if not count or later is None:
            continue
        gone = [each for each in _once_stored(resource, before) if _goes(each, hop)]
        for version in gone:
            yield PlanStep(
                hop, BEFORE, False, f"Write every object of {resource.resource} once (storage migration).",
                f"Some may still be stored as {version}, which {hop} does not serve",
                count, before, str(resource.group_resource), _MIGRATION,
            )  # fmt: skip
        was, is_now = stored_as(before, resource).api_version, stored_as(hop, later).api_version
        if was != is_now:
            yield PlanStep(
                hop, AFTER, False, f"Write every object of {resource.resource} once (storage migration).",
                f"{hop} stores them as {is_now}; what nobody writes stays {was}",
                count, hop, str(resource.group_resource), _MIGRATION,
            )  # fmt: skip


def _once_stored(resource: Resource, until: str) -> list[str]:
    """The versions in which servers up to a release stored a resource."""
    found: dict[str, None] = {}
    for release in RELEASES:
        if minor_of(release) > minor_of(until):
            break
        there = Catalogue.for_release(release).preferred(resource.group_resource)
        if there is not None and there.stored:
            found[stored_as(release, there).api_version] = None
    return list(found)


def _goes(api_version: str, hop: str) -> bool:
    """True if some kind of a version goes with a hop."""
    group_version = GroupVersion.parse(api_version)
    return any(
        (life := lifecycle_of(str(group_version), each.kind)) is not None and life.removed == hop
        for each in Catalogue.for_release(f"1.{minor_of(hop) - 1}").resources(*group_version)
    )


# The way back


def _rollback(span: ReleaseSpan, items: Sequence[Item]) -> Iterator[PlanStep]:
    """The losses of a rollback over a hop: objects of kinds and versions that the earlier release does not know.

    Of manifests, which show no cluster, only their own kinds count.
    """
    kinds = {(item.group, item.kind) for item in items}
    is_cluster = any(item.origin == "stored" for item in items)
    for before, hop in span.steps:
        known = {each.group_kind for each in Catalogue.for_release(before, everything=True).resources()}
        new = [
            each
            for each in Catalogue.for_release(hop).stored()
            if each.group_kind not in known and not each.custom and (is_cluster or each.group_kind in kinds)
        ]
        if new:
            names = ", ".join(sorted(str(each.group_resource) for each in new))
            yield PlanStep(
                hop, ROLLBACK, False, f"Do not use {names} before the hop is kept.",
                f"{before} does not serve them: after a rollback nobody can read the objects",
                len(new), hop, names.partition(",")[0], GUIDE,
            )  # fmt: skip
        yield from (step for kind, step in _unreadable(before, hop) if kind in kinds)


def _unreadable(before: str, hop: str) -> Iterator[tuple[GroupKind, PlanStep]]:
    """Kinds that the later release stores in a version that the earlier one does not have, each with its step."""
    for resource in Catalogue.for_release(hop).stored():
        stored = stored_as(hop, resource)
        life = lifecycle_of(stored.api_version, stored.kind)
        there = Catalogue.for_release(before).preferred(resource.group_resource)
        if there is not None and life is not None and not life.served(before):
            yield resource.group_kind, PlanStep(
                hop, ROLLBACK, False, f"Keep a backup of {resource.resource} from before the hop.",
                f"{hop} stores them as {stored.api_version}, which {before} cannot read",
                1, hop, str(resource.group_resource), GUIDE,
            )  # fmt: skip
