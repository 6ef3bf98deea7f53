"""Audit logs in all their forms: JSON lines, lists, packed files, the wrappers of managed services.

Events whose fields do not have the types of audit.k8s.io are counted and left out. kube-apiserver writes none: they
come from collectors that rewrite fields, and from files that are no audit logs.
"""

from __future__ import annotations

import gzip
import io
import shlex
import sys
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import orjson

from simkit.analysis.audit_log.traces import MAPS, unpacked
from simkit.analysis.audit_log.wrappers import Remarks, leading_documents, unwrap_events
from simkit.analysis.rbac.subject import text_of_user
from simkit.analysis.rbac.tables import table
from simkit.meta.distribution import install_hint
from simkit.meta.domain import API_DOMAIN, api_group
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at
from simkit.present.progress import tracked

if TYPE_CHECKING:
    import pandas as pd

AuditLog = str | bytes | Path | Iterable[str | bytes | Path | Mapping[str, Any]]
"""Files (JSON lines, a JSON document, each also as .gz or .zst), folders of them, their content, or decoded events: as
the server writes them, as ``EventList``, as CloudWatch, Cloud Logging, Azure Monitor or a collector such as Fluent Bit
wraps them; or a trace of SimKube, whose writes have no users."""
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

    Warnings also name a file or folder without any event, which may be the wrong one, and logs of managed clusters
    that leave out reads.
    """
    remarks = Remarks()
    yield from well_typed(tracked(_events(log, remarks), "reading the audit log"))
    for text in remarks.texts():
        warnings.warn(text, stacklevel=2)


def _events(log: AuditLog, remarks: Remarks) -> Iterator[Object]:
    for one in [log] if isinstance(log, str | bytes | Path) else log:
        if isinstance(one, str | bytes | Path):
            yield from _told_if_empty(_of_source(one, remarks), one)
        else:
            yield from unwrap_events(one, remarks)


def _told_if_empty(events: Iterator[Object], source: str | bytes | Path) -> Iterator[Object]:
    found = False
    for event in events:
        found = True
        yield event
    if not found:
        where = f" in {source}" if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source) else ""
        warnings.warn(f"no audit event was found{where}: nothing is known of requests", stacklevel=2)


def _of_source(source: str | bytes | Path, remarks: Remarks) -> Iterator[Object]:
    if isinstance(source, bytes):
        yield from _of_file(io.BytesIO(source), remarks)
        return
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        yield from _of_file(io.BytesIO(source.encode()), remarks)
        return
    for path in log_files(Path(source)):
        with path.open("rb") as file:
            yield from _of_file(file, remarks)


def log_files(path: Path) -> list[Path]:
    """A file, or all files of a folder by name. Raises SimkitError for a path that is not there."""
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file())
    if not path.exists():
        raise SimkitError(f"there is no audit log at {path}")
    return [path]


def _of_file(file: IO[bytes], remarks: Remarks) -> Iterator[Object]:
    """The events of a file, packed or not. Raises SimkitError for a packed one that breaks off."""
    name = str(getattr(file, "name", ""))
    packed = packing_of(file.read(4))
    file.seek(0)
    if packed is None:
        yield from _of_plain(file, remarks)
        return
    try:
        yield from _of_plain(packed.open(file), remarks)
    except packed.errors as error:
        command = f"{packed.unpack} {shlex.quote(name)} > whole.jsonl"
        instead = f"; leave it out, or unpack what is whole: {command}" if name else ""
        raise SimkitError(f"the packed audit log {name} cannot be read: {error}{instead}") from error


def _of_plain(plain: IO[bytes], remarks: Remarks) -> Iterator[Object]:
    """The events of JSON lines, of which one is held at a time, or of one JSON document."""
    first = list(islice((line for line in plain if line.strip()), _LINES_TO_TELL))
    if first and first[0][0] in MAPS:
        plain.seek(0)
        yield from unwrap_events(unpacked(plain.read()), remarks)
        return
    if first and first[0].lstrip()[:1] in (b"{", b"[") and all(_whole(line) is None for line in first):
        try:
            yield from unwrap_events(orjson.loads(b"".join((*first, plain.read()))), remarks)
            return
        except orjson.JSONDecodeError:
            plain.seek(0)
            first = []
    yield from _of_lines(chain(first, plain), remarks)


def _of_lines(lines: Iterable[bytes], remarks: Remarks) -> Iterator[Object]:
    """The events of JSON lines. Others are passed over, and counted where they are the beginning of an event."""
    for line in lines:
        whole = _whole(line)
        if whole is not None:
            yield from unwrap_events(whole, remarks)
            continue
        documents, rest = leading_documents(line)
        remarks.note_rest(rest)
        yield from unwrap_events(documents, remarks)


def _whole(line: bytes) -> Any:
    """The JSON that a line is; None if it is none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class Packing:
    """A way of packing files.

    Attributes
    ----------
    open
        Unpacks a file while it is read.
    errors
        What it raises for damaged files.
    unpack
        The command that unpacks a file.
    """

    open: Callable[[IO[bytes]], Any]
    errors: tuple[type[Exception], ...]
    unpack: str


