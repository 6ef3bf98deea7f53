"""``simkit migrate``: manifests rewritten for a later release, as a patch, in place or into a folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cli.notes import complain, note
from simkit.cli.output import add_output, write_rows
from simkit.cli.reports import Case, Fault
from simkit.present.escaping import terminal_text

if TYPE_CHECKING:
    from simkit.analysis.upgrade.migration import Migration

DESCRIPTION = "Rewrites manifests in API versions that a release serves, with the meaning that they had."
EXAMPLES = """\
examples:
  simkit migrate manifests/ --to 1.33                          # prints a patch
  simkit migrate manifests/ --to 1.33 --check                  # for CI: exits with 1 if something would change
  simkit migrate manifests/ --to 1.33 --check -o sarif > old.sarif
  simkit migrate manifests/ --to 1.33 --in-place
  simkit migrate web.yaml --to 1.33 --output-version apps/v1 --output-dir new/
  helm template shop | simkit migrate - --to 1.33 | kubectl apply -f -

Comments, order and quotes are kept. Objects of other kinds stay as they are, and so do templates with more
than plain values.
Rewritten objects are tried on a server of the release; with --check all other objects too. What you have to change by
hand is listed on standard error.

Exit code: 0 when everything is rewritten, 1 when you have to change something by hand (with --check: or when something
would be rewritten), 2 for wrong use and for input that is not YAML, JSON or an object; other files are still rewritten.
"""
FOUND, UNREADABLE = 1, 2
SHOWN = ("file", "line", "kind", "name", "before", "after", "verdict", "person")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("path", nargs="+", metavar="PATH", help="files and folders of manifests; - is standard input")
    parser.add_argument("--to", required=True, metavar="RELEASE", help="the release to rewrite them for")
    parser.add_argument("--output-version", metavar="GROUP/VERSION", help="write this version, for kinds that have it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--check", action="store_true", help="write nothing: list what would change, and exit with 1 if anything would"
    )
    how.add_argument("--in-place", action="store_true", help="change the files")
    how.add_argument("--output-dir", type=Path, metavar="DIR", help="write all files into a folder")
    add_output(parser, faults=True)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis.upgrade.migration import migrate
    from simkit.cluster.cluster import Cluster

    piped = args.path == ["-"]
    source = f"{sys.stdin.read()}\n" if piped else args.path
    server = Cluster(release=args.to)
    found = migrate(source, args.to, output_version=args.output_version, sandbox=server, check=args.check)
    writes = not args.check and (args.in_place or args.output_dir is not None)
    if writes:
        for path in found.write(args.output_dir):
            note(f"written: {path}")
    if args.check or args.output != "table":
        table = found.to_frame()
        rows = table.to_dict("records")
        columns, cases = tuple(map(str, table.columns)), partial(_cases, rows)
        write_rows(columns, rows, args.output, shown=SHOWN, empty="nothing is to change", cases=cases)
    elif not writes:
        _write(found.files[0].after.removesuffix("\n") if piped else found.patch())
    _tell(found)
    if found.unread:
        return UNREADABLE
    return FOUND if not found or (args.check and found.changed) else 0


def _write(text: str) -> None:
    """Write manifests or a patch to standard output, and say so if a terminal or a build log does not get them as they
    are."""
    sys.stdout.write(text)
    if terminal_text(text) != text:
        complain("invisible characters are written out here; --in-place and --output-dir write them as they are")


def _cases(rows: Sequence[Mapping[Any, Any]]) -> list[Case]:
    """A case for each version and kind that is to be rewritten; each document of it is a fault."""
    faults: dict[tuple[str, str], list[Fault]] = {}
    for row in rows:
        message = f"{row['kind']} {row['name']}: {row['verdict']}".lstrip()
        told = "; ".join((f"{message} as {row['after']}" if row["after"] else message, *row["person"]))
        severity = "high" if row["person"] else "medium"
        found = faults.setdefault((str(row["before"]), str(row["kind"])), [])
        found.append(Fault(told, severity, str(row["file"]), int(row["line"] or 1)))
    return [_case(before, kind, some) for (before, kind), some in faults.items()]


def _case(before: str, kind: str, faults: Sequence[Fault]) -> Case:
    if not before:
        return Case("not-read", "Every file can be read", "high", faults)
    rule = f"old-{before}-{kind}".replace("/", "-").lower()
    return Case(rule, f"{before} {kind} is not written any more", "medium", faults)


def _tell(found: Migration) -> None:
    for row in found.to_frame().to_dict("records"):
        place = f"{row['file']}:{row['line']}: {row['kind']} {row['name']}".rstrip(": ")
        for told in row["person"]:
            complain(f"{place}: {told}")
        for told in row["notes"]:
            note(f"{place}: {told}")
