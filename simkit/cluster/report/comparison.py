"""A report beside an earlier one: what is new, what is gone, what got worse, and who did it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.cluster.report.document import KIND
from simkit.meta.errors import SimkitError
from simkit.meta.integers import parse_int

LEVELS: Final = ("info", "low", "medium", "high", "critical")
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
_SPACES: Final = str.maketrans("(),", "   ")
KINDS: Final = {
    "clusterrolebindings": "ClusterRoleBinding",
    "rolebindings": "RoleBinding",
    "clusterroles": "ClusterRole",
    "roles": "Role",
    "namespaces": "Namespace",
    "serviceaccounts": "ServiceAccount",
}
"""The objects whose writes are looked for, by resource."""
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
        ``new`` and ``gone`` findings, ``accepted`` ones that were open before, ``worse`` ones with the severity that
        they had, ``paths_new`` and ``paths_gone`` as pairs of subject and goal. With an audit log each finding has
        ``by``, who wrote its binding, role, account, pods or namespace, with the time and the verb, and ``paths_by``
        has the same for new paths (``subject to goal``), of what they go through.
    """
    before = {each["id"]: each for each in old.get("findings") or ()}
    now = {each["id"]: each for each in new["findings"]}
    writers = _writers(audit_log, since=str(old.get("made") or "")) if audit_log is not None else {}
    accepted = {each["id"]: each for each in new.get("accepted") or ()}
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
        "gone": [_short(each, {}) for name, each in before.items() if name not in now and name not in accepted],
        "accepted": [_short(each, {}) for name, each in accepted.items() if name in before],
        "worse": worse,
        "paths_new": sorted(map(list, pairs_new - pairs_old)),
        "paths_gone": sorted(map(list, pairs_old - pairs_new)),
        "paths_by": _paths_by(new, pairs_new - pairs_old, writers) if writers else {},
        "with_log": audit_log is not None,
    }


def _short(finding: Mapping[str, Any], writers: Mapping[str, list[str]]) -> dict[str, Any]:
    fields = ("id", "severity", "check", "title", "namespace", "message", "binding", "role")
    by = sorted(line for name in _objects_of(finding) for line in writers.get(name, ()))
    return {**{name: finding.get(name, "") for name in fields}, "by": by[-MOST:]}


def _objects_of(finding: Mapping[str, Any]) -> list[str]:
    """The objects whose writes may have made a finding: its binding and role, else its accounts, else its namespace."""
    named = [name for name in (finding.get("binding"), finding.get("role")) if name]
    if not named:
        accounts = (one for one in finding.get("subjects") or () if one.startswith("sa:"))
        named = [f"ServiceAccount {one.removeprefix('sa:')}" for one in accounts]
    if not named and finding.get("namespace"):
        named = [f"Namespace {finding['namespace']}"]
    return named


def _paths_by(
    report: Mapping[str, Any], pairs: Iterable[tuple[str, str]], writers: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """The writers of what new paths go through."""
    wanted, found = set(pairs), dict[str, list[str]]()
    for group in report.get("path_groups") or ():
        granted = [by for step in group["steps"] for by in step["granted_by"]]
        lines = sorted(f"{line} {name}" for name, some in writers.items() if _names(granted, name) for line in some)
        for pair in ((subject, goal) for subject in group["subjects"] for goal in group["goals"]):
            if lines and pair in wanted:
                found[" to ".join(pair)] = lines[-MOST:]
    return found


def _names(texts: Iterable[str], name: str) -> bool:
    """True if one of some texts names an object as a whole."""
    return any(f" {name} " in f" {text.translate(_SPACES)} " for text in texts)


def _writers(audit_log: Any, since: str) -> dict[str, list[str]]:
    """The writers of each object of ``KINDS``, by its text (``RoleBinding dev/readers``)."""
    from simkit.analysis import audit_events

    found: dict[str, list[str]] = {}
    for event in _written(audit_events(audit_log).to_dict("records"), set(KINDS)):
        if str(event["time"].isoformat()) >= since[:19] or not since:
            inside = event["namespace"] and event["resource"] != "namespaces"
            name = f"{event['namespace']}/{event['name']}" if inside else event["name"]
            behind = f" (by {event['impersonator']})" if event["impersonator"] else ""
            told = f"{event['time']:%Y-%m-%d %H:%M:%S} {event['subject']}{behind} {event['verb']}"
            found.setdefault(f"{KINDS[event['resource']]} {name}", []).append(told)
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
        and (code := parse_int(str(event["code"]))) is not None
        and code < 400
    )
