"""``simkit who-can``: the subjects that have a permission."""

from __future__ import annotations

import argparse
from typing import Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.source import add_members, add_namespace, add_source, read, read_members
from simkit.meta.errors import SimkitError

EXAMPLES = """\
examples:
  simkit who-can get secrets -n payments cluster.yaml
  simkit who-can create pods/exec -A -f cluster.yaml
  simkit who-can impersonate users --any-name cluster.yaml
  simkit who-can get /metrics cluster.yaml -o json

Exit code: 0 when somebody besides system:masters may, 1 when nobody, 2 for wrong use or unreadable input.
"""
SHOWN = ("subject", "scope", "binding", "role", "rule", "names")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "who-can",
        help="list the subjects that have a permission",
        description="Lists every subject that has a permission, with the binding, role and rule that grant it.",
        epilog=EXAMPLES,
    )
    parser.add_argument("verb", metavar="VERB", help="get, list, create, ... or bind, escalate, impersonate, use, ...")
    parser.add_argument("resource", nargs="?", default="", metavar="RESOURCE", help="pods, po, deployments.apps, ...")
    parser.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="one object (default: requests without one)"
    )
    add_source(parser)
    add_namespace(parser, "where (default: anywhere)", everywhere="only who may in all namespaces at once")
    parser.add_argument("--any-name", action="store_true", help="count also grants for single names")
    parser.add_argument("--subresource", default="", help="such as log or exec")
    parser.add_argument("--url", default="", help="a path such as /metrics instead of a resource")
    parser.add_argument("--api-group", help="ask for a resource that the release does not have")
    parser.add_argument("--expand-groups", action="store_true", help="list the known members of groups too")
    add_members(parser)
    add_output(parser)
    parser.set_defaults(words_before_path=("name", "resource"))
    return parser


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis.access.who_can import COLUMNS, who_can
    from simkit.analysis.rbac.index import MASTERS_GROUP
    from simkit.analysis.rbac.subject import text_of

    if args.any_name and args.name:
        raise SimkitError(f"--any-name asks about every name, {args.name!r} about one; give one of them")
    found = who_can(
        read(args, namespace=args.namespace),
        args.verb,
        args.resource,
        subresource=args.subresource,
        name=None if args.any_name else args.name,
        namespace="*" if args.all_namespaces else args.namespace,
        url=args.url,
        api_group=args.api_group,
        expand_groups=args.expand_groups or bool(args.members),
        members=read_members(args),
    )
    rows = found.to_dict("records")
    write_rows(COLUMNS, rows, args.output, shown=SHOWN, short=_short, empty="nobody may")
    return 0 if any(row["subject"] != text_of(MASTERS_GROUP) for row in rows) else 1


def _short(row: Any) -> dict[str, Any]:
    """The columns of a row in the default table: kind, namespace and name of an object in one column."""
    return {
        "subject": row["subject"] + (f" (in {row['via_group']})" if row["via_group"] else ""),
        "scope": row["scope"],
        "binding": f"{row['binding_kind']} {row['binding']}".strip(),
        "role": f"{row['role_kind']} {row['role']}".strip(),
        "rule": row["rule"],
        "names": row["names"],
    }
