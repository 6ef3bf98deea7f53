"""The events of an audit log as questions about the past read them, in memory or from an index on disk; and the users
who write objects now, as a log that grows tells them.

An index is for logs that are larger than memory: read once into Parquet files, and asked with DuckDB.
"""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from glob import escape
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import orjson
import pandas as pd

from simkit.analysis.audit_log.events import AuditLog, FirstStage, log_files, read_events, well_typed
from simkit.analysis.audit_log.span import LogSpan, seconds_of
from simkit.analysis.history.timeline import RecordedWrite, writes_of
from simkit.analysis.least_privilege.recorded_access import access_requests_of
from simkit.analysis.rbac.subject import text_of_identity
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at
from simkit.meta.whole_file import PRIVATE, write_whole


class Use(NamedTuple):
    """One request that was allowed: the subject, and the permission that it needed.

    ``resource`` is written with its subresource: ``pods/exec``.
    """

    time: float
    subject: str
    verb: str
    resource: str


class ListedEvents:
    """The events of an audit log in memory."""

    def __init__(self, events: Iterable[Object]) -> None:
        span = LogSpan()
        self._events = list(span.noted(events))
        self.span = span.moments

    def writes(self, resources: Collection[GroupResource] | None = None) -> Iterator[RecordedWrite]:
        """The successful writes."""
        found = writes_of(self._events)
        return found if resources is None else (write for write in found if write.key.resource in resources)

    def uses(self, subject: str, verb: str, resource: str) -> list[float]:
        """The moments at which a subject used a permission."""
        first = FirstStage()
        found = (use for event in self._events for use in uses_of(event, first))
        return [use.time for use in found if use[1:] == (subject, verb, resource)]


def uses_of(event: Object, first: FirstStage) -> Iterator[Use]:
    """The permissions on resources that an event shows in use; those of a request once, whatever its stages."""
    time = seconds_of(event.get("requestReceivedTimestamp") or event.get("stageTimestamp"))
    if time is None or event.get("stage") == "RequestReceived" or not first(event):
        return
    for use in access_requests_of(event):
        action = use.action
        if use.allowed and action.resource and (use.identity.user or use.identity.groups):
            resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
            yield Use(time, text_of_identity(use.identity), action.verb, resource)


