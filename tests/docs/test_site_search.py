"""The site's search puts guides before the reference, and its style breaks long code on small screens."""

from __future__ import annotations

import re
from pathlib import Path

from tools.site.interface import interface_pages

STATIC = Path(__file__).parents[2] / "docs/static"


def test_search_scores_name_pages_that_exist() -> None:
    """Each pattern of the scores names pages of the site; guides get most."""
    text = (STATIC / "search_scores.js").read_text()
    found = [
        (pattern.replace("\\/", "/"), int(score)) for pattern, score in re.findall(r"\[/\^\((.*)\)/, (-?\d+)\]", text)
    ]
    assert len(found) == 3
    docs = STATIC.parent
    for names, _ in found:
        for name in names.split("|"):
            made = name.startswith("reference/") or name in ("changelog", "contributing")
            assert made or list(docs.glob(f"{name}*")), name
    assert max(found, key=lambda one: one[1])[0].startswith("how-to/")


def test_the_reference_leaves_out_members_of_widgets() -> None:
    """Panels inherit a hundred methods of traitlets, which nobody searches here."""
    page = interface_pages()["reference/library/notebook.md"]
    assert "HasTraits" in page
    assert "VBox" in page
