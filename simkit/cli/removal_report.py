"""``simkit removal-report``: stored objects, callers and configuration that use API versions which are removed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.source import add_source, cluster_of, opened

if TYPE_CHECKING:
    from pandas import DataFrame

EXAMPLES = """\
examples:
  simkit removal-report flowcontrol.apiserver.k8s.io/v1beta3 --dump cluster.yaml --audit-log audit.jsonl.gz
  simkit removal-report --at 1.32 --dump cluster.yaml --audit-log audit.jsonl.gz
  simkit removal-report policy/v1 --dump cluster.yaml --show objects -o csv

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
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("element", nargs="*", metavar="ELEMENT", help="policy/v1beta1, batch, storage.../v1/csinodes")
    parser.add_argument("--at", default="", metavar="RELEASE", help="instead: what this release no longer serves")
    parser.add_argument("--audit-log", type=Path, metavar="FILE", help="what was asked, as JSON lines (also .gz)")
    parser.add_argument("--show", choices=PARTS, default="summary", help="which table (default: summary)")
    add_source(parser)
    add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    cluster = cluster_of(opened(args))
    found = cluster.removal_report(*args.element, release=args.at or None, audit_log=args.audit_log)
    table: DataFrame = found.summary() if args.show == "summary" else getattr(found, args.show)
    write_rows(tuple(map(str, table.columns)), table.to_dict("records"), args.output)
    return FOUND if found.has_impact else 0
