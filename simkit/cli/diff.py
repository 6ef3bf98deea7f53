"""``simkit diff``: the permissions gained and lost between two dumps."""

from __future__ import annotations

import argparse
import sys

from simkit.cli import limits
from simkit.cli.comment import comment, headline
from simkit.cli.output import add_output, write_rows
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.source import add_namespace, add_reading, dump_of, warn_of_unknown_namespace

DESCRIPTION = "Lists the permissions that subjects gained and lost between two dumps."
EXAMPLES = """\
examples:
  simkit diff before.yaml after.yaml
  simkit diff before.yaml after.yaml -n payments
  simkit diff before.yaml after.yaml --subject group:devs --subject sa:ci/runner
  simkit diff main/ branch/ --manifests -o markdown > comment.md

With -o markdown the answer is a comment for a pull request: the worst changes first, the rest collapsed.

What is compared is access, not objects: a permission that another binding grants now is not listed.

Exit code: 0 when nobody gained access, 1 when somebody did, 2 for wrong use or unreadable input.
"""
SHOWN = ("change", "subject", "scope", "verbs", "resources", "bindings")
"""The columns for people, in which permissions with the same reason are one row."""


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
    from simkit.analysis.access.compare import COLUMNS, access_changes, compare

    before, after = (dump_of([path], args) for path in (args.before, args.after))
    warn_of_unknown_namespace(after, args.namespace)
    found = compare(before.snapshot(), after.snapshot(), subject=args.subject, namespace=args.namespace)
    write_plot(found, args)
    rows = found.to_dict("records")
    if args.output == "markdown":
        sys.stdout.write(limits.quoted() + comment(rows))
    elif rows and args.output in ("table", "wide"):
        print(f"{headline(rows)}\n")
        write_rows(SHOWN, [one._asdict() for one in access_changes(rows)], args.output)
    else:
        write_rows(COLUMNS, rows, args.output, empty="no differences: nobody gained or lost access")
    return 1 if any(row["change"] == "gained" for row in rows) else 0
