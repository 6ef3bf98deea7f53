"""The audit events in what collectors and managed services wrap around them, recognized by its content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from simkit.analysis.audit_log.traces import events_of_trace, is_trace
from simkit.meta.domain import API_DOMAIN, api_group
from simkit.meta.objects import Object, at

TEXT_FIELDS: Final = ("message", "@message", "log", "log_s", "line", "msg", "raw", "_raw", "RawData", "content")
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
    "Level": "level",
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
    "ResponseObject": "responseObject",
    "Annotations": "annotations",
    "RequestReceivedTime": "requestReceivedTimestamp",
    "StageReceivedTime": "stageTimestamp",
}
"""The columns of the tables AKSAudit and AKSAuditAdmin of Azure Monitor, by the fields of events; objects may be texts
in them."""
_AZURE_ADMIN: Final = ("kube-audit-admin", "AKSAuditAdmin")
_AZURE_ALL: Final = ("kube-audit", "AKSAudit")
_GOOGLE_WRITES: Final = "cloudaudit.googleapis.com%2Factivity"
_GOOGLE_READS: Final = "cloudaudit.googleapis.com%2Fdata_access"
_GOOGLE_PAYLOADS: Final = ("protoPayload", "protopayload_auditlog")
"""The field of a log entry, and the column of its export to BigQuery."""
_GOOGLE_CODES: Final = dict(
    zip(
        (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16),
        (200, 499, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 503, 401),
    )
)
"""HTTP status codes of gRPC ones (google/rpc/code.proto); the others are 500."""
_DECISION: Final = f"{api_group('authorization')}/decision"


_MARKERS: Final = (b'"auditID"', b'\\"auditID\\"', b'"protoPayload"', b'"requestURI"')
"""Texts by which the beginning of an event is recognized."""


@dataclass(slots=True)
class Remarks:
    """What is noticed of a log while it is read: which parts of the logs of a provider it has, and what is damaged."""

    kinds: set[str] = field(default_factory=set)
    broken: int = 0

    def note_rest(self, rest: bytes) -> None:
        """Count what is left of a line if it is the beginning of an event."""
        self.broken += any(mark in rest for mark in _MARKERS)

    def texts(self) -> Iterator[str]:
        """The limits of the log, in sentences."""
        if self.broken:
            what = "1 line of an audit log breaks" if self.broken == 1 else f"{self.broken} lines of an audit log break"
            yield f"{what} off in the middle of an event; what was asked for there is not known"
        if self.kinds & {*_AZURE_ADMIN} and not self.kinds & {*_AZURE_ALL}:
            yield (
                "the log is of the category kube-audit-admin of AKS, which leaves out get and list: who reads what is "
                "not known; export kube-audit as well"
            )
        if _GOOGLE_WRITES in self.kinds and _GOOGLE_READS not in self.kinds:
            yield (
                "the log has only Admin Activity entries of GKE, which leave out get, list and watch: who reads what "
                "is not known; enable and export Data Access audit logs as well"
            )


def leading_documents(line: bytes) -> tuple[list[Any], bytes]:
    """The JSON objects of a line, and the rest from the first that breaks off.

    Collectors may write a time stamp in front; Amazon Data Firehose writes objects without line breaks between them.

    Examples
    --------
    >>> leading_documents(b'2026-03-03T00:00:00Z {"a": 1}{"b": 2}{"c')
    ([{'a': 1}, {'b': 2}], b'{"c')
    """
    text = line.decode("utf-8", "replace")
    found, place, decode = list[Any](), text.find("{"), json.JSONDecoder().raw_decode
    try:
        while place >= 0:
            end = decode(text, place)[1]
            found.append(orjson.loads(text[place:end]))  # which refuses halves of letters
            place = text.find("{", end)
    except (ValueError, RecursionError):
        return found, text[place:].encode()
    return found, b""


def unwrap_events(value: Any, remarks: Remarks) -> Iterator[Object]:
    """The audit events in a decoded value with any wrapper; what nests deeper than Python can follow has none."""
    try:
        yield from _unwrapped(value, remarks)
    except RecursionError:
        remarks.broken += 1


def _unwrapped(value: Any, remarks: Remarks) -> Iterator[Object]:
    if isinstance(value, list):
        for one in value:
            yield from _unwrapped(one, remarks)
    elif isinstance(value, str):
        if value.lstrip()[:1] in ("{", "["):
            yield from _unwrapped(_decoded(value, remarks), remarks)
    elif isinstance(value, Mapping):
        yield from _unwrapped_object(value, remarks)


def _decoded(text: str, remarks: Remarks) -> Any:
    """The value that a text is; of a text with several JSON objects the list of them."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        documents, rest = leading_documents(text.encode())
        remarks.note_rest(rest)
        return documents


def _unwrapped_object(value: Mapping[str, Any], remarks: Remarks) -> Iterator[Object]:
    if is_trace(value):
        yield from events_of_trace(value)
        return
    for name in _GOOGLE_PAYLOADS:
        if isinstance(value.get(name), Mapping):
            yield from _of_google(value, value[name], remarks)
            return
    if "verb" in value and ("user" in value or "requestURI" in value):
        yield _without_texts(value)
        return
    for name in ("category", "Category", "Type"):
        if value.get(name) in (*_AZURE_ADMIN, *_AZURE_ALL):
            remarks.kinds.add(value[name])
    if "Verb" in value and ("User" in value or "RequestUri" in value):
        columns = {name: _cell(value[column], remarks) for column, name in AZURE_COLUMNS.items() if value.get(column)}
        yield _without_texts(columns)
        return
    if isinstance(value.get("tables"), list):  # the answer of a query of Log Analytics
        yield from _unwrapped([row for one in value["tables"] for row in _rows(one)], remarks)
        return
    for name in (*LIST_FIELDS, *OBJECT_FIELDS, *TEXT_FIELDS):
        if name in value:
            yield from _unwrapped(value[name], remarks)


