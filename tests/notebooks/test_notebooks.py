"""The notebooks that stand alone are clean, run, and their claims hold. Audit and trial have tests of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
INDEX = "index.ipynb"
ALL = sorted(path.name for path in FOLDER.glob("[0-9]*.ipynb"))
ALONE = [*(name for name in ALL if not name.startswith(("01", "02"))), INDEX]


def read(name: str) -> Any:
    return nbformat.reads((FOLDER / name).read_text(), as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ALL)
def test_it_is_clean(name: str) -> None:
    """It has fewer than 40 cells, no outputs, a cell of parameters, and ends with assertions."""
    source = read(name)
    nbformat.validate(source)
    assert len(source.cells) < 40
    code = [cell for cell in source.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert [cell.metadata.get("tags") for cell in code].count(["parameters"]) == 1
    assert code[-1].source.count("assert ") >= 3


@pytest.mark.parametrize("name", [*ALL, INDEX])
def test_its_head_says_what_for(name: str) -> None:
    """The first cell tells what one can do afterwards, and how long it takes."""
    head = read(name).cells[0].source
    assert re.search(r"^\*\*Afterwards you (can|know)\*\*", head, re.MULTILINE)
    assert re.search(r"^\*\*Time\*\*: \d+ minutes$", head, re.MULTILINE)


def test_the_index_names_every_notebook() -> None:
    """Each has a row, with the time that its head says; the course is linked."""
    source = read(INDEX).cells[0].source
    linked = dict(re.findall(r"\]\(([\w-]+\.ipynb)\) \| ([^|]+) \|", source))
    assert sorted(linked) == ALL
    for name, time in linked.items():
        assert f"**Time**: {time}" in read(name).cells[0].source
    assert "(course/01-" in source


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_it_runs(name: str, tmp_path: Path) -> None:
    """Every cell runs on the bundled data; the last one asserts what the text claims."""
    source = read(name)
    NotebookClient(source, timeout=180, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert not any(output.output_type == "error" for cell in source.cells for output in cell.get("outputs", ()))
