"""``simkit removal-report``: stored objects, callers and configuration that use API versions which are removed."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from simkit.cli.notes import note
from simkit.cli.source import add_audit_log, add_source, cluster_of, opened, read_audit_log
from simkit.cli.upgrade import add_report_output, without_accepted, write_report
from simkit.meta.errors import SimkitError
from simkit.schema.releases import RELEASES, is_release, minor_of

if TYPE_CHECKING:
    from simkit.analysis.audit_log.events import AuditLog
    from simkit.snapshot.dump import Dump

DESCRIPTION = "Finds stored objects, callers, roles, webhooks and policies that use removed API versions."
EXAMPLES = """\
examples:
  simkit removal-report 1.32 cluster.yaml --audit-log audit.jsonl.gz
  simkit removal-report flowcontrol.apiserver.k8s.io/v1beta3 cluster.yaml --audit-log audit.jsonl.gz
  simkit removal-report --to 1.33 -f charts/ --manifests
  simkit removal-report policy/v1 cluster.yaml --all -o csv

The rows are those of simkit upgrade that are about API versions; --prove sends recorded requests to forks.

Exit code: 0 when nothing uses them, 1 when something does, 2 for wrong use or unreadable input.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "element", nargs="*", metavar="ELEMENT", help="1.32, policy/v1beta1, batch, storage.../v1/csinodes"
    )
    parser.add_argument(
        "--to",
        "--release",
        dest="release",
        default="",
        metavar="RELEASE",
        help="what an upgrade to RELEASE removes",
    )
    add_audit_log(parser, "recorded requests")
    add_source(parser, release_flag="--from-release", access=False)
    add_report_output(parser)
    parser.set_defaults(words_before_path=("element",), plan=False)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    if args.release:  # then there are no elements, and all words are paths
        args.dump, args.element = [*args.element, *args.dump], []
    log = read_audit_log(args)
    cluster = cluster_of(opened(args, release_of=partial(_release_of, args=args, log=log)))
    found = cluster.removal_report(*args.element, release=args.release or None, audit_log=log)
    return write_report(without_accepted(found, args), args)


def _release_of(dump: Dump, args: argparse.Namespace, log: AuditLog | None) -> str:
    """The release of the cluster of a dump: what is removed, and whether it is gone already, depends on it.

    Manifests have no cluster. They are read as the release before the target, since what is gone by then is reported
    too.

    Raises
    ------
    SimkitError
        If the question is about an upgrade, and nothing shows the release.
    """
    from simkit.analysis.upgrade.items import Item
    from simkit.analysis.upgrade.span import release_of

    target = args.release or (args.element[0] if len(args.element) == 1 and is_release(args.element[0]) else "")
    if args.demo or args.reading_release or dump.server_release:
        return dump.release
    before = [each for each in RELEASES if args.manifests and target and minor_of(each) < minor_of(target)]
    release = release_of(map(Item, dump.objects), log) or (before[-1] if before else "")
    if not release and not target:
        note(f"the release of the cluster is unknown; assuming {dump.release}, unless --from-release names it")
        return dump.release
    if not release:
        raise SimkitError(
            "the release of the cluster is unknown, and what an upgrade removes depends on it: name it with "
            f"--from-release, or use simkit upgrade --to {target}, which reports all changes up to the target"
        )
    return release