_GZIP: Final = Packing(lambda file: gzip.GzipFile(fileobj=file), (EOFError, gzip.BadGzipFile, zlib.error), "gzip -dc")


def packing_of(beginning: bytes) -> Packing | None:
    """How a file with these first four bytes is packed; None if it is not.

    Raises
    ------
    SimkitError
        For Zstandard without the library that unpacks it.
    """
    if beginning[:2] == b"\x1f\x8b":
        return _GZIP
    if beginning != b"\x28\xb5\x2f\xfd":
        return None
    try:
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError as missing:
        hint = install_hint("history")
        raise SimkitError(f"reading .zst files needs {missing.name}: {hint}, or unpack it with zstd -d") from missing
    return Packing(zstd.ZstdFile, (EOFError, zstd.ZstdError), "zstd -dc")


def well_typed(events: Iterable[Object]) -> Iterator[Object]:
    """The events whose fields have the right types. The others are left out, with one warning that counts them.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     list(well_typed([{"verb": "get", "user": ["ann"]}, {"verb": "get", "user": {"username": "ann"}}]))
    [{'verb': 'get', 'user': {'username': 'ann'}}]
    >>> print(told[0].message)
    1 event of an audit log was left out: a field has a wrong type, such as user
    """
    left_out, example = 0, ""
    for event in events:
        wrong = wrong_field(event)
        if wrong is None:
            yield event
        else:
            left_out, example = left_out + 1, example or wrong
    if left_out:
        what = "1 event of an audit log was" if left_out == 1 else f"{left_out} events of an audit log were"
        warnings.warn(f"{what} left out: a field has a wrong type, such as {example}", stacklevel=2)


def wrong_field(event: Object) -> str | None:
    """The first field of an event with a value of a wrong type, or None; empty values are right everywhere.

    Examples
    --------
    >>> wrong_field({"verb": "get", "user": {"username": "ann", "groups": [5]}})
    'user.groups'
    """
    return _wrong(event, _EVENT)


Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _wrong(value: Mapping[str, Any], fields: Mapping[str, Check | Mapping[str, Check]]) -> str | None:
    for name, check in fields.items():
        given = value.get(name)
        if not given:
            continue
        if callable(check):
            if not check(given):
                return name
        elif not isinstance(given, Mapping):
            return name
        elif (inner := _wrong(given, check)) is not None:
            return f"{name}.{inner}"
    return None


_USER: Final[Mapping[str, Check]] = {
    "username": _is_text,
    "uid": _is_text,
    "groups": _is_texts,
    "extra": lambda extra: isinstance(extra, Mapping) and all(map(_is_texts, extra.values())),
}
_REFERENCE: Final = ("resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource")
_EVENT: Final[Mapping[str, Check | Mapping[str, Check]]] = {
    **dict.fromkeys(("auditID", "stage", "verb", "requestURI", "userAgent"), _is_text),
    **dict.fromkeys(("requestReceivedTimestamp", "stageTimestamp"), _is_text),
    "user": _USER,
    "impersonatedUser": _USER,
    "objectRef": dict.fromkeys(_REFERENCE, _is_text),
    "responseStatus": {"code": lambda code: isinstance(code, int)},
    "annotations": lambda notes: isinstance(notes, Mapping) and all(map(_is_text, notes.values())),
    "sourceIPs": _is_texts,
}
"""The fields of an event that analyses read."""
