"""``simkit audit``: what to look at in a cluster's access control."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cli.dump import add_release, demo_path, read
from simkit.cli.output import add_output, json_text, write_rows
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.analysis.findings import Audit, Finding

EXAMPLES = """\
examples:
  simkit audit cluster.yaml
  simkit audit dumps/ --fail-on high --output markdown
  simkit audit cluster.yaml --html report.html
  simkit audit --demo

Exit code: 0 when nothing is as bad as --fail-on, 1 when something is, 2 for wrong use or unreadable input.
"""
LEVELS = ("info", "low", "medium", "high", "critical")
SHOWN = ("severity", "check", "namespace", "message")
DEMO_REPORT = Path("build/rbac-audit.html")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "audit",
        help="what to look at in a cluster's access control",
        description="Checks roles and bindings, and lists what an auditor should look at, worst first.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", nargs="*", metavar="PATH", help="what kubectl wrote: files, folders, archives")
    parser.add_argument(
        "--demo", action="store_true", help=f"audit the cluster that comes along, and write {DEMO_REPORT}"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report that stands alone, with figures")
    parser.add_argument("--fail-on", choices=(*LEVELS, "never"), default="high", help="exit with 1 from here on (high)")
    parser.add_argument("--show", choices=LEVELS, default="high", help="what to list in tables, or worse (high)")
    parser.add_argument("--check", action="append", metavar="ID", help="make only this check; may be repeated")
    parser.add_argument("--include-defaults", action="store_true", help="look at the server's own objects too")
    add_release(parser)
    add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Audit, write, and return the exit code."""
    from simkit.analysis.findings import audit

    if args.demo == bool(args.path):
        raise SimkitError("say what to audit: one or more paths, or --demo")
    paths = [demo_path()] if args.demo else args.path
    found = audit(read(paths, args), include_defaults=args.include_defaults, checks=args.check)
    _write(found, args)
    html = args.html or (DEMO_REPORT if args.demo else None)
    if html is not None:
        from simkit.cluster.report.report import write_report

        write_report(paths[0], html, release=args.release, include_defaults=args.include_defaults)
        print(f"The report is in {html}", file=sys.stderr)
    if args.demo or args.fail_on == "never":
        return 0
    return 1 if found.at_least(args.fail_on) else 0


def _write(found: Audit, args: argparse.Namespace) -> None:
    rows = found.frame().to_dict("records")
    if args.output == "json":
        skipped = [{"check": one.check, "reason": one.reason} for one in found.skipped]
        print(json_text({"counts": found.counts(), "findings": rows, "skipped": skipped}), end="")
    elif args.output == "csv":
        write_rows(tuple(found.frame().columns), rows, "csv")
    else:
        _write_tables(found, args)


def _write_tables(found: Audit, args: argparse.Namespace) -> None:
    """Two tables: how often each check found something, and the findings that are bad enough to be shown."""
    summary = found.summary()[["severity", "check", "findings", "title"]].to_dict("records")
    write_rows(("severity", "check", "findings", "title"), summary, args.output)
    shown = found.at_least(args.show)
    rows = [{**_columns(finding), "severity": finding.severity.word} for finding in shown]
    print(f"\n{len(shown)} of {len(found.findings)} findings are {args.show} or worse:\n")
    write_rows(SHOWN, rows, args.output)
    print(f"\n{', '.join(f'{number} {word}' for word, number in found.counts().items())}")
    for one in found.skipped:
        print(f"skipped {one.check}: {one.reason}")


def _columns(finding: Finding) -> dict[str, Any]:
    """The columns of a finding that tables show."""
    return {name: getattr(finding, name) for name in SHOWN}
