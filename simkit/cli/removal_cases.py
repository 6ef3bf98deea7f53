"""A removal report for build servers: one case for each removed resource, one fault for each use of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simkit.cli.reports import Case, Fault

if TYPE_CHECKING:
    from simkit.analysis.upgrade.removal_report import RemovalReport
    from simkit.snapshot.dump import Dump

_KEPT = "kept"
_APPLIED = "applied"


def removal_cases(found: RemovalReport, dump: Dump, paths: Sequence[str]) -> list[Case]:
    """The cases; objects are placed at their file in the dump, everything else at its first file."""
    file = paths[0] if paths else "cluster"
    faults: dict[tuple[str, str], list[Fault]] = {}
    for api_version, what, message, where, line in _uses(found, dump, file):
        faults.setdefault((api_version, what), []).append(Fault(message, "high", where, line))
    cases = []
    for row in found.removed.to_dict("records"):
        own = [each for what in (row["resource"], row["kind"]) for each in faults.pop((row["api_version"], what), ())]
        cases.append(_case(row["api_version"], row["kind"], own, str(row["replacement"])))
    return cases + [_case(api_version, what, own, "") for (api_version, what), own in faults.items()]


def _case(api_version: str, what: str, faults: Sequence[Fault], replacement: str) -> Case:
    rule = f"removed-{api_version}-{what}".replace("/", "-").lower()
    fix = f"Use {replacement} instead." if replacement else ""
    return Case(rule, f"{what} of {api_version} is not used", "high", faults, fix=fix)


def _uses(found: RemovalReport, dump: Dump, file: str) -> Iterator[tuple[str, str, str, str, int]]:
    """Version, resource or kind, message, file and line of everything that stops working."""
    places = {
        (key.resource.resource, key.namespace, key.name): (where, line or 1)
        for key, (where, line) in dump.origins.items()
    }
    for row in found.objects.to_dict("records"):
        if row["evidence"] != _APPLIED:
            name = f"{row['namespace']}/{row['name']}".strip("/")
            where, line = places.get((row["resource"].partition(".")[0], row["namespace"], row["name"]), (file, 1))
            message = f"{row['resource']} {name}: {row['evidence']} {row['where']}".strip()
            yield row["api_version"], row["kind"], message, where, line
    for row in found.current_callers().to_dict("records"):
        message = f"{row['subject']} ({row['agent']}) asks for it: {', '.join(row['verbs'])}"
        yield row["api_version"], row["resource"], message, file, 1
    for row in found.rules.to_dict("records"):
        if row["verdict"] == "dead":
            yield row["api_version"], row["resource"], f"{row['role_kind']} {row['role']} grants it alone", file, 1
    for row in found.configurations.to_dict("records"):
        if row["verdict"] != _KEPT:
            message = f"{row['kind']} {row['name']} {row['part']}: {row['verdict']}"
            yield row["api_version"], row["resource"], message, file, 1
