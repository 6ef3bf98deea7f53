"""Audit logs, read from wherever they come: JSON lines, lists, archives, the wrappers of managed services."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import orjson

from simkit.analysis.leastprivilege.use import Action, Use
from simkit.meta.domain import API_DOMAIN, api_group
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, split_service_account
from simkit.meta.objects import Object

Log = str | Path | Iterable[str | Path | Mapping[str, Any]]
DECISION: Final = f"{api_group('authorization')}/decision"
AUDIT: Final = api_group("audit")
NAMELESS: Final = ("create", "deletecollection")
GOOGLE_PREFIX: Final = "io.k8s."
TEXTS: Final = ("message", "@message", "log", "line", "msg", "raw", "RawData")
"""Where collectors and managed services put the event as text."""
NESTED: Final = ("logEvents", "records", "items", "entries", "Records", "value")
"""Where they put lists of events."""
INNER: Final = ("properties", "event", "detail", "payload", "_source", "jsonPayload", "result", "textPayload")
"""Where they put the event as an object."""


def read_uses(log: Log) -> Iterator[Use]:
    """What a log says was asked for, one use per event that was decided.

    Parameters
    ----------
    log
        Files (JSON lines, a JSON document, each also with .gz), folders of them, texts of JSON lines, or decoded
        events: as the server writes them, as ``EventList``, as CloudWatch, Cloud Logging, Azure Monitor or a collector
        such as Fluent Bit wraps them.

    Raises
    ------
    SimkitError
        For a file that is not there, and for a log without any audit event.

    Examples
    --------
    >>> event = {"kind": "Event", "stage": "ResponseComplete", "verb": "get", "user": {"username": "ann"},
    ...          "objectRef": {"resource": "pods", "namespace": "dev", "name": "web"}, "responseStatus": {"code": 200}}
    >>> [str(use.action) for use in read_uses([event])]
    ["get pods 'web' in dev"]
    """
    found = False
    seen: set[tuple[str, str]] = set()
    for event in read_events(log):
        found = True
        key = (str(event.get("auditID") or id(event)), str(event.get("verb")))
        if event.get("stage") in ("RequestReceived",) or (event.get("auditID") and key in seen):
            continue
        seen.add(key)
        yield from uses_of(event)
    if not found:
        raise SimkitError("no audit events were found in the log; it wants audit events as JSON, one a line")


def read_events(log: Log) -> Iterator[Object]:
    """The audit events of a log, unwrapped."""
    if isinstance(log, str | Path):
        yield from _of_source(log)
        return
    for one in log:
        if isinstance(one, str | Path):
            yield from _of_source(one)
        else:
            yield from unwrapped(one)


def _of_source(source: str | Path) -> Iterator[Object]:
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        yield from _of_text(source.encode())
        return
    path = Path(source)
    if path.is_dir():
        for inner in sorted(one for one in path.rglob("*") if one.is_file()):
            yield from _of_source(inner)
        return
    if not path.exists():
        raise SimkitError(f"there is no audit log at {path}")
    raw = path.read_bytes()
    yield from _of_text(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)


def _of_text(raw: bytes) -> Iterator[Object]:
    """The events of JSON lines, or of one JSON document over several lines. Lines that are no JSON are passed over."""
    try:
        whole = orjson.loads(raw)
    except orjson.JSONDecodeError:
        for line in raw.splitlines():
            yield from _of_line(line)
    else:
        yield from unwrapped(whole)


def _of_line(line: bytes) -> Iterator[Object]:
    start = line.find(b"{")  # collectors may write a time stamp in front
    if start < 0:
        return
    try:
        yield from unwrapped(orjson.loads(line[start:]))
    except orjson.JSONDecodeError:
        return


def unwrapped(value: Any) -> Iterator[Object]:
    """The audit events in a decoded value, whatever it is wrapped in."""
    if isinstance(value, list):
        for one in value:
            yield from unwrapped(one)
    elif isinstance(value, str):
        if value.lstrip()[:1] in ("{", "["):
            yield from _of_text(value.encode())
    elif isinstance(value, Mapping):
        yield from _unwrapped_object(value)


def _unwrapped_object(value: Mapping[str, Any]) -> Iterator[Object]:
    if "protoPayload" in value:
        yield from _of_google(value)
        return
    if "verb" in value and ("user" in value or "requestURI" in value):
        yield value
        return
    for name in (*NESTED, *INNER, *TEXTS):
        if name in value:
            yield from unwrapped(value[name])


def _of_google(entry: Mapping[str, Any]) -> Iterator[Object]:
    """The audit event that a Cloud Logging entry was made of, as far as it can be told."""
    payload = entry["protoPayload"]
    method = str(payload.get("methodName") or "")
    if not method.startswith(GOOGLE_PREFIX):
        return
    *_, resource, verb = method.removeprefix(GOOGLE_PREFIX).split(".")
    grants = payload.get("authorizationInfo") or [{}]
    labels = entry.get("labels") or {}
    decision = labels.get(f"authorization.{API_DOMAIN}/decision") or ("allow" if grants[0].get("granted") else "forbid")
    user = (payload.get("authenticationInfo") or {}).get("principalEmail") or ""
    yield {
        "auditID": (entry.get("operation") or {}).get("id") or entry.get("insertId"),
        "verb": verb,
        "user": {"username": user},
        "objectRef": _google_reference(str(payload.get("resourceName") or ""), resource),
        "annotations": {DECISION: decision},
        "responseStatus": {"code": 403 if decision == "forbid" else 200},
    }


def _google_reference(name: str, resource: str) -> dict[str, str]:
    """The object of ``apps/v1/namespaces/dev/deployments/web/scale``, the core group being called ``core``."""
    group, version, *rest = [*name.split("/"), "", ""]
    found = {"apiGroup": "" if group == "core" else group, "apiVersion": version}
    rest = [part for part in rest if part]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        found["namespace"], rest = rest[1], rest[2:]
    words = (*rest, "", "", "")
    return found | {"resource": words[0] or resource, "name": words[1], "subresource": words[2]}


def uses_of(event: Object) -> Iterator[Use]:
    """What an event asked for: as whom it was answered, and to be allowed to act as them."""
    code = (event.get("responseStatus") or {}).get("code")
    decision = (event.get("annotations") or {}).get(DECISION)
    if code == 401 or not event.get("verb"):
        return
    allowed = decision == "allow" if decision else code != 403
    sender = _identity(event.get("user") or {})
    worn = event.get("impersonatedUser")
    action = action_of(event)
    if action is None:
        return
    bodies = event.get("requestObject") if allowed else None
    yield Use(_identity(worn) if worn else sender, action, allowed, body=bodies)
    if worn and allowed:
        yield from (Use(sender, one, True) for one in _impersonations(worn))


def _identity(user: Mapping[str, Any]) -> Identity:
    return Identity(user.get("username") or "", tuple(user.get("groups") or ()))


def _impersonations(worn: Mapping[str, Any]) -> Iterator[Action]:
    """What acting as somebody takes. The groups that the server adds by itself need no permission."""
    account = split_service_account(worn.get("username") or "")
    if account:
        yield Action("impersonate", "", "serviceaccounts", "", account[0], account[1])
    else:
        yield Action("impersonate", "", "users", "", "", worn.get("username") or "")
    for group in worn.get("groups") or ():
        if not group.startswith("system:authenticated") and not (
            account and group.startswith("system:serviceaccounts")
        ):
            yield Action("impersonate", "", "groups", "", "", group)


def action_of(event: Object) -> Action | None:
    """What was asked of the authorizer, out of an event; None for an event that does not say."""
    verb, reference = str(event["verb"]), event.get("objectRef") or {}
    path, _, query = str(event.get("requestURI") or "").partition("?")
    if not reference.get("resource"):
        return Action(verb.lower(), url=unquote(path)) if path else None
    name, subresource = reference.get("name") or "", reference.get("subresource") or ""
    if verb in NAMELESS and not subresource:
        name = ""  # the event names what was made; the authorizer was asked before that
    if verb in ("list", "watch", "deletecollection"):
        name = _selected(query)
    namespace = reference.get("namespace") or ""
    return Action(verb, reference.get("apiGroup") or "", reference["resource"], subresource, namespace, name)


def _selected(query: str) -> str:
    """The one name that a field selector asks for."""
    for selector in parse_qs(query).get("fieldSelector", ()):
        for part in selector.split(","):
            key, _, value = part.replace("==", "=").partition("=")
            if key == "metadata.name":
                return value
    return ""
