"""``simkit upgrade``: what breaks on the way to a later release, where, for whom, and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cli import limits
from simkit.cli.notes import complain, complain_of, note
from simkit.cli.output import COMPLETE, add_output, write_rows
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.reports import FORMS, Case, Fault
from simkit.cli.source import add_cloud, demo_path, standard_input
from simkit.meta.errors import SimkitError
from simkit.schema.releases import is_release

if TYPE_CHECKING:
    from simkit.analysis.upgrade.items import Break, Items
    from simkit.analysis.upgrade.span import ReleaseSpan
    from simkit.analysis.upgrade.upgrade_report import UpgradeReport
    from simkit.cluster.cluster import Cluster

DESCRIPTION = "Reports what an upgrade of Kubernetes breaks: where, for whom, and what to do."
EXAMPLES = """\
examples:
  simkit upgrade cluster.yaml --to 1.33 --audit-log audit.jsonl.gz
  simkit upgrade charts/shop --helm --to 1.33              # rendered by helm, which has to be installed
  simkit upgrade manifests/ --to 1.32                      # what 1.32 no longer accepts
  helm template shop charts/shop | simkit upgrade - --to 1.33 -o markdown
  simkit upgrade cluster.yaml --from 1.23 --to 1.24 --manifests deploy/ -o sarif

Without --from, the current release is that of the API server or of the newest kubelet; if the dump shows neither, all
changes up to the target are reported. Each row of -o json has release, severity, breaks, check, what, where, who,
evidence, remedy, source. Tables leave out findings that neither break nor delay anything; --all shows them. Rows that
differ only in WHERE are shown as one.

