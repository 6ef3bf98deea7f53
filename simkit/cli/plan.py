"""``simkit plan``: what manifests do to a cluster, before anybody applies them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from simkit.cli import limits
from simkit.cli.manifest_sources import read_earlier, read_manifests
from simkit.cli.notes import complain, complain_of
from simkit.cli.output import FORMATS, VALUES, json_text, write_report, write_rows, write_value
from simkit.cli.pages import PageParser
from simkit.cli.reports import FORMS, Case, Fault
from simkit.cli.source import add_members, add_source, cluster_of, opened, paths_of, read_members
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.objects import at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simkit.analysis.manifest_plan.result import ManifestPlan
    from simkit.cluster.cluster import Cluster

DESCRIPTION = "Applies manifests to a copy of a cluster, and shows everything that changes."
EXAMPLES = """\
examples:
  simkit plan cluster.yaml deploy/                           # a folder of manifests
  simkit plan cluster.yaml -f overlays/production -f chart/  # kustomizations and charts are rendered
  simkit plan cluster.yaml -f deploy/ --against origin/main  # what this branch changes
  simkit plan cluster.yaml -f deploy/ -o markdown > comment.md

The manifests are applied to a copy of the cluster, through the whole chain of kube-apiserver, and controllers and
scheduler act on them. Nothing is changed, and no webhook is called. A redacted dump is enough: see simkit redact.

Exit code: 0 when nothing changes, 2 when something changes, 1 when an object is refused, a command line is wrong or
input cannot be read.
"""
ERROR: Final = 1
CHANGES: Final = 2
COLUMNS = ("section", "change", "severity", "what", "detail", "file", "line")


def add_options(parser: PageParser) -> None:
    """Add the options of the command."""
    parser.wrong = ERROR
    manifests = parser.add_argument_group("what to apply")
    manifests.add_argument(
        "-f",
        "--filename",
        dest="manifest",
        action="append",
        default=[],
        metavar="PATH",
        help="manifests: a file, a folder, a kustomization or a chart; - reads standard input; may be repeated",
    )
    manifests.add_argument(
        "-n", "--namespace", default=DEFAULT_NAMESPACE, metavar="NS", help="the namespace for objects that name none"
    )
    manifests.add_argument(
        "--against", metavar="REVISION", help="the git revision with the manifests that were applied before"
    )
    manifests.add_argument(
        "--prune",
        default="",
        metavar="SELECTOR",
        help="delete objects with these labels that are in no manifest",
    )
    manifests.add_argument("--as", dest="user", default="", metavar="WHO", help="apply as this user or service account")
    manifests.add_argument("--expect", metavar="FILE", help="expectations about access, as for simkit check")
    manifests.add_argument(
        "--link", default="", metavar="URL", help="the address of a line for -o markdown, with {file} and {line} in it"
    )
    manifests.add_argument("--schema", action="store_true", help="print the JSON schema of -o json")
    add_members(parser)
    add_source(parser, paths=True, short=False)
    formats = ", ".join((*FORMATS, *FORMS))
    parser.add_argument(
        "-o", "--output", choices=(*FORMATS, *FORMS), default="table", metavar="FORMAT", help=f"the format: {formats}"
    )


def run(args: argparse.Namespace) -> int:
    """Plan, write, and return the exit code."""
    if args.schema:
        from simkit.analysis.manifest_plan.result import PlanDocument

        sys.stdout.write(json_text(PlanDocument.model_json_schema()))
        return 0
    _take_manifests(args)
    cluster = cluster_of(opened(args))
    plan = _planned(cluster, args)
    limits.limit(plan.caveats)
    _write(plan, args)
    if plan.refused:
        complain(f"{len(plan.refused)} of {len(plan.objects)} objects would not be applied")
        return ERROR
    return CHANGES if plan else 0


def _take_manifests(args: argparse.Namespace) -> None:
    """Take the last path for the manifests, if no ``-f`` names them and something else names the cluster."""
    if args.manifest:
        return
    if not args.path or not (len(paths_of(args)) > 1 or args.demo or args.context is not None):
        dump = "--demo" if args.demo else (*paths_of(args), "cluster.yaml")[0]
        raise SimkitError(f"name the manifests to apply, such as: simkit plan {dump} -f deploy/")
    args.manifest = [args.path.pop()]


def _planned(cluster: Cluster, args: argparse.Namespace) -> ManifestPlan:
    from simkit.analysis.manifest_plan.planning import plan
    from simkit.analysis.rbac.subject import identity_of

    release, where = cluster.release, args.namespace
    wanted = read_manifests(args.manifest, release=release, namespace=where)
    complain_of(wanted.warnings)
    if args.manifests and any(at(obj, "metadata", "uid") for obj in wanted.keyed.values()):
        right = f"simkit plan {' '.join((*args.manifest, *paths_of(args)))}"
        raise SimkitError(f"the manifests have uids, and the cluster has none: the cluster comes first, as in {right}")
    before = None
    if args.against is not None:
        before = read_earlier(args.manifest, args.against, release=release, namespace=where)
    return plan(
        cluster,
        wanted,
        namespace=where,
        configured=before,
        prune=args.prune,
        identity=identity_of(args.user) if args.user else None,
        expectations=args.expect,
        members=read_members(args),
    )


def _write(plan: ManifestPlan, args: argparse.Namespace) -> None:
    if args.output in FORMS:
        write_report(args.output, cases(plan), name="plan")
    elif args.output == "markdown":
        from simkit.cli.plan_comment import comment

        sys.stdout.write(comment(plan, args.link).replace("\n\n", f"\n\n{limits.quoted()}", 1))
    elif args.output in VALUES:
        from simkit.analysis.manifest_plan.result import document_of

        write_value(document_of(plan), args.output)
    elif args.output == "table":
        limits.repeat_if_quiet()
        sys.stdout.write("\n".join(plan.lines()) + "\n")
    else:
        write_rows(COLUMNS, plan.to_frame().to_dict("records"), args.output, empty=plan.headline)


def cases(plan: ManifestPlan) -> Sequence[Case]:
    """The plan for build servers: one rule for each section."""
    found = []
    for title, rows in plan.sections():
        rule = f"plan-{rows[0].section.replace(' ', '-')}"
        worst = max(rows, key=lambda row: row.severity).severity
        faults = [
            Fault(
                f"{row.change}: {row.what}" + (f": {row.detail}" if row.detail else ""),
                str(row.severity),
                row.file,
                row.line or 1,
                f"{row.section}:{row.change}:{row.what}",
            )
            for row in rows
        ]
        found.append(Case(rule, title, str(worst), faults))
    return found
