"""``simkit policy``: checks a history against the deprecation policy, or plans the earliest schedule that keeps it."""

from __future__ import annotations

import argparse
from typing import Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.reports import Case, Fault
from simkit.meta.errors import SimkitError

EXAMPLES = """\
examples:
  simkit policy check api-history.yaml
  simkit policy check --kubernetes flowcontrol.apiserver.k8s.io --edition A
  simkit policy plan api-history.yaml shop.example.com v1 --start 1.36

A history names releases with dates, and groups with versions: introduced, deprecated, removed, replacement.

Exit code: 0 when nothing is broken, 1 when something is, 2 for wrong use or an unreadable history.
"""
FOUND = 1


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "policy",
        help="check API versions against the deprecation policy of Kubernetes",
        description="Checks a history of API versions against the deprecation policy, and plans removals.",
        epilog=EXAMPLES,
    )
    parts = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    check = parts.add_parser("check", help="list the rules that a history breaks")
    check.add_argument("file", nargs="?", default="", metavar="FILE", help="a history in YAML")
    check.add_argument(
        "--kubernetes", nargs="*", metavar="GROUP", help="check the history of Kubernetes, or of some of its groups"
    )
    check.add_argument("--fields", action="store_true", help="with --kubernetes: also compare the fields of kinds")
    check.add_argument("--gates", action="store_true", help="with --kubernetes: also check feature gates")
    check.add_argument("--edition", default="C", choices=("A", "B", "C"), help="edition of the policy (default C)")
    check.add_argument(
        "--breaches", action="store_true", help="list only violations, without late removals and notices"
    )
    add_output(check, faults=True)
    plan = parts.add_parser("plan", help="print the earliest schedule that the policy allows")
    plan.add_argument("file", metavar="FILE", help="a history in YAML")
    plan.add_argument("group", metavar="GROUP")
    plan.add_argument("target", metavar="VERSION", help="the API version to reach")
    plan.add_argument("--start", default="", metavar="RELEASE", help="the first release that can change something")
    add_output(plan)
    return parser


def run(args: argparse.Namespace) -> int:
    """Check or plan, and return the exit code."""
    return _plan(args) if args.action == "plan" else _check(args)


def _check(args: argparse.Namespace) -> int:
    from simkit.logic.lifecycle import check, of_releases, read_history

    if bool(args.file) == (args.kubernetes is not None):
        raise SimkitError("name a file with a history, or add --kubernetes")
    if args.file:
        history = read_history(args.file)
    else:
        history = of_releases(args.kubernetes or None, fields=args.fields, gates=args.gates)
    found = check(history, edition=args.edition)
    shown = [each for each in found if each.weight == "breach" or not args.breaches]
    rows = [
        {
            "rule": each.rule,
            "weight": each.weight,
            "element": each.element,
            "evidence": each.evidence,
            "complies_from": str(each.earliest) if each.earliest else "",
            "provided": each.provided,
        }
        for each in shown
    ]
    file = args.file or "kubernetes"
    write_rows(
        ("rule", "weight", "element", "evidence", "complies_from", "provided"),
        rows,
        args.output,
        empty="nothing breaks the policy",
        cases=lambda: _cases([row for row in rows if row["weight"] == "breach" or args.output == "sarif"], file),
    )
    return FOUND if any(each.weight == "breach" for each in found) else 0


def _cases(rows: list[dict[str, str]], file: str) -> list[Case]:
    """One case for each broken rule."""
    faults: dict[str, list[Fault]] = {}
    for row in rows:
        severity = "high" if row["weight"] == "breach" else "low"
        faults.setdefault(row["rule"], []).append(Fault(f"{row['element']}: {row['evidence']}", severity, file))
    return [Case(f"rule-{rule}", f"rule {rule} of the deprecation policy", "high", faults[rule]) for rule in faults]


def _plan(args: argparse.Namespace) -> int:
    from simkit.logic.lifecycle import plan, read_history

    made = plan(read_history(args.file), args.group, args.target, start=args.start)
    rows = [
        {
            "release": step.release.name,
            "date": f"{step.release.day}" + (" (expected)" if step.release.expected else ""),
            "action": step.action,
            "version": step.element,
            "rule": step.rule,
        }
        for step in made.steps
    ]
    write_rows(("release", "date", "action", "version", "rule"), rows, args.output)
    return 0
