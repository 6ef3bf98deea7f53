"""The notebook about changes and expectations is clean, runs, and its claims hold."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from simkit.cluster.report.library import notebook
from simkit.cluster.report.report import executed

NAME = "02-what-if-and-expectations.ipynb"


def test_the_notebook_is_clean() -> None:
    """It has fewer than 40 cells, no outputs, a seed among its parameters, and ends with assertions."""
    source: Any = nbformat.reads(notebook(NAME).read_text(), as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(source)
    assert len(source.cells) < 40
    code = [cell for cell in source.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert [cell.source for cell in code if "parameters" in cell.metadata.get("tags", ())] == ["seed = 7"]
    assert code[-1].source.count("assert ") > 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 11])
def test_the_claims_hold(seed: int) -> None:
    """Every cell runs, the last one too, whatever the seed; there is a figure."""
    finished: Any = executed(notebook(NAME), {"seed": seed})
    outputs = [output for cell in finished.cells for output in cell.get("outputs", ())]
    assert "All hold, for 4 expectations" in finished.cells[-1].outputs[0].text
    assert any("image/png" in output.get("data", {}) for output in outputs)
