"""The example package of parts, installed as others install it, passes its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/simkit-example"
PAGE = ROOT / "docs/how-to/add-a-part.md"


@pytest.mark.slow
def test_the_example_package_works(tmp_path: Path) -> None:
    """It is built and installed beside simkit; its tests run the public suites, and clusters that name its parts."""
    pytest.importorskip("pip")
    copytree(EXAMPLE, tmp_path / "source", ignore=ignore_patterns("build", "*.egg-info", "__pycache__"))
    install = ("pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target")
    _run(*install, str(tmp_path / "installed"), str(tmp_path / "source"), path=[])
    path = [str(ROOT), str(tmp_path / "installed")]
    out = _run("pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "source/tests"), path=path)
    assert " passed" in out


def _run(module: str, *arguments: str, path: list[str]) -> str:
    """The output of a Python module that must succeed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("part", ["authorizer", "admission", "controller", "finding", "primitive"])
def test_the_guide_shows_the_code_of_the_example(part: str) -> None:
    """The page does not drift away from what is tested."""
    code = (EXAMPLE / f"src/simkit_example/{part}.py").read_text()
    assert code.split('"""\n\n', 1)[1].strip() in PAGE.read_text()
