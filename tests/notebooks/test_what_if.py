"""The notebook about changes and expectations is clean, runs, and its claims hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from simkit.cluster.report.library import notebook
from tests.notebooks.execution import PARAMETERS, cells, executed, tags

pytestmark = pytest.mark.slow

NAME = "02-what-if-and-expectations.ipynb"


def test_its_parameter_is_the_seed() -> None:
    """One cell tells where chance starts."""
    assert [cell["source"] for cell in cells(notebook(NAME)) if PARAMETERS in tags(cell)] == ["seed = 7"]


@pytest.mark.parametrize("seed", [7, 11])
def test_the_claims_hold(seed: int, tmp_path: Path) -> None:
    """Every cell runs and every claim holds, whatever the seed; there is a figure."""
    shown = executed(notebook(NAME), {"seed": seed}, tmp_path)
    assert "All hold, for 4 expectations" in shown[-1]
    assert any("image/png" in each for each in shown)
