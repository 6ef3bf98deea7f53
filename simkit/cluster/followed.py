"""The changes of access to a cluster in process, and to a running one, as they happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Timer

from simkit.analysis.access.expectations import Suite
from simkit.analysis.escalation.find.queries import WELL_KNOWN
from simkit.analysis.history.follow import FOLLOWED, AccessEvent, AccessFollower
from simkit.analysis.history.follow import follow as follow_live
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.subject import Members
from simkit.cluster.control_plane import ControlPlane
from simkit.logic.rbac.binding import key_of
from simkit.meta.objects import Object
from simkit.meta.warning import warn_user
from simkit.meta.wrong_names import with_explained_calls
from simkit.seams import Compacted
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.live_watch import ObjectChange
from simkit.snapshot.sources import Source


class FollowedCluster:
    """The changes of access to a cluster in process. Each iteration tells what was written since the last one.

    Notes
    -----
    Writes are told one after the other. If the history of the store no longer reaches back, what was missed is told as
    one change, from the state before to the state after.
    """

    def __init__(
        self, plane: ControlPlane, snapshot: Snapshot, goals: Sequence[str], members: Members, suite: Suite | None
    ) -> None:
        self._plane, self._store = plane, plane.store
        self._captured = [one for one in snapshot.captured() if one.resource in FOLLOWED]
        self._revision = self._store.revision
        self._follower = AccessFollower(
            self._objects(),
            snapshot.release,
            self._captured,
            goals=goals,
            members=members,
            expectations=suite,
            authorization=snapshot.authorization,
        )

    def _objects(self) -> list[Object]:
        return [entry.object for resource in self._captured for entry in self._store.scan(resource)]

    def __iter__(self) -> Iterator[AccessEvent]:
        now = self._plane.clock.now()
        try:
            changes = list(self._store.changes(after=self._revision))
        except Compacted:
            self._revision, known, objects = self._store.revision, self._follower.snapshot, self._objects()
            gone = [
                obj for one in self._captured for obj in known.scan(one) if self._store.get(key_of(obj, one)) is None
            ]
            yield from self._follower.take(
                [*map(ObjectChange, objects), *(ObjectChange(obj, True) for obj in gone)], now
            )
            return
        for change in changes:
            self._revision = change.revision
            if change.entry.key.resource in self._captured:
                yield from self._follower.take([ObjectChange(change.entry.object, change.type == "DELETED")], now)


@with_explained_calls
def follow(
    context: str = "",
    *,
    kubeconfig: str | Path | None = None,
    seconds: float | None = None,
    goals: Sequence[str] = WELL_KNOWN,
    members: Members | None = None,
    expectations: Suite | None = None,
    cloud: Source | None = None,
    audit_log: str | Path | None = None,
) -> Iterator[AccessEvent]:
    """The changes of access to a running cluster, as they happen: what ``simkit watch`` prints.

    Parameters
    ----------
    context, kubeconfig
        As kubectl takes them; by default its current context.
    seconds
        How long to follow; None: until the caller stops to iterate.
    goals, members
        What an attacker may want, and the members of groups, as for ``escalations``.
    expectations
        Expectations about access whose breaking is told: see ``check``.
    cloud
        The export of EKS, GKE or AKS, as for ``simkit.load``. Changes of it while the cluster is followed, and of the
        config map ``aws-auth``, are not seen.
    audit_log
        The audit log of kube-apiserver, a file that grows: it names the user of each write.

    Yields
    ------
    AccessEvent
        What a write granted, took away, opened, closed or broke.

    Raises
    ------
    SimkitError
        If the Python client (extra ``live``) or the kubeconfig is missing, or the server does not answer.

    Notes
    -----
    A warning names each resource that may not be listed, which counts as not captured. ``cluster.follow()`` does the
    same for a cluster in process.
    """
    ended = Event()
    timer = Timer(seconds or 0, ended.set)
    timer.daemon = True
    yield from follow_live(
        LiveCluster(context, kubeconfig),
        ended=ended,
        started=lambda *_: timer.start() if seconds is not None else None,
        refused=lambda text: warn_user(UserWarning(text)),
        goals=goals,
        members=members or NO_MEMBERS,
        expectations=expectations,
        cloud=cloud,
        audit_log=audit_log,
    )
    timer.cancel()