_FORM: Final = 1
_MANIFEST: Final = "index.json"
_WRITES: Final = {"resource": "string", "event": "string"}
_USES: Final = {"time": "float64", "subject": "string", "verb": "string", "resource": "string"}
_ROWS: Final = 100_000
"""Rows after which a file is written."""
_BYTES: Final = 16 << 20
"""Bytes of events after which a file is written."""
_SETTINGS: Final = {
    "memory_limit": "400MB",
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_KEPT: Final = (
    *("verb", "stage", "auditID", "requestURI", "objectRef", "responseStatus", "stageTimestamp"),
    *("requestReceivedTimestamp", "requestObject", "responseObject"),
)
"""The fields of an event that tell of a write, besides the names of users."""


class LogIndex:
    """The events of an audit log in Parquet files, of which a question reads those that it is about.

    Parameters
    ----------
    folder
        The folder of the index.
    audit_log
        The log: files and folders. It is read if the folder has no index of these files as they are now. None: the
        index as it is.

    Raises
    ------
    SimkitError
        Without DuckDB (extra ``history``), for a folder with other files, and for a log that is no file.

    Notes
    -----
    Reading takes as long as ``read_events`` does, and a bounded amount of memory; questions read columns.
    """

    def __init__(self, folder: str | Path, audit_log: AuditLog | None = None) -> None:
        try:
            self._duckdb: Any = import_module("duckdb")
        except ImportError as missing:
            raise SimkitError(f"an index of an audit log needs duckdb: {install_hint('history')}") from missing
        self._folder = Path(folder)
        sources = None if audit_log is None else _fingerprint(audit_log)
        known = self._manifest()
        if audit_log is not None and (known is None or known["sources"] != sources):
            known = self._made(audit_log, sources)
        if known is None:
            raise SimkitError(f"there is no index of an audit log at {self._folder}; name the log as well")
        self._files: list[str] = known["files"]
        self.span: tuple[float, float] | None = tuple(known["span"]) if known["span"] else None
        for text in known["remarks"]:
            warnings.warn(text, stacklevel=3)

    def writes(self, resources: Collection[GroupResource] | None = None) -> Iterator[RecordedWrite]:
        """The successful writes to objects of these resources, in the order of the log; None: to all objects."""
        where, values = (
            ("true", []) if resources is None else ("list_contains(?, resource)", [sorted(map(str, resources))])
        )
        return writes_of(orjson.loads(event) for (event,) in self._rows("writes", "event", where, *values))

    def uses(self, subject: str, verb: str, resource: str) -> list[float]:
        """The moments at which a subject used a permission."""
        where = "subject = ? AND verb = ? AND resource = ?"
        return [time for (time,) in self._rows("uses", "time", where, subject, verb, resource)]

    def _rows(self, kind: str, column: str, where: str, *values: object) -> Iterator[Sequence[Any]]:
        """The rows of some files, in their order."""
        read = "read_parquet(?, file_row_number = true)"
        query = f"SELECT {column} FROM {read} WHERE {where} ORDER BY file_row_number"  # noqa: S608
        try:
            with self._connection() as connection:
                for name in (one for one in self._files if one.startswith(kind)):
                    file = escape(str(self._folder / name))  # DuckDB takes paths for patterns
                    yield from connection.execute(query, [file, *values]).fetchall()
        except self._duckdb.Error as error:
            raise SimkitError(f"the index at {self._folder} cannot be read, delete it: {error}") from error

    def _connection(self) -> Any:
        return self._duckdb.connect(config={**_SETTINGS, "temp_directory": str(self._folder)})

    def _manifest(self) -> dict[str, Any] | None:
        """What is known of a finished index of this form."""
        try:
            known = orjson.loads((self._folder / _MANIFEST).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise SimkitError(f"the index at {self._folder} cannot be read, delete it: {error}") from error
        fields = {"form", "sources", "files", "span", "remarks"}
        return known if isinstance(known, dict) and fields <= known.keys() and known["form"] == _FORM else None

    def _made(self, audit_log: AuditLog, sources: object) -> dict[str, Any]:
        """What is known of the index that is made here."""
        self._clear()
        span = LogSpan()
        with warnings.catch_warnings(record=True, action="always") as told, self._connection() as connection:
            files = list(self._written(connection, span.noted(read_events(audit_log))))
        remarks = [str(warning.message) for warning in told]
        known = {"form": _FORM, "sources": sources, "files": files, "span": span.moments, "remarks": remarks}
        write_whole(self._folder / _MANIFEST, orjson.dumps(known), mode=PRIVATE)
        return known

    def _clear(self) -> None:
        """Make the folder, for its owner alone, without the files of an earlier index."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = sorted(path.name for path in self._folder.iterdir())
        others = [name for name in names if name != _MANIFEST and not _is_ours(name)]
        if others:
            raise SimkitError(f"{self._folder} has files that are no index of an audit log: {others[0]}")
        for name in sorted(names, key=_MANIFEST.__ne__):  # an index without its manifest is none
            (self._folder / name).unlink()

    def _written(self, connection: Any, events: Iterable[Object]) -> Iterator[str]:
        """Write the rows of events, and give the names of the files, which no other process uses."""
        first, mark, numbers = FirstStage(), os.urandom(4).hex(), count()
        writes, uses, size = list[tuple[str, str]](), list[tuple[Any, ...]](), 0

        def flushed(kind: str, rows: list[Any], columns: Mapping[str, str]) -> Iterator[str]:
            if rows:
                frame = pd.DataFrame.from_records(rows, columns=list(columns)).astype(dict(columns))
                name = f"{kind}-{mark}-{next(numbers):06}.parquet"
                connection.from_df(frame).write_parquet(str(self._folder / name), compression="zstd")
                rows.clear()
                yield name

        for event in events:
            for write in writes_of([event]):
                writes.append((str(write.key.resource), _kept(event)))
                size += len(writes[-1][1])
            uses.extend(uses_of(event, first))
            if size > _BYTES or len(writes) > _ROWS:
                yield from flushed("writes", writes, _WRITES)
                size = 0
            if len(uses) > _ROWS:
                yield from flushed("uses", uses, _USES)
        yield from flushed("writes", writes, _WRITES)
        yield from flushed("uses", uses, _USES)


RecordedEvents = ListedEvents | LogIndex
"""What an audit log tells of the past."""


def _is_ours(name: str) -> bool:
    return name.startswith(("writes-", "uses-", "duckdb_temp"))


def _kept(event: Object) -> str:
    """The fields of an event that tell of a write, as JSON."""
    users = [name for name in ("user", "impersonatedUser") if event.get(name)]
    names = {name: {"username": at(event, name, "username")} for name in users}
    return orjson.dumps({name: event[name] for name in _KEPT if name in event} | names).decode()


def size_of(audit_log: AuditLog) -> int:
    """The bytes of the files of a log; content and decoded events do not count."""
    paths = [Path(str(one)) for one in _parts(audit_log) if _is_path(one)]
    return sum(file.stat().st_size for path in paths if path.exists() for file in log_files(path))


def _fingerprint(audit_log: AuditLog) -> list[list[Any]]:
    """The files of a log with their sizes and times. Raises SimkitError for a log that is no file."""
    if not all(map(_is_path, parts := _parts(audit_log))):
        raise SimkitError("an index is made of files; name the files or folders of the audit log")
    known = [(file, file.stat()) for one in parts for file in log_files(Path(str(one)))]
    return [[os.fspath(file.resolve()), found.st_size, found.st_mtime_ns] for file, found in known]


def _parts(audit_log: AuditLog) -> list[Any]:
    return [audit_log] if isinstance(audit_log, str | bytes | Path) else list(audit_log)


def _is_path(one: object) -> bool:
    """True for a path, and for a text that names a file and is not the content of a log."""
    return isinstance(one, Path) or (isinstance(one, str) and one.lstrip()[:1] not in ("{", "["))


_REMEMBERED: Final = 10_000
"""The objects whose last authors are kept."""


class WriteAuthors:
    """Who wrote objects since the last question about them.

    Parameters
    ----------
    path
        The audit log of kube-apiserver, as JSON lines. It is read from its present end on, and again from the beginning
        where another file takes its place, as a rotation leaves it.
    resources
        The plurals of the resources whose writes are kept.

    Raises
    ------
    SimkitError
        For a file that cannot be read.
    """

    def __init__(self, path: str | Path, resources: Collection[str]) -> None:
        self._path, self._resources = Path(path), resources
        self._users: OrderedDict[Key, list[str]] = OrderedDict()
        self._rest = b""
        try:
            self._file: IO[bytes] = self._path.open("rb")
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be read: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def of(self, key: Key) -> str:
        """The users who wrote an object since the last call about it, empty if the log names none."""
        for event in self._news():
            for write in writes_of(well_typed([event])):
                if write.key.resource.resource in self._resources:
                    self._users.setdefault(write.key, []).append(write.author)
        while len(self._users) > _REMEMBERED:
            self._users.popitem(last=False)
        many = self._users.get(key._replace(name=""), [])  # who deleted many
        return ", ".join(dict.fromkeys(self._users.pop(key, many)))

    def _news(self) -> Iterator[Object]:
        """The events that were written since the last look; lines that are none are left out."""
        content = self._rest + self._file.read() + self._rotated()
        *lines, self._rest = content.split(b"\n")
        for line in lines:
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(event, dict):
                yield event

    def _rotated(self) -> bytes:
        """The content of a file that took the place of the one that is read, or that was cut off."""
        try:
            now, known = self._path.stat(), os.fstat(self._file.fileno())
            if now.st_ino == known.st_ino and now.st_size >= self._file.tell():
                return b""
            self._file.close()
            self._file = self._path.open("rb")
        except OSError:  # between two files of a rotation
            return b""
        return self._file.read()
