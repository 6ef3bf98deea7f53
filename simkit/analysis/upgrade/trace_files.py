"""Files of traces, as SimKube reads and writes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.analysis.upgrade.trace import TraceEvent
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.meta.whole_file import PRIVATE, write_whole

_JSON: Final = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
KNOWN: Final = (2, 3)
"""The versions of the format that are read: events are the same in both."""


def read_trace(source: str | Path) -> tuple[TraceEvent, ...]:
    """The events of a trace file of SimKube (version 2 or 3, as it is or as JSON), in the order of time.

    Raises
    ------
    SimkitError
        For a file that is none.

    References
    ----------
    SimKube, docs/ref/trace-files.md: ``version``, ``config``, ``events`` with ``ts``, ``applied_objs``,
    ``deleted_objs``.
    """
    raw = Path(source).read_bytes()
    try:
        value = orjson.loads(raw) if raw.lstrip()[:1] == b"{" else _unpacked(raw)
        if value["version"] not in KNOWN:
            raise SimkitError(f"{source} is a trace of version {value['version']}; known are {KNOWN[0]} and {KNOWN[1]}")
        events = [
            TraceEvent(each["ts"], tuple(each["applied_objs"]), tuple(each["deleted_objs"])) for each in value["events"]
        ]
    except (ValueError, KeyError, TypeError) as wrong:
        raise SimkitError(f"{source} is no trace of SimKube: {type(wrong).__name__} {wrong}") from None
    return tuple(sorted(events, key=lambda event: event.time))


def _unpacked(raw: bytes) -> Any:
    import msgpack

    return _plain(msgpack.unpackb(raw, strict_map_key=False, use_list=False))


def _plain(value: Any) -> Any:
    """Lists for the tuples that keys of maps need to be."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value


def write_trace(trace: Sequence[TraceEvent], target: str | Path) -> Path:
    """Write a trace as SimKube has it (version 3), and return its path.

    Parameters
    ----------
    target
        A file that ends in ``.json`` is written as JSON, any other one as msgpack.

    Notes
    -----
    The lifecycles of pods are left empty: simkit does not record them.
    """
    file = Path(target)
    events = [
        {"ts": int(event.time), "applied_objs": list(event.applied), "deleted_objs": list(event.deleted)}
        for event in trace
    ]
    index: dict[str, dict[str, dict[int, list[Any]]]] = defaultdict(lambda: defaultdict(dict))
    for event in trace:
        for obj in event.applied:
            index[_kind(obj)][f"{namespace_of(obj)}/{name_of(obj)}"][int(event.time)] = []
    config: dict[str, Any] = {"trackedObjects": {kind: {} for kind in sorted(index)}}
    value = {"version": KNOWN[-1], "config": config, "events": events, "index": index}
    content = orjson.dumps(value, option=_JSON) if file.suffix == ".json" else _packed(value)
    return write_whole(file, content, mode=PRIVATE)


def _kind(obj: Object) -> str:
    """The kind as SimKube names it: ``apps/v1.Deployment``, ``v1.Pod``."""
    return f"{GroupVersion.parse(str(obj.get('apiVersion')))}.{obj.get('kind')}"


def _packed(value: Any) -> bytes:
    import msgpack

    packed: bytes = msgpack.packb(value)
    return packed
