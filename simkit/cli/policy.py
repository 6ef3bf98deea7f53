"""``simkit policy``: deprecation policies of API versions, and admission policies that close escalation paths."""

from __future__ import annotations

import argparse
import sys

from simkit.cli.output import add_output, write_rows, yaml_text
from simkit.cli.reports import Case, Fault
from simkit.cli.source import add_audit_log, add_source, cluster_of, opened, read_audit_log
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object

DESCRIPTION = "Checks histories of API versions, plans removals, writes policies that close escalation paths."
EXAMPLES = """\
examples:
  simkit policy check api-history.yaml
  simkit policy check --kubernetes flowcontrol.apiserver.k8s.io --edition A
  simkit policy plan api-history.yaml shop.example.com v1 --start 1.36

  simkit policy close cluster.yaml --subject sa:ci/deployer --audit-log audit.log > policies.yaml

A history names releases with dates, and groups with versions: introduced, deprecated, removed, replacement.

close writes an admission policy for an escalation path only if the path can no longer be executed on a copy with the
policy, and if the policy denies no running workload and no request of the audit log.

Exit code: 0 when nothing is broken or open, 1 when something is, 2 for wrong use or an unreadable history.
"""
FOUND = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parts = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    check = parts.add_parser("check", help="list the rules that a history breaks")
    check.add_argument("file", nargs="?", default="", metavar="FILE", help="a history in YAML")
    check.add_argument(
        "--kubernetes", nargs="*", metavar="GROUP", help="check the history of Kubernetes, or of some of its groups"
    )
    check.add_argument("--fields", action="store_true", help="with --kubernetes: also compare the fields of kinds")
    check.add_argument("--gates", action="store_true", help="with --kubernetes: also check feature gates")
    check.add_argument("--edition", default="C", choices=("A", "B", "C"), help="edition of the policy (default C)")
    check.add_argument("--breaches", action="store_true", help="list only violations, not late removals and notices")
    add_output(check, faults=True)
    plan = parts.add_parser("plan", help="print the earliest schedule that the policy allows")
    plan.add_argument("file", metavar="FILE", help="a history in YAML")
    plan.add_argument("group", metavar="GROUP")
    plan.add_argument("target", metavar="VERSION", help="the API version to reach")
    plan.add_argument("--start", default="", metavar="RELEASE", help="the first release that can change something")
    add_output(plan)
    close = parts.add_parser("close", help="write admission policies that close escalation paths")
    close.add_argument("--subject", action="append", metavar="WHO", help="user:alice, group:devs, sa:ns/name")
    close.add_argument("--goal", action="append", metavar="GOAL", help="cluster-admin, 'a node', 'get secrets in ns'")
    add_audit_log(close, "requests that no policy may refuse")
    add_source(close)


def run(args: argparse.Namespace) -> int:
    """Check, plan or close, and return the exit code."""
    actions = {"plan": _plan, "check": _check, "close": _close}
    return actions[args.action](args)


def _close(args: argparse.Namespace) -> int:
    """Write a policy for each path that one closes, and tell the other paths."""
    from simkit.analysis.escalation.find.queries import WELL_KNOWN

    cluster, audit_log = cluster_of(opened(args)), read_audit_log(args)
    manifests: dict[str, Object] = {}
    left = False
    for path in cluster.escalations(args.subject, args.goal or WELL_KNOWN):
        if not path.prove(cluster):
            continue
        found = cluster.closing_policy(path, audit_log=audit_log)
        left = left or not found
        manifests |= {f"{obj['kind']} {obj['metadata']['name']}": obj for obj in found.manifests}
        sys.stderr.write(f"{found}\n")
    sys.stdout.write("---\n".join(yaml_text(obj) for obj in manifests.values()))
    return FOUND if left else 0


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
