"""The configurations for Binder and for dev containers name what is there."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_binder_installs_an_extra_that_exists() -> None:
    """The requirement is this project with an extra of pyproject.toml, for a Python that it supports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    first = (ROOT / ".binder" / "requirements.txt").read_text().split()[0]
    assert first.removeprefix(".[").removesuffix("]") in project["optional-dependencies"]
    version = (ROOT / ".binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert project["requires-python"].removeprefix(">=") <= version
    assert os.access(ROOT / ".binder" / "postBuild", os.X_OK)


def test_the_dev_container_runs_a_target_of_make() -> None:
    """Its command after creation is in the Makefile."""
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    target = settings["postCreateCommand"].removeprefix("make ")
    assert f"\n{target}: " in (ROOT / "Makefile").read_text()
