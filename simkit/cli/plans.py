"""``simkit cut --best N``: the plan of a few changes, as rows and as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simkit.cli.notes import note
from simkit.cli.output import write_rows, write_value
from simkit.cli.pictures import write_plot
from simkit.cli.source import cluster_of, read_audit_log, read_members
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import one_line
from simkit.meta.whole_file import write_whole

if TYPE_CHECKING:
    from simkit.analysis import PlanStep, PlanVerified, RemediationPlan
    from simkit.snapshot.dump import Dump

SHOWN = ("step", "closes", "remaining", "cumulative_share", "harm", "change", "risk")
GOALS = ("cluster-admin", "all secrets", "a node")


def run_plan(dump: Dump, args: argparse.Namespace) -> int:
    """Propose a plan, write it, verify it where that is wanted, and return the exit code."""
    from simkit.analysis import remediation_plan

    made = remediation_plan(
        dump.snapshot(),
        goal=args.goal or GOALS,
        best=args.best if isinstance(args.best, int) else None,
        free=args.free,
        subject=args.subject,
        audit_log=read_audit_log(args),
        keep=args.keep,
        members=read_members(args),
    )
    verified = made.verify(cluster_of(dump)) if args.verify else None
    write_plot(made, args)
    _write(made, verified, dump, args)
    if args.write:
        write_whole(args.write, "---\n".join(step.remedy.yaml() for step in made))
        note(f"wrote the changed objects to {args.write}")
    if verified is not None:
        print(verified, file=sys.stderr)
        if not verified:
            raise SimkitError("the plan does not hold on a fork")
    return 1 if made.paths else 0


def _write(made: RemediationPlan, verified: PlanVerified | None, dump: Dump, args: argparse.Namespace) -> None:
    from simkit.analysis.rendering import counted

    frame = made.to_frame()
    rows, last = frame.to_dict("records"), made.diminishing_after
    if args.output in ("json", "yaml"):
        checks = [None] * len(rows) if verified is None else verified.to_dict()["rows"]
        shared = {"goals": made.goals, "paths_before": made.paths, "with_audit_log": made.with_log}
        changes = [
            {**row, **_details(step, dump), **shared, "diminishing_after": number == last, "verified": checked}
            for number, (row, step, checked) in enumerate(zip(rows, made, checks), start=1)
        ]
        write_value(changes, args.output)
    elif args.commands:
        print("\n".join(made.commands()))
    else:
        empty = "no change closes a path" if made.paths else "there is nothing to cut"
        write_rows(tuple(frame.columns), rows, args.output, shown=SHOWN, empty=empty)
        if args.output == "table":
            paths = f"{counted(made.paths, 'path')} of {counted(made.subjects, 'subject')} to {', '.join(made.goals)}"
            fewer = f"; steps after {last} close fewer" if len(rows) > last else ""
            note(one_line(f"before step 1: {paths}, and {counted(made.findings, 'finding')}{fewer}"))
            if not made.with_log:
                note("HARM is estimated from pods and known products; --audit-log shows what is in use")


def _details(step: PlanStep, dump: Dump) -> Mapping[str, Any]:
    """The details for JSON only."""
    return {
        "commands": step.remedy.commands(),
        "way_back": step.remedy.way_back(),
        "diff": step.remedy.diff(dump.origins),
        "closed": [f"{path.subject} -> {path.goal}" for path in step.closed],
    }
