"""The gallery: each picture is drawn by the code above it, and is as it is drawn."""

from __future__ import annotations

import re

import pytest

from simkit.analysis import plots
from tests.analysis.plots_looked_at import assert_readable
from tools.pictures import DOCS, pictures

GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")


def test_the_pictures_are_those_of_the_gallery() -> None:
    """Each has a light and a dark form, and none is left over."""
    named = set(re.findall(r"pictures/([\w-]+\.png)", "".join(page.read_text() for page in DOCS.glob("*.md"))))
    assert {path.name for path in (DOCS / "pictures").glob("*.png")} == named
    assert len(re.findall(r' src="pictures/', GALLERY)) == GALLERY.count("```python") - 1


@pytest.mark.slow
def test_the_code_of_the_gallery_draws_its_pictures() -> None:
    """In both themes, with texts that can be read."""
    drawn = dict(pictures())
    assert len(drawn) == GALLERY.count("</picture>")
    for picture in drawn.values():
        for paper in ("light", "dark"):
            with plots.theme(paper):
                assert_readable(picture())
