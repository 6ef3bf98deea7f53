"""The lives of API versions as tables: one lane per version, and a calendar of introductions and removals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.audit_log.requests import recorded_requests
from simkit.analysis.rbac.tables import table
from simkit.logic.lifecycle import Calendar, History, Track, of_releases
from simkit.logic.lifecycle.calendar import age_order
from simkit.logic.lifecycle.document import Group, Version
from simkit.meta.names import GroupVersion
from simkit.meta.objects import at
from simkit.schema.lifecycle import lifecycle_of, successor
from simkit.schema.releases import RELEASES
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

LANE_COLUMNS: Final = ("lane", "api_version", "kind", "phase", "first", "until", "start", "end", "objects", "callers")
CALENDAR_COLUMNS: Final = ("release", "date", "expected", "event", "api_version", "kind", "replacement")
_PHASES: Final = {Track.ALPHA: "alpha", Track.BETA: "beta", Track.GA: "stable"}


def timeline(
    api_groups: Iterable[str] | None = None,
    *,
    kinds: Iterable[str] = (),
    history: History | None = None,
    snapshot: Snapshot | None = None,
    audit_log: AuditLog | None = None,
) -> pd.DataFrame:
    """The phases of versions.

    Parameters
    ----------
    api_groups
        Only these groups; None: all of them.
    kinds
        Only these kinds; none: all of them.
    history
        Whose versions; None: those of Kubernetes.
    snapshot
        Where to count the objects that were written in a version: by their managed fields, or where they have none,
        by the version they are in.
    audit_log
        An audit log in which to count who calls a version.

    Returns
    -------
    DataFrame
        One row per version and phase: lane, api_version, kind, phase (alpha, beta, stable, deprecated), first (release
        of its beginning), until (the first release that no longer has it, or is planned not to; empty: no end in
        sight), start and end (days; the latest day of the table where there is no end), objects and callers (None where
        not asked).

    Raises
    ------
    SimkitError
        For an audit log that is not there.

    Examples
    --------
    >>> from simkit.analysis import timeline
    >>> timeline(["batch"], kinds=["CronJob"])[["api_version", "phase", "first", "until"]].values.tolist()[:2]
    [['batch/v1beta1', 'beta', '1.8', '1.21'], ['batch/v1beta1', 'deprecated', '1.21', '1.25']]
    """
    whole = history or of_releases(api_groups)
    wanted, named = (None if api_groups is None else frozenset(api_groups)), frozenset(kinds)
    objects = _objects(snapshot) if snapshot is not None else None
    callers = _callers(audit_log) if audit_log is not None else None
    rows: list[tuple[Any, ...]] = []
    for group, version, kind in _versions(whole, wanted, named, planned=history is None):
        api_version = f"{group.name}/{version.name}" if group.name else version.name
        lane = f"{api_version} {kind}".rstrip()
        for phase, first, until in _phases(version):
            start, end = _days(whole.calendar, first, until)
            counts = (_count(objects, api_version, kind), _count(callers, api_version, kind))
            rows.append((lane, api_version, kind, phase, first, until, start, end, *counts))
    lanes = table(rows, LANE_COLUMNS)
    if len(lanes):
        lanes.loc[lanes["until"] == "", "end"] = lanes["end"].max()
    return lanes


def _versions(
    history: History, groups: frozenset[str] | None, kinds: frozenset[str], *, planned: bool
) -> Iterator[tuple[Group, Version, str]]:
    """Versions kind by kind, the oldest first; with ``planned``, a removal that is planned counts as one."""
    for group in history.groups:
        if groups is not None and group.name not in groups:
            continue
        lanes = [(kind, version) for version in group.versions for kind in version.kinds or ("",)]
        for kind, version in sorted(lanes, key=lambda lane: (lane[0], age_order(lane[1].name))):
            if not kinds or kind in kinds:
                known = lifecycle_of(str(GroupVersion(group.name, version.name)), kind) if planned else None
                yield group, version.model_copy(update={"removed": known.end}) if known is not None else version, kind


def _phases(version: Version) -> Iterator[tuple[str, str, str]]:
    """Each phase with its first release and the release that ends it."""
    if version.deprecated != version.introduced or not version.deprecated:
        yield _PHASES[version.track], version.introduced, version.deprecated or version.removed
    if version.deprecated:
        yield "deprecated", version.deprecated, version.removed


def _days(calendar: Calendar, first: str, until: str) -> tuple[pd.Timestamp, pd.Timestamp]:
    import pandas as pd

    start = calendar.release(first) if first else calendar.at(0)
    end = calendar.release(until) if until else calendar.at(len(calendar.releases))
    return pd.Timestamp(start.day), pd.Timestamp(max(start.day, end.day))


def _count(found: dict[tuple[str, str], set[Any]] | None, api_version: str, kind: str) -> int | None:
    return None if found is None else len(found.get((api_version, kind), ()))


def _objects(snapshot: Snapshot) -> dict[tuple[str, str], set[Any]]:
    """Objects by the version in which managers wrote them."""
    found: dict[tuple[str, str], set[Any]] = {}
    for resource in snapshot.captured():
        for number, obj in enumerate(snapshot.scan(resource)):
            kind, managed = str(obj.get("kind", "")), at(obj, "metadata", "managedFields") or ()
            for version in {str(entry.get("apiVersion")) for entry in managed} or {str(obj.get("apiVersion"))}:
                found.setdefault((version, kind), set()).add((resource, number))
    return found


def _callers(requests: AuditLog) -> dict[tuple[str, str], set[Any]]:
    """Users with their programs by version and kind."""
    from simkit.schema.lifecycle import spans

    kinds = {(span.api_version, span.plural): span.kind for span in spans()}
    found: dict[tuple[str, str], set[Any]] = {}
    for each in recorded_requests(requests):
        kind = kinds.get((each.api_version, each.resource), "")
        found.setdefault((each.api_version, kind), set()).add((each.identity.user, each.agent))
    return found


def calendar(
    api_groups: Iterable[str] | None = None, *, history: History | None = None, first: str = "", last: str = ""
) -> pd.DataFrame:
    """The versions that each release introduces, deprecates and removes.

    Parameters
    ----------
    api_groups, history
        As for ``timeline``.
    first, last
        The releases to begin and end with.

    Returns
    -------
    DataFrame
        One row per event, by day: release, date, expected (whether the release is still to come), event (introduced,
        deprecated, removed), api_version, kind, replacement (a version that the newest release serves).
    """
    whole = history or of_releases(api_groups)
    dates = whole.calendar
    wanted = None if api_groups is None else frozenset(api_groups)
    low = dates.position(first) if first else 0
    high = dates.position(last) if last else len(dates.releases) + 100
    rows = [
        (dates.position(release), event, api_version, kind, replacement)
        for release, event, api_version, kind, replacement in _events(whole, wanted, planned=history is None)
        if low <= dates.position(release) <= high
    ]
    return table(_dated(sorted(rows), dates), CALENDAR_COLUMNS)


def _events(
    history: History, groups: frozenset[str] | None, *, planned: bool
) -> Iterator[tuple[str, str, str, str, str]]:
    for group, version, kind in _versions(history, groups, frozenset(), planned=planned):
        api_version = f"{group.name}/{version.name}" if group.name else version.name
        for event in ("introduced", "deprecated", "removed"):
            release = getattr(version, event)
            if release:
                instead = version.replacement if not planned else _instead(api_version, kind)
                instead = "" if event == "introduced" else instead
                yield release, event, api_version, kind, instead


def _instead(api_version: str, kind: str) -> str:
    """The version that the newest release serves instead of a built-in version."""
    found = successor(api_version, kind, RELEASES[-1]).partition(" ")[0]
    return "" if found == api_version else found


def _dated(rows: Sequence[tuple[int, str, str, str, str]], dates: Calendar) -> Iterator[tuple[Any, ...]]:
    import pandas as pd

    for place, *rest in rows:
        release = dates.at(place)
        yield release.name, pd.Timestamp(release.day), release.expected, *rest
