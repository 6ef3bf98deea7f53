"""No test fails on a busy machine: what is asserted about time is counted as work (``tests/security/prices.py``)."""

from __future__ import annotations

import ast
from pathlib import Path

CLOCKS = ("perf_counter", "process_time", "thread_time", "monotonic")
TESTS = Path(__file__).parent.parent
PATIENT = {
    "clients/test_kopf.py",
    "simulation/test_host_programs.py",
    "testing/test_assets.py",
    "testing/test_operators.py",
}
"""Tests that wait for another program, and give it up in the end."""


def test_no_assertion_compares_times() -> None:
    """An assertion that something takes at most some seconds, or times as long as something else, is no test."""
    found = {
        str(file.relative_to(TESTS))
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
        for compared in ast.walk(node.test)
        if isinstance(compared, ast.Compare) and isinstance(compared.ops[0], ast.Lt | ast.LtE)
        for part in ast.walk(compared)
        if isinstance(part, ast.Attribute) and part.attr in CLOCKS
    }
    assert found == PATIENT
