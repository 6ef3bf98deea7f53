"""Audit logs in all their forms: JSON lines, lists, archives, the wrappers of managed services."""

from __future__ import annotations

import gzip
import io
import shlex
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import orjson

from simkit.analysis.audit_log.event_types import well_typed
from simkit.analysis.rbac.subject import text_of_user
from simkit.analysis.rbac.tables import table
from simkit.meta.domain import API_DOMAIN, api_group
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at
from simkit.present.progress import tracked

if TYPE_CHECKING:
    import pandas as pd

AuditLog = str | bytes | Path | Iterable[str | bytes | Path | Mapping[str, Any]]
"""Files (JSON lines, a JSON document, each also with .gz), folders of them, their content, or decoded events: as
the server writes them, as ``EventList``, as CloudWatch, Cloud Logging, Azure Monitor or a collector such as Fluent Bit
wraps them."""
DECISION: Final = f"{api_group('authorization')}/decision"
REASON: Final = f"{api_group('authorization')}/reason"
DEPRECATED: Final = f"{API_DOMAIN}/deprecated"
REMOVED_RELEASE: Final = f"{API_DOMAIN}/removed-release"
COLUMNS: Final = (
    "time",
    "stage",
    "subject",
    "impersonator",
    "groups",
    "agent",
    "source_ip",
    "verb",
    "api_version",
    "resource",
    "subresource",
    "namespace",
    "name",
    "uri",
    "code",
    "decision",
    "reason",
    "deprecated",
    "removed_release",
    "audit_id",
)
GOOGLE_PREFIX: Final = "io.k8s."
TEXT_FIELDS: Final = ("message", "@message", "log", "line", "msg", "raw", "_raw", "RawData", "content")
"""Fields in which collectors and managed services put the event as text."""
LIST_FIELDS: Final = (
    *("logEvents", "records", "items", "entries", "Records", "value"),
    *("events", "results", "hits", "data", "values"),
)
"""Fields in which they put lists of events."""
OBJECT_FIELDS: Final = (
    *("properties", "event", "detail", "payload", "_source", "jsonPayload", "result", "textPayload"),
    *("log_processed", "attributes"),
)
"""Fields in which they put the event as an object."""
AZURE_COLUMNS: Final[Mapping[str, str]] = {
    "AuditId": "auditID",
    "Verb": "verb",
    "RequestUri": "requestURI",
    "Stage": "stage",
    "UserAgent": "userAgent",
    "User": "user",
    "ImpersonatedUser": "impersonatedUser",
    "ObjectRef": "objectRef",
    "SourceIps": "sourceIPs",
    "ResponseStatus": "responseStatus",
    "RequestObject": "requestObject",
    "Annotations": "annotations",
    "RequestReceivedTime": "requestReceivedTimestamp",
}
"""The columns of the table that Azure keeps for audit logs, by the fields of events; objects may be texts in it."""
EVENT_MARKERS: Final = (b'"auditID"', b'\\"auditID\\"', b'"protoPayload"', b'"requestURI"')
"""Texts by which the beginning of an event is recognized."""


_LINES_TO_TELL: Final = 2
"""Lines that are read before a file is taken for one document: in a file of JSON lines one of them is whole."""
_REMEMBERED: Final = 200_000


