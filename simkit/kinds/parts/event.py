"""Events of both groups: field names, validation, selectable fields, printer columns.

Follows ``pkg/apis/core/validation/events.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import UNKNOWN, age
from simkit.kinds.parts.go_printing.structures import structure, time
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.rules import FIXED, REQUIRED, Check, at_root, by, must, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import DEFAULT_NAMESPACE, SYSTEM_NAMESPACE
from simkit.meta.fielderror import Errors, Shown, invalid_value, required
from simkit.meta.name_validation import dns_subdomain, qualified_name
from simkit.meta.objects import Draft, Object, at, name_of, namespace_of

NEWER: Final[Mapping[str, str]] = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""Field names of the core group and of the events group; all other fields have one name."""
OLDER: Final[Mapping[str, str]] = {newer: older for older, newer in NEWER.items()}
_MOMENTS: Final = ("firstTimestamp", "lastTimestamp")
_FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)


def renamed(event: Object, names: Mapping[str, str]) -> Draft:
    """An event with the field names of the other group (``NEWER``, ``OLDER``)."""
    return {names.get(name, name): value for name, value in event.items()}


def validate_event(behaviour: ServedBehaviour, event: Object, *, field: str) -> Errors:
    """The errors of an event in either group; ``field`` is the name of the reporting controller."""
    about, namespace = at(event, "involvedObject", "namespace") or "", namespace_of(event)
    elsewhere = invalid_value("involvedObject.namespace", about, "does not match event.namespace")
    if not event.get("eventTime"):
        if (namespace not in ("", DEFAULT_NAMESPACE)) if not about else namespace != about:
            yield elsewhere
    else:
        if not about and namespace not in (DEFAULT_NAMESPACE, SYSTEM_NAMESPACE):
            yield elsewhere
        yield from _validate_new(behaviour, event, field)
    yield from validate_text("namespace", namespace, dns_subdomain)


def _short(most: int) -> Check:
    return must.hold(lambda text: len(text) <= most, f"can have at most {most} characters", _nothing)


def _nothing(value: Any) -> str:
    return ""


_REPORTED: Final = table(
    *(
        row(name, *checks)
        for name in ("reportingInstance", "action", "reason")
        for checks in ((REQUIRED,), (_short(128),))
    ),
    row("message", _short(1024)),
)


def _validate_new(behaviour: ServedBehaviour, event: Object, field: str) -> Errors:
    """The errors of an event that has an ``eventTime``."""
    controller = event.get("reportingComponent") or ""
    if not controller:
        yield required(field)
    yield from validate_text(field, controller, qualified_name)
    yield from at_root(_REPORTED(behaviour, event))


_UNSET: Final = must.hold(lambda value: not value, "needs to be unset", _nothing)
_SERIES: Final = row(
    "series",
    row("count", must.hold(lambda count: count >= 2, "should be at least 2", _nothing), zero=0),
    row("lastObservedTime", REQUIRED),
)


def _validate_type(behaviour: ServedBehaviour, path: str, kind: str) -> Errors:
    if kind not in ("Normal", "Warning"):
        yield invalid_value(path, "", f"has invalid value: {kind}")


STRICT: Final = table(
    _SERIES,
    row("eventTime", REQUIRED),
    row("type", by(_validate_type), zero=""),
    row("firstTimestamp", _UNSET),
    row("lastTimestamp", _UNSET),
    row("count", _UNSET),
    row("source", _UNSET, when=lambda event: at(event, "source", "component") or at(event, "source", "host")),
)
"""The check of a new event in the group events."""


def strict_changes(behaviour: ServedBehaviour, event: Object, old: Object) -> Errors:
    """Returns errors for changes of anything but the series in the group events."""
    if event.get("series") != old.get("series"):
        yield from at_root(_SERIES(behaviour, event))
    for name in _FIXED:
        stored = OLDER.get(name, name)
        if _given(name, event.get(stored)) != _given(name, old.get(stored)):
            yield invalid_value(name, _shown(stored, event.get(stored)), FIXED)


def _given(name: str, value: Any) -> Any:
    """A value for comparisons: zero values are absent, unless the field is a pointer."""
    return value if name == "related" else value or None


def _shown(name: str, value: Any) -> Any:
    """The value of a field as errors show it: inside of kube-apiserver, absent ones are zero."""
    if name in ("involvedObject", "related"):
        return structure("core.ObjectReference", value or {}) if value is not None or name == "involvedObject" else None
    if name == "source":
        return structure("core.EventSource", value or {})
    if name in (*_MOMENTS, "eventTime"):
        return time(value) if value else Shown("0001-01-01 00:00:00 +0000 UTC", None)
    return value or (0 if name == "count" else "")


def event_fields(event: Object) -> dict[str, str]:
    """The selectable fields of an event, under the names of the core group."""
    component = event.get("reportingComponent") or ""
    return {"source": at(event, "source", "component") or component, "reportingComponent": component}


def event_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    """The cells of an event's row: time, type, reason, object, message."""
    seen, first = _seen(obj, now)
    about = (at(obj, "involvedObject", "kind") or "").lower()
    name = at(obj, "involvedObject", "name")
    return [
        seen,
        obj.get("type") or "",
        obj.get("reason") or "",
        f"{about}/{name}" if name else about,
        at(obj, "involvedObject", "fieldPath") or "",
        _origin(obj),
        (obj.get("message") or "").strip(),
        first,
        at(obj, "series", "count") or obj.get("count") or 1,
        name_of(obj),
    ]


def _seen(event: Object, now: float) -> tuple[str, str]:
    """The ages of its last and first occurrence."""
    first = age(event.get("firstTimestamp") or event.get("eventTime"), now)
    if event.get("series"):
        last = age(at(event, "series", "lastObservedTime"), now)
    else:
        last = age(event.get("lastTimestamp"), now) if event.get("lastTimestamp") else first
    return last or UNKNOWN, first


def _origin(event: Object) -> str:
    component = at(event, "source", "component") or event.get("reportingComponent") or ""
    host = at(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component
