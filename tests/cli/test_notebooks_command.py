"""The command that copies the notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simkit.cli import main

if TYPE_CHECKING:
    import pytest


def test_the_notebooks_are_copied_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new folder has them all, the course too; a folder that is there is left alone."""
    folder = tmp_path / "mine"
    assert main(["notebooks", "--to", str(folder)]) == 0
    assert "notebooks are in" in capsys.readouterr().out
    assert (folder / "01-rbac-audit.ipynb").is_file()
    assert list((folder / "course").glob("*.ipynb"))
    (folder / "01-rbac-audit.ipynb").write_text("mine")
    assert main(["notebooks", "--to", str(folder)]) == 2
    assert "mine" in capsys.readouterr().err
    assert (folder / "01-rbac-audit.ipynb").read_text() == "mine"
