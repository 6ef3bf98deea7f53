"""``simkit audit``: checks of the RBAC of a Kubernetes cluster."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.findings.references import FRAMEWORKS, framework_named, references
from simkit.analysis.rendering import counted
from simkit.cli import causes, limits, reports
from simkit.cli.audit_report import earlier_report, grown, write_audit_report
from simkit.cli.flag_types import LEVELS
from simkit.cli.notes import note, note_skipped
from simkit.cli.output import add_output, json_text, write_report, write_rows, write_value
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.source import (
    add_include_defaults,
    add_managed,
    add_members,
    add_namespace,
    add_source,
    opened,
    paths_of,
    read_members,
    warn_of_unknown_namespace,
)
from simkit.meta import datasets
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.whole_file import write_whole
from simkit.present.escaping import markdown_cell

if TYPE_CHECKING:
    from simkit.analysis.causes import Causes
    from simkit.analysis.findings import Audit, Finding
    from simkit.analysis.findings.suppress import Accepted, SuppressedAudit
    from simkit.snapshot.dump import Dump

DESCRIPTION = "Checks the RBAC roles and bindings of a Kubernetes cluster and lists findings, the worst first."
EXAMPLES = f"""\
examples:
  simkit audit cluster.yaml
  simkit audit cluster.yaml -n payments --severity medium
  simkit audit cluster.yaml --framework cis          # controls of the CIS Kubernetes Benchmark
  simkit audit cluster.yaml --stale                  # bindings and roles that nobody needs any more
  simkit audit dumps/ --fail-on high --output markdown
  simkit audit cluster.yaml --html report.html --json report.json --sarif report.sarif --excel findings.xlsx
  simkit audit cluster.yaml --html report.html --since last-week.json --audit-log audit.jsonl
  simkit audit cluster.yaml --json today.json --since yesterday.json --fail-on-new   # a scheduled run
  simkit audit cluster.yaml --suppress accepted.yaml -o sarif > audit.sarif
  simkit audit cluster.yaml --write-baseline known.json
  simkit audit cluster.yaml --baseline known.json
  simkit audit cluster.yaml --rules our-checks.yaml --managed auto --members groups.yaml
  simkit audit --demo

{causes.LEGEND}

A file of rules has a list 'rules'. Each entry has id, title, severity, each (binding, grant or rule) and when, an
expression such as "binding.namespace == 'prod' && subject.kind == 'User'".

A file of suppressions has a list 'suppressions'. Each entry has a reason, and says which findings it accepts (check,
namespace, binding, role, subject, fingerprint; * matches any text). 'expires' is its last day.

Exit code: 0 if no finding reaches the severity of --fail-on, 1 if one does, 2 for wrong use or unreadable input.
"""
SHOWN = ("severity", "check", "namespace", "message")


CAUSES: Final = 10
"""The root causes that stand before the findings."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    _add_reports(parser)
    parser.add_argument(
        "--fail-on",
        type=str.lower,
        choices=(*LEVELS, "never"),
        default="high",
        help="exit with 1 if there is a finding of this severity or worse (default: high)",
    )
    parser.add_argument(
        "--show",
        type=str.lower,
        choices=LEVELS,
        help="list findings of this severity or worse in tables (default: high)",
    )
    _add_filters(parser)
    parser.add_argument(
        "--framework",
        type=str.lower,
        choices=FRAMEWORKS,
        help="list the controls of the CIS benchmark, the NSA/CISA guide or MITRE ATT&CK, with their findings alone",
    )
    parser.add_argument("--check", action="append", metavar="ID", help="run only this check; may be repeated")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="run only the checks for leftovers: unused roles, duplicate or empty bindings, missing roles and subjects",
    )
    add_include_defaults(parser)
    add_managed(parser)
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a YAML file with your own checks, written in CEL")
    add_members(parser)
    add_plot(parser)
    _add_accepting(parser)
    add_source(parser, paths=True)
    add_output(parser, faults=True)


def _add_reports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a report with causes, plan, escalation paths and all findings"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same report as JSON")
    parser.add_argument("--excel", type=Path, metavar="FILE", help="write the findings as an Excel file")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings as SARIF")
    parser.add_argument(
        "--since",
        type=Path,
        metavar="FILE",
        help="an earlier report (--json) to compare with: lists what is new, worse and gone",
    )
    parser.add_argument(
        "--fail-on-new", action="store_true", help="with --since: exit with 1 only for findings that are new or worse"
    )
    parser.add_argument(
        "--audit-log",
        action="append",
        metavar="PATH",
        help="an audit log: marks access in use, and names who made each new object",
    )
    parser.add_argument(
        "--prove", action="store_true", help="execute every escalation path for the report, not only ten"
    )


