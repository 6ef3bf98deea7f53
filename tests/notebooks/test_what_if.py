"""The notebook about changes and expectations is clean, runs, and its claims hold."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from simkit.cluster.report.library import notebook
from tests.notebooks.execution import executed

NAME = "02-what-if-and-expectations.ipynb"


def test_its_parameter_is_the_seed() -> None:
    """One cell tells where chance starts."""
    source: Any = nbformat.reads(notebook(NAME).read_text(), as_version=4)  # type: ignore[no-untyped-call]
    marked = [cell.source for cell in source.cells if "parameters" in cell.metadata.get("tags", ())]
    assert marked == ["seed = 7"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 11])
def test_the_claims_hold(seed: int) -> None:
    """Every cell runs, the last one too, whatever the seed; there is a figure."""
    finished: Any = executed(notebook(NAME), {"seed": seed})
    outputs = [output for cell in finished.cells for output in cell.get("outputs", ())]
    assert "All hold, for 4 expectations" in finished.cells[-1].outputs[0].text
    assert any("image/png" in output.get("data", {}) for output in outputs)