def _without_texts(event: Mapping[str, Any]) -> Object:
    """An event without the texts that AKS writes in place of objects which are too big."""
    texts = [name for name in ("requestObject", "responseObject") if isinstance(event.get(name), str)]
    return {name: part for name, part in event.items() if name not in texts} if texts else event


def _cell(value: Any, remarks: Remarks) -> Any:
    """The value of a table's cell; text that is an object or a list is decoded."""
    return _decoded(value, remarks) or value if isinstance(value, str) and value[:1] in ("{", "[") else value


def _rows(table: Any) -> list[Any]:
    """The rows of a table as mappings of its columns."""
    columns, rows = (at(table, part) or [] for part in ("columns", "rows"))
    names = [at(column, "name") for column in columns]
    return [dict(zip(names, row)) for row in rows if isinstance(row, list)]


def _of_google(entry: Mapping[str, Any], payload: Mapping[str, Any], remarks: Remarks) -> Iterator[Object]:
    """The audit event of a Cloud Logging entry, as far as the entry has its fields.

    Notes
    -----
    Entries have neither groups nor levels. They have the authorizer's decision and reason as labels.
    """
    *before, verb = str(payload.get("methodName") or "").split(".")
    if API_DOMAIN not in (payload.get("serviceName"), ".".join(reversed(before[:2]))):
        return
    remarks.kinds.update(
        kind for kind in (_GOOGLE_WRITES, _GOOGLE_READS) if str(entry.get("logName") or "").endswith(kind)
    )
    time = entry.get("timestamp") or payload.get("timestamp")
    name = str(payload.get("resourceName") or "")
    labels = {key: text for key, text in _mapping(entry.get("labels")).items() if isinstance(text, str)}
    bodies = {part: _google_body(payload, part, remarks) for part in ("request", "response")}
    caller = _mapping(payload.get("authenticationInfo"))
    asked = _mapping(payload.get("requestMetadata"))
    code, decision = _google_outcome(payload, bodies["response"], labels.get(_DECISION))
    event = {
        "auditID": at(entry, "operation", "id") or entry.get("insertId"),
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": caller.get("principalEmail") or ""},
        "userAgent": asked.get("callerSuppliedUserAgent"),
        "sourceIPs": [address] if (address := asked.get("callerIp")) else None,
        "requestReceivedTimestamp": time,
        "stageTimestamp": time,
        "annotations": {**labels, _DECISION: decision},
        "responseStatus": {"code": code},
        "requestObject": bodies["request"],
        "responseObject": bodies["response"],
    }
    if caller.get("authoritySelector"):
        event["impersonatedUser"] = {"username": caller["authoritySelector"]}
    dry = "?dryRun=All" if any(key.endswith("/dryRun") for key in labels) else ""
    if len(before) > 2:
        reference = _google_reference(name, before)
        yield {**_told(event), "objectRef": reference, **({"requestURI": f"/{name}{dry}"} if dry else {})}
    else:  # a path that is no resource
        yield {**_told(event), "requestURI": f"/{name.lstrip('/')}"}


def _told(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _google_body(payload: Mapping[str, Any], part: str, remarks: Remarks) -> Any:
    """A body as the API server saw it: without the type that the log adds."""
    body = payload.get(part) or payload.get(f"{part}Json")
    body = _decoded(body, remarks) if isinstance(body, str) else body
    return {name: value for name, value in body.items() if name != "@type"} if isinstance(body, Mapping) else None


def _google_outcome(payload: Mapping[str, Any], response: Any, decision: str | None) -> tuple[int, str]:
    """The status code and the authorizer's decision; without its label, a request that was refused was forbidden."""
    grants = payload.get("authorizationInfo")
    granted = next((one.get("granted") for one in grants or () if isinstance(one, Mapping)), None)
    status = at(payload, "status", "code") or 0
    told = at(response, "code") if at(response, "kind") == "Status" else None
    code = told if isinstance(told, int) else _GOOGLE_CODES.get(status if isinstance(status, int) else 2, 500)
    if decision is None:
        decision = "forbid" if granted is False or (code == 403 and not granted) else "allow"
    return (403 if decision == "forbid" else code), decision


def _google_reference(name: str, method: list[str]) -> dict[str, str]:
    """The object reference in ``apps/v1/namespaces/dev/deployments/web/scale``; the core group is called ``core``."""
    group, version, *parts = [*name.split("/"), "", ""]
    found = {"apiGroup": "" if group == "core" else group, "apiVersion": version}
    rest = [part for part in parts if part]
    if rest[:1] == ["namespaces"] and len(rest) > 2 and "namespaces" not in method:
        found["namespace"], rest = rest[1], rest[2:]
    words = (*rest, "", "", "")
    return found | {"resource": words[0] or (method[-1] if method else ""), "name": words[1], "subresource": words[2]}
