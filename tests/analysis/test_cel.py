"""An expression tried out in a notebook."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest

import simkit
from simkit.language.cel.errors import EvaluationError

SCHEMA = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "when": {"type": "string", "format": "date-time"}},
}


def test_value_type_and_cost_are_shown() -> None:
    found = simkit.cel("self.replicas <= self.max", self={"replicas": 3, "max": 5})
    assert (found.value, found.type, found.cost, found.error) == (True, "bool", 5, "")
    assert repr(found) == "True  (bool, cost 5)"
    assert "<code>True</code>" in found._repr_html_()


def test_the_type_of_a_dynamic_value_is_that_of_the_value() -> None:
    assert simkit.cel("self.names", self={"names": ["a"]}).type == "list"


def test_moments_read_as_they_are_written() -> None:
    assert repr(simkit.cel("timestamp('2024-01-01T00:00:00Z') + duration('1h')")).startswith("2024-01-01T01:00:00Z")


def test_explain_has_a_row_for_each_part_and_what_it_cost() -> None:
    rows = simkit.cel("self.replicas <= self.max", self={"replicas": 3, "max": 5}).explain()
    assert list(rows.columns) == ["expression", "value", "cost", "total"]
    assert rows.to_dict("list") == {
        "expression": ["self.replicas", "self.max", "self.replicas <= self.max"],
        "value": [3, 5, True],
        "cost": [2, 2, 1],
        "total": [2, 4, 5],
    }


def test_explain_ends_with_the_failure() -> None:
    rows = simkit.cel("self.all(x, x.n > 0)", self=[{"n": 1}, {}]).explain()
    assert isinstance(rows.iloc[-1]["value"], EvaluationError)
    assert len(simkit.cel("1 +").explain()) == 0


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("self.a.b > 3 && self.c[0] == 'x'", "self.a.b > 3 && self.c^[0] == 'x'"),
        ("self.a.b == 5 / 0", "self.a.b == 5 ^/ 0"),
        ("[1, 2].map(x, x / (x - 2))", "[1, 2].map(x, x ^/ (x - 2))"),
        ("self.l.all(i, i.x > 0)", "self.l.all(i, i^.x > 0)"),
        ("self.l.filter(i, self.l.exists_one(j, j.x == i.x))", "self.l.filter(i, self.l.exists_one(j, j^.x == i.x))"),
        ("self.a.b > 3 ? self.q : self.r", "self.a.b > 3 ? self^.q : self.r"),
        ("self.a.b < 3 ? self.q : self.r", "self.a.b < 3 ? self.q : self^.r"),
        ("self.p || size(self.a.b) > 0", "self^.p || size(self.a.b) > 0"),
        ("self.a.b > 3 && size(self.a.b) > 0", "self.a.b > 3 && size^(self.a.b) > 0"),
        ("optional.of(self).optMap(v, v.zz).value()", "optional.of(self).optMap(v, v^.zz).value()"),
        ("{'k': self.none}['k']", "{'k': self^.none}['k']"),
    ],
)
def test_a_failure_points_at_the_part_that_failed(source: str, place: str) -> None:
    values: dict[str, Any] = {"a": {"b": 5}, "c": [], "l": [{"x": 1}, {}]}
    text = simkit.cel(source, self=values).error
    column = place.index("^")
    assert text.startswith(f"ERROR: <input>:1:{column + 1}: ")
    assert text.splitlines()[2] == f" | {'.' * column}^"


def test_a_failure_below_declared_types_is_found_too() -> None:
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": SCHEMA}}}
    values = {"list": [{"when": "2024-01-01T00:00:00Z"}, {}]}
    source = "self.list.map(i, i.when.getFullYear())"
    assert simkit.cel(source, self=values, types={"self": schema}).error.startswith(
        "ERROR: <input>:1:19: no such key: when"
    )


def test_misspelt_fields_of_declared_types_do_not_compile() -> None:
    for types in ({"self": SCHEMA}, {"self": "apps/v1/Deployment"}):
        found = simkit.cel("self.replica > 1", self={}, types=types)
        assert found.error.startswith("ERROR: <input>:1:5: undefined field 'replica'")
        assert found.program is None


def test_costs_are_estimated_for_declared_types() -> None:
    bounded = {"type": "array", "maxItems": 10, "items": {"type": "integer"}}
    found = simkit.cel("self.all(x, x > 0)", self=[1], types={"self": bounded})
    assert found.least < found.cost <= found.most


def test_an_evaluation_ends_at_its_budget() -> None:
    assert "cost limit exceeded" in simkit.cel("[1, 2, 3].map(x, [x].map(y, y * 2))", budget=20).error


@pytest.mark.parametrize(
    ("given", "says"),
    [("foo/Bar", "no kind 'foo/Bar'"), ("lost(int)", "no type 'lost(int)'"), ({"x": 1}, "give every level a type")],
)
def test_types_that_do_not_exist_are_refused(given: Any, says: str) -> None:
    with pytest.raises(simkit.SimkitError, match="types: ") as caught:
        simkit.cel("x", x=1, types={"x": given})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("[optional.of(duration('1h')), optional.none()]", "[optional.of(duration('3600s')), optional.none()]"),
        ("{true: timestamp('2020-01-01T00:00:00Z')}", "{True: timestamp('2020-01-01T00:00:00Z')}"),
        ("[type(1), type('a')]", "[int, string]"),
        ("quantity('1.5Gi')", "quantity('1610612736')"),
        ("[ip('10.0.0.1').family() == 4 ? cidr('10.0.0.0/8').ip() : ip('::')]", "[ip('10.0.0.0')]"),
        ("cidr('10.1.0.0/8').masked()", "cidr('10.0.0.0/8')"),
        ("semver('v1.2', true)", "semver('1.2.0')"),
    ],
)
def test_values_are_shown_as_they_are_written(expression: str, shown: str) -> None:
    """Values that JSON does not have are shown as expressions write them."""
    assert repr(simkit.cel(expression, release="1.34")).startswith(f"{shown}  (")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"x": datetime(2020, 1, 1)}, "x: expressions have no values like datetime.datetime(2020, 1, 1, 0, 0)"),
        ({"x": {"a": [{1}]}}, r"x['a'][0]: expressions have no values like {1} (set); give plain values"),
        ({"x": 1, "release": "next"}, "'next' is no release; write it as text: "),
        ({"x": 1, "release": "1.99"}, "there is no catalogue of release '1.99'"),
    ],
)
def test_expressions_that_cannot_be_tried(given: dict[str, Any], told: str) -> None:
    """Values of other kinds and unknown releases are refused with the place and what to give instead."""
    with pytest.raises(simkit.SimkitError, match=re.escape(told)):
        simkit.cel("x", **given)


def test_later_functions_are_tried_at_their_release() -> None:
    """Release 1.30 refuses what came later; the release that brought it evaluates it, step by step."""
    assert simkit.cel("[1, 2].transformList(i, v, i + v)").error.startswith(
        "ERROR: <input>:1:21: undeclared reference to"
    )
    found = simkit.cel("[1, 2].transformList(i, v, i + v)", release="1.32")
    assert (found.value, found.explain()["expression"].iloc[-1]) == ([1, 3], "[1, 2].transformList(i, v, i + v)")
    failed = simkit.cel("{'a': 1}.all(k, v, v / (v - 1) > 0)", release="1.32")
    assert failed.error.startswith("ERROR: <input>:1:22: division by zero")
