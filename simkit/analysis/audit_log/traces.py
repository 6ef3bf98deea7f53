"""Traces of a cluster, as SimKube records them, read as the writes of an audit log whose users are not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

from simkit.meta.distribution import install_hint
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.snapshot.resources import ResourceIndex

MAPS: Final = (*range(0x80, 0x90), 0xDE, 0xDF)
"""The first bytes of maps in MessagePack, as which SimKube writes traces; no text begins with one."""
_KINDS: Final = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "status": "Success"}


def is_trace(value: Mapping[str, Any]) -> bool:
    """True for the content of a trace."""
    config = value.get("config")
    return "events" in value and isinstance(config, Mapping) and isinstance(config.get("trackedObjects"), Mapping)


def unpacked(packed: bytes) -> Any:
    """The content of a trace in MessagePack. Raises SimkitError for other content, and without the library."""
    try:
        msgpack = import_module("msgpack")
    except ImportError as missing:
        raise SimkitError(f"reading a trace needs msgpack: {install_hint('history')}") from missing
    try:
        return msgpack.unpackb(packed, strict_map_key=False)
    except (ValueError, TypeError) as wrong:
        raise SimkitError(f"the file is neither an audit log nor a whole trace: {wrong}") from None


def events_of_trace(trace: Mapping[str, Any]) -> Iterator[Object]:
    """The writes that a trace records, in order, as events of the level RequestResponse.

    Raises
    ------
    SimkitError
        For a trace that does not record roles and bindings: a history would take them for unchanged.

    References
    ----------
    SimKube, docs/ref/trace-files.md: ``config.trackedObjects``, ``events`` with ``ts``, ``applied_objs``,
    ``deleted_objs``; versions 2 and 3.
    """
    tracked = trace["config"]["trackedObjects"]
    if missing := [kind for kind in _KINDS if f"{RBAC_GROUP}/v1.{kind}" not in tracked]:
        raise SimkitError(
            f"the trace does not record {', '.join(missing)}: add them to trackedObjects of SimKube's tracer, as "
            f"{RBAC_GROUP}/v1.{missing[0]}"
        )
    index = ResourceIndex()
    try:
        for event in sorted(trace["events"], key=lambda one: float(one["ts"])):
            time = datetime.fromtimestamp(event["ts"], UTC).isoformat()
            yield from _writes(index, time, "update", event.get("applied_objs") or ())
            yield from _writes(index, time, "delete", event.get("deleted_objs") or ())
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise SimkitError("the trace cannot be read: an event of it has no time and lists of objects") from None


def _writes(index: ResourceIndex, time: str, verb: str, objects: Sequence[Object]) -> Iterator[Object]:
    for obj in objects:
        if not name_of(obj):
            raise SimkitError(f"the trace has a {obj['kind']} without a name, so that nothing is known of it")
        resource = index.mapping(obj["apiVersion"], obj["kind"]).resource
        yield {
            "stage": "ResponseComplete",
            "stageTimestamp": time,
            "verb": verb,
            "objectRef": {
                "apiGroup": resource.group,
                "resource": resource.resource,
                "namespace": namespace_of(obj),
                "name": name_of(obj),
            },
            "responseObject": obj if verb == "update" else _SUCCESS,
        }
