"""``simkit diff``: the permissions gained and lost between two dumps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from simkit.analysis.rendering import first_of
from simkit.cli import limits
from simkit.cli.comment import comment, headline
from simkit.cli.output import add_output, write_rows
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.source import add_namespace, add_reading, dump_of, warn_of_unknown_namespace
from simkit.cli.tables import Row

DESCRIPTION = "Lists the permissions that subjects gained and lost between two dumps."
EXAMPLES = """\
examples:
  simkit diff before.yaml after.yaml
  simkit diff before.yaml after.yaml -n payments
  simkit diff before.yaml after.yaml --subject group:devs --subject sa:ci/runner
  simkit diff main/ branch/ --manifests -o markdown > comment.md

The table has one row for permissions with the same reason; -o wide, csv and json list each permission. With -o markdown
the answer is a comment for a pull request: the worst changes first, the rest collapsed.

What is compared is access, not objects: a permission that another binding grants now is not listed.

Exit code: 0 when nobody gained access, 1 when somebody did, 2 for wrong use or unreadable input.
"""

_MOST: Final = 6
"""The resources of a row that people see; the other forms list each permission."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("before", metavar="BEFORE", help="the earlier dump: a file, a folder or an archive")
    parser.add_argument("after", metavar="AFTER", help="a later dump")
    parser.add_argument("--subject", action="append", metavar="WHO", help="only this subject; may be repeated")
    add_namespace(parser, "only changes that apply in this namespace")
    add_reading(parser.add_argument_group("how dumps are read"))
    add_plot(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, write, and return the exit code."""
    from simkit.analysis.access.compare import compare

    before, after = (dump_of([path], args) for path in (args.before, args.after))
    warn_of_unknown_namespace(after, args.namespace)
    found = compare(
        before.snapshot(), after.snapshot(), subject=args.subject, namespace=args.namespace, each="permission"
    )
    write_plot(found, args)
    write_access(found.to_dict("records"), args, "no differences: nobody gained or lost access")
    return 1 if (found["change"] == "gained").any() else 0


def write_access(rows: Sequence[Row], args: argparse.Namespace, empty: str) -> None:
    """Write the rows of ``compare``: for people those with the same reason as one, below a summary."""
    from simkit.analysis.access.compare import COLUMNS, FOLDED, access_changes

    if args.output == "markdown":
        sys.stdout.write(limits.quoted() + comment(rows))
    elif rows and args.output in ("table", "html"):
        if args.output == "table":
            print(f"{headline(rows)}\n")
        write_rows(FOLDED, (dict(zip(FOLDED, one.row())) for one in access_changes(rows)), args.output, short=_short)
    else:
        write_rows(COLUMNS, rows, args.output, empty=empty)


def _short(row: Row) -> dict[str, object]:
    """A row with the first resources only."""
    return {**row, "resources": first_of(row["resources"], _MOST)}
