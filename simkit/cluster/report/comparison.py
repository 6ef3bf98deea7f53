"""A report beside an earlier one: what is new, what is gone, what got worse, and who did it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.cluster.report.document import KIND
from simkit.meta.errors import SimkitError

LEVELS: Final = ("info", "low", "medium", "high", "critical")
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
MOST: Final = 5
"""Writes that are told of one object, the last ones."""


def read_report(path: str | Path) -> dict[str, Any]:
    """A report that was written as JSON. Raises SimkitError for a file that is none."""
    file = Path(path)
    try:
        value = orjson.loads(file.read_bytes())
    except OSError as error:
        raise SimkitError(f"cannot read {file}: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise SimkitError(f"{file} is not JSON: {error}") from None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise SimkitError(f"{file} is no report; write one with: simkit audit PATH --json FILE")
    return value


def compared(new: Mapping[str, Any], old: Mapping[str, Any], audit_log: Any = None) -> dict[str, Any]:
    """The changes between two reports.

    Returns
    -------
    dict
        ``new`` and ``gone`` findings, ``worse`` ones with the severity that they had, ``paths_new`` and
        ``paths_gone`` as pairs of subject and goal; with an audit log each of the first has ``by``: who wrote its
        binding or role, with the time and the verb.
    """
    before = {each["id"]: each for each in old.get("findings") or ()}
    now = {each["id"]: each for each in new["findings"]}
    writers = _writers(audit_log, since=str(old.get("made") or "")) if audit_log is not None else {}
    worse = [
        {**_short(each, writers), "was": before[name]["severity"]}
        for name, each in now.items()
        if name in before and LEVELS.index(each["severity"]) > LEVELS.index(before[name]["severity"])
    ]
    pairs_old = {tuple(pair) for pair in old.get("paths") or ()}
    pairs_new = {tuple(pair) for pair in new["paths"]}
    return {
        "since": str(old.get("made") or ""),
        "name": str(old.get("name") or ""),
        "new": [_short(each, writers) for name, each in now.items() if name not in before],
        "gone": [_short(each, {}) for name, each in before.items() if name not in now],
        "worse": worse,
        "paths_new": sorted(map(list, pairs_new - pairs_old)),
        "paths_gone": sorted(map(list, pairs_old - pairs_new)),
        "with_log": audit_log is not None,
    }


def _short(finding: Mapping[str, Any], writers: Mapping[str, list[str]]) -> dict[str, Any]:
    fields = ("id", "severity", "check", "title", "namespace", "message", "binding", "role")
    by = [*writers.get(finding.get("binding") or "", ()), *writers.get(finding.get("role") or "", ())]
    return {**{name: finding.get(name, "") for name in fields}, "by": by[-MOST:]}


def _writers(audit_log: Any, since: str) -> dict[str, list[str]]:
    """The writers of each binding or role, by its text (``RoleBinding dev/readers``)."""
    from simkit.analysis import audit_events

    kinds = {
        "clusterrolebindings": "ClusterRoleBinding",
        "rolebindings": "RoleBinding",
        "clusterroles": "ClusterRole",
        "roles": "Role",
    }
    found: dict[str, list[str]] = {}
    for event in _written(audit_events(audit_log).to_dict("records"), set(kinds)):
        if str(event["time"].isoformat()) >= since[:19] or not since:
            name = f"{event['namespace']}/{event['name']}" if event["namespace"] else event["name"]
            behind = f" (by {event['impersonator']})" if event["impersonator"] else ""
            told = f"{event['time']:%Y-%m-%d %H:%M:%S} {event['subject']}{behind} {event['verb']}"
            found.setdefault(f"{kinds[event['resource']]} {name}", []).append(told)
    return found


def _written(events: Iterable[Mapping[Any, Any]], resources: set[str]) -> Iterable[Mapping[Any, Any]]:
    """The events of writes that were carried out."""
    return (
        event
        for event in events
        if event["resource"] in resources
        and event["verb"] in WRITES
        and event["name"]
        and event["stage"] in ("", "ResponseComplete")
        and str(event["code"]).isdigit()
        and int(event["code"]) < 400
    )