class FirstStage:
    """Tells the first event of a request from those of its later stages, in bounded memory.

    The last 200,000 requests are remembered: a watch that ends after so many others have come counts once more.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[int, None] = OrderedDict()

    def __call__(self, event: Object) -> bool:
        """True unless an earlier event was of the same request; events without an audit id are always the first.

        Clients may choose the audit id, so it does not identify a request alone.
        """
        audit_id = event.get("auditID")
        if not audit_id:
            return True
        key = hash(
            (str(audit_id), str(event.get("verb")), str(event.get("requestURI")), str(at(event, "user", "username")))
        )
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return True


def audit_events(audit_log: AuditLog) -> pd.DataFrame:
    """An audit log as a table; ``cluster.audit_log()`` is one as well.

    Parameters
    ----------
    audit_log
        The log, in any form that ``AuditLog`` names.

    Returns
    -------
    DataFrame
        One row per event, in the order of the log: time (when the request was received, UTC); stage; subject (as whom
        it was carried out), impersonator (who sent it as somebody else, empty for themselves), groups (a tuple, of the
        subject); agent, source_ip; verb, api_version, resource, subresource, namespace, name (empty for
        requests that are not for resources), uri; code (NA where the log has none); decision and reason of the
        authorizer; deprecated (whether the version is) and removed_release; audit_id, which the stages of one request
        share.

    Raises
    ------
    SimkitError
        For a file that is not there.
    """
    import pandas as pd

    events = table((_row(event) for event in read_events(audit_log)), COLUMNS)
    events["time"] = pd.to_datetime(events["time"], utc=True, format="ISO8601")
    events["code"] = events["code"].astype("Int64")
    return events


def _row(event: Object) -> tuple[Any, ...]:
    sender, impersonated = event.get("user") or {}, event.get("impersonatedUser") or {}
    reference, notes = event.get("objectRef") or {}, event.get("annotations") or {}
    version = "/".join(part for part in (reference.get("apiGroup"), reference.get("apiVersion")) if part)
    return (
        event.get("requestReceivedTimestamp") or event.get("stageTimestamp"),
        event.get("stage") or "",
        text_of_user((impersonated or sender).get("username") or ""),
        text_of_user(sender.get("username") or "") if impersonated else "",
        tuple((impersonated or sender).get("groups") or ()),
        event.get("userAgent") or "",
        next(iter(event.get("sourceIPs") or ()), ""),
        event.get("verb") or "",
        version,
        *(reference.get(part) or "" for part in ("resource", "subresource", "namespace", "name")),
        event.get("requestURI") or "",
        at(event, "responseStatus", "code"),
        notes.get(DECISION) or "",
        notes.get(REASON) or "",
        notes.get(DEPRECATED) == "true",
        notes.get(REMOVED_RELEASE) or "",
        event.get("auditID") or "",
    )


def read_events(log: AuditLog) -> Iterator[Object]:
    """The audit events of a log, unwrapped. Those with fields of wrong types are left out, with a warning.

    A file or folder without any event is told too: it may be the wrong one.
    """
    yield from well_typed(tracked(_events(log), "reading the audit log"))


def _events(log: AuditLog) -> Iterator[Object]:
    for one in [log] if isinstance(log, str | bytes | Path) else log:
        if isinstance(one, str | bytes | Path):
            yield from _told_if_empty(_of_source(one), one)
        else:
            yield from unwrap_events(one)


def _told_if_empty(events: Iterator[Object], source: str | bytes | Path) -> Iterator[Object]:
    found = False
    for event in events:
        found = True
        yield event
    if not found:
        where = f" in {source}" if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source) else ""
        warnings.warn(f"no audit event was found{where}: nothing is known of requests", stacklevel=2)


def _of_source(source: str | bytes | Path) -> Iterator[Object]:
    if isinstance(source, bytes):
        yield from _of_file(io.BytesIO(source))
        return
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        yield from _of_file(io.BytesIO(source.encode()))
        return
    path = Path(source)
    if path.is_dir():
        for inner in sorted(one for one in path.rglob("*") if one.is_file()):
            yield from _of_source(inner)
        return
    if not path.exists():
        raise SimkitError(f"there is no audit log at {path}")
    with path.open("rb") as file:
        yield from _of_file(file)


def _of_file(file: IO[bytes]) -> Iterator[Object]:
    """The events of a file, packed or not. Raises SimkitError for a packed one that breaks off."""
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    try:
        yield from _of_plain(gzip.GzipFile(fileobj=file) if packed else file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        name = getattr(file, "name", "")
        instead = f"; leave it out, or unpack what is whole: gzip -dc {shlex.quote(str(name))} > whole.jsonl"
        raise SimkitError(f"the packed audit log {name} cannot be read: {error}{instead if name else ''}") from error


def _of_plain(plain: IO[bytes] | gzip.GzipFile) -> Iterator[Object]:
    """The events of JSON lines, of which one is held at a time, or of one JSON document."""
    first = list(islice((line for line in plain if line.strip()), _LINES_TO_TELL))
    if first and first[0].lstrip()[:1] in (b"{", b"[") and all(_whole(line) is None for line in first):
        try:
            yield from unwrap_events(orjson.loads(b"".join((*first, plain.read()))))
            return
        except orjson.JSONDecodeError:
            plain.seek(0)
            first = []
    yield from _of_lines(chain(first, plain))


def _of_lines(lines: Iterable[bytes]) -> Iterator[Object]:
    """The events of JSON lines. Others are passed over, with a warning where they are the beginning of an event."""
    broken = 0
    for line in lines:
        whole = _whole(line)
        decoded = whole if whole is not None else _decoded(line)
        broken += decoded is None and any(mark in line for mark in EVENT_MARKERS)
        yield from unwrap_events(decoded)
    if broken:
        what = "1 line of an audit log breaks" if broken == 1 else f"{broken} lines of an audit log break"
        warnings.warn(f"{what} off in the middle of an event; what was asked for there is not known", stacklevel=2)


def _whole(line: bytes) -> Any:
    """The JSON that a line is; None if it is none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _decoded(line: bytes) -> Any:
    """The JSON in a line; None if there is none."""
    start = line.find(b"{")  # collectors may write a time stamp in front
    try:
        return orjson.loads(line[start:]) if start >= 0 else None
    except orjson.JSONDecodeError:
        return None


