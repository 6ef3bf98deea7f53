"""The content of a report as plain mappings: what the page shows, and what is written as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.findings.references import frameworks, references
from simkit.analysis.forked import aside
from simkit.analysis.rbac.objects import NAMESPACES
from simkit.cluster.report.overview import (
    as_of,
    digest,
    explained,
    grouped,
    stable_id,
    team_of,
    teams_of,
    verdict,
)
from simkit.meta.distribution import VERSION
from simkit.meta.python_gc import collection_paused

if TYPE_CHECKING:
    from simkit.analysis import Cause, Finding, PlanStep, RemediationPlan
    from simkit.analysis.causes import Causes, Remedy
    from simkit.analysis.escalation.find.graph_document import GraphDocument
    from simkit.analysis.findings.suppress import SuppressedAudit
    from simkit.analysis.rbac.subject import Members
    from simkit.snapshot.dump import Dump

KIND: Final = "AuditReport"
GOALS: Final = ("cluster-admin", "all secrets", "a node")
PROVEN: Final = 10
"""Of so many causes one path is executed, unless all paths are asked for."""
BEST: Final = 5
DETAILED: Final = 25
"""Of so many causes the remedy is told with its effect and its diff; of the others in words and commands."""
EFFECTS: Final = 40
"""So many rows of who loses what a remedy shows."""


@dataclass(frozen=True)
class Request:
    """The questions of a report besides the audit.

    ``causes`` are those of all findings, where they are known. ``prove`` executes all paths, and not only one of each
    of the first causes. ``sources`` are the files of the dump, ``today`` is when the report is made. ``limits`` are
    sentences that say which findings the audit left out.
    """

    name: str
    include_defaults: bool = False
    members: Members = field(default_factory=dict)
    managed: Sequence[str] = ()
    audit_log: Any = None
    causes: Causes | None = None
    goals: Sequence[str] = GOALS
    best: int = BEST
    prove: bool = False
    sources: Sequence[str | Path] = ()
    limits: Sequence[str] = ()
    today: datetime = field(default_factory=lambda: datetime.now(UTC))


@collection_paused()  # collections took a fifth of the time and found next to nothing
def document(dump: Dump, sifted: SuppressedAudit, request: Request, *, tell: Any = None) -> dict[str, Any]:
    """The report of an audit: what was looked at, causes, plan, paths, findings, and what was accepted.

    Parameters
    ----------
    tell
        Called with a few words before each part that takes time.
    """
    from simkit.analysis import escalations, remediation_plan
    from simkit.analysis.causes import group_causes
    from simkit.analysis.escalation.find.graph_document import graph_document
    from simkit.analysis.escalation.prove.proof import tally

    say = tell or str
    snapshot = dump.snapshot()
    say("looking for escalation paths")
    paths = escalations(
        snapshot, goal=request.goals, include_defaults=request.include_defaults, members=request.members
    )
    every = (*sifted.audit.findings, *(one.finding for one in sifted.accepted))
    say("looking for the changes that close most of them")

    def planned() -> tuple[dict[str, Any], GraphDocument]:
        best = remediation_plan(
            snapshot, goal=request.goals, best=request.best, audit_log=request.audit_log, members=request.members
        )
        steps = ((str(step.change), step.closed) for step in best)
        graph = graph_document(snapshot, paths, request.goals, members=request.members, plan=steps)
        return _plan(best, dump), graph

    begun = aside(planned)
    causes = request.causes or group_causes(
        snapshot, every, tuple(paths), members=request.members, managed=request.managed
    )
    say("executing paths on a fork")
    names = {cause.key: stable_id("c", str(cause.key)) for cause in causes}
    groups, proofs = grouped(causes, names, dump, request.members, every=request.prove, first=PROVEN)
    ids, subjects, teams = _ids(every), {path.subject for path in paths}, teams_of(dump)
    owners = {id(finding): cause for cause in causes for finding in cause.findings}
    plan, graph = begun()
    made: dict[str, Any] = {
        "kind": KIND,
        "simkit": VERSION,
        "made": request.today.isoformat(timespec="seconds"),
        "name": request.name,
        "release": dump.release,
        "as_of": as_of(dump),
        "sha256": digest(request.sources),
        "looked_at": _looked_at(dump, sifted, paths.unknown),
        "caveats": [*request.limits, *(one.text for one in dump.authorization.caveats)],
        "counts": dict(sifted.audit.counts()),
        "totals": {"paths": len(paths), "subjects": len(subjects), "goals": list(request.goals)}
        | {"verdicts": tally(proofs)},
        "checks": [
            {"id": one.id, "title": one.title, "why": one.why, "fix": one.fix, "references": references(one.id)}
            for one in sifted.audit.checks
        ],
        "causes": [_cause(one, names[one.key], ids, dump, full=number < DETAILED) for number, one in enumerate(causes)],
        "frameworks": [
            {"id": one.id, "title": one.title, "version": one.version, "source": one.source}
            | {"controls": one.rows(sifted.audit)}
            for one in frameworks().values()
        ],
        "natures": causes.summary_records(),
        "plan": plan,
        "paths": [[path.subject, path.goal.name] for path in paths],
        "graph": graph,
        "path_groups": groups,
        "findings": [_finding(one, ids, owners.get(id(one)), names, dump, teams) for one in sifted.audit.findings],
        "accepted": [
            _finding(one.finding, ids, owners.get(id(one.finding)), names, dump, teams)
            | {"reason": one.reason, "expires": one.expires}
            for one in sifted.accepted
        ],
        "suppressions_to_look_at": [
            *({"what": "ended", "on": str(one.expires), "reason": one.reason} for one in sifted.expired),
            *({"what": "no longer matches a finding", "on": "", "reason": one.reason} for one in sifted.unused),
        ],
        "exposure": _exposure(dump, request),
    }
    return {**made, "verdict": verdict(made), "explained": explained(made["causes"])}


def _looked_at(dump: Dump, sifted: SuppressedAudit, unknown: Sequence[str]) -> dict[str, Any]:
    counts = {str(resource): number for resource, number in dump.counts.items() if number}
    namespaces = {key.name if key.resource == NAMESPACES else key.namespace for key in dump.keyed} - {""}
    return {
        "objects": len(dump),
        "resources": counts,
        "namespaces": len(namespaces),
        "withheld_secrets": dump.withheld,
        "checks_made": len(sifted.audit.checks) - len(sifted.audit.skipped),
        "skipped": [{"check": one.check, "title": one.title, "reason": one.reason} for one in sifted.audit.skipped],
        "unread": [str(problem) for problem in dump.lost],
        "not_captured": list(unknown),
        "set_aside": sifted.audit.set_aside,
        "accepted": len(sifted.accepted),
    }


def _ids(findings: Iterable[Finding]) -> dict[int, str]:
    """A stable id of each finding: its fingerprint, with a number where several have the same."""
    from simkit.analysis.findings.suppress import fingerprint

    seen: Counter[str] = Counter()
    made = {}
    for finding in findings:
        mark = fingerprint(finding)
        seen[mark] += 1
        made[id(finding)] = mark if seen[mark] == 1 else f"{mark}-{seen[mark]}"
    return made


def _finding(
    finding: Finding,
    ids: Mapping[int, str],
    cause: Cause | None,
    names: Mapping[Any, str],
    dump: Dump,
    teams: Mapping[str, str],
) -> dict[str, Any]:
    from simkit.analysis.findings.check import position_of
    from simkit.analysis.rbac.objects import display_name
    from simkit.analysis.rbac.subject import text_of

    file, line = position_of(finding, dump.origins) or ("", None)
    return {
        "id": ids[id(finding)],
        "check": finding.check,
        "title": finding.title,
        "severity": finding.severity.word,
        "namespace": finding.namespace,
        "team": team_of(finding, teams),
        "subjects": [text_of(subject) for subject in finding.subjects],
        "binding": "" if finding.binding is None else display_name(finding.binding),
        "role": "" if finding.role is None else display_name(finding.role),
        "rules": list(finding.rules),
        "evidence": _evidence(finding, dump),
        "message": finding.message,
        "fix": finding.fix,
        "references": references(finding.check),
        "command": finding.command,
        "manifest": finding.manifest,
        "cause": "" if cause is None else names[cause.key],
        "nature": "" if cause is None else cause.nature.name,
        "product": "" if cause is None else cause.nature.product,
        "file": file,
        "line": line,
    }


def _evidence(finding: Finding, dump: Dump) -> list[dict[str, Any]]:
    """The rules that a finding is about, in words."""
    from simkit.analysis.rbac.tables import rule_text
    from simkit.logic.rbac.rule import rules_of

    role = dump.keyed.get(finding.role) if finding.role is not None else None
    rules = rules_of(role) if role is not None and finding.rules else ()
    return [{"rule": number, "text": rule_text(rules[number])} for number in finding.rules if number < len(rules)]


def _cause(one: Cause, name: str, ids: Mapping[int, str], dump: Dump, *, full: bool) -> dict[str, Any]:
    from simkit.analysis import text_of

    return {
        "id": name,
        "text": one.text,
        "kind": one.kind,
        "nature": one.nature.name,
        "product": one.nature.product,
        "namespace": one.key.namespace,
        "severity": one.severity.word,
        "subjects": list(one.subjects),
        "bound": [text_of(subject) for subject in one.bound],
        "paths": len(one.paths),
        "closes": one.closes,
        "goals": dict(one.goals),
        "through": one.through,
        "reaches": one.reaches,
        "findings": [ids[id(finding)] for finding in one.findings],
        "remedy": _remedy(one.remedy, dump, full=full),
    }


def _remedy(remedy: Remedy, dump: Dump, *, full: bool = True) -> dict[str, Any]:
    """A remedy with its effect by what-if; a short one has the words and the commands there and back alone."""
    told: dict[str, Any] = {"text": remedy.text, "risk": remedy.risk, "commands": remedy.commands()}
    if not remedy:
        return told
    told["way_back"] = remedy.way_back()
    if not full:
        return told
    from simkit.analysis.access.compare import COLUMNS, counted_changes
    from simkit.analysis.rbac.tables import records

    effect = records(remedy.permissions, COLUMNS)
    rows = [
        {"change": row["change"], "subject": row["subject"], "scope": row["scope"], "what": _permission(row)}
        for row in effect[:EFFECTS]
    ]
    return {
        **told,
        "diff": remedy.diff(dump.origins),
        "effect": rows,
        "effects": counted_changes(str(row["change"]) for row in effect),
        "more": len(effect) > EFFECTS,
    }


def _permission(row: Mapping[Any, Any]) -> str:
    if row["verb"] == row["resource"] == "*":
        return "everything"
    what = row["url"] or f"{row['resource']}.{row['api_group']}".rstrip(".")
    return f"{row['verb']} {what}" + (f" {row['name']}" if row["name"] else "")


def _plan(best: RemediationPlan, dump: Dump) -> dict[str, Any]:
    return {
        "before": {"paths": best.paths, "subjects": best.subjects, "findings": best.findings},
        "with_log": best.with_log,
        "diminishing_after": best.diminishing_after,
        "steps": [_step(best, one, dump) for one in best],
    }


def _step(best: RemediationPlan, one: PlanStep, dump: Dump) -> dict[str, Any]:
    return {
        "number": one.number,
        "change": str(one.change),
        "closes": one.closes,
        "remaining": one.remaining,
        "subjects": one.subjects,
        "findings": one.findings,
        "share": round(best.share(one), 4),
        "breaks": list(one.breaks),
        "harm": one.harm,
        "remedy": _remedy(one.remedy, dump),
    }


def _exposure(dump: Dump, request: Request) -> dict[str, Any]:
    """The holders of risky permissions as numbers: rows and columns with the most first."""
    from simkit.analysis.findings.exposure import exposure_counts

    held = exposure_counts(dump.snapshot(), include_defaults=request.include_defaults, members=request.members)
    totals = Counter[str]()
    for counts in held.values():
        totals.update(counts)
    columns = sorted(totals, key=lambda name: (-totals[name], name))
    rows = [(name, [counts.get(column, 0) for column in columns]) for name, counts in held.items()]
    rows.sort(key=lambda row: (row[0] != "*", -sum(row[1]), row[0]))
    return {"columns": columns, "rows": [{"namespace": name, "numbers": numbers} for name, numbers in rows]}
