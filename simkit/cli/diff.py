"""``simkit diff``: the permissions gained and lost between two dumps."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from simkit.cli.comment import comment
from simkit.cli.output import add_output, write_rows
from simkit.cli.source import add_reading, dump_of

EXAMPLES = """\
examples:
  simkit diff before.yaml after.yaml
  simkit diff main/ branch/ --manifests -o markdown > comment.md

With -o markdown the answer is a comment for reviewers: the worst first, most of it folded away.

What is compared is access, not objects: the same permission by another binding is no change.

Exit code: 0 when nobody gained anything, 1 when somebody did, 2 for wrong use or unreadable input.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diff",
        help="list permissions gained and lost between two dumps",
        description="Compares the effective access of two dumps.",
        epilog=EXAMPLES,
    )
    parser.add_argument("before", metavar="BEFORE", help="a dump: a file, a folder or an archive")
    parser.add_argument("after", metavar="AFTER", help="another one")
    add_reading(parser.add_argument_group("how dumps are read"))
    add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare, write, and return the exit code."""
    from simkit.analysis.access.compare import COLUMNS, compare

    rows = compare(*(dump_of([path], args).snapshot() for path in (args.before, args.after))).to_dict("records")
    if args.output == "markdown":
        sys.stdout.write(comment(rows))
    else:
        write_rows(COLUMNS, rows, args.output, empty="no differences: nobody gained or lost anything")
    return 1 if any(row["change"] == "gained" for row in rows) else 0
