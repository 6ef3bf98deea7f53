"""``simkit diff``: the permissions gained and lost between two dumps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from simkit.analysis.access.compare import COLUMNS, FOLDED, AccessChange, access_changes, compare
from simkit.analysis.rendering import first_of
from simkit.cli import limits
from simkit.cli.output import add_output, write_rows
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.source import add_namespace, add_reading, dump_of, warn_of_unknown_namespace
from simkit.cli.tables import Row
from simkit.present.escaping import markdown_cell, markdown_code

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

SHOWN: Final = 10
"""The lines before the collapsed part."""
LONGEST: Final = 253
"""The most letters of a name: as many as an object's name may have."""
_WORDS: Final = {"gained": "gain", "lost": "lose"}
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


def _shown(line: AccessChange) -> str:
    """One change of access as an item of a list."""
    where = "**everywhere**" if line.scope == "*" else f"in {markdown_code(_abridged(line.scope))}"
    verbs = "do anything with" if line.verbs == ("*",) else ", ".join(map(_cell, line.verbs))
    what = ", ".join(markdown_code(_abridged(each)) for each in line.resources[:4])
    if line.verbs == ("*",) and "*.*" in line.resources:
        verbs, what = "do", "anything"
    more = f" and {len(line.resources) - 4} more" if len(line.resources) > 4 and what != "anything" else ""
    can = "can now" if line.change == "gained" else "can no longer"
    mark = ":warning: " if line.weight and line.change == "gained" else ""
    by = f" (by {_cell(line.bindings[0])})" if line.bindings else ""
    return f"- {mark}{markdown_code(_abridged(line.subject))} {can} {verbs} {what}{more} {where}{by}"


def comment(rows: Sequence[Row]) -> str:
    """The markdown of a comparison.

    Examples
    --------
    >>> who = {"subject": "user:ann", "scope": "dev"}
    >>> what = {"verb": "get", "api_group": "", "resource": "secrets", "name": "", "url": ""}
    >>> print(comment([{"change": "gained", **who, **what, "bindings": ("RoleBinding dev/b",)}]))
    ### Access: 1 subject gains 1 permission, nobody loses access
    <BLANKLINE>
    - :warning: `user:ann` can now get `secrets` in `dev` (by RoleBinding dev/b)
    <BLANKLINE>
    """
    lines = access_changes(rows)
    told = [f"### {headline(rows)}", ""]
    told += [_shown(line) for line in lines[:SHOWN]]
    if len(lines) > SHOWN:
        told += ["", f"<details><summary>{len(lines) - SHOWN} more</summary>", ""]
        told += [*(_shown(line) for line in lines[SHOWN:]), "", "</details>"]
    return "\n".join([*told, ""])


def _abridged(text: str) -> str:
    """A name cut to its share of the comment, since a comment that is too long is refused as a whole."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} letters)"


def _cell(text: str) -> str:
    return markdown_cell(_abridged(text))


def headline(rows: Sequence[Row]) -> str:
    """The number of subjects that gain and lose access, and of their permissions, in one sentence."""
    if not rows:
        return "Access: nothing changes"
    return f"Access: {', '.join(_changed(rows, change, verb) for change, verb in _WORDS.items())}"


def _changed(rows: Sequence[Row], change: str, verb: str) -> str:
    subjects = [row["subject"] for row in rows if row["change"] == change]
    count = len(set(subjects))
    if not count:
        return f"nobody {verb}s access"
    permissions = f"{len(subjects)} permission{'s' if len(subjects) > 1 else ''}"
    return f"{count} subjects {verb} {permissions}" if count > 1 else f"1 subject {verb}s {permissions}"
