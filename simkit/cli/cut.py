"""``simkit cut``: proposes the cheapest changes that close all paths to a goal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cli import limits
from simkit.cli.flag_types import number
from simkit.cli.notes import note
from simkit.cli.output import add_output, write_rows, write_value
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.questions import note_unknown_subjects
from simkit.cli.source import (
    add_audit_log,
    add_members,
    add_source,
    cluster_of,
    opened,
    read_audit_log,
    read_members,
    refuse_namespace,
)
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import one_line
from simkit.meta.whole_file import write_whole

if TYPE_CHECKING:
    from simkit.analysis import PlanStep, PlanVerified, RemediationPlan
    from simkit.snapshot.dump import Dump


DESCRIPTION = "Proposes changes of bindings and roles that close all escalation paths to a goal."
EXAMPLES = """\
examples:
  simkit cut cluster.yaml --best 5                       # the five changes that close the most paths
  simkit cut cluster.yaml --best 5 --audit-log audit.jsonl --verify -o json
  simkit cut cluster.yaml --best 20 --free --audit-log audit.jsonl
  simkit cut cluster.yaml --best all -o json              # all changes that close a path
  simkit cut cluster.yaml                                # the cheapest set that closes all paths to cluster-admin
  simkit cut cluster.yaml --audit-log audit.jsonl --verify --write cut.yaml
  simkit cut cluster.yaml --goal 'get secrets in payments' --from group:contractors
  simkit cut cluster.yaml --keep sa:argocd/argocd-application-controller --commands

Columns: COST is one for the change, and one for each permission that it takes from a subject, even if the subject has
it elsewhere too (LOSES of simkit causes counts what is really lost); CLOSES counts the paths that the change closes,
and SUBJECTS the subjects of these paths. In a plan, CLOSES and REMAINING count paths after each step, CUMULATIVE
SHARE is the part of all paths that is closed by then, and HARM is what the audit log shows to be in use.

Exit code: 0 if there is nothing to change, 1 if there is, 2 for wrong use or unreadable input.
"""
ALL = "all"
SHOWN = ("cost", "closes", "subjects", "change")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--goal",
        action="append",
        help="what nobody should reach (default: cluster-admin; with --best also: all secrets, a node)",
    )
    told = "propose a plan of the N changes that close the most paths, or of all changes (all)"
    parser.add_argument("--best", type=_changes, metavar="N", help=told)
    parser.add_argument("--free", action="store_true", help="with --best: only changes that remove no access in use")
    parser.add_argument(
        "--from",
        "--subject",
        dest="subject",
        action="append",
        metavar="WHO",
        help="only paths that start at this subject; may be repeated",
    )
    refuse_namespace(parser, "name the goal (--goal 'get secrets in NS')")
    add_audit_log(parser, "the access in use, which the changes keep")
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="WHO",
        help="do not change the access of this subject; may be repeated",
    )
    parser.add_argument(
        "--direct", action="store_true", help="also remove access from subjects that already hold the goal"
    )
    parser.add_argument(
        "--verify", action="store_true", help="apply the changes to a copy and check that the paths are closed"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the changed objects as YAML")
    parser.add_argument("--commands", action="store_true", help="print the changes as kubectl commands")
    add_plot(parser)
    add_members(parser)
    add_source(parser, paths=True)
    add_output(parser)


def _changes(text: str) -> int | str:
    """A number of changes from 1 on, or ``all``."""
    return text if text == ALL else number(text)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis.escalation import cut

    if args.best is None and (args.free or len(args.goal or ()) > 1):
        raise SimkitError("--free and several goals need --best N")
    if args.best is None and args.plot is not None:
        raise SimkitError("--plot draws a plan and needs --best N")
    dump = opened(args)
    note_unknown_subjects(dump.snapshot(), args)
    if args.best is not None:
        return run_plan(dump, args)
    made = cut(
        dump.snapshot(),
        (args.goal or ("cluster-admin",))[0],
        subject=args.subject,
        audit_log=read_audit_log(args),
        keep=args.keep,
        direct=args.direct,
        members=read_members(args),
    )
    rows = made.to_frame().to_dict("records")
    left = [{"subject": path.subject, "primitives": path.primitives} for path in made.left]
    if args.output in ("json", "yaml"):
        told = {"goal": made.goal.name, "cost": made.cost, "exact": made.exact, "changes": rows, "left": left}
        write_value(told, args.output)
    elif args.commands:
        limits.repeat_if_quiet()
        print("\n".join(made.commands()))
    else:
        write_rows(tuple(made.to_frame().columns), rows, args.output, shown=SHOWN, empty="there is nothing to cut")
    for path in made.left:
        note(one_line(f"left open: {path.subject}: {path.words}"))
    if args.write:
        write_whole(args.write, made.yaml())
        note(f"wrote the changed objects to {args.write}")
    if args.verify:
        verified = made.verify(cluster_of(dump))
        note(str(verified))
        if not verified:
            raise SimkitError("on a fork, the changes do not close all paths")
    return 1 if rows or left else 0


PLANNED = ("step", "closes", "remaining", "cumulative_share", "harm", "change", "risk")


def run_plan(dump: Dump, args: argparse.Namespace) -> int:
    """Propose a plan, write it, verify it where that is wanted, and return the exit code."""
    from simkit.analysis import remediation_plan
    from simkit.analysis.escalation.find.queries import WELL_KNOWN

    made = remediation_plan(
        dump.snapshot(),
        goal=args.goal or WELL_KNOWN,
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
            raise SimkitError("on a fork, the plan does not close what it claims")
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
        write_rows(tuple(frame.columns), rows, args.output, shown=PLANNED, empty=empty)
        if args.output == "table":
            paths = f"{counted(made.paths, 'path')} of {counted(made.subjects, 'subject')} to {', '.join(made.goals)}"
            fewer = f"; steps after step {last} close much less" if len(rows) > last else ""
            note(one_line(f"before step 1: {paths}, and {counted(made.findings, 'finding')}{fewer}"))
            if len(rows) > 1:
                note("each step counts the paths that the steps before it leave open")
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
