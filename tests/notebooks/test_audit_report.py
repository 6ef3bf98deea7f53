"""The audit notebook runs on other dumps than its own, and its claims hold."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from simkit.cluster.report.library import notebook
from simkit.meta.errors import SimkitError
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.notebooks.execution import AUDIT, executed
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

OBJECTS = [
    *(namespace("dev"), account("dev", "app"), role("all", rule("*", "*", groups="*"))),
    role("secrets", rule("get,list", "secrets")),
    binding("admins", "all", "group:admins"),
    binding("readers", "secrets", "sa:dev/app", namespace="dev"),
    binding("gone", "deleted", "user:ann"),
]


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dump on disk."""
    path = tmp_path_factory.mktemp("dump") / "cluster.json"
    items = [*OBJECTS, role("local", rule("get", "pods"), namespace="dev")]
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def test_the_notebook_runs_on_any_dump(dump: Path, tmp_path: Path) -> None:
    """Its parameters say which; its claims hold."""
    assert "All hold, for" in executed(notebook(AUDIT), {"dump": str(dump)}, tmp_path)[-1]


def test_a_failing_notebook_is_told(tmp_path: Path) -> None:
    """A dump that cannot be read ends with the cell's own message."""
    with pytest.raises(SimkitError, match="nothing to load"):
        executed(notebook(AUDIT), {"dump": str(tmp_path / "missing.yaml")}, tmp_path)


def test_a_notebook_without_parameters_is_refused(tmp_path: Path) -> None:
    """Values need the cell that they come after; an unknown name is told with those that are there."""
    (tmp_path / "bare.ipynb").write_bytes(orjson.dumps({"nbformat": 4, "metadata": {}, "cells": []}))
    with pytest.raises(ValueError, match="no cell with the tag"):
        executed(tmp_path / "bare.ipynb", {"dump": ""}, tmp_path)
    with pytest.raises(SimkitError, match=r"no notebook .none.*course/01-"):
        notebook("none")


@needs_shared
@pytest.mark.parametrize("name", ["operators-and-teams.json.gz", "empty-cluster.json.gz"])
def test_the_audit_of_a_real_cluster(name: str, tmp_path: Path) -> None:
    """The notebook's claims hold on a dump of 25 products and a company, and on one of a fresh server."""
    assert "All hold, for" in executed(notebook(AUDIT), {"dump": str(SHARED / "datasets" / name)}, tmp_path)[-1]
