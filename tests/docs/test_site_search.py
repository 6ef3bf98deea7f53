"""The site's search puts guides before the reference, and its style breaks long code on small screens."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        (
            "how do I test my operator without a cluster?",
            "testing.html Tests with a cluster",
            "how-to/cut.html Cut rights",
        ),
        ("unused rights", "how-to/cut.html Cut rights", "testing.html Tests with a cluster"),
        ("the with", "how-to/cut.html Cut rights", "testing.html Tests with a cluster"),
    ],
)
def test_of_equal_guides_the_one_with_the_words_in_its_title_comes_first(query: str, first: str, second: str) -> None:
    """Words that say nothing do not count; where none is in a title, neither guide is preferred."""
    pages = [each.split(" ", 1) for each in (first, second)]
    program = (
        'const stopwords = new Set(["how", "do", "my", "with", "without", "the"]);'
        f"const location = {{search: `?q=${{encodeURIComponent({json.dumps(query)})}}`}};"
        f"{(STATIC / 'search_scores.js').read_text()}"
        f"console.log(JSON.stringify({json.dumps(pages)}.map(([page, title]) => Scorer.score([page, title, '', '', 15]))))"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    better, worse = json.loads(done.stdout)
    assert (better > worse) is (query != "the with")


def test_the_reference_leaves_out_members_of_widgets() -> None:
    """Panels inherit a hundred methods of traitlets, which nobody searches here."""
    page = interface_pages()["reference/library/notebook.md"]
    assert "HasTraits" in page
    assert "VBox" in page
