"""The values that the scale subresource of a custom resource is made from."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.apiextensions.customresource import validate_scale
from tests.releases import BASE

PATHS = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        ({"spec": {"replicas": 3}, "status": {"selector": "a=b"}}, []),
        ({"spec": {}}, []),
        ({"spec": None}, []),
        ({"spec": {"replicas": -1}}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"]),
        (
            {"spec": {"replicas": "a"}},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected int64"
            ],
        ),
        (
            {"spec": {"replicas": 1.5}},
            [
                ".spec.replicas: Invalid value: 0: "
                ".spec.replicas accessor error: 1.5 is of the type float64, expected int64"
            ],
        ),
        (
            {"spec": {"replicas": True}, "status": {"selector": {"a": "b"}}},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: true is of the type bool, expected int64",
                '.status.selector: Invalid value: "": '
                ".status.selector accessor error: map[a:b] is of the type map[string]interface {}, expected string",
            ],
        ),
        (
            {"spec": ["a"]},
            [
                ".spec.replicas: Invalid value: 0: "
                ".spec.replicas accessor error: [a] is of the type []interface {}, expected map[string]interface{}"
            ],
        ),
    ],
)
def test_errors(obj: dict[str, Any], told: list[str]) -> None:
    """Values of a wrong type are refused with the type that was found."""
    assert [error.told(BASE) for error in validate_scale(PATHS, obj, only_status=False)] == told


def test_status_alone() -> None:
    """A written status is not asked for the replicas that are wanted."""
    assert not list(validate_scale(PATHS, {"spec": {"replicas": -1}}, only_status=True))
