"""The notebook about policies runs, and its claims hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "07-policies-before-enforcing.ipynb"


def read() -> Any:
    return nbformat.reads(NOTEBOOK.read_text(), as_version=4)  # type: ignore[no-untyped-call]


def test_the_notebook_is_clean() -> None:
    """It has fewer than 40 cells, no outputs, a cell of parameters, and ends with assertions."""
    source = read()
    nbformat.validate(source)
    assert len(source.cells) < 40
    code = [cell for cell in source.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert [cell.metadata.get("tags") for cell in code].count(["parameters"]) == 1
    assert code[-1].source.count("assert ") > 3


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    """Every cell runs on the bundled cluster; the last one asserts what the text claims."""
    source = read()
    NotebookClient(source, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert not any(output.output_type == "error" for cell in source.cells for output in cell.get("outputs", ()))
