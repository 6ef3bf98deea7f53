"""The escalation graph to walk in: the script and style sheet that reports and notebooks share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from simkit.present.design import stylesheet

_FOLDER: Final = files("simkit.present") / "graph"
_START: Final = """
const known = JSON.parse(document.getElementById("graph-data").textContent);
const proofs = Object.fromEntries(known.proofs.flatMap(([paths, proof]) => paths.map((path) => [path, proof])));
mount(document.getElementById("graph"), known.graph, { proofs, folded: true });
"""


@cache
def elements_script() -> str:
    """The functions that the scripts of the graph and of panels share."""
    return (_FOLDER / "elements.js").read_text(encoding="utf-8")


@cache
def graph_script() -> str:
    """The module that draws the graph, with the bundled library in front of it; it needs no other file."""
    parts = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("library.js", "path_graph.js"))
    return elements_script() + "".join(parts)


@cache
def graph_page_script() -> str:
    """The module for a page of its own.

    It fills the element ``graph`` from the JSON in the element ``graph-data``: ``graph``, which is what
    ``graph_document`` returns, and ``proofs``, pairs of paths (``subject -> goal``) and the ``Proof.record`` of one.
    """
    return graph_script() + _START


@cache
def graph_styles() -> str:
    """The style sheet of the graph, with the shared one in front of it."""
    return stylesheet() + (_FOLDER / "path_graph.css").read_text(encoding="utf-8")
