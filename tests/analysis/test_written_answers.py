"""Answers in files: a page, CSV and Excel."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import simkit
from tests.analysis.worlds import binding, namespace, role, rule

RISKY = [namespace("dev"), role("=reader", rule("*", "*", groups="*")), binding("ann", "=reader", "user:ann")]


def test_an_audit_in_files(tmp_path: Path) -> None:
    """The page has each finding, and no cell of the table is a formula."""
    found = simkit.load(RISKY, captured="*").audit()
    assert len(found)
    found.to_html(tmp_path / "f.html")
    page = (tmp_path / "f.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<tr>") == len(found) + len(found.summary()) + 2  # with both rows of heads
    found.to_csv(tmp_path / "f.csv")
    with (tmp_path / "f.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found)
    assert [row["severity"] for row in rows] == [one.severity.word for one in found]
    assert "Assumes RBAC alone" in rows[0]["caveats"]
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))]


def test_an_empty_answer_in_a_file_has_its_limits(tmp_path: Path) -> None:
    """A row that holds the limit alone."""
    simkit.load([namespace("dev")], captured="*").audit(checks=["wildcard"]).to_csv(tmp_path / "f.csv")
    [row] = csv.DictReader((tmp_path / "f.csv").read_text().splitlines())
    assert "Assumes RBAC alone" in row["caveats"]


def test_an_audit_for_excel(tmp_path: Path) -> None:
    """The first row has the names of columns."""
    openpyxl = pytest.importorskip("openpyxl")
    found = simkit.load(RISKY, captured="*").audit()
    found.to_excel(tmp_path / "f.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "f.xlsx").active
    assert [cell.value for cell in sheet[1]][:2] == ["severity", "check"]
    assert sheet.max_row == len(found) + 1
