"""Rules on objects: budgets, messages, reasons, paths, old values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.kinds.apiextensions.cel_validation import CelValidator
from simkit.kinds.apiextensions.fieldpath import BadPath, normalized
from simkit.schema.catalogue import Catalogue
from simkit.schema.custom.structural import row_of, schema_of
from simkit.schema.custom.validation import ABSENT
from simkit.schema.structural import Schema
from tests.releases import BASE

RESOLVE = Catalogue.for_release("1.30").definition


def _rules(*rules: Mapping[str, Any], **spec: Any) -> CelValidator:
    node = {"type": "object", "x-kubernetes-validations": list(rules), **spec}
    return CelValidator(BASE, schema_of({"type": "object", "properties": {"spec": node}}, RESOLVE), root=True)


def _told(rules: CelValidator, value: Any, old: Any = ABSENT, *, budget: int = 10**7) -> tuple[list[str], list[str]]:
    warnings: list[str] = []
    before = ABSENT if old is ABSENT else {"spec": old}
    found = rules.errors({"spec": value}, before, warn=warnings.append, budget=budget)
    return [error.told(BASE) for error in found], warnings


FIELDS = {"properties": {"a": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}}}


def test_messages() -> None:
    """The message, or what its expression gives, or the rule itself; an expression that fails is passed over."""
    rules = _rules(
        {"rule": "self.a > 5"},
        {"rule": "self.a > 5", "message": " too small "},
        {"rule": "self.a > 5", "messageExpression": "'it is ' + string(self.a)"},
        {"rule": "self.a > 5", "messageExpression": "'x' + self.m['none']", "message": "plain"},
        {"rule": "self.a > 5", "messageExpression": "'two\\nlines'"},
        **FIELDS,
    )
    texts, _ = _told(rules, {"a": 1, "m": {}})
    start = 'spec: Invalid value: "object": '
    assert [text.removeprefix(start) for text in texts] == [
        "failed rule: self.a > 5",
        "too small",
        "it is 1",
        "plain",
        "failed rule: self.a > 5",
    ]


def test_reasons_and_paths() -> None:
    """A rule chooses its reason and the field below its node that errors name."""
    rules = _rules(
        {"rule": "false", "reason": "FieldValueForbidden", "fieldPath": ".a", "message": "no"},
        {"rule": "false", "reason": "FieldValueRequired", "fieldPath": ".m['x.y']", "message": "give it"},
        {"rule": "false", "reason": "FieldValueDuplicate", "message": "again"},
        **FIELDS,
    )
    assert _told(rules, {})[0] == [
        "spec.a: Forbidden: no",
        "spec.m[x.y]: Required value: give it",
        'spec: Duplicate value: "object"',
    ]


def test_errors_of_evaluation() -> None:
    """An evaluation error is reported with its rule."""
    assert _told(_rules({"rule": "self.m['none'] == ''"}, **FIELDS), {"m": {}})[0] == [
        "spec: Invalid value: \"object\": no such key: none evaluating rule: self.m['none'] == ''"
    ]


def test_one_budget_for_all_rules() -> None:
    """When the budget is spent, no further rule is evaluated, and the object is refused."""
    rules = _rules({"rule": "true || self.a > 1"}, {"rule": "self.a > 1 && self.a < 9"}, {"rule": "false"}, **FIELDS)
    texts, _ = _told(rules, {"a": 2}, budget=3)
    assert texts == [
        'spec: Invalid value: "object": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    ]


def test_transitions() -> None:
    """A rule about the old value is asked where there is one; with optionalOldSelf always."""
    rules = _rules(
        {"rule": "self.a >= oldSelf.a"},
        {"rule": "!oldSelf.hasValue() || oldSelf.value().a < 9", "optionalOldSelf": True},
        **FIELDS,
    )
    assert _told(rules, {"a": 1})[0] == []
    assert len(_told(rules, {"a": 1}, {"a": 2})[0]) == 1
    assert len(_told(rules, {"a": 10}, {"a": 9})[0]) == 1


def test_unchanged_values_warn() -> None:
    """A value that breaks a rule but did not change is let through with a warning."""
    rules = _rules({"rule": "self.a < 3"}, **FIELDS)
    assert _told(rules, {"a": 5}, {"a": 5}) == ([], ['spec: Invalid value: "object": failed rule: self.a < 3'])
    assert len(_told(rules, {"a": 6}, {"a": 5})[0]) == 1


@pytest.mark.parametrize("kind", [{}, {"x-kubernetes-list-type": "atomic"}, {"x-kubernetes-list-type": "set"}])
def test_elements_of_lists_without_keys_are_as_old_as_the_list(kind: dict[str, str]) -> None:
    """In a list without keys nothing but the whole can be told to be unchanged."""
    items = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]}
    rules = CelValidator(
        BASE,
        schema_of(
            {
                "type": "object",
                "properties": {"spec": {"type": "array", "items": items, **kind}},
            },
            RESOLVE,
        ),
    )
    assert _told(rules, [5], [5]) == ([], ['spec[0]: Invalid value: "integer": failed rule: self < 3'])
    assert len(_told(rules, [5, 1], [5])[0]) == 1


def test_null_is_not_asked_about() -> None:
    """Rules of a nullable field see its values only."""
    rules = CelValidator(
        BASE,
        schema_of(
            {
                "type": "object",
                "properties": {
                    "spec": {"type": "string", "nullable": True, "x-kubernetes-validations": [{"rule": "false"}]}
                },
            },
            RESOLVE,
        ),
    )
    assert _told(rules, None)[0] == []
    assert len(_told(rules, "")[0]) == 1


@pytest.mark.parametrize(
    ("path", "found"),
    [(".a", "a"), (".m['x.y']", "m[x.y]"), (".m.k", "m[k]"), ("['a']", "a"), (".m['it\\'s']", "m[it's]")],
)
def test_field_paths(path: str, found: str) -> None:
    """Names and quoted keys, as errors show them."""
    assert normalized(path, Schema(row_of({"type": "object", **FIELDS}), RESOLVE)) == found


@pytest.mark.parametrize("path", ["a", ".b", ".a.b", ".m[k]", ".m['k'", ".", ".m['\\q']", "..a"])
def test_paths_to_nowhere(path: str) -> None:
    """A path must lead to a field."""
    with pytest.raises(BadPath):
        normalized(path, Schema(row_of({"type": "object", **FIELDS}), RESOLVE))
