"""The access to a cluster over time: who could do what, since when, and by whose hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict, Unpack

import pandas as pd

from simkit.analysis.access.who_can import who_can
from simkit.analysis.audit_log.span import moment_text, seconds_of, span_text
from simkit.analysis.caveats import with_caveats
from simkit.analysis.findings.audit import CHECKS
from simkit.analysis.findings.check import Finding
from simkit.analysis.history.past_access import (
    INSTANT,
    Moment,
    PastDecision,
    Verdict,
    about_identity,
    decided,
    held,
    moment_of,
    permission_changes,
    state_for,
)
from simkit.analysis.history.recorded import RecordedEvents
from simkit.analysis.history.timeline import (
    UNKNOWN,
    DumpedMoment,
    RecordedWrite,
    Timeline,
    timeline_of,
)
from simkit.analysis.rbac.objects import NAMESPACES, RBAC, SERVICE_ACCOUNTS, display_name
from simkit.analysis.rbac.subject import identity_of, parse_subject, text_of_identity
from simkit.analysis.rbac.tables import table
from simkit.analysis.result import GUESSED, Result
from simkit.logic.authorizers.node import node_of
from simkit.logic.authorizers.node_graph import FOLLOWED
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource
from simkit.meta.warning import warn_user, warnings_heard_by
from simkit.seams.authorization import Authorization
from simkit.seams.caveats import Caveat
from simkit.snapshot.resources import DEFINITIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


ACCESS: Final = frozenset((*RBAC, NAMESPACES, SERVICE_ACCOUNTS, DEFINITIONS))
"""The resources that questions about access read, if the Node authorizer does not decide."""


class AccessHistory(Result):
    """The access to a cluster between moments.

    Parameters
    ----------
    dumps
        The objects at some moments.
    events
        The audit log; None without one.
    covered
        The moments between which the log holds every write.
    release
        The release of the cluster.
    authorization
        Its authorizers.

    Notes
    -----
    Questions about access read the writes to roles, bindings, namespaces, service accounts and custom resource
    definitions. The objects of a ``moment``, ``exposed_for``, questions about nodes, and ``who_can`` where the Node
    authorizer decides, read the writes to all objects, and hold them in memory.
    """

    _guessed: ClassVar = {**GUESSED, "at": "moment(time)"}

    def __init__(
        self,
        dumps: Iterable[DumpedMoment],
        events: RecordedEvents | None,
        covered: tuple[float, float] | None,
        release: str,
        authorization: Authorization,
    ) -> None:
        self.release, self._events, self._covered, self._dumps = release, events, covered, tuple(dumps)
        self._authorization = authorization
        self._without_nodes = replace(authorization, modes=tuple(one for one in authorization.modes if one != "Node"))
        self.timeline = self._timeline(ACCESS)
        self._moment = lru_cache(maxsize=64)(lambda time: moment_of(self.timeline, time, release, self._without_nodes))
        self._whole = lru_cache(maxsize=64)(lambda time: moment_of(self._everything, time, release, authorization))
        self.caveats = _caveats(self.timeline, covered)  # type: ignore[misc]

    def _timeline(self, resources: Collection[GroupResource] | None) -> Timeline:
        dumps = self._dumps if resources is None else [_narrowed(dump, resources) for dump in self._dumps]
        return timeline_of(dumps, self._events.writes(resources) if self._events else (), self._covered)

    @cached_property
    def _everything(self) -> Timeline:
        return self._timeline(None)

    def _decides_nodes(self) -> bool:
        return "Node" in self._authorization.modes

    def _about_node(self, identity: Identity) -> bool:
        return self._decides_nodes() and node_of(identity) is not None

    @property
    def latest(self) -> datetime:
        """The last moment that a dump or the log covers, in UTC."""
        times = [*(self.timeline.covered or ()), *(dump.time for dump in self.timeline.dumps)]
        return datetime.fromtimestamp(max(times), UTC)

    def moment(self, at: Time) -> Moment:
        """The cluster at a moment: what certainly existed, and what is not known."""
        return self._whole(seconds_since_epoch(at))

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
        moment = self._whole if self._about_node(identity_of(subject)) else self._moment
        return decided(moment(seconds_since_epoch(at)), subject, verb, resource, **asked)

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
        moment = (self._whole if self._decides_nodes() else self._moment)(seconds_since_epoch(at))
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
        asking = identity_of(subject)
        if self._authorization.access is not None or self._about_node(asking):
            timeline, matter = (
                (self._everything, (*RBAC, *FOLLOWED)) if self._about_node(asking) else (self.timeline, RBAC)
            )
            return self._told(
                lambda time: self.can(subject, verb, resource, at=time, **asked).verdict, timeline, matter
            )
        named = replace(asking, groups=(*asking.groups, parse_subject(subject).name))
        narrowed = about_identity(self.timeline, named)

        known: dict[Hashable, Verdict] = {}
        doubts = list[dict[str, Warning]]()

        def verdict(time: float) -> Verdict:
            state = state_for(narrowed, named, time)
            if state not in known:
                moment, heard = moment_of(narrowed, time, self.release, self._without_nodes), list[Warning]()
                with warnings_heard_by(heard.append):
                    known[state] = decided(moment, subject, verb, resource, **asked).verdict
                doubts.append({str(one): one for one in heard})
            return known[state]

        rows = self._told(verdict, narrowed)
        for text, doubt in doubts[0].items() if doubts else ():
            if all(text in other for other in doubts):  # nobody doubts what existed at some time
                warn_user(doubt)
        return rows

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
        One check at each write to roles, bindings and the resources that the check needs.

        Examples
        --------
        >>> import simkit
        >>> past = simkit.history(simkit.demo().dump, at="2026-03-03T00:00:00Z")
        >>> finding = simkit.demo().audit().findings[0]
        >>> past.exposed_for(finding)["verdict"].tolist()
        ['yes']
        """
        needed = next((check.needs for check in CHECKS if check.id == finding.check), ())
        return self._told(lambda time: held(self._whole(time), finding), self._everything, (*RBAC, *needed))

    def _told(
        self, verdict: Callable[[float], Verdict], timeline: Timeline, matter: Collection[GroupResource] = RBAC
    ) -> pd.DataFrame:
        return with_caveats(table(list(self._intervals(verdict, timeline, matter)), INTERVALS), self.caveats)

    def _intervals(
        self, verdict_at: Callable[[float], Verdict], timeline: Timeline, matter: Collection[GroupResource]
    ) -> Iterator[tuple[Any, ...]]:
        """Neighbouring moments with the same verdict are one interval; the first and the last are those of all.

        ``matter``: the resources whose writes may change the verdict.
        """
        every, writes = _moments(self.timeline), {write.time: write for write in _writes(timeline, matter)}
        moments = sorted({*every[:1], *_moments(timeline, matter), *every[-1:]})
        for first in moments[:1]:
            writes.pop(first, None)  # what was so from the start has no known beginning
        begun: tuple[float, str] | None = None
        for place, time in enumerate(moments):
            verdicts = [verdict_at(time)]
            after = moments[place + 1] if place + 1 < len(moments) else time
            if not self.timeline.holds_all_between(time, after):  # between them too, where no log tells what happened
                verdicts.append(verdict_at((time + after) / 2))
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
        first = -float("inf") if start is None else seconds_since_epoch(start)
        last = float("inf") if end is None else seconds_since_epoch(end)
        amounts = {time: counts for time, *counts in permission_changes(self.timeline, self._moment)}
        writes = [write for write in _writes(self.timeline) if first <= write.time <= last]
        found = table([self._change(write, amounts[write.time]) for write in writes], CHANGES)
        found[["gained", "lost"]] = found[["gained", "lost"]].astype("Int64")
        return with_caveats(found, self.caveats)

    def _change(self, write: RecordedWrite, amounts: list[int]) -> tuple[Any, ...]:
        states = [self.timeline.state(write.key, time) for time in (write.time - INSTANT, write.time)]
        known = self.timeline.is_covered(write.time - INSTANT) and UNKNOWN not in states and bool(write.key.name)
        named = display_name(write.key) if write.key.name else f"{write.key.resource} in {write.key.namespace}"
        told: list[Any] = amounts if known else [pd.NA, pd.NA]
        return _date(write.time), write.author, write.verb, named, known, *told

    def used_since(self, subject: str, verb: str, resource: str, *, since: Time | None = None) -> pd.DataFrame:
        """The requests with which a subject used a permission.

        Parameters
        ----------
        subject, verb, resource
            The permission: ``"sa:ci/deployer", "create", "pods"``. A subresource is one of its own: ``pods/exec``.
        since
            Only requests after this moment; None: all of the log.

        Returns
        -------
        DataFrame
            One row: count, first, last (UTC; NaT if the permission was not used). Refused requests do not count.
        """
        first = -float("inf") if since is None else seconds_since_epoch(since)
        used = self._events.uses(text_of_identity(identity_of(subject)), verb, resource) if self._events else []
        times = [time for time in used if time >= first]
        ends = (_date(min(times)), _date(max(times))) if times else (pd.NaT, pd.NaT)
        return table([(len(times), *ends)], ("count", "first", "last"))

    def plot(
        self, subjects: str | Iterable[str], verb: str, resource: str = "", *, ax: Axes | None = None,
        **asked: Unpack[Asked],
    ) -> Axes:  # fmt: skip
        """The intervals in which subjects could do something, a lane for each: see ``access_over_time``.

        Parameters
        ----------
        subjects, verb, resource
            As of ``since_when``, as are those in ``asked``; one subject or several.
        ax
            Axes to draw into; None: a figure of its own.
        """
        from simkit.analysis.plots.timeline import access_over_time

        named = [subjects] if isinstance(subjects, str) else list(subjects)
        what = f"{verb} {resource or asked.get('url', '')}"
        lanes = {f"{one}: {what}": self.since_when(one, verb, resource, **asked) for one in named}
        return access_over_time(lanes, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """The changes, as ``changes()`` gives them."""
        return self.changes()

    def __repr__(self) -> str:
        writes = len(_writes(self.timeline))
        log = f"log {span_text(self._covered)}" if self._covered else "no log"
        return f"<AccessHistory: {len(self.timeline.dumps)} dumps, {log}, {writes:,} writes to roles and bindings>"


def _moments(timeline: Timeline, resources: Collection[GroupResource] = RBAC) -> list[float]:
    """The moments at which access may change: writes to objects of some resources, and dumps."""
    times = {write.time for write in _writes(timeline, resources)} | {dump.time for dump in timeline.dumps}
    return sorted(times | set(timeline.covered or ()))


def _writes(timeline: Timeline, resources: Collection[GroupResource] = RBAC) -> list[RecordedWrite]:
    return list({id(write): write for write in timeline.writes() if write.key.resource in resources}.values())


def _narrowed(dump: DumpedMoment, resources: Collection[GroupResource]) -> DumpedMoment:
    """What a dump tells of some resources."""
    objects = {key: obj for key, obj in dump.objects.items() if key.resource in resources}
    return DumpedMoment(dump.time, objects, dump.captured.intersection(resources))


def seconds_since_epoch(time: Time) -> float:
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
    return pd.Timestamp(round(seconds * 1e6) * 1000, tz="UTC")  # events tell microseconds


def _caveats(timeline: Timeline, log: tuple[float, float] | None) -> tuple[Caveat, ...]:
    if log is None or timeline.covered is None:
        return (Caveat("no-log", "Without an audit log, nothing is known of the time between dumps."),)
    start, end = timeline.covered
    assumed = f"Assumes that the audit log holds every write {span_text(log)}"
    if start < log[0]:
        assumed += f", and that nothing was written between the dump ({moment_text(start)}) and the log's beginning"
    if end > log[1]:
        assumed += f", and that nothing was written between the log's end and the dump ({moment_text(end)})"
    told = [Caveat("log-span", f"{assumed}.")]
    if timeline.repeated:
        what = "1 write is" if timeline.repeated == 1 else f"{timeline.repeated:,} writes are"
        told.append(Caveat("repeated-events", f"{what} in the audit log more than once, and counted once."))
    return tuple(told)
