"""Roles and bindings are defaulted and checked as kube-apiserver does it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from simkit.kinds.strategy import strategy_of
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import invalid
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.names import GroupKind
from simkit.meta.objects import Object, copied, name_of
from tests.releases import BASE
from tests.shared import SHARED, needs_shared

KINDS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def recorded_steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """All recorded requests that carry an RBAC object whole, by case."""
    for path in sorted((SHARED / "conformance" / "cases").glob("*/*.json")):
        case = orjson.loads(path.read_bytes())
        for step in case["steps"]:
            body, answer = step.get("body"), step.get("expect", {})
            whole = isinstance(body, dict) and body.get("kind") in KINDS and step["method"] in ("POST", "PUT")
            if whole and "rbac" in step["path"] and answer.get("status") in (200, 201, 422):
                yield case["name"], step


def written(body: Object, old: Object | None) -> tuple[Object, list[FieldError]]:
    """An object as a write leaves it, and what is wrong with it."""
    rules = strategy_of(GroupKind(RBAC_GROUP, body["kind"]))
    draft = copied(body)
    rules.prepare(BASE, draft, old)
    rules.default(BASE, draft)
    names = [
        invalid_value("metadata.name", name_of(draft), text) for text in rules.validate_name(name_of(draft), False)
    ]
    told = list(rules.validate(BASE, draft, old))
    if old is None:
        return draft, [*names, *told]
    again = [each for check in rules.metadata_checks.after if check.kind and check.asked(BASE) for each in told]
    return draft, [*names, *told, *again, *rules.validate_last(BASE, draft, old)]


@needs_shared
def test_recorded_refusals() -> None:
    """Every recorded 422 of a whole object has the same message and causes, in the same order."""
    stored: dict[tuple[str, str, str], Object] = {}
    refused = 0
    for case, step in recorded_steps():
        body, expected = step["body"], step["expect"]
        place = (case, body["kind"], name_of(body))
        if not name_of(body):
            continue
        draft, errors = written(body, stored.get(place) if step["method"] == "PUT" else None)
        if expected["status"] == 422:
            refused += 1
            error = invalid(BASE, GroupKind(RBAC_GROUP, body["kind"]), name_of(body), errors).status()
            text = orjson.dumps(error).replace(b"{{unique}}", b"<unique>")
            assert orjson.loads(text) == expected["body"], case
        else:
            stored[place] = draft
            assert errors == [], case
    assert refused > 30


@needs_shared
def test_recorded_defaults() -> None:
    """Every recorded create and replace answers with the defaulted rules, subjects and role reference."""
    compared = 0
    for case, step in recorded_steps():
        if step["expect"]["status"] == 422 or "kind" not in step["expect"].get("body", ()):
            continue
        draft, _ = written(step["body"], None)
        text = orjson.dumps(draft).replace(b"{{unique}}", b"<unique>")
        made, expected = orjson.loads(text), step["expect"]["body"]
        for field in ("rules", "subjects", "roleRef", "aggregationRule"):
            assert made.get(field) == expected.get(field), case
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("kind", KINDS)
def test_put_creates(kind: str) -> None:
    """PUT of an absent role or binding creates it."""
    assert strategy_of(GroupKind(RBAC_GROUP, kind)).allow_create_on_update


def test_role_reference_is_immutable() -> None:
    """The role of a binding cannot be changed; its subjects can."""
    reference = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "one"}
    old: Object = {"kind": "RoleBinding", "metadata": {"name": "b", "namespace": "x"}, "roleRef": reference}
    _, errors = written({**old, "roleRef": {**reference, "name": "two"}}, old)
    shown = f'rbac.RoleRef{{APIGroup:"{RBAC_GROUP}", Kind:"Role", Name:"two"}}'
    assert [error.told(BASE) for error in errors] == [f"roleRef: Invalid value: {shown}: cannot change roleRef"]
    assert written({**old, "subjects": [{"kind": "User", "name": "ann"}]}, old)[1] == []


def test_faults_of_an_update_stand_twice() -> None:
    """kube-apiserver checks an update twice, which shows in the causes."""
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""]}]}
    assert len(written(role, None)[1]) == 1
    assert len(written(role, role)[1]) == 2


@pytest.mark.parametrize(
    ("selectors", "fields"),
    [
        ([], ["aggregationRule.clusterRoleSelectors"]),
        ([{}], []),
        (
            [{"matchExpressions": [{"key": "a", "operator": "In"}]}],
            [
                "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values",
                "aggregationRule.clusterRoleSelectors[0]",
            ],
        ),
    ],
)
def test_aggregation_selectors(selectors: list[Object], fields: list[str]) -> None:
    """An aggregation rule needs selectors, and valid ones."""
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": selectors}}
    assert [error.field for error in written(role, None)[1]] == fields


def test_rows() -> None:
    """The table of bindings lists role, age, users, groups and service accounts."""
    binding = {
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "x", "creationTimestamp": "2024-04-17T00:00:00Z"},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "r"},
        "subjects": [
            {"kind": "User", "name": "u"},
            {"kind": "Group", "name": "g1"},
            {"kind": "Group", "name": "g2"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "d"},
        ],
    }
    row = strategy_of(GroupKind(RBAC_GROUP, "RoleBinding")).print_row
    assert row is not None
    assert list(row(BASE, binding, 1713312000 + 400)) == ["b", "Role/r", "6m40s", "u", "g1, g2", "d/s"]
    assert strategy_of(GroupKind(RBAC_GROUP, "Role")).print_row is None
