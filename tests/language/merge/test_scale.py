"""Ownership of replicas through the scale subresource."""

from __future__ import annotations

from typing import Any

from simkit.language.merge.managedfields import parent_records, scale_records

PATHS = {"apps/v1": ("f:spec", "f:replicas"), "example.com/v1": None}
SCALE: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def _record(
    manager: str, operation: str, fields: dict[str, Any], version: str = "apps/v1", **more: str
) -> dict[str, Any]:
    record = {"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1"}
    return {**record, "fieldsV1": fields, **more}


ANN = _record("ann", "Apply", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, time="2024-01-01T00:00:00Z")
BOB = _record("bob", "Update", {"f:spec": {"f:paused": {}}}, time="2024-01-01T00:00:00Z")
CAT = _record("cat", "Update", SCALE, time="2024-01-01T00:00:00Z")


def test_a_scale_shows_the_owners_of_replicas() -> None:
    """Only owners of the replicas own something of the Scale, in its own version."""
    records = scale_records([ANN, BOB, _record("dan", "Update", SCALE, "example.com/v1")], PATHS)
    assert records == [_record("ann", "Apply", SCALE, "autoscaling/v1", time="2024-01-01T00:00:00Z")]


def test_a_scale_written_without_change() -> None:
    """Appliers stay what they were; updaters keep the replicas in an entry of its own, without a time."""
    scale = scale_records([ANN, BOB], PATHS)
    assert parent_records([ANN, BOB], scale, PATHS, api_version="apps/v1") == [ANN, BOB]
    dan = _record("dan", "Update", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, time="2024-01-01T00:00:00Z")
    rest = {**dan, "fieldsV1": {"f:spec": {"f:paused": {}}}}
    records = parent_records([dan], scale_records([dan], PATHS), PATHS, api_version="apps/v1")
    assert records == [_record("dan", "Update", SCALE), rest]


def test_replicas_taken_through_the_scale() -> None:
    """The manager of the Scale owns the replicas in the object, without a time; the others lose them alone."""
    taken = [_record("eve", "Update", SCALE, "autoscaling/v1", subresource="scale")]
    records = parent_records([ANN, CAT], taken, PATHS, api_version="apps/v1")
    eve = {**_record("eve", "Update", SCALE, "apps/v1"), "subresource": "scale"}
    assert records == [{**ANN, "fieldsV1": {"f:spec": {"f:paused": {}}}}, eve]


def test_owners_in_unknown_versions_are_dropped() -> None:
    """An entry in a version that the object does not have says nothing; one without scale is kept."""
    unknown, plain = _record("x", "Update", SCALE, "apps/v0"), _record("y", "Update", SCALE, "example.com/v1")
    assert parent_records([unknown, plain], [], PATHS, api_version="apps/v1") == [plain]


def test_records_that_cannot_be_read_are_none() -> None:
    """Broken managed fields count as empty."""
    assert scale_records([{"operation": "Dance"}], PATHS) == []
