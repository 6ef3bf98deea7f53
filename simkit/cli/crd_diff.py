"""``simkit crd-diff``: whether the change of a custom resource definition is compatible."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.reports import Case, Fault

DESCRIPTION = "Compares custom resource definitions, and validates stored objects against the new ones."
EXAMPLES = """\
examples:
  simkit crd-diff main/crds/ branch/crds/
  simkit crd-diff old.yaml new.yaml --dump cluster.yaml          # and what is stored in a cluster
  simkit crd-diff main/crds/ branch/crds/ -o sarif > crds.sarif

A change is compatible if it follows the API conventions and the deprecation policy: objects that were valid stay valid,
and no field or version is removed. A new validation rule counts as a break, although it may reject no valid object.
With --dump, the new definition is installed on a fork, and every stored object is validated there.

Exit code: 0 when the change is compatible, 1 when something breaks, 2 for wrong use or unreadable input.
"""
SHOWN = ("severity", "breaks", "definition", "version", "field", "change", "why", "objects")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("old", metavar="OLD", help="the old definitions: a file, a folder or an archive")
    parser.add_argument("new", metavar="NEW", help="the new definitions")
    parser.add_argument("--dump", metavar="PATH", help="a dump with objects of these kinds")
    add_output(parser, faults=True)


def run(args: argparse.Namespace) -> int:
    """Compare, write, and return the exit code."""
    from simkit.analysis.upgrade.definition_diff import definition_changes
    from simkit.cluster.loading import load

    sandbox = load(args.dump) if args.dump else None
    found = definition_changes(args.old, args.new, sandbox=sandbox)
    table = found.to_frame()
    rows = table.to_dict("records")
    cases = partial(_cases, rows, args.new)
    write_rows(tuple(map(str, table.columns)), rows, args.output, shown=SHOWN, empty="nothing changes", cases=cases)
    return 1 if any(row["breaks"] for row in rows) else 0


def _cases(rows: Sequence[Mapping[Any, Any]], new: str) -> list[Case]:
    """A case for each version of a definition that changes; what breaks is a fault of it."""
    faults: dict[str, list[Fault]] = {}
    for row in rows:
        found = faults.setdefault(f"{row['definition']} {row['version']}".strip(), [])
        if row["breaks"]:
            message = f"{row['field']}: {row['change']}. {row['why']}".removeprefix(": ")
            found.append(Fault(message, str(row["severity"]), new))
    return [
        Case(f"crd-{name.replace(' ', '-')}", f"The change of {name} is compatible", "high", some)
        for name, some in faults.items()
    ]
