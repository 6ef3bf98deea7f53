"""The escalation graph to walk in: the script and style sheet that reports and notebooks share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import orjson

from simkit.present.design import stylesheet

_FOLDER = files("simkit.present") / "graph"


@cache
def graph_script() -> str:
    """The module that draws the graph, with the bundled library in front of it; its ``mount`` needs no other file."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("library.js", "path_graph.js"))


@cache
def graph_stylesheet() -> str:
    """The style sheet of the graph, with the shared one in front of it."""
    return stylesheet() + (_FOLDER / "path_graph.css").read_text(encoding="utf-8")


def graph_section(document: Mapping[str, object], proofs: Mapping[str, Mapping[str, object]]) -> str:
    """The graph as a part of a page that has ``graph_stylesheet``: an element, its data and the script.

    Parameters
    ----------
    document
        What ``graph_document`` returns.
    proofs
        Of each path that was proven, by ``subject -> goal``, its verdict and its requests: ``Proof.record``.

    Returns
    -------
    str
        HTML without references to other files. Names from the cluster are data in JSON, never markup.
    """
    data = _embedded({"graph": document, "proofs": proofs})
    start = (
        'const known = JSON.parse(document.getElementById("graph-data").textContent);\n'
        'mount(document.getElementById("graph"), known.graph, { proofs: known.proofs });\n'
    )
    return (
        '<div id="graph"></div>'
        f'<script type="application/json" id="graph-data">{data}</script>'
        f'<script type="module">{graph_script()}{start}</script>'
    )


def _embedded(value: object) -> str:
    """A value as JSON that no parser of HTML takes for markup."""
    text = orjson.dumps(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
