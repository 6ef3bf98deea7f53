"""The import contract that no files import each other in a circle, not even by imports inside functions."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, output

if TYPE_CHECKING:
    from grimp import ImportGraph


def circle_of(graph: ImportGraph) -> list[str]:
    """The modules of a circle, of which each imports the next, and the last is the first; none without a circle."""
    imports = {module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


class NoCircles(Contract):
    """A contract without settings: the graph of all imports has no circle."""

    type_name = "no_circles"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look for a circle."""
        circle = circle_of(graph)
        return ContractCheck(kept=not circle, metadata={"circle": circle})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name the modules of the circle in the order of their imports."""
        output.print_error(" -> ".join(check.metadata["circle"]))