def _add_filters(parser: argparse.ArgumentParser) -> None:
    told = "only findings of this severity or worse, in all formats"
    parser.add_argument("--severity", type=str.lower, choices=LEVELS, help=told)
    add_namespace(parser, "only findings about this namespace")


def _add_accepting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suppress", type=Path, metavar="FILE", help="a YAML file with accepted findings and the reasons"
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="skip findings that an earlier audit wrote with --write-baseline"
    )
    parser.add_argument(
        "--write-baseline", type=Path, metavar="FILE", help="write all findings to a file, and exit with 0"
    )


def run(args: argparse.Namespace) -> int:
    """Audit, write, and return the exit code."""
    from simkit import analysis

    if args.stale:
        args.check, args.show = [*(args.check or ()), "stale"], args.show or "info"
    earlier = earlier_report(args)
    dump = opened(args)
    warn_of_unknown_namespace(dump, args.namespace)
    paths = [datasets.DEMO] if args.demo else paths_of(args)
    file = (paths or ["cluster"])[0]
    made = analysis.audit(
        dump.snapshot(),
        include_defaults=args.include_defaults,
        checks=args.check,
        members=read_members(args),
        managed=args.managed,
        rules=analysis.read_rules(args.rules) if args.rules is not None else (),
        severity=args.severity,
        namespace=args.namespace,
        framework=args.framework,
    )
    sifted = _sifted(made, args)
    found = sifted.audit
    if args.write_baseline is not None:
        return _write_baseline(found, args.write_baseline)
    write_plot(found, args)
    grouped = None
    if args.output in reports.FORMS:
        least = None if args.output == "sarif" else args.fail_on  # JUnit: findings count from --fail-on
        write_report(args.output, audit_cases(sifted, dump, file, least, args.check), name="audit")
    else:
        grouped = _write(found, sifted.accepted, dump, args)
    note_skipped(found.set_aside)
    _remark(sifted)
    if args.excel is not None:
        found.to_excel(args.excel)
        note(f"the findings are in {args.excel}")
    if args.sarif is not None:
        cases = audit_cases(sifted, dump, file, None, args.check)
        write_whole(args.sarif, json_text(reports.sarif(cases, limits.caveats(), name="simkit-audit")))
        note(f"the findings are in {args.sarif}")
    changes = None
    if args.html is not None or args.json is not None or earlier is not None:
        of_report = None if sifted.accepted else grouped  # a report groups accepted findings, too
        changes = write_audit_report(dump, sifted, _name(paths, args), args, earlier, of_report)
    if args.demo or args.fail_on == "never":
        return 0
    if args.fail_on_new and changes is not None:
        return 1 if grown(changes, args.fail_on) else 0
    return 1 if len(found.filter(severity=args.fail_on)) else 0


def _name(paths: list[str], args: argparse.Namespace) -> str:
    """The name of the audited cluster, for the head of a report."""
    return ", ".join(Path(path).name for path in paths) or f"context {args.context or '(the current one)'}"


def _sifted(found: Audit, args: argparse.Namespace) -> SuppressedAudit:
    """The audit without what the files of the options accept."""
    from simkit.analysis.findings.suppress import apply_suppressions, read_baseline, read_suppressions

    own = found.checks
    accepted = read_suppressions(args.suppress, own).suppressions if args.suppress is not None else ()
    known = read_baseline(args.baseline) if args.baseline is not None else frozenset[str]()
    return apply_suppressions(found, accepted, known, today=datetime.now(tz=UTC).date())


def _write_baseline(found: Audit, target: Path) -> int:
    from simkit.analysis.findings.suppress import baseline

    write_whole(target, json_text(baseline(found.findings)))
    note(f"Wrote {counted(len(found.findings), 'finding')} to {target}")
    return 0


def _remark(sifted: SuppressedAudit) -> None:
    """Write to standard error which findings were accepted, and which suppressions need attention."""
    if sifted.accepted:
        note(f"Left out {counted(len(sifted.accepted), 'accepted finding')}")
    for each in sifted.expired:
        note(f"a suppression expired on {each.expires}, but the finding still exists: {each.reason}")
    for each in sifted.unused:
        note(f"a suppression matches no finding: {each.reason}")


def audit_cases(
    sifted: SuppressedAudit, dump: Dump, file: str, least: str | None = None, checks: Sequence[str] | None = None
) -> list[reports.Case]:
    """One case for each check, with its findings placed at the binding, role, account or namespace in the dump.

    ``least`` leaves out findings that are less severe, ``never`` all.
    """
    skipped = {one.check: one.reason for one in sifted.audit.skipped}
    reasons = [(each.finding, each.reason) for each in sifted.accepted]
    faults: dict[str, list[reports.Fault]] = {}
    for finding, reason in [*((each, "") for each in sifted.audit.findings), *reasons]:
        if least is None or (least != "never" and finding.severity >= type(finding.severity).named(least)):
            faults.setdefault(finding.check, []).append(_fault(finding, dump, file, reason))
    return [
        reports.Case(
            each.id,
            each.title,
            each.severity.word,
            faults.get(each.id, ()),
            each.why,
            skipped.get(each.id, ""),
            each.fix,
            references(each.id),
        )
        for each in sifted.audit.checks
        if checks is None or each.id in checks
    ]


