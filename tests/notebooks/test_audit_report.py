"""The audit notebook runs, its claims hold, and its report stands alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import orjson
import pytest

from simkit.cluster.report.library import notebook
from simkit.cluster.report.page import page
from simkit.cluster.report.report import AUDIT, executed, headings, to_html, write_report
from simkit.meta.errors import SimkitError
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.shared import SHARED, needs_shared

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


@pytest.mark.slow
def test_the_report_stands_alone(dump: Path, tmp_path: Path) -> None:
    """The report holds findings and figures, and refers to nothing outside of itself."""
    target = write_report(dump, tmp_path / "deep" / "report.html")
    text = target.read_text(encoding="utf-8")
    assert "May do everything" in text
    assert "ClusterRole deleted, which does not exist" in text
    assert text.count("data:image/png;base64,") == 4
    outside = [
        link for link in re.findall(r'(?:src|href)\s*=\s*["\']([^"\']+)', text) if not link.startswith(("#", "data:"))
    ]
    assert outside == []
    assert "<script" not in text
    assert "url(" not in text


@pytest.mark.slow
def test_a_failing_notebook_is_told(tmp_path: Path) -> None:
    """A dump that cannot be read ends with the cell's own message."""
    with pytest.raises(SimkitError, match=r"01-rbac-audit\.ipynb failed: .*nothing to load"):
        executed(notebook(AUDIT), {"dump": str(tmp_path / "missing.yaml")})


def test_a_notebook_without_parameters_is_refused() -> None:
    """Values need the cell that they come after."""
    bare: Any = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []})  # type: ignore[no-untyped-call]
    assert headings(bare) == []
    assert "<main>" in to_html(bare)
    with pytest.raises(SimkitError, match=r"no notebook .none.*course/01-"):
        notebook("none")


def test_the_page_escapes_what_it_is_given() -> None:
    """Names from outside cannot become markup."""
    assert "<b>" not in page("", ["<b>"], "<b>")


@needs_shared
@pytest.mark.slow
def test_the_audit_of_a_real_cluster(tmp_path: Path) -> None:
    """The notebook's claims hold on a dump of 25 products and a company, and on one of a fresh server."""
    for name in ("operators-and-teams.json.gz", "empty-cluster.json.gz"):
        target = write_report(SHARED / "datasets" / name, tmp_path / "report.html")
        assert "All hold, for" in target.read_text(encoding="utf-8")