Exit code: 0 when nothing breaks, 1 when something does, 2 for wrong use or unreadable input.
"""
FOUND = 1
SHOWN = ("release", "severity", "what", "where", "who", "remedy")
PLANNED = ("hop", "when", "blocks", "step", "why", "findings", "possible_from", "example")
PROVEN = ("release", "who", "request", "requests", "before", "after", "mended", "verdict", "mending")
_WHAT = "a dump, manifests, a rendered chart, or several of these: files, folders, archives; - is standard input"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("path", nargs="*", metavar="PATH", help=_WHAT)
    parser.add_argument("--to", default="", metavar="RELEASE", help="the release to upgrade to")
    parser.add_argument("--from", dest="since", metavar="RELEASE", help="the release to upgrade from")
    parser.add_argument("--audit-log", action="append", metavar="PATH", help="an audit log: who calls which APIs")
    parser.add_argument(
        "--since",
        "--requests-since",
        dest="requests_since",
        default="",
        metavar="DAY",
        help="ignore requests recorded before this day, such as 2026-11-01",
    )
    parser.add_argument("--metrics", type=Path, metavar="FILE", help="what the API server answers at /metrics")
    parser.add_argument(
        "--manifests", action="append", default=[], metavar="PATH", help="more manifests to check; may be repeated"
    )
    parser.add_argument("--helm", action="store_true", help="render folders with a Chart.yaml by helm template")
    parser.add_argument("--demo", action="store_true", help="use the demo cluster that comes with simkit")
    parser.add_argument("--context", metavar="NAME", help="read a running cluster, by kubeconfig context ('': current)")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="the kubeconfig (default: as kubectl finds it)")
    add_cloud(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the whole report as an HTML page")
    add_plot(parser)
    parser.add_argument("--plan", action="store_true", help="show the steps to take, hop by hop")
    parser.add_argument("--validate", action="store_true", help="try every object on forks at both releases")
    add_report_output(parser)


def add_report_output(parser: argparse.ArgumentParser) -> None:
    """Add the options for the rows of an upgrade report to a command."""
    parser.add_argument(
        "--suppress", type=Path, metavar="FILE", help="a YAML file with accepted rows, reasons and expiry dates"
    )
    parser.add_argument("--prove", action="store_true", help="execute on forks what breaks, and show the answers")
    parser.add_argument("--all", action="store_true", help="also show findings that break nothing")
    add_output(parser, faults=True)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis.upgrade.span import ReleaseSpan, release_of
    from simkit.analysis.upgrade.upgrade_report import report_of

    if not args.to and (releases := [*filter(is_release, args.path)]):
        args.to = releases[0]
        args.path.remove(args.to)
    if not args.to:
        raise SimkitError("name the release to upgrade to: --to 1.33")
    ReleaseSpan.of(args.since or "", args.to)  # wrong releases are told before anything is read
    items, release = _read(args)
    _require_something(items, args)
    since = args.since if args.since is not None else release or release_of(items.items, args.audit_log)
    if not since:
        note("the release of the cluster is unknown, so all changes up to the target count; name it with --from")
        if args.audit_log:
            note("recorded requests were not authorized at both releases, which needs --from")
    span = ReleaseSpan.of(since, args.to)
    sandbox = _cluster(span, items, args.cloud) if args.validate or args.prove or (args.audit_log and since) else None
    found = report_of(
        items, span, audit_log=args.audit_log, metrics=args.metrics, sandbox=sandbox, requests_since=args.requests_since
    )
    if args.validate:
        found = found.validated()
    found = without_accepted(found, args)
    complain_of(items.problems)
    if not items.items and items.problems:
        raise SimkitError("no object could be read")
    if args.report is not None:
        _write_page(found, args)
    write_plot(found, args)
    return write_report(found, args)


def without_accepted(found: UpgradeReport, args: argparse.Namespace) -> UpgradeReport:
    """The report with the accepted rows breaking nothing; rules that have expired or mean nothing are told."""
    if args.suppress is None:
        return found
    from simkit.analysis.upgrade.accepted_breaks import accept_breaks, read_accepted_breaks

    sifted = accept_breaks(found, read_accepted_breaks(args.suppress), today=datetime.now(tz=UTC).date())
    for each in sifted.expired:
        complain(f"a suppression has expired on {each.expires}: {each.reason}")
    for each in sifted.unused:
        note(f"a suppression matches no row: {each.reason}")
    return sifted.report


def write_report(found: UpgradeReport, args: argparse.Namespace) -> int:
    """Write a report, its plan or its proof; FOUND if something breaks."""
    limits.limit(found.caveats)
    if args.plan:
        table = found.plan().to_frame()
        columns = tuple(map(str, table.columns))
        empty = "nothing to do" + " for what was read" * bool(found.caveats)
        write_rows(columns, table.to_dict("records"), _table_form(args.output), shown=PLANNED, empty=empty)
    elif args.prove:
        _write_proof(found, args.output)
    else:
        _write(found, args)
    return FOUND if found.has_impact else 0


def _read(args: argparse.Namespace) -> tuple[Items, str]:
    """The chosen objects, and the release of the cluster where it or its dump tells it."""
    from simkit.analysis.upgrade.items import read_items

    live = args.context is not None or args.kubeconfig is not None
    if sum(map(bool, (args.path, args.demo, live))) != 1 and not (args.manifests or args.audit_log or args.metrics):
        raise SimkitError("name one source to check: paths, --context NAME for a running cluster, or --demo")
    paths = [*args.path, *args.manifests, *([str(demo_path())] if args.demo else [])]
    source: list[Any] = [_source(path, args) for path in paths]
    if not live:
        items = read_items(source)
        return items, items.server_release
    from simkit.cluster.loading import release_of as release_of_server
    from simkit.snapshot.live import LiveCluster

    cluster = LiveCluster(args.context or "", args.kubeconfig)
    return read_items([*source, *cluster.pieces()]), release_of_server(cluster)


def _require_something(items: Items, args: argparse.Namespace) -> None:
    """Raises SimkitError for paths in which nothing is, so that a wrong path does not look like a cluster in order."""
    paths = [*args.path, *args.manifests]
    if paths and not (items.items or items.templates or items.problems):
        more = "; --helm renders folders with a Chart.yaml" if args.helm else ""
        raise SimkitError(
            f"no object was found in {', '.join(paths)}; objects are read from .yaml, .yml and .json files, "
            f"folders and archives{more}"
        )


def _source(path: str, args: argparse.Namespace) -> Any:
    """The source of a path: standard input, a chart as helm renders it, or the path itself."""
    if path == "-":
        return standard_input()
    if not args.helm:
        return path
    from simkit.analysis.manifest_plan.folders import is_chart, rendered

    if not is_chart(path):
        return path
    note(f"rendered by helm: {path}")
    return rendered(path, args.since or args.to)


def _write(found: UpgradeReport, args: argparse.Namespace) -> None:
    from simkit.analysis.rendering import counted
    from simkit.analysis.upgrade.definitions import delays
    from simkit.analysis.upgrade.items import Break
    from simkit.analysis.upgrade.removed_resources import FAILS_ALREADY

    rows: Sequence[Mapping[Any, Any]] = [row._asdict() for row in found.rows]
    if args.output not in COMPLETE and args.output not in FORMS:
        shown = [
            row
            for row in rows
            if args.all or row["breaks"] is not False or row["check"] == FAILS_ALREADY or delays(row["check"])
        ]
        hidden, rows = len(rows) - len(shown), _grouped(shown)
        if hidden:
            told = "finding breaks" if hidden == 1 else "findings break"
            note(f"{hidden:,} {told} nothing; --all shows {'it' if hidden == 1 else 'them'}")
    if not found.callers_known:
        note("callers are not known without --audit-log")
    kinds, cases = {item.obj.get("kind") for item in found.items}, partial(upgrade_cases, found)
    empty = f"nothing breaks; read {counted(len(found.items), 'object')} of {counted(len(kinds), 'kind')}"
    write_rows(Break._fields, rows, args.output, shown=SHOWN, short=_short, empty=empty, cases=cases)


def _grouped(rows: Sequence[Mapping[Any, Any]]) -> list[Mapping[Any, Any]]:
    """One row for all that are alike but for their place: the first place, and how many more there are."""
    groups: dict[tuple[Any, ...], list[Mapping[Any, Any]]] = {}
    for row in rows:
        known = row["file"] in ("", None, str(demo_path())) or row["file"] in row["where"]
        place = "" if known else f" ({row['file']}:{int(row['line'] or 1)})"
        told = {**row, "where": f"{row['where']}{place}"}
        groups.setdefault(tuple(row[name] for name in SHOWN if name != "where"), []).append(told)
    return [
        {**alike[0], "where": f"{alike[0]['where']} and {len(alike) - 1:,} more"} if alike[1:] else alike[0]
        for alike in groups.values()
    ]


def _write_page(found: UpgradeReport, args: argparse.Namespace) -> None:
    from simkit.cluster.report.page import write_upgrade_page

    given = [Path(path).name or path for path in (*args.path, *args.manifests)]
    name = ", ".join(given) or ("the demo cluster" if args.demo else "a running cluster")
    proof = found.prove() if args.prove else None
    note(f"written: {write_upgrade_page(found, args.report, name=name, proof=proof)}")


def _write_proof(found: UpgradeReport, form: str) -> None:
    table = found.prove().to_frame()
    columns = tuple(map(str, table.columns))
    write_rows(columns, table.to_dict("records"), _table_form(form), shown=PROVEN, empty="nothing to execute")


def _cluster(span: ReleaseSpan, items: Items, cloud: list[str]) -> Cluster:
    """A cluster with the stored objects that were read, and what the export of its provider grants."""
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.options import Options
    from simkit.schema.releases import BASE
    from simkit.snapshot.load import load

    stored = [dict(item.obj) for item in items.items if item.origin == "stored"]
    release = span.start or BASE
    options = Options(release=release)
    if not stored:
        return Cluster(options=options)
    dump = load(stored, release=release)
    if cloud:
        from simkit.snapshot.cloud.exports import with_cloud

        dump = with_cloud(dump, cloud)
    return Cluster.of(dump, options)


def _table_form(form: str) -> str:
    if form in FORMS:
        raise SimkitError(f"-o {form} is not available for plans and proofs")
    return form


def _short(row: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return {**row, "what": str(row["what"]).partition(". ")[0]}


def upgrade_cases(found: UpgradeReport) -> list[Case]:
    """A report as build servers take it: one case for each check and release, one fault for each break."""
    faults: dict[tuple[str, str], list[Fault]] = {}
    first: dict[tuple[str, str], Break] = {}
    for row in found.rows:
        if row.breaks:
            message = f"{row.where}: {row.what} ({row.evidence}). {row.remedy}"
            key = (row.check, row.release)
            first.setdefault(key, row)
            faults.setdefault(key, []).append(Fault(message, row.severity, row.file or "cluster", row.line or 1))
    return [
        Case(
            f"{check}-{release}".strip("-"), f"{first[check, release].what.partition('. ')[0]} ({release})",
            first[check, release].severity, own, description=first[check, release].what,
            fix=first[check, release].remedy,
        )
        for (check, release), own in faults.items()
    ]  # fmt: skip
