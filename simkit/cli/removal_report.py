"""``simkit removal-report``: stored objects, callers and configuration that use API versions which are removed."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.removal_cases import removal_cases
from simkit.cli.source import add_audit_log, add_source, cluster_of, opened, paths_of, read_audit_log

if TYPE_CHECKING:
    from pandas import DataFrame

EXAMPLES = """\
examples:
  simkit removal-report 1.32 cluster.yaml --audit-log audit.jsonl.gz
  simkit removal-report flowcontrol.apiserver.k8s.io/v1beta3 cluster.yaml --audit-log audit.jsonl.gz
  simkit removal-report --to 1.33 -f charts/ --manifests
  simkit removal-report policy/v1 cluster.yaml --show objects -o csv

Exit code: 0 when nothing uses them, 1 when something does, 2 for wrong use or unreadable input.
"""
FOUND = 1
PARTS = ("summary", "removed", "objects", "callers", "rules", "configurations", "replayed")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "removal-report",
        help="list what uses API versions that a release removes",
        description="Finds stored objects, callers, roles, webhooks and policies that use removed API versions.",
        epilog=EXAMPLES,
    )
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
    add_audit_log(parser, "what was asked")
    parser.add_argument("--show", choices=PARTS, default="summary", help="which table (default: summary)")
    add_source(parser, release_flag="--from-release")
    add_output(parser, faults=True)
    parser.set_defaults(words_before_path=("element",))
    return parser


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    dump = opened(args)
    cluster = cluster_of(dump)
    found = cluster.removal_report(*args.element, release=args.release or None, audit_log=read_audit_log(args))
    table: DataFrame = found.summary() if args.show == "summary" else getattr(found, args.show)
    rows = table.to_dict("records")
    cases = partial(removal_cases, found, dump, paths_of(args))
    write_rows(tuple(map(str, table.columns)), rows, args.output, cases=cases)
    return FOUND if found.has_impact else 0
