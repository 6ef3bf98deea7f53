"""Rows of rules: which fields they look at, in what order, and where their errors are told."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.rules import REQUIRED, Check, changes, distinct, fields, fixed, must, row, table, validation
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from tests.releases import BASE


def _told(check: Check, value: Any) -> list[str]:
    return _in_words(check(BASE, value))


def _in_words(errors: Any) -> list[str]:
    behaviour = ServedBehaviour(30)
    return [FieldError.told(error, behaviour) for error in errors]


def test_a_row_stops_at_the_first_check_that_fails() -> None:
    """A field that is required and missing is not checked further; one of a wrong form is told once."""
    check = table(row("name", REQUIRED, must.be_one_of("a", "b")))
    assert _told(check, {}) == [".name: Required value"]
    assert _told(check, {"name": "c"}) == ['.name: Unsupported value: "c": supported values: "a", "b"']
    assert _told(check, {"name": "b"}) == []


def test_all_rows_below_a_field_are_asked() -> None:
    """Rows in a row are about the parts of its value, and one error does not hide the next."""
    check = row("claim", row("name", REQUIRED), row("size", must.be_positive))
    assert _told(check, {"claim": {"size": 0}}) == [
        ".claim.name: Required value",
        ".claim.size: Invalid value: 0: must be greater than 0",
    ]
    assert _told(check, {}) == []


@pytest.mark.parametrize(
    ("options", "value", "asked"),
    [
        ({}, {}, False),
        ({}, {"kind": ""}, False),
        ({"empty": True}, {"kind": ""}, True),
        ({"empty": True}, {}, False),
        ({"zero": ""}, {}, True),
        ({"zero": ""}, {"kind": ""}, True),
    ],
)
def test_absent_and_empty_texts(options: dict[str, Any], value: dict[str, str], asked: bool) -> None:
    """An absent field is checked where it has a zero value, an empty text also where it is a pointer."""
    assert bool(_told(table(row("kind", must.be_one_of("A"), **options)), value)) is asked


def test_items_are_told_with_their_places() -> None:
    """Every item of a list is checked, and one that repeats an earlier name is a duplicate after its own errors."""
    check = row("ports[]", row("port", must.be_between(1, 9)), distinct("name"))
    value = {"ports": [{"name": "a", "port": 0}, {"name": "b", "port": 1}, {"name": "a", "port": 99}]}
    assert _told(check, value) == [
        ".ports[0].port: Invalid value: 0: must be between 1 and 9, inclusive",
        ".ports[2].port: Invalid value: 99: must be between 1 and 9, inclusive",
        '.ports[2].name: Duplicate value: "a"',
    ]
    assert [error.field for error in check(BASE, value)] == [error.field for error in check(BASE, value)]


def test_lists_within_lists() -> None:
    """A path may go through several lists."""
    check = row("rules[].paths[]", must.be_one_of("/"))
    assert [error.field for error in check(BASE, {"rules": [{}, {"paths": ["/", "x"]}]})] == [".rules[1].paths[1]"]


def test_conditions_look_at_the_mapping_that_holds_the_field() -> None:
    """``when`` and ``unless`` say when a row is asked."""
    check = table(row("holder", must.be_absent("needs a strategy"), unless=fields.given("strategy")))
    assert _told(check, {"holder": "a"}) == [".holder: Forbidden: needs a strategy"]
    assert _told(check, {"holder": "a", "strategy": "b"}) == []


@pytest.mark.parametrize(("minor", "told"), [(33, [".a"]), (34, [".b"])])
def test_rows_of_releases(minor: int, told: list[str]) -> None:
    """A row holds since, or until, a change of behaviour."""
    check = table(
        row("a", must.be_otherwise("wrong"), until="values-in-json"),
        row("b", must.be_otherwise("wrong"), since="values-in-json"),
    )
    assert [error.field for error in check(ServedBehaviour(minor), {"a": 1, "b": 1})] == told


def test_validation_of_new_and_changed_objects() -> None:
    """New objects have rules of their own, and changed ones are compared with what is stored."""
    validate = validation(
        row("spec.size", must.be_nonnegative),
        created=(row("spec.name", REQUIRED),),
        changed=changes(fixed("spec.name", zero=""), fixed("data", zero={})),
    )
    assert _in_words(validate(BASE, {"spec": {"size": -1}}, None)) == [
        "spec.size: Invalid value: -1: must be greater than or equal to 0",
        "spec.name: Required value",
    ]
    assert _in_words(validate(BASE, {"spec": {"name": "b"}, "data": {}}, {"spec": {"name": "a"}})) == [
        'spec.name: Invalid value: "b": field is immutable'
    ]
