"""Errors in expressions of policies and webhooks, in kube-apiserver's words."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.parts.admission_expressions import (
    PolicyReader,
    validate_match_condition,
    validate_validation,
    written,
)
from tests.releases import BASE


def texts(errors: Any) -> list[str]:
    return [error.told(BASE) for error in errors]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([{"name": "a", "expression": " "}], ["m[0].expression: Required value"]),
        ([{"name": "a", "expression": "1"}], ['m[0].expression: Invalid value: "1": must evaluate to bool']),
        (
            [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}],
            ['m[1].name: Duplicate value: "a"'],
        ),
        ([{"name": "", "expression": "true"}], ["m[0].name: Required value"]),
    ],
)
def test_match_conditions(rows: Any, wanted: list[str]) -> None:
    """Each condition needs a name of its own and an expression that gives true or false."""
    assert texts(validate_match_condition(BASE, rows, "m")) == wanted


def test_conditions_may_mention_parameters_only_where_there_are_some() -> None:
    """``params`` is declared for policies with a parameter kind; ``variables`` never is."""
    row = [{"name": "a", "expression": "params.x == 1"}]
    assert "undeclared reference to 'params'" in texts(validate_match_condition(BASE, row, "m"))[0]
    assert not list(validate_match_condition(BASE, row, "m", params=True))
    assert list(validate_match_condition(BASE, [{"name": "a", "expression": "variables.x"}], "m", params=True))


def test_too_many_conditions() -> None:
    """There may be 64."""
    rows = [{"name": f"c{index}", "expression": "true"} for index in range(65)]
    assert texts(validate_match_condition(BASE, rows, "m")) == ["m: Too many: 65: must have at most 64 items"]


def test_variables_see_those_before_them() -> None:
    """A later variable is not known yet; a misspelt one has no such field."""
    spec = {"variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}]}
    reader = PolicyReader(BASE, spec)
    assert not list(reader.validate_variable("v"))
    assert not reader.validate_expression("variables.b == 2", "e")
    assert "undefined field 'c'" in texts(reader.validate_expression("variables.c == 2", "e"))[0]
    early = PolicyReader(BASE, {"variables": [{"name": "a", "expression": "variables.b"}]})
    assert "undefined field 'b'" in texts(early.validate_variable("v"))[0]
    assert (
        "undeclared reference to 'variables'"
        in texts(PolicyReader(BASE, {}).validate_expression("variables.b", "e"))[0]
    )


def test_stored_expressions_are_read_as_stored_ones() -> None:
    """An expression of a newer server stays valid as long as nobody changes it."""
    newer = "ip('1.2.3.4').family() == 4"
    spec = {"validations": [{"expression": newer}]}
    assert texts(PolicyReader(BASE, spec).validate_expression(newer, "e"))
    assert not PolicyReader(BASE, spec, spec).validate_expression(newer, "e")
    assert written(spec, "validations") == {newer}
    assert texts(PolicyReader(BASE, spec, spec).validate_message(newer, "e"))


def test_unchanged_match_conditions_are_not_read() -> None:
    """They are as soon as they, or the kind of the parameters, change."""
    old: Any = {"matchConditions": [{"name": "a", "expression": "nonsense"}]}
    assert not list(PolicyReader(BASE, old, old).validate_match_condition("m"))
    changed = {**old, "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    assert texts(PolicyReader(BASE, changed, old).validate_match_condition("m"))


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({"expression": ""}, "v.expression: Required value: expression is not specified"),
        ({"expression": "true", "messageExpression": " "}, "must be non-empty if specified"),
        ({"expression": "true", "message": " "}, "message must be non-empty if specified"),
        ({"expression": "true", "message": "a\nb"}, "message must not contain line breaks"),
        ({"expression": "true", "message": "a\rb"}, "message must not contain line breaks"),
        ({"expression": "true", "messageExpression": "authorizer"}, "undeclared reference to 'authorizer'"),
        ({"expression": "'a'.matches('[')"}, "v.expression: Invalid value"),
    ],
)
def test_validations(row: Any, wanted: str) -> None:
    """Expression, message expression and message of one validation."""
    (error,) = texts(validate_validation(PolicyReader(BASE, {}), row, "v"))
    assert wanted in error


def test_an_expression_of_several_lines_needs_no_message() -> None:
    """Unlike a rule of a custom resource."""
    assert not list(validate_validation(PolicyReader(BASE, {}), {"expression": "true\n&& true"}, "v"))


def test_audit_annotations() -> None:
    """Keys are unique behind the policy's name; values give a text or null."""
    rows = [
        {"key": "a", "valueExpression": "'x'"},
        {"key": "a", "valueExpression": "null"},
        {"key": "b", "valueExpression": "1"},
        {"key": "_", "valueExpression": " "},
    ]
    reader = PolicyReader(BASE, {"auditAnnotations": rows})
    errors = texts(reader.validate_annotation("p", "n"))
    assert 'n[3].key: Invalid value: "p/_": name part must' in errors[2]
    assert texts(reader.validate_annotation("", "n"))[0].endswith('"a": requires metadata.name be non-empty')
    assert errors[0] == 'n[1].key: Duplicate value: "a"'
    assert errors[1].endswith("must evaluate to one of [string null_type]")
    assert errors[-1] == "n[3].valueExpression: Required value: valueExpression is not specified"