def _fault(finding: Finding, dump: Dump, file: str, reason: str) -> reports.Fault:
    from simkit.analysis.findings.check import position_of
    from simkit.analysis.findings.suppress import fingerprint

    where, line = position_of(finding, dump.origins) or (file, None)
    message = f"{finding.message} {finding.fix}".strip()
    return reports.Fault(message, finding.severity.word, where, line or 1, fingerprint(finding), reason)


def _write(found: Audit, accepted: Sequence[Accepted], dump: Dump, args: argparse.Namespace) -> Causes | None:
    """Write the audit, and give back its causes where they are written."""
    from simkit.analysis.findings.audit import COLUMNS

    grouped = None
    if args.output in ("json", "yaml"):
        skipped = [{"check": one.check, "reason": one.reason} for one in found.skipped]
        aside = [{"check": one.finding.check, "message": one.finding.message, "reason": one.reason} for one in accepted]
        told = {"counts": found.counts(), "findings": found.to_records(), "skipped": skipped, "accepted": aside}
        if args.framework:
            told["controls"] = framework_named(args.framework).rows(found)
        write_value(told, args.output)
    elif args.output in ("table", "markdown"):
        if args.framework:
            _write_controls(found, args)
        elif not args.check:
            grouped = _write_causes(found, dump, args)
        _write_tables(found, args)
    else:
        write_rows(COLUMNS, found.to_records(), args.output, shown=SHOWN)
    return grouped


def _write_causes(found: Audit, dump: Dump, args: argparse.Namespace) -> Causes | None:
    """Write the table that one reads first: what to look at, and what to change there."""
    from simkit.analysis import escalations
    from simkit.analysis.causes import group_causes

    snapshot, members = dump.snapshot(), read_members(args)
    try:
        paths = tuple(escalations(snapshot, include_defaults=args.include_defaults, members=members))
        grouped = group_causes(snapshot, found.findings, paths, members=members, managed=args.managed)
    except IncompleteSnapshot as error:
        note(f"root causes and escalation paths are left out: {error}")
        return None
    kept = grouped.filter(severity=args.severity, namespace=args.namespace)
    if kept:
        write_rows(causes.SHOWN, kept[:CAUSES].to_records(), args.output)
        more = f"... and {len(kept) - CAUSES} more root causes; `simkit causes` lists them\n\n"
        print(f"\n{more if len(kept) > CAUSES else ''}{counted(len(found.findings), 'finding')}:\n")
    return grouped


def _write_controls(found: Audit, args: argparse.Namespace) -> None:
    """Write a table of the controls of a framework, and which of them simkit does not check."""
    framework = framework_named(args.framework)
    print(f"{framework.title}, version {framework.version}:\n")
    rows = [{**row, "findings": _number(row)} for row in framework.rows(found) if row["checks"]]
    write_rows(("control", "findings", "worst", "title"), rows, args.output)
    print("\nNot checked by simkit:\n")
    left = [{"control": control.id, "title": control.title} for control in framework.unchecked]
    write_rows(("control", "title"), left, args.output)
    print()


def _number(row: Mapping[str, Any]) -> str:
    """The number of findings of a control, with the checks that could not run."""
    return ", ".join((str(row["findings"]), *(f"{name} skipped" for name in row["skipped"])))


def _write_tables(found: Audit, args: argparse.Namespace) -> None:
    """Write two tables: the number of findings of each check, and the findings above the severity threshold."""
    counted_rows = [
        {**row, "worst": row["severity"], "findings": _in_words(row["severities"])} for row in found.summary_records()
    ]
    write_rows(("worst", "check", "findings", "title"), counted_rows, args.output, empty="there are no findings")
    least = args.show or args.severity or "high"
    shown = found.filter(severity=least)
    rows = [{**{name: getattr(one, name) for name in SHOWN}, "severity": one.severity.word} for one in shown]
    told = f"{len(shown)} of {counted(len(found.findings), 'finding')} {'is' if len(shown) == 1 else 'are'}"
    print(f"\n{told} {least} or worse{':' if shown else ''}\n")
    if shown:
        write_rows(SHOWN, rows, args.output)
    print(f"\n{_in_words(found.counts())}")
    for one in found.skipped:
        print(f"skipped {one.check}: {markdown_cell(one.reason) if args.output == 'markdown' else one.reason}")


def _in_words(counts: Any) -> str:
    """The number of findings of each severity."""
    return ", ".join(f"{number} {word}" for word, number in counts.items())
