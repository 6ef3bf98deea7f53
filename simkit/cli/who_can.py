"""``simkit who-can``: the subjects that have a permission."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from simkit.cli.limits import limit
from simkit.cli.notes import note_skipped
from simkit.cli.output import add_output, write_rows
from simkit.cli.questions import add_object_options, add_object_words, note_remarks, settle_words
from simkit.cli.source import add_include_defaults, add_members, add_namespace, add_source, read, read_members
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.seams.snapshot import Snapshot

DESCRIPTION = "Lists every subject that has a permission, with the binding, role and rule that grant it."
EXAMPLES = """\
examples:
  simkit who-can get secrets -n payments cluster.yaml
  simkit who-can create pods/exec -A -f cluster.yaml
  simkit who-can impersonate users --any-name cluster.yaml
  simkit who-can get /metrics cluster.yaml -o json

Exit code: 0 when somebody besides system:masters may, 1 when nobody, 2 for wrong use or unreadable input.
"""
SHOWN = ("subject", "scope", "binding", "role", "rule", "names")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("verb", metavar="VERB", help="get, list, create, ... or bind, escalate, impersonate, use, ...")
    add_object_words(parser)
    add_source(parser)
    add_namespace(parser, "where (default: anywhere)", everywhere="only who may in all namespaces at once")
    parser.add_argument("--any-name", action="store_true", help="include grants that are limited to single names")
    add_object_options(parser)
    parser.add_argument("--expand-groups", action="store_true", help="also list the known members of groups")
    add_include_defaults(parser)
    add_members(parser)
    add_output(parser)
    parser.set_defaults(words_before_path=("name", "resource"))


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis.access.resolve import connection_asked
    from simkit.analysis.access.who_can import holders_of
    from simkit.analysis.rbac.index import MASTERS_GROUP
    from simkit.analysis.rbac.subject import text_of

    if args.any_name and args.name:
        raise SimkitError(f"--any-name asks about every name, and {args.name!r} is one name; use only one of them")
    settle_words(args)
    snapshot = read(args, namespace=args.namespace)
    asked = "" if args.api_group is not None else connection_asked(snapshot, args.verb, args.resource, args.subresource)
    found = holders_of(
        snapshot,
        asked or args.verb,
        args.resource,
        subresource="" if asked else args.subresource,
        name=None if args.any_name else args.name,
        namespace="*" if args.all_namespaces else args.namespace,
        url=args.url,
        api_group=args.api_group,
        expand_groups=args.expand_groups or bool(args.members),
        members=read_members(args),
    )
    note_remarks(snapshot, args)
    limit(found.caveats)
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows()]
    listed = rows if args.include_defaults else [row for row in rows if not is_default(row, snapshot)]
    note_skipped(len(rows) - len(listed), "row")
    write_rows(found.columns, listed, args.output, shown=SHOWN, short=short, empty="nobody may")
    return 0 if any(row["subject"] != text_of(MASTERS_GROUP) for row in rows) else 1


def is_default(row: Any, snapshot: Snapshot) -> bool:
    """True for a row that an unmodified default role grants by an unmodified default binding."""
    from simkit.analysis.rbac.default_objects import unchanged_defaults
    from simkit.logic.rbac.binding import RESOURCES_OF_KINDS
    from simkit.meta.names import Key

    defaults = unchanged_defaults(snapshot)
    return all(
        kind in RESOURCES_OF_KINDS
        and Key(RESOURCES_OF_KINDS[kind], "" if kind.startswith("Cluster") else row["scope"], name) in defaults
        for kind, name in ((row["binding_kind"], row["binding"]), (row["role_kind"], row["role"]))
    )


def short(row: Any) -> dict[str, Any]:
    """The columns of a row in the default table: kind, namespace and name of an object in one column."""
    return {
        "subject": row["subject"] + (f" (in {row['via_group']})" if row["via_group"] else ""),
        "scope": row["scope"],
        "binding": f"{row['binding_kind']} {row['binding']}".strip(),
        "role": f"{row['role_kind']} {row['role']}".strip(),
        "rule": row["rule"],
        "names": row["names"],
    }
