"""``simkit causes``: findings and escalation paths by what causes them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simkit.cli import reports
from simkit.cli.flag_types import LEVELS
from simkit.cli.output import COMPLETE, add_output, write_rows, write_value
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

if TYPE_CHECKING:
    from simkit.analysis import Cause, Causes
    from simkit.snapshot.dump import Dump

LEGEND = """\
Natures: mistake, unused (no pod runs as the service account), administrators (confirm that they should be), product (an
installed product needs it), server (a Kubernetes default).

Columns: PATHS counts the escalation paths that begin with the cause; CLOSES counts the paths that the remedy closes,
also those of other causes; LOSES counts the permissions that the remedy removes."""
DESCRIPTION = "Groups findings and escalation paths by the binding, role, label or missing object behind them."
EXAMPLES = f"""\
examples:
  simkit causes cluster.yaml
  simkit causes cluster.yaml -o json
  simkit causes cluster.yaml --nature mistake --goal cluster-admin
  simkit causes cluster.yaml --all -o csv > causes.csv

{LEGEND}

With -o wide: SHARE is PATHS as a part of all paths, and THROUGH counts the paths that begin elsewhere and use the cause
in a later step; their subjects may have another way.

Exit code: 0 if there is no cause, 1 if there is one, 2 for wrong use or unreadable input.
"""
SHOWN = ("nature", "severity", "closes", "loses", "paths", "findings", "cause", "remedy")
NATURES = ("mistake", "unused", "administrators", "product", "server")
MOST = 25
"""Causes that a table for people shows, unless it is asked for all."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--goal",
        action="append",
        metavar="GOAL",
        help="only paths to this goal, such as cluster-admin; may be repeated",
    )
    parser.add_argument("--nature", action="append", choices=NATURES, help="only causes of this nature; repeatable")
    told = "only causes of this severity or worse"
    parser.add_argument("--severity", type=str.lower, choices=LEVELS, help=told)
    add_namespace(parser, "only causes in this namespace, or of findings in it")
    parser.add_argument("--all", action="store_true", help=f"list all causes in tables, not only the first {MOST}")
    add_include_defaults(parser)
    add_managed(parser)
    add_plot(parser)
    add_members(parser)
    add_source(parser, paths=True)
    add_output(parser, faults=True)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis import causes
    from simkit.analysis.escalation.find.queries import WELL_KNOWN

    dump = opened(args)
    found = causes(
        dump.snapshot(),
        goal=args.goal or WELL_KNOWN,
        include_defaults=args.include_defaults,
        members=read_members(args),
        managed=args.managed,
    )
    warn_of_unknown_namespace(dump, args.namespace)
    found = found.filter(severity=args.severity, namespace=args.namespace, nature=args.nature)
    write_plot(found, args)
    _write(found, dump, args)
    return 1 if found else 0


def _write(found: Causes, dump: Dump, args: argparse.Namespace) -> None:
    frame = found.to_frame()
    rows = frame.to_dict("records")
    for row, one in zip(rows, found):
        row["goals"] = dict(one.goals)
    if args.output in ("json", "yaml"):
        every = [{**row, **_details(one)} for row, one in zip(rows, found)]
        write_value(every, args.output)
        return
    hidden = 0
    if args.output not in (*COMPLETE, *reports.FORMS) and not args.all:
        rows, hidden = rows[:MOST], max(len(rows) - MOST, 0)
    write_rows(tuple(frame.columns), rows, args.output, shown=SHOWN, cases=lambda: _cases(found, dump, args))
    if hidden:
        print(f"\n... and {hidden} more; --all lists them, --nature chooses")


def _details(one: Cause) -> Mapping[str, Any]:
    """The details for JSON only: names, fingerprints and the way back."""
    from simkit.analysis.findings.suppress import fingerprint

    return {
        "subject_names": one.subjects,
        "finding_ids": [fingerprint(finding) for finding in one.findings],
        "commands": one.remedy.commands(),
        "way_back": one.remedy.way_back(),
        "risk": one.remedy.risk,
    }


def _cases(found: Causes, dump: Dump, args: argparse.Namespace) -> list[reports.Case]:
    """One case for each nature, with a fault for each cause, at the place of its object."""
    file = (paths_of(args) or ["cluster"])[0]
    faults: dict[str, list[reports.Fault]] = {}
    for one in found:
        where, line = dump.origins.get(one.key) or (file, None)
        message = f"{one.text}: {len(one.paths)} paths, {len(one.findings)} findings. {one.remedy.text}"
        faults.setdefault(one.nature.name, []).append(
            reports.Fault(message, one.severity.word, where, line or 1, f"{one.kind}:{one.key}")
        )
    return [
        reports.Case(f"cause-{name}", f"no cause of the nature {name}", "high", faults.get(name, ()))
        for name in NATURES
    ]