def unwrap_events(value: Any) -> Iterator[Object]:
    """The audit events in a decoded value with any wrapper."""
    if isinstance(value, list):
        for one in value:
            yield from unwrap_events(one)
    elif isinstance(value, str):
        if value.lstrip()[:1] in ("{", "["):
            yield from _of_file(io.BytesIO(value.encode()))
    elif isinstance(value, Mapping):
        yield from _unwrapped_object(value)


def _unwrapped_object(value: Mapping[str, Any]) -> Iterator[Object]:
    if isinstance(value.get("protoPayload"), Mapping):
        yield from _of_google(value)
        return
    if "verb" in value and ("user" in value or "requestURI" in value):
        yield value
        return
    if "Verb" in value and ("User" in value or "RequestUri" in value):
        yield {field: _cell(value[column]) for column, field in AZURE_COLUMNS.items() if value.get(column)}
        return
    for name in (*LIST_FIELDS, *OBJECT_FIELDS, *TEXT_FIELDS):
        if name in value:
            yield from unwrap_events(value[name])


def _cell(value: Any) -> Any:
    """The value of a table's cell; text that is an object or a list is decoded."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _of_google(entry: Mapping[str, Any]) -> Iterator[Object]:
    """The audit event of a Cloud Logging entry, as far as the entry has its fields."""
    payload = entry["protoPayload"]
    method = str(payload.get("methodName") or "")
    if not method.startswith(GOOGLE_PREFIX):
        return
    *before, verb = method.removeprefix(GOOGLE_PREFIX).split(".")
    grants = payload.get("authorizationInfo") or [{}]
    labels = entry.get("labels") or {}
    decision = labels.get(f"authorization.{API_DOMAIN}/decision") or ("allow" if grants[0].get("granted") else "forbid")
    caller = payload.get("authenticationInfo") or {}
    name = str(payload.get("resourceName") or "")
    event = {
        "auditID": (entry.get("operation") or {}).get("id") or entry.get("insertId"),
        "verb": verb,
        "user": {"username": caller.get("principalEmail") or ""},
        "annotations": {DECISION: decision},
        "responseStatus": {"code": 403 if decision == "forbid" else 200},
    }
    if caller.get("authoritySelector"):
        event["impersonatedUser"] = {"username": caller["authoritySelector"]}
    if before:
        yield event | {"objectRef": _google_reference(name, before[-1])}
    else:  # a path that is no resource
        yield event | {"requestURI": f"/{name.lstrip('/')}"}


def _google_reference(name: str, resource: str) -> dict[str, str]:
    """The object reference in ``apps/v1/namespaces/dev/deployments/web/scale``; the core group is called ``core``."""
    group, version, *rest = [*name.split("/"), "", ""]
    found = {"apiGroup": "" if group == "core" else group, "apiVersion": version}
    rest = [part for part in rest if part]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        found["namespace"], rest = rest[1], rest[2:]
    words = (*rest, "", "", "")
    return found | {"resource": words[0] or resource, "name": words[1], "subresource": words[2]}
