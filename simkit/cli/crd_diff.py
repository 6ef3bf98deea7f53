"""``simkit crd-diff``: whether the change of a custom resource definition is compatible."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.reports import Case, Fault
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at

if TYPE_CHECKING:
    from simkit.analysis.prove import ProofAnswer
    from simkit.seams.snapshot import Sandbox

Row = dict[Any, Any]

DESCRIPTION = "Compares custom resource definitions, and validates stored objects against the new ones."
EXAMPLES = """\
examples:
  simkit crd-diff main/crds/ branch/crds/
  simkit crd-diff old.yaml new.yaml --dump cluster.yaml          # and what is stored in a cluster
  simkit crd-diff main/crds/ branch/crds/ -o sarif > crds.sarif

The change is judged by what the API conventions and the deprecation policy ask for: what was valid stays valid, what
was there stays there. Where z3-solver is installed (pip install "kube-simkit[prove]"), a constraint that is new counts
for all objects: it is compatible if it is proven to refuse none that was valid, and otherwise an object shows what it
refuses. With --dump the new definition is put in place on a fork, and every stored object is tried.

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
    rows = list(_proven(table.to_dict("records"), args, sandbox))
    cases = partial(_cases, rows, args.new)
    write_rows(tuple(map(str, table.columns)), rows, args.output, shown=SHOWN, empty="nothing changes", cases=cases)
    return 1 if any(row["breaks"] for row in rows) else 0


def _proven(rows: Sequence[Mapping[Any, Any]], args: argparse.Namespace, sandbox: Sandbox | None) -> Iterator[Row]:
    """The rows, with what is proven about the rules that are new, and an answer for each version."""
    from simkit.analysis.upgrade.definition_diff import read_definitions

    before, after = read_definitions(args.old, "old"), read_definitions(args.new, "new")
    answers = {
        (name, version): _answer(before[name], after[name], version, sandbox)
        for name in before
        if name in after
        for version in sorted(_versions(before[name]) & _versions(after[name]))
    }
    holding = {
        (*key, case.field, f"the rule {case.constraint} is new")
        for key, answer in answers.items()
        if not isinstance(answer, str)
        for case in answer.to_frame().itertuples()
        if case.case == "refuses nothing"
    }
    for row in rows:
        holds = (row["definition"], row["version"], row["field"], row["change"]) in holding
        why = "The solver proves that every object that was valid meets it."
        yield {**row, "severity": "info", "breaks": False, "why": why} if holds else dict(row)
    if rows:
        yield from (_row(name, version, answer) for (name, version), answer in answers.items())


def _answer(old: Object, new: Object, version: str, sandbox: Sandbox | None) -> ProofAnswer | str:
    """What is proven about a version, or why nothing is."""
    from simkit.analysis.prove.definitions import still_valid
    from simkit.cluster.cluster import Cluster

    try:
        return still_valid(old, new, version, sandbox=sandbox or Cluster())
    except SimkitError as error:
        return str(error)


def _versions(definition: Object) -> set[str]:
    return {str(each["name"]) for each in at(definition, "spec", "versions") or () if each.get("served")}


def _row(name: str, version: str, answer: ProofAnswer | str) -> Row:
    told = {"PASS": "every valid object stays valid", "FAIL": "a valid object is refused"}
    verdict, why = ("UNKNOWN", answer) if isinstance(answer, str) else (answer.verdict, answer.why)
    change = told.get(verdict, "not proven whether every valid object stays valid")
    severity = "high" if verdict == "FAIL" else "info"
    head = {"severity": severity, "breaks": verdict == "FAIL", "definition": name, "version": version, "field": ""}
    return {**head, "change": change, "why": why, "objects": None, "example": ""}


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
