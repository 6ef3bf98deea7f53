"""The notebooks that stand alone are clean, run, and their claims hold. Audit and trial have tests of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks.execution import PARAMETERS, cells, claims_of, executed, tags

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
INDEX = "index.ipynb"
ALL = sorted(path.name for path in FOLDER.glob("[0-9]*.ipynb"))
ALONE = [*(name for name in ALL if not name.startswith(("01", "02"))), INDEX]


def head(name: str) -> str:
    """The first cell of a notebook."""
    return str(cells(FOLDER / name)[0]["source"])


def test_they_are_notebooks() -> None:
    """Their files have the form of notebooks."""
    import nbformat  # takes long to load, and only one process of the tests needs it

    for path in FOLDER.rglob("*.ipynb"):
        nbformat.validate(nbformat.reads(path.read_text(), as_version=4))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ALL)
def test_it_is_clean(name: str) -> None:
    """It has fewer than 40 cells, no outputs, a cell of parameters, and claims that are checked outside of it."""
    every = cells(FOLDER / name)
    assert len(every) < 40
    code: list[Any] = [cell for cell in every if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert [tags(cell) for cell in code].count([PARAMETERS]) == 1
    assert not any("assert " in cell["source"] for cell in code)
    assert claims_of(name).count("assert ") >= 3


@pytest.mark.parametrize("name", [*ALL, INDEX])
def test_its_head_says_what_for(name: str) -> None:
    """The first cell tells what one can do afterwards, and how long it takes."""
    assert re.search(r"^\*\*Afterwards you (can|know)\*\*", head(name), re.MULTILINE)
    assert re.search(r"^\*\*Time\*\*: \d+ minutes$", head(name), re.MULTILINE)


def test_the_index_names_every_notebook() -> None:
    """Each has a row, with the time that its head says; the course is linked."""
    linked = dict(re.findall(r"\]\(([\w-]+\.ipynb)\) \| ([^|]+) \|", head(INDEX)))
    assert sorted(linked) == ALL
    for name, time in linked.items():
        assert f"**Time**: {time}" in head(name)
    assert "(course/01-" in head(INDEX)


@pytest.mark.parametrize("name", ALONE)
def test_it_runs(name: str, tmp_path: Path) -> None:
    """Every cell runs on the bundled data, and what the text claims holds."""
    shown = executed(FOLDER / name, {}, tmp_path)
    assert "text/html" in "".join(shown)
