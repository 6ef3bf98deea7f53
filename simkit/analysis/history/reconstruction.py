"""The history of access, made of dumps and an audit log."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from simkit.analysis.audit_log.events import AuditLog, read_events
from simkit.analysis.history.access_history import AccessHistory, Time, seconds_since_epoch
from simkit.analysis.history.recorded import ListedEvents, LogIndex, RecordedEvents, size_of
from simkit.analysis.history.timeline import DumpedMoment, latest_moment
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.wrong_names import with_explained_calls
from simkit.seams.authorization import Authorization
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from simkit.snapshot.sources import Source

_LARGE: Final = 500_000_000
"""Bytes of an audit log above which a warning names the index."""


@with_explained_calls
def history(
    dump: Source | Dump | None = None,
    *,
    audit_log: AuditLog | None = None,
    dumps: Iterable[Source | Dump] | Mapping[str, Source | Dump] | Mapping[float, Source | Dump] = (),
    at: Time | None = None,
    covers: tuple[Time, Time] | None = None,
    index: str | Path | None = None,
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
    index
        A folder in which the log is kept as Parquet files, for logs larger than memory (extra ``history``). It is made
        from the files of ``audit_log`` once, and made again when they have changed; without ``audit_log`` it is used
        as it is. None: the log is kept in memory.
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
    events = _recorded(audit_log, index)
    if not found and (events is None or events.span is None):
        raise SimkitError("a history needs a dump, several dumps or an audit log with events")
    served = release or next((one.server_release or one.release for _, one in found), "1.30")
    span = None if events is None else events.span
    span = span if covers is None else (seconds_since_epoch(covers[0]), seconds_since_epoch(covers[1]))
    moments = sorted(((_moment_of_dump(time, one), one) for time, one in found), key=itemgetter(0))
    for (earlier, _), (later, _) in pairwise(moments):
        if earlier == later:
            raise SimkitError(
                "two dumps tell the same moment; name the moment of each (--dumped-at, or a mapping to dumps)"
            )
    authorization = moments[-1][1].authorization if moments else Authorization()
    return AccessHistory([_dumped(time, one) for time, one in moments], events, span, served, authorization)


def _recorded(audit_log: AuditLog | None, index: str | Path | None) -> RecordedEvents | None:
    if index is not None:
        return LogIndex(index, audit_log)
    if audit_log is None:
        return None
    audit_log = audit_log if isinstance(audit_log, str | bytes | Path) else list(audit_log)
    if (size := size_of(audit_log)) > _LARGE:
        text = f"the audit log has {size / 1e9:.1f} GB and is read into memory; name a folder for an index on disk"
        warnings.warn(f"{text}: --index FOLDER, index='FOLDER' ({install_hint('history')})", stacklevel=3)
    return ListedEvents(read_events(audit_log))


def _dump(source: Any, release: str | None) -> Dump:
    found = getattr(source, "dump", source)
    return found if isinstance(found, Dump) else load(found, release=release)


def _moment_of_dump(time: Time | None, dump: Dump) -> float:
    moment = latest_moment(dump.objects) if time is None else seconds_since_epoch(time)
    if moment is None:
        raise SimkitError(
            "a dump tells no moment at which it was made; name it: --dumped-at 2026-03-03T12:00:00Z (in Python, at=...)"
        )
    return moment


def _dumped(moment: float, dump: Dump) -> DumpedMoment:
    index = dump.index
    return DumpedMoment(moment, dump.keyed, frozenset(index.stored(resource) for resource in dump.captured))
