"""``simkit check``: access compared with a file of expectations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from simkit.cli import reports
from simkit.cli.flag_types import LEVELS
from simkit.cli.notes import note
from simkit.cli.output import VALUES, add_output, write_report, write_rows
from simkit.cli.reports import Case, Fault
from simkit.cli.source import add_source, cluster_of, opened
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simkit.analysis.access.expectations import Outcome, Suite
    from simkit.seams.snapshot import Snapshot

DESCRIPTION = "Checks access against a YAML file of expectations."
EXAMPLES = """\
examples:
  simkit check expectations.yaml cluster.yaml
  simkit check expectations.yaml cluster.yaml -o junit > report.xml
  simkit check expectations.yaml manifests/ --manifests -o sarif > report.sarif

A file of expectations:

  expectations:
  - name: the deployer can deploy
    can: {subject: "sa:ci/deployer", verb: patch, resource: deployments, namespace: apps}
  - name: nobody outside platform reads secrets of payments
    never: {verb: [get, list], resource: secrets, namespace: payments, except: "group:platform"}
  - name: nobody outside platform becomes cluster-admin in three steps
    never: {goal: cluster-admin, within_hops: 3, except: ["group:platform", "sa:kube-system/*"]}
  - name: somebody can delete nodes
    always: {verb: delete, resource: nodes, by: "group:platform"}

Exit code: 0 when every expectation is met, 1 when one is not, 2 for wrong use or unreadable input.
"""
COLUMNS = ("result", "severity", "expectation", "failures")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("suite", metavar="FILE", help="a YAML file with a list 'expectations'")
    parser.add_argument(
        "--severity", type=str.lower, choices=LEVELS, help="only expectations of this severity or worse"
    )
    add_source(parser, paths=True)
    add_output(parser, faults=True)


def run(args: argparse.Namespace) -> int:
    """Check, write, and return the exit code."""
    from simkit.analysis.access.expectations import check, read_suite

    suite = read_suite(args.suite)
    if args.severity is not None:
        suite = suite.at_least(args.severity)
        if not suite.expectations:
            raise SimkitError(
                f"{args.suite} has no expectation of severity {args.severity} or worse, so nothing was checked"
            )
    dump = opened(args)
    _note_unnamed(dump.snapshot(), suite)
    outcomes = check(dump.snapshot(), suite, sandbox=cluster_of(dump))
    if args.output in reports.FORMS:
        write_report(args.output, cases(outcomes, args.suite), name="check")
    else:
        write_rows(COLUMNS, [_row(each, args.output) for each in outcomes], args.output)
    return 0 if all(each.passed for each in outcomes) else 1


def _note_unnamed(snapshot: Snapshot, suite: Suite) -> None:
    """Tell of subjects that no binding names, of whom it proves little that they cannot do something."""
    from simkit.analysis.rbac.unknown_names import unnamed

    asked = (each.cannot for each in suite.expectations if each.cannot is not None and not each.cannot.groups)
    for told in dict.fromkeys(unnamed(snapshot, subject) for access in asked for subject in access.subject):
        if told:
            note(told)


def _row(outcome: Outcome, form: str) -> dict[str, Any]:
    failures = list(outcome.failures) if form in VALUES else "; ".join(outcome.failures)
    return {
        "result": "met" if outcome.passed else "broken",
        "severity": outcome.expectation.severity,
        "expectation": outcome.expectation.name,
        "failures": failures,
    }


def cases(outcomes: Sequence[Outcome], file: str) -> list[Case]:
    """The outcomes as cases for build servers, placed at the file of the expectations."""
    return [_case(number, each, file) for number, each in enumerate(outcomes)]


def _case(number: int, outcome: Outcome, file: str) -> Case:
    wanted = outcome.expectation
    faults = [Fault(f"{wanted.name}: {failure}", wanted.severity, file) for failure in outcome.failures]
    return Case(f"expectation-{number}", wanted.name, wanted.severity, faults)
