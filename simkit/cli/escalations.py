"""``simkit escalations``: paths of privilege escalation, step by step."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from simkit.cli import reports
from simkit.cli.flag_types import LEVELS, number
from simkit.cli.notes import note, note_skipped
from simkit.cli.output import COMPLETE, VALUES, add_output, write_rows, write_text
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.questions import note_unknown_subjects
from simkit.cli.source import (
    add_include_defaults,
    add_members,
    add_source,
    cluster_of,
    dump_of,
    opened,
    paths_of,
    read_members,
    refuse_namespace,
)
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from simkit.analysis.escalation import Escalations, Proofs
    from simkit.cli.tables import Row
    from simkit.seams.snapshot import Snapshot
    from simkit.snapshot.dump import Dump

DESCRIPTION = "Finds ways to escalate to cluster-admin, nodes and secrets, and executes them on a copy."
EXAMPLES = """\
examples:
  simkit escalations cluster.yaml
  simkit escalations cluster.yaml --subject sa:ci/runner --each --prove
  simkit escalations cluster.yaml --subject sa:ci/runner --limit 1 --prove --details      # the shortest path
  simkit escalations cluster.yaml --subject 'sa:*' --goal cluster-admin      # which service accounts reach it
  simkit escalations cluster.yaml --goal cluster-admin --max-hops 3 --allow 'group:platform-*'
  simkit escalations cluster.yaml --goal 'list secrets in payments' -o json
  simkit escalations cluster.yaml --subject pod:shop/web-0 --radius
  simkit escalations role.yaml --manifests --risky-permissions --prove
  simkit escalations new.yaml --before old.yaml

Exit code: 0 when there is no path (no risky permission, nothing new), 1 when there is one, 2 for wrong use or input
that cannot be read.
"""
SHOWN = ("subject", "goal", "steps", "path")
HELD = ("subject", "primitive", "severity", "title", "verdict", "reason")
PROVEN = ("subject", "goal", "verdict", "requests", "steps", "reason")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--subject",
        "--from",
        "--as",
        action="append",
        metavar="WHO",
        help="user:alice, group:devs, sa:ns/name, pod:ns/name, or a pattern such as 'sa:*'",
    )
    parser.add_argument(
        "--goal", "--to", action="append", metavar="GOAL", help="cluster-admin, 'a node', 'get secrets in ns'"
    )
    parser.add_argument("--limit", type=number, metavar="N", help="only the N shortest paths")
    told = "only paths of this severity or worse"
    parser.add_argument("--severity", type=str.lower, choices=LEVELS, help=told)
    refuse_namespace(parser, "name the subject (--subject sa:NS/NAME) or the goal (--goal 'get secrets in NS')")
    parser.add_argument("--max-hops", type=int, metavar="N", help="only paths of at most N steps")
    parser.add_argument(
        "--each", action="store_true", help="list a path for each first step, not only the shortest one"
    )
    parser.add_argument("--direct", action="store_true", help="also list subjects that already hold the goal")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHO",
        help="leave out paths of this subject, which may reach the goal (* matches any text)",
    )
    parser.add_argument("--prove", action="store_true", help="execute each path on a fork of the cluster")
    parser.add_argument("--details", action="store_true", help="print every step and request")
    parser.add_argument(
        "--radius", action="store_true", help="list everything that the subject can reach, instead of paths"
    )
    parser.add_argument(
        "--risky-permissions",
        action="store_true",
        help="list risky permissions, even if the cluster has no object to use them on",
    )
    parser.add_argument("--before", metavar="PATH", help="an earlier dump: list only paths that are new or closed")
    add_plot(parser)
    parser.add_argument(
        "--graph", metavar="FILE", help="write the steps as a graph: .graphml, .parquet, or .json for BloodHound"
    )
    add_include_defaults(parser)
    add_members(parser)
    add_source(parser, paths=True)
    add_output(parser, faults=True)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    dump = opened(args)
    snapshot = dump.snapshot()
    if args.radius:
        return _radius(snapshot, args)
    if args.risky_permissions:
        return _risky_permissions(dump, args)
    if args.before:
        return _compared(snapshot, args)
    if args.details and args.output in ("csv", "html", *reports.FORMS):
        raise SimkitError("--details works with the formats table, markdown, json and yaml")
    found = _found(snapshot, args)
    write_plot(found, args)
    if args.graph:
        from simkit.analysis.graph_files import write_graph

        note(f"wrote the graph to {write_graph(found.to_networkx(), args.graph)}")
    note_skipped(found.skipped, "path")
    if len(found) and _patterns(args) and not args.direct:
        note("subjects that already hold the goal are not listed; --direct lists them")
    empty = "no step is needed" if found.held else "no path was found"
    if args.prove:
        proofs = found.prove(cluster_of(dump))
        _note_verdicts(proofs)
        _write(PROVEN, proofs, args, empty)
    else:
        _write(SHOWN, found, args, empty)
    for line in found.held_lines():
        note(line)
    return 1 if len(found) else 0


def _note_verdicts(proofs: Proofs) -> None:
    """Write the counts of verdicts, and a warning for each reason why paths were not executed."""
    if proofs:
        note(str(proofs))
    for reason, count in proofs.not_executed().items():
        note(f"warning: {count:,} not executed, which shows nothing about the cluster: {reason}")


def _write(shown: tuple[str, ...], found: Escalations | Proofs, args: argparse.Namespace, empty: str) -> None:
    """Write one row per path, with all its steps on request."""
    frame = found.to_frame()
    rows: list[Any] = frame.to_dict("records")
    columns = tuple(frame.columns)
    if args.output not in (*COMPLETE, *reports.FORMS):
        rows = list(_folded(rows, shown))
    if args.details and args.output in VALUES:
        rows = [{**row, "steps": one.to_frame().to_dict("records")} for row, one in zip(rows, found)]
        columns = (*columns, "steps")
    cases = partial(_cases, rows, args)
    write_rows(columns, rows, args.output, shown=shown, cases=cases, empty=empty)
    if args.details and args.output in ("table", "wide", "markdown"):
        print()
        write_text("\n\n".join(map(str, found)), args.output)


def _folded(rows: Iterable[Row], shown: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Rows for people: the steps in words, and rows that differ in subject and goal alone as one."""
    from simkit.analysis.escalation.find.path import primitive_words
    from simkit.analysis.rendering import first_of

    alike: dict[str, list[Row]] = {}
    for row in rows:
        named = {**row, "steps": primitive_words(row["primitives"]) or "already has it"}
        alike.setdefault(str([named[name] for name in shown if name not in ("subject", "goal")]), []).append(named)
    for some in alike.values():
        subjects, goals = (list(dict.fromkeys(row[name] for row in some)) for name in ("subject", "goal"))
        yield {**some[0], "subject": first_of(subjects, 3), "goal": ", ".join(goals)}


