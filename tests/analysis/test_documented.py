"""The page about analyses names every column of every table."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from simkit.analysis.findings.exposure import REACH_COLUMNS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "analyses.md").read_text(encoding="utf-8")
COLUMNS = {
    *("hops", "path", "bindings", "subject", "namespace", "resource", "met", "severity", "expectation", "failures"),
    *REACH_COLUMNS,
}


@pytest.mark.parametrize(
    "module", ["access.who_can", "access.compare", "access.permissions", "rbac.tables", "findings.audit"]
)
def test_every_column_is_on_the_page(module: str) -> None:
    """Whoever adds a column describes it."""
    found = import_module(f"simkit.analysis.{module}")
    listed = [value for name, value in vars(found).items() if name.endswith("COLUMNS")]
    assert listed
    for column in {*COLUMNS, *(column for columns in listed for column in columns)}:
        assert column in PAGE, f"{module}: {column}"
