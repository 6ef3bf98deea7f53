"""Printer columns and factors of definitions meet objects that whoever wrote the definition has made for them."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.apiextensions import printer_columns
from simkit.kinds.apiextensions.printer_columns import cell, find_values
from simkit.schema.custom.formats import number_errors
from tests.releases import BASE
from tests.security.prices import LINEAR, growth


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for number in range(depth):
        value = {"a": value, "b": [{"a": number}] * 3}
    return {"spec": value}


@pytest.mark.parametrize(
    "path", ["..a" * 12 + ".no", "..*" * 12 + ".no", ".spec" + "..a" * 30 + "..no", "..b[?(@..a..a..a==1)].no"]
)
def test_a_path_of_many_steps_at_any_depth(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step multiplies what the one before has found; a column that finds nothing in time shows nothing."""
    column = {"jsonPath": path, "type": "string"}
    assert cell(_nested(100), column, 0.0) is None
    monkeypatch.setattr(printer_columns, "MOST", 2_000)
    assert growth(lambda obj: cell(obj, column, 0.0), _nested, 100) < LINEAR


def test_other_paths_have_all_their_values() -> None:
    """What users ask for themselves is not cut off."""
    assert len(list(find_values({"items": [{"a": 1}] * 50_000}, ".items[*].a"))) == 50_000


@pytest.mark.parametrize(("factor", "value"), [(1e-300, 1e308), (5e-324, 1.5), (1e-320, 1), (1e308, 5e-324)])
def test_factors_that_leave_the_range_of_numbers(factor: float, value: float) -> None:
    """The quotient is not finite, or nothing: the value is no multiple, and the request no error of ours."""
    properties = {"multipleOf": factor}
    assert all(error.told(BASE) for error in number_errors(BASE, properties, ("number",), "", value, "spec.n"))


@pytest.mark.parametrize("value", [1e308, -1e308, 2.0**63, -(2.0**64)])
def test_numbers_that_do_not_fit_into_a_cell(value: float) -> None:
    """One object kept everybody from listing its kind as a table: the cell is what Go makes of such a number."""
    assert cell({"n": value}, {"jsonPath": ".n", "type": "integer"}, 0.0) == -(2**63)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999999-01-01T00:00:00Z"])
def test_dates_at_the_ends_of_time(text: str) -> None:
    """They are ages, or no dates."""
    assert isinstance(cell({"d": text}, {"jsonPath": ".d", "type": "date"}, 0.0), str)
