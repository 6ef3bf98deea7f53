"""What is wrong with the metadata that all kinds have."""

from __future__ import annotations

from simkit.engine.registry.metadata import validate_update
from simkit.meta.objects import Object


def held(*finalizers: str) -> Object:
    return {"metadata": {"name": "a", "finalizers": list(finalizers)}}


def test_finalizers_that_exclude_each_other() -> None:
    """The two are told as the real server prints a list."""
    found = [str(fault) for fault in validate_update(held("orphan", "foregroundDeletion"), held())]
    assert found == [
        'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: '
        "finalizer orphan and foregroundDeletion cannot be both set"
    ]
