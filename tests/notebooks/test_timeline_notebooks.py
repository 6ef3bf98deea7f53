"""The notebooks about timelines and about versions that go run, and their claims hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = ("05-deprecation-timelines", "06-what-if-a-version-goes")


def read(name: str) -> Any:
    return nbformat.reads((FOLDER / f"{name}.ipynb").read_text(), as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebooks_are_clean(name: str) -> None:
    """Fewer than 40 cells, no outputs, a cell of parameters, and assertions at the end."""
    source = read(name)
    nbformat.validate(source)
    assert len(source.cells) < 40
    code = [cell for cell in source.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert [cell.metadata.get("tags") for cell in code].count(["parameters"]) == 1
    assert "assert " in code[-1].source


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebooks_run(name: str, tmp_path: Path) -> None:
    """Every cell runs on the bundled data; the last one asserts what the text claims."""
    source = read(name)
    NotebookClient(source, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert not any(output.output_type == "error" for cell in source.cells for output in cell.get("outputs", ()))
