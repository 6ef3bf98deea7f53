"""The notebooks import what users can import: public packages, and names that these list."""

from __future__ import annotations

import ast
import json
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PUBLIC = {
    *("simkit", "simkit.analysis", "simkit.analysis.plots", "simkit.analysis.escalation"),
    *("simkit.analysis.least_privilege", "simkit.analysis.upgrade", "simkit.notebook", "simkit.cli"),
}


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_import_only_what_is_public(path: Path) -> None:
    """No inner modules, no names that are not exported, no magic."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        assert not source.startswith("%"), source
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("simkit"):
                assert node.module in PUBLIC, node.module
                names = {alias.name for alias in node.names if f"{node.module}.{alias.name}" not in PUBLIC}
                assert names <= {*import_module(node.module).__all__}, (node.module, names)
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names if alias.name.startswith("simkit")} <= {"simkit"}


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.ipynb")), ids=lambda path: path.stem)
def test_no_semicolon_hides_a_picture(path: Path) -> None:
    """A plot is what its cell ends with: IPython shows nothing of a last line with a semicolon."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).rstrip()
        if cell["cell_type"] == "code" and source.endswith(";"):
            assert source.endswith(".settle();"), source