def _cases(rows: Sequence[Row], args: argparse.Namespace) -> list[reports.Case]:
    """One case for each goal or primitive, with a fault for each row."""
    file = (paths_of(args) or ["cluster"])[0]
    found: dict[str, list[reports.Fault]] = {}
    for row in rows:
        rule = str(row.get("goal") or row.get("primitive") or "reached")
        severity = str(row.get("severity") or "high")
        words = (
            row.get("subject") or f"{args.subject[0]} reaches {row['place']}",
            row.get("path") or row.get("title") or row.get("verdict"),
        )
        found.setdefault(rule, []).append(reports.Fault(": ".join(filter(None, words)), severity, file))
    rules = found or {goal: [] for goal in args.goal or ["cluster-admin"]}
    return [
        reports.Case(f"escalation-{rule}".replace(" ", "-"), f"nobody gets to {rule}", "high", faults)
        for rule, faults in rules.items()
    ]


def _patterns(args: argparse.Namespace) -> list[str]:
    """The patterns of the subjects that are asked for; empty where each is named."""
    given: list[str] = args.subject or ["*"]
    return given if any("*" in one for one in given) else []


def _found(snapshot: Snapshot, args: argparse.Namespace) -> Escalations:
    from dataclasses import replace
    from fnmatch import fnmatchcase

    from simkit.analysis.escalation import escalations
    from simkit.analysis.escalation.find.queries import WELL_KNOWN
    from simkit.analysis.escalation.table.severity import Severity

    patterns = _patterns(args)
    if not patterns:
        note_unknown_subjects(snapshot, args)
    found = escalations(
        snapshot,
        None if patterns else args.subject,
        goal=args.goal or WELL_KNOWN,
        ways="each" if args.each else "best",
        max_hops=args.max_hops,
        direct=args.direct,
        include_defaults=args.include_defaults,
        members=read_members(args),
    )
    kept = [path for path in found if not patterns or any(fnmatchcase(path.subject, one) for one in patterns)]
    kept = [path for path in kept if not any(fnmatchcase(path.subject, one) for one in args.allow)]
    if args.severity is not None:
        least = Severity.named(args.severity)
        kept = [path for path in kept if Severity.named(path.severity) >= least]
    return replace(found, paths=tuple(kept[: args.limit]))


def _radius(snapshot: Snapshot, args: argparse.Namespace) -> int:
    from simkit.analysis.escalation import blast_radius
    from simkit.analysis.escalation.find.blast_radius import REACH_COLUMNS
    from simkit.analysis.escalation.find.path import primitive_words

    if not args.subject or len(args.subject) != 1:
        raise SimkitError("--radius needs one subject; name it with --subject")
    note_unknown_subjects(snapshot, args)
    found = blast_radius(snapshot, args.subject[0], max_hops=args.max_hops, members=read_members(args))
    shown = ("hops", "place", "steps")
    rows = [{**row, "steps": primitive_words(row["primitives"])} for row in found.reached.to_dict("records")]
    write_rows(REACH_COLUMNS, rows, args.output, shown=shown, cases=partial(_cases, rows, args))
    return 1 if len(found.reached) else 0


def _risky_permissions(dump: Dump, args: argparse.Namespace) -> int:
    from simkit.analysis.escalation import risky_permissions

    sandbox = cluster_of(dump) if args.prove else None
    found = risky_permissions(dump.snapshot(), args.subject, sandbox=sandbox, members=read_members(args))
    flagged = found[found["flagged"]]
    rows = (found if args.output in COMPLETE else flagged).to_dict("records")
    write_rows(tuple(found.columns), rows, args.output, shown=HELD, cases=partial(_cases, rows, args))
    return 1 if len(flagged) else 0


def _compared(snapshot: Snapshot, args: argparse.Namespace) -> int:
    from simkit.analysis.escalation import compare_paths
    from simkit.analysis.escalation.find.queries import WELL_KNOWN

    before = dump_of([args.before], args).snapshot()
    found = compare_paths(before, snapshot, goal=args.goal or WELL_KNOWN, members=read_members(args))
    rows, shown = found.to_dict("records"), ("change", *SHOWN)
    cases = partial(_cases, [row for row in rows if row["change"] == "new"], args)
    people = args.output not in (*COMPLETE, *reports.FORMS)
    listed = list(_folded(rows, shown)) if people else rows
    write_rows(tuple(found.columns), listed, args.output, shown=shown, cases=cases)
    return 1 if (found["change"] == "new").any() else 0
