"""The access to a cluster over time: who could do what, since when, and by whose hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypedDict, Unpack

import pandas as pd

from simkit.analysis.access.compare import compare
from simkit.analysis.access.who_can import who_can
from simkit.analysis.audit_log.events import AuditLog, read_events
from simkit.analysis.audit_log.requests import recorded_requests
from simkit.analysis.caveats import with_caveats
from simkit.analysis.findings.check import Finding
from simkit.analysis.history.past_access import Moment, PastDecision, Verdict, decided, held, moment_of
from simkit.analysis.history.timeline import (
    DumpedMoment,
    RecordedWrite,
    Timeline,
    latest_moment,
    seconds_of,
    timeline_of,
    writes_of,
)
from simkit.analysis.rbac.objects import RBAC, display_name
from simkit.analysis.rbac.subject import identity_of, text_of_identity
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Result
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.seams.caveats import Caveat
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from simkit.snapshot.sources import Source

Time = str | float | datetime
"""A moment: seconds since the epoch, a datetime, or a text such as ``2026-03-03T12:00:00Z``."""


class Asked(TypedDict, total=False):
    """The arguments of ``can`` that narrow a question."""

    namespace: str | None
    name: str
    subresource: str
    url: str
    api_group: str | None


INTERVALS: Final = ("from", "to", "verdict", "changed_by", "verb", "object")
CHANGES: Final = ("time", "user", "verb", "object", "known", "gained", "lost")


class AccessHistory(Result):
    """The access to a cluster between moments.

    Parameters
    ----------
    timeline
        What is known of each object.
    release
        The release of the cluster.
    events
        The audit log, for questions about use.
    """

    def __init__(self, timeline: Timeline, release: str, events: Sequence[Object]) -> None:
        self.timeline, self.release, self._events = timeline, release, events
        self._moment = lru_cache(maxsize=64)(lambda time: moment_of(timeline, time, release))
        self.caveats = _caveats(timeline)  # type: ignore[misc]

    def moment(self, at: Time) -> Moment:
        """The cluster at a moment: what certainly existed, and what is not known."""
        return self._moment(_seconds(at))

    def can(self, subject: str, verb: str, resource: str = "", *, at: Time, **asked: Unpack[Asked]) -> PastDecision:
        """Whether a subject could do something at a moment.

        Parameters
        ----------
        subject, verb, resource
            As of ``can``; ``asked`` may hold its namespace, name, subresource, url and api_group.
        at
            The moment.

        Returns
        -------
        PastDecision
            ``verdict`` is ``yes``, ``no`` or ``unknown``; ``decision`` explains it.
        """
        return decided(self.moment(at), subject, verb, resource, **asked)

    def who_can(self, verb: str, resource: str = "", *, at: Time, **asked: Unpack[Asked]) -> pd.DataFrame:
        """The subjects that could do something at a moment.

        Parameters
        ----------
        verb, resource
            As of ``who_can``, as are those in ``asked``.
        at
            The moment.

        Returns
        -------
        DataFrame
            The columns of ``who_can``, of what is certain; ``attrs["caveats"]`` says what is not known.
        """
        moment = self.moment(at)
        return with_caveats(who_can(moment.certain, verb, resource, **asked), moment.caveats)

    def since_when(self, subject: str, verb: str, resource: str = "", **asked: Unpack[Asked]) -> pd.DataFrame:
        """The intervals in which a subject could do something, could not, or in which that is not known.

        Parameters
        ----------
        subject, verb, resource
            As of ``can``, as are those in ``asked``.

        Returns
        -------
        DataFrame
            One row per interval, oldest first: from, to (both UTC; the last one ends with what is known), verdict,
            changed_by, verb and object of the write that began it (empty for the first, and where none is known).
        """
        return self._told(lambda time: self.can(subject, verb, resource, at=time, **asked).verdict)

    def exposed_for(self, finding: Finding) -> pd.DataFrame:
        """The intervals in which a finding of an audit held, did not, or in which that is not known.

        Parameters
        ----------
        finding
            A finding of ``audit``. It is the same at another moment if check, subjects, binding and role are.

        Returns
        -------
        DataFrame
            The columns of ``since_when``.

        Notes
        -----
        One check at each moment at which access may have changed.

        Examples
        --------
        >>> import simkit
        >>> past = history(simkit.demo().dump, at="2026-03-03T00:00:00Z")
        >>> finding = simkit.demo().audit().findings[0]
        >>> past.exposed_for(finding)["verdict"].tolist()
        ['yes']
        """
        return self._told(lambda time: held(self.moment(time), finding))

    def _told(self, verdict: Callable[[float], Verdict]) -> pd.DataFrame:
        return with_caveats(table(list(self._intervals(verdict)), INTERVALS), self.caveats)

    def _intervals(self, verdict_at: Callable[[float], Verdict]) -> Iterator[tuple[Any, ...]]:
        """Neighbouring moments with the same verdict are one interval."""
        moments, writes = self._moments(), self._writes_at()
        for first in moments[:1]:
            writes.pop(first, None)  # what was so from the start has no known beginning
        begun: tuple[float, str] | None = None
        for place, time in enumerate(moments):
            verdicts = [verdict_at(time)]
            if place + 1 < len(moments):  # between two moments as well, where no log tells what happened
                verdicts.append(verdict_at((time + moments[place + 1]) / 2))
            for verdict in verdicts:
                if begun is None:
                    begun = time, verdict
                elif verdict != begun[1]:
                    yield self._interval(begun, time, writes)
                    begun = time, verdict
        if begun is not None:
            yield self._interval(begun, moments[-1], writes)

    def _interval(self, begun: tuple[float, str], end: float, writes: Mapping[float, RecordedWrite]) -> tuple[Any, ...]:
        write = writes.get(begun[0])
        told = (write.author, write.verb, display_name(write.key)) if write is not None else ("", "", "")
        return _date(begun[0]), _date(end), begun[1], *told

    def who_granted(self, subject: str, verb: str, resource: str = "", **asked: Unpack[Asked]) -> pd.DataFrame:
        """The writes after which a subject could do something that it could not do before, as rows of ``since_when``.

        Parameters
        ----------
        subject, verb, resource
            As of ``can``, as are those in ``asked``.

        Returns
        -------
        DataFrame
            The rows of ``since_when`` whose verdict is ``yes`` and which a write began.
        """
        rows = self.since_when(subject, verb, resource, **asked)
        return rows[(rows["verdict"] == "yes") & (rows["changed_by"] != "")].reset_index(drop=True)

    def changes(self, start: Time | None = None, end: Time | None = None) -> pd.DataFrame:
        """The writes to roles and bindings, with what they changed for subjects.

        Parameters
        ----------
        start, end
            The moments between which they were; None: all that is known.

        Returns
        -------
        DataFrame
            One row per write: time, user, verb, object, known (whether the object before and afterwards is known),
            gained and lost (the numbers of permissions, NA where the write is not known).
        """
        first = -float("inf") if start is None else _seconds(start)
        last = float("inf") if end is None else _seconds(end)
        rows = [self._change(write) for write in self._rbac_writes() if first <= write.time <= last]
        found = table(rows, CHANGES)
        found[["gained", "lost"]] = found[["gained", "lost"]].astype("Int64")
        return with_caveats(found, self.caveats)

    def _change(self, write: RecordedWrite) -> tuple[Any, ...]:
        before, after = self.moment(write.time - _INSTANT), self.moment(write.time)
        known = before.covered and write.key not in {*before.unknown, *after.unknown} and bool(write.key.name)
        told: tuple[Any, ...] = (pd.NA, pd.NA)
        if known:
            changes = compare(before.certain, after.certain)["change"]
            told = (int((changes == "gained").sum()), int((changes == "lost").sum()))
        named = display_name(write.key) if write.key.name else f"{write.key.resource} in {write.key.namespace}"
        return _date(write.time), write.author, write.verb, named, known, *told

    def used_since(self, subject: str, verb: str, resource: str, *, since: Time | None = None) -> pd.DataFrame:
        """The requests with which a subject used a permission.

        Parameters
        ----------
        subject, verb, resource
            The permission: ``"sa:ci/deployer", "create", "pods"``.
        since
            Only requests after this moment; None: all of the log.

        Returns
        -------
        DataFrame
            One row: count, first, last (UTC; NaT if the permission was not used).
        """
        first = -float("inf") if since is None else _seconds(since)
        who = text_of_identity(identity_of(subject))
        times = []
        for event in self._events:
            for request in recorded_requests([event]):
                same = (request.verb, request.resource) == (verb, resource)
                time = seconds_of(event.get("requestReceivedTimestamp") or event.get("stageTimestamp"))
                if same and text_of_identity(request.identity) == who and time is not None and time >= first:
                    times.append(time)
        ends = (_date(min(times)), _date(max(times))) if times else (pd.NaT, pd.NaT)
        return table([(len(times), *ends)], ("count", "first", "last"))

    def to_frame(self) -> pd.DataFrame:
        """The changes, as ``changes()`` gives them."""
        return self.changes()

    def _moments(self) -> list[float]:
        """The moments at which access may change: writes of roles and bindings, and dumps."""
        times = {write.time for write in self._rbac_writes()} | {dump.time for dump in self.timeline.dumps}
        return sorted(times | set(self.timeline.covered or ()))

    def _rbac_writes(self) -> list[RecordedWrite]:
        seen = {id(write): write for write in self.timeline.writes() if write.key.resource in RBAC}
        return list(seen.values())

    def _writes_at(self) -> dict[float, RecordedWrite]:
        return {write.time: write for write in self._rbac_writes()}

    def __repr__(self) -> str:
        writes = len(self._rbac_writes())
        span = self.timeline.covered
        log = f"log from {_date(span[0])} to {_date(span[1])}" if span else "no log"
        return f"<AccessHistory: {len(self.timeline.dumps)} dumps, {log}, {writes:,} writes to roles and bindings>"


_INSTANT: Final = 1e-6
"""Seconds before a write at which it has not happened."""


def history(
    dump: Source | Dump | None = None,
    *,
    audit_log: AuditLog | None = None,
    dumps: Iterable[Source | Dump] | Mapping[str, Source | Dump] | Mapping[float, Source | Dump] = (),
    at: Time | None = None,
    covers: tuple[Time, Time] | None = None,
    release: str | None = None,
) -> AccessHistory:
    """The access to a cluster over time, from dumps and an audit log.

    Parameters
    ----------
    dump
        A dump: a path, text, objects, or what ``simkit.load`` gave.
    audit_log
        The audit log: see ``read_events``. With the level RequestResponse, objects are known from each write on; with
        Metadata, an object that was changed is not known until a later dump.
    dumps
        Further dumps, or a mapping of moments to dumps.
    at
        The moment of ``dump``; None: the latest moment that its objects tell.
    covers
        The moments between which the log holds every write; None: its first and last event, and dumps within five
        minutes of them.
    release
        The release of the cluster; None: as the dumps say.

    Returns
    -------
    AccessHistory
        It answers ``can``, ``who_can``, ``since_when``, ``who_granted``, ``exposed_for``, ``changes`` and
        ``used_since``.

    Raises
    ------
    SimkitError
        For a dump that tells no moment, and without any dump or log.

    Examples
    --------
    >>> role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: []}"
    >>> past = history(role, at="2026-03-03T00:00:00Z")
    >>> past.can("user:ann", "get", "pods", at="2026-03-03T00:00:00Z").verdict  # the dump has no bindings
    'unknown'
    """
    pairs: list[tuple[Time | None, Any]] = [] if dump is None else [(at, dump)]
    pairs += list(dumps.items()) if isinstance(dumps, Mapping) else [(None, one) for one in dumps]
    found = [(time, _dump(one, release)) for time, one in pairs]
    events = list(read_events(audit_log)) if audit_log is not None else []
    if not found and not events:
        raise SimkitError("give a dump, several dumps or an audit log: history('cluster.yaml', audit_log='audit.log')")
    served = release or next((one.server_release or one.release for _, one in found), "1.30")
    span = _span(events) if covers is None else (_seconds(covers[0]), _seconds(covers[1]))
    moments = [_dumped(time, one) for time, one in found]
    return AccessHistory(timeline_of(moments, writes_of(events), span), served, events)


def _dump(source: Any, release: str | None) -> Dump:
    found = getattr(source, "dump", source)
    return found if isinstance(found, Dump) else load(found, release=release)


def _dumped(time: Time | None, dump: Dump) -> DumpedMoment:
    moment = latest_moment(dump.objects) if time is None else _seconds(time)
    if moment is None:
        raise SimkitError("a dump tells no moment at which it was made; name it: at='2026-03-03T12:00:00Z'")
    index = dump.index
    return DumpedMoment(moment, dump.keyed, frozenset(index.stored(resource) for resource in dump.captured))


def _span(events: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    found = (seconds_of(event.get("stageTimestamp") or event.get("requestReceivedTimestamp")) for event in events)
    times = [time for time in found if time is not None]
    return (min(times), max(times)) if times else None


def _seconds(time: Time) -> float:
    """A moment in seconds since the epoch. Raises SimkitError for a text that is none."""
    if isinstance(time, datetime):
        return time.timestamp() if time.tzinfo else time.replace(tzinfo=UTC).timestamp()
    if isinstance(time, int | float):
        return float(time)
    found = seconds_of(time if "T" in time or " " in time else f"{time}T00:00:00Z")
    if found is None:
        raise SimkitError(f"{time!r} is no moment; write it as 2026-03-03T12:00:00Z")
    return found


def _date(seconds: float) -> pd.Timestamp:
    return pd.Timestamp(seconds, unit="s", tz="UTC")


def _caveats(timeline: Timeline) -> tuple[Caveat, ...]:
    if timeline.covered is None:
        return (Caveat("no-log", "Without an audit log, nothing is known of the time between dumps."),)
    start, end = (_date(moment).strftime("%Y-%m-%d %H:%M:%S") for moment in timeline.covered)
    return (Caveat("log-span", f"Assumes that the audit log holds every write from {start} to {end} UTC."),)
