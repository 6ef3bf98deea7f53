"""Warnings of old names of labels, wherever nodes are selected."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kinds.test_builtin_kinds import made, strategy
from tests.releases import BASE

OLD = "beta.kubernetes.io/os"
TEXT = 'deprecated since v1.14; use "kubernetes.io/os" instead'
TERM = {"matchExpressions": [{"key": OLD, "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        (
            "storage.k8s.io/v1/StorageClass",
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": OLD, "values": ["linux"]}]}]},
            f"allowedTopologies[0].matchLabelExpressions[0].key: {TEXT}",
        ),
        (
            "storage.k8s.io/v1/CSIStorageCapacity",
            {"nodeTopology": {"matchLabels": {OLD: "linux"}}},
            f"nodeTopology.matchLabels.{OLD}: {TEXT}",
        ),
        (
            "storage.k8s.io/v1/CSIStorageCapacity",
            {"nodeTopology": TERM},
            f"nodeTopology.matchExpressions[0].key: {OLD} is {TEXT}",
        ),
        (
            "node.k8s.io/v1/RuntimeClass",
            {"scheduling": {"nodeSelector": {OLD: "linux"}}},
            f"scheduling.nodeSelector: {TEXT}",
        ),
        (
            "v1/PersistentVolume",
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}}}},
            f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: {OLD} is {TEXT}",
        ),
    ],
)
def test_old_names_are_told(kind: str, change: dict[str, Any], expected: str) -> None:
    """The path says where, the text since when and what to write instead."""
    assert list(strategy(kind).warnings(BASE, made(kind, change), None)) == [expected]
