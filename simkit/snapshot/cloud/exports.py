"""Exports of cloud providers: read, told apart by their fields, and joined with the objects of a dump."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from simkit.meta.errors import SimkitError
from simkit.seams.authorization import Authorization
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud import aks, eks, gke
from simkit.snapshot.cloud.output import Export, Unexpected
from simkit.snapshot.dump import Dump
from simkit.snapshot.parse import documents
from simkit.snapshot.report import Report
from simkit.snapshot.sources import Source, pieces
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits

COMMANDS: Final = {"eks": eks.COMMANDS, "gke": gke.COMMANDS, "aks": aks.COMMANDS}
"""The shell commands that write the export of a cluster into a folder, by provider."""
_EXPORTS: Final[tuple[Callable[[], Export], ...]] = (eks.EksExport, gke.GkeExport, aks.AksExport)
_PAGE: Final = frozenset(("value", "nextLink", "@odata.context"))
"""The fields of a page of a list."""
_HOW: Final = f"`simkit dump --cloud PROVIDER` ({', '.join(COMMANDS)}) prints the commands whose outputs are read"


def with_cloud(dump: Dump, source: Source, limits: Limits = DEFAULT_LIMITS) -> Dump:
    """A dump with the access that the export of its provider tells.

    Raises
    ------
    SimkitError
        If the source holds no export, or the objects are those of another provider's cluster.
    """
    report = Report()
    export = read_export(source, report, limits)
    chain = authorization_of(dump.authorization, export, dump.snapshot())
    return replace(dump, stated=chain, problems=(*dump.problems, *report))


def authorization_of(shown: Authorization, export: Export, snapshot: Snapshot) -> Authorization:
    """The authorizers of a cluster of which an export tells the access. Raises SimkitError for another provider's."""
    if shown.provider not in ("", export.provider):
        where = f"the objects are those of a cluster on {shown.provider}"
        raise SimkitError(f"the export is of {export.provider}, but {where}")
    named = f"the {export.provider} export"
    chain = shown if shown.source else replace(shown, modes=export.modes, source=named)
    return replace(chain, provider=export.provider, outside="", access=export.access(snapshot))


def read_export(source: Source, report: Report, limits: Limits = DEFAULT_LIMITS) -> Export:
    """The export of a managed cluster: files, folders, texts or decoded outputs, with one output each or several.

    Parameters
    ----------
    source
        The outputs in any order; lists of them, and several in a row, count as if each had a file of its own.
    report
        Takes what is none of these outputs, or is not as documented.

    Raises
    ------
    SimkitError
        If none of the outputs was found, or if they are about different clusters or of different providers.
    """
    exports, lost = [make() for make in _EXPORTS], Report()
    known: dict[str, Export] = {}
    for piece in pieces(source, lost, limits):
        for document in documents(piece, lost, lambda _: None):
            for output in _outputs(document.value):
                known |= {export.provider: export for export in _take(exports, output, piece.file, report)}
    for problem in lost:
        report.add(problem.file, problem.line, problem.what, problem.hint, weight=problem.weight)
    if not known:
        raise SimkitError(f"no output about a managed cluster was found; {_HOW}")
    if len(known) > 1:
        raise SimkitError(f"the export mixes outputs of {' and '.join(known)}; give the files of one cluster")
    (export,) = known.values()
    if any(problem.weight == "lost" for problem in lost):
        export.broken.append("a file could not be read")
    if len(export.names) > 1:
        named = ", ".join(map(repr, export.names))
        raise SimkitError(f"the export is about several clusters ({named}); give the files of one")
    return export


def _outputs(value: Any) -> Iterator[Any]:
    """The outputs in a value: itself, or what is in a list, in the lists in it, and in pages of Azure's REST API."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(reversed(one))
        elif isinstance(one, Mapping) and isinstance(one.get("value"), list) and set(one) <= _PAGE:
            left.extend(reversed(one["value"]))
            if one.get("nextLink"):
                left.append({"nextLink": one["nextLink"]})
        else:
            yield one


def _take(exports: list[Export], output: Any, file: str, report: Report) -> list[Export]:
    """The exports of which this is an output; what is no output of a provider is reported."""
    if not isinstance(output, Mapping):
        report.add(file, None, "not an output about a managed cluster", _HOW)
        return []
    found = []
    for export in exports:
        try:
            if export.take(output, file):
                found.append(export)
        except Unexpected as error:
            told = f"an output about a cluster on {export.provider} that is not as documented: {error}"
            report.add(file, None, told, _HOW)
            export.broken.append(f"an output could not be read ({error})")
            found.append(export)
    if not found:
        unused = any(export.says_nothing(output) for export in exports)
        what = "says nothing about access to the cluster" if unused else "not an output about a managed cluster"
        report.add(file, None, what, _HOW, weight="note" if unused else "lost")
    return found
