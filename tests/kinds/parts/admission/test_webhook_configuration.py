"""Configurations of webhooks: an update may leave wrong what was wrong already."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.parts.admission_requests import webhook_rules
from tests.releases import BASE

RULES = webhook_rules(reinvoked=False)


def configuration(**fields: Any) -> Any:
    """A configuration of two webhooks, defaults filled in, the first with some fields."""
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://example.com/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    found: Any = {"metadata": {"name": "c"}, "webhooks": [{**webhook, **fields}, {**webhook, "name": "b.example.com"}]}
    assert RULES.default is not None
    RULES.default(BASE, found)
    return found


@pytest.mark.parametrize(
    "fields",
    [
        {"sideEffects": "Some"},
        {"admissionReviewVersions": ["v2"]},
        {"name": "b.example.com"},
        {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not a value"]}]}},
        {"matchConditions": [{"name": "a", "expression": "nonsense"}]},
    ],
)
def test_unchanged_invalid_fields_are_accepted(fields: Any) -> None:
    """It may not come with a new configuration, nor with a change of a good one."""
    assert RULES.validate is not None
    wrong = configuration(**fields)
    assert list(RULES.validate(BASE, wrong, None))
    assert list(RULES.validate(BASE, wrong, configuration()))
    assert not list(RULES.validate(BASE, {**wrong, "metadata": {"name": "c", "labels": {"a": "b"}}}, wrong))


def test_changed_conditions_are_read() -> None:
    """All of them, once one has changed."""
    assert RULES.validate is not None
    old = configuration(matchConditions=[{"name": "a", "expression": "nonsense"}])
    changed = configuration(matchConditions=[{"name": "b", "expression": "nonsense"}])
    (error,) = RULES.validate(BASE, changed, old)
    assert error.field == "webhooks[0].matchConditions[0].expression"
