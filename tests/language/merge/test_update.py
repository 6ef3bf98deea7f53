"""The owners of fields after creates, replaces and patches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings

from simkit.language.merge.fieldset import intersection, of_paths, union
from simkit.language.merge.managedfields import ANCIENT, MAX_UPDATERS, BadManagedFields, read, written
from simkit.language.merge.type_def import type_def_of
from simkit.language.merge.typed import compare, field_set
from simkit.language.merge.update import (
    is_reset,
    managed_fields_before,
    manager_from_user_agent,
    track_update,
    with_old_times,
)
from simkit.schema.structural import Schema
from tests.language.merge.values import WIDGET, WIDGETS, unresolved
from tests.releases import BASE

Schemas = Callable[[str], Schema]
Draft = dict[str, Any]
META = {"type": "object", "preserveUnknown": True}
SCHEMA = Schema({**WIDGET, "fields": {**WIDGET["fields"], "metadata": META}}, unresolved)


def _track(live: Draft | None, wanted: Draft, manager: str, second: int = 0, **more: Any) -> Sequence[Any]:
    schema = more.pop("schema", SCHEMA)
    time = f"2024-01-01T00:00:{second:02}Z"
    return track_update(BASE, live, wanted, schema, manager=manager, api_version="v1", time=time, **more)


def _stored(obj: Draft, records: Sequence[Any]) -> Draft:
    return {**obj, "metadata": {"name": "a", "uid": "u", "managedFields": records}}


@settings(max_examples=100)
@given(WIDGETS, WIDGETS)
@example({"s": "a", "set": []}, {"s": "a", "inner": {}})
def test_a_field_has_one_updater(first: Draft, second: Draft) -> None:
    """After two updates the second writer owns what it changed, the first what is left, and nobody what is gone.

    A write owns the empty lists that it adds, although the field set of an object does not name them.
    """
    live = _stored(first, _track(None, first, "ann"))
    claims = (
        read(_track(live, {**second, "metadata": {"uid": "u"}}, "bob", 1)) if live["metadata"]["managedFields"] else {}
    )
    owned = [claim.fields for claim in claims.values()]
    type_def = type_def_of(BASE, SCHEMA)
    changed = compare(first, second, type_def)
    if len(owned) == 2:
        assert not intersection(*owned)
    written_first = union(field_set(first, type_def), compare({}, first, type_def).added)
    everything = union(field_set(second, type_def), compare({}, second, type_def).added)
    for fields in owned:
        assert not intersection(fields, changed.removed)
        assert not changed.removed or fields != written_first or fields == everything


@settings(max_examples=60)
@given(WIDGETS)
def test_a_write_of_nothing_keeps_the_record(value: Draft) -> None:
    """Writing what is there gives back the very entries that were there."""
    live = _stored(value, _track(None, value, "ann"))
    records = _track(live, {**value, "metadata": {"name": "a", "uid": "u"}}, "bob", 5)
    assert records == list(live["metadata"]["managedFields"])


def test_metadata_that_nobody_owns() -> None:
    """Names, versions and identifiers are never owned; labels and finalizers are."""
    metadata = {"name": "a", "namespace": "b", "uid": "", "generation": 2, "labels": {"l": "1"}, "resourceVersion": "3"}
    (record,) = _track(None, {"apiVersion": "v1", "kind": "W", "metadata": metadata}, "ann")
    assert record["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:l": {}}}}
    assert not _track(None, {"apiVersion": "v1", "kind": "W", "metadata": {"name": "a"}}, "ann")


def test_fields_that_an_endpoint_does_not_write() -> None:
    """Fields to be reset are owned by nobody through that endpoint, and taken from nobody."""
    reset = of_paths(("f:inner",))
    live = _stored({"inner": {"a": "1"}}, _track(None, {"inner": {"a": "1"}}, "ann"))
    records = _track(live, {"inner": {"a": "2"}, "s": "x", "metadata": {"uid": "u"}}, "bob", 1, reset_fields=reset)
    assert [record["manager"] for record in records] == ["ann", "bob"]
    assert records[1]["fieldsV1"] == {"f:s": {}}


def test_a_nameless_writer_is_unknown() -> None:
    """A writer without any name is recorded as unknown."""
    assert _track(None, {"s": "x"}, "")[0]["manager"] == "unknown"


def test_order_of_entries() -> None:
    """Entries stand by operation, then time, then manager."""
    entries = [
        ("zoe", "Update", "2024-01-01T00:00:00Z"),
        ("bob", "Apply", "2024-01-01T00:00:02Z"),
        ("cat", "Apply", "2024-01-01T00:00:01Z"),
        ("ann", "Apply", "2024-01-01T00:00:02Z"),
        ("dan", "Apply", ""),
    ]
    records = [_record(manager, operation, time) for manager, operation, time in entries]
    assert [record["manager"] for record in written(read(records))] == ["dan", "cat", "ann", "bob", "zoe"]


def _record(manager: str, operation: str, time: str, fields: Mapping[str, Any] | None = None) -> Draft:
    record = {"manager": manager, "operation": operation, "apiVersion": "v1"}
    record |= {"time": time} if time else {}
    return {**record, "fieldsType": "FieldsV1", "fieldsV1": fields or {"f:s": {}}}


def test_the_oldest_updaters_are_merged_into_one() -> None:
    """Beyond the cap the oldest entries of updates become one; entries of applies do not count."""
    live: Draft = _stored({"free": {}}, _track(None, {"free": {}, "s": "x"}, "applier"))
    live["metadata"]["managedFields"] = [_record("applier", "Apply", "2024-01-01T00:00:00Z")]
    for number in range(MAX_UPDATERS + 3):
        wanted = {"free": {**live["free"], f"k{number:02}": "v"}, "metadata": {"uid": "u"}}
        live = _stored({"free": wanted["free"]}, _track(live, wanted, f"m{number:02}", number + 1))
    records = live["metadata"]["managedFields"]
    updaters = [record["manager"] for record in records if record["operation"] == "Update"]
    assert updaters == [ANCIENT, *(f"m{number:02}" for number in range(4, MAX_UPDATERS + 3))]
    assert records[0]["manager"] == "applier"
    assert set(records[1]["fieldsV1"]["f:free"]) == {".", "f:k00", "f:k01", "f:k02", "f:k03"} - {"."}
    assert records[1]["time"] == "2024-01-01T00:00:04Z"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"manager": "x"}, "operation must be `Apply` or `Update`"),
        ({"operation": "Apply"}, "apiVersion must not be empty"),
        ({"operation": "Apply", "apiVersion": "v1"}, "missing fieldsType in managed fields entry 0"),
        ({"operation": "Apply", "apiVersion": "v1", "fieldsType": "X"}, 'invalid fieldsType "X" in managed fields entry 0'),
        ({"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"bad": {}}}, "error decoding set"),
    ],
)  # fmt: skip
def test_unreadable_records(record: Draft, message: str) -> None:
    """Entries that cannot be read are refused; a write that brings them is taken as if it brought none."""
    with pytest.raises(BadManagedFields, match=message):
        read([record])
    live = _stored({"s": "x"}, [_record("ann", "Update", "")])
    brought = {"s": "x", "metadata": {"managedFields": [record]}}
    assert [owner.manager for owner in managed_fields_before(live, brought, "")] == ["ann"]


def test_requests_for_a_reset() -> None:
    """No entry, or one that is empty, takes all owners away."""
    assert is_reset([])
    assert is_reset([{}])
    assert is_reset([{"time": None}])
    assert not is_reset([{}, {}])
    assert not is_reset([_record("a", "Apply", "")])


def test_times_alone_are_no_change() -> None:
    """A write that differs in nothing but the times of entries gets the old times back."""
    live = _stored({"s": "x"}, [_record("ann", "Apply", "2024-01-01T00:00:00Z")])
    renewed = _stored({"s": "x"}, [_record("ann", "Apply", "2024-01-01T00:00:09Z")])
    assert with_old_times(live, renewed) == live
    changed = _stored({"s": "y"}, [_record("ann", "Apply", "2024-01-01T00:00:09Z")])
    assert with_old_times(live, changed) is changed
    assert with_old_times(None, renewed) is renewed


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("curl/8.5", "curl"),
        ("", ""),
        ("bad\nname/1", "badname"),
        ("x" * 200, "x" * 128),
        ("é" * 100 + "/1", "é" * 64),
        ("Mozilla Firefox (x)", "Mozilla Firefox (x)"),
    ],
)
def test_names_from_agents(agent: str, name: str) -> None:
    """A manager's name is the printable beginning of the agent, 128 bytes at most."""
    assert manager_from_user_agent(agent) == name


def test_owners_in_other_versions() -> None:
    """Changes are compared in the version of each owner; owners of versions that are gone are dropped."""
    old_names = Schema({"type": "object", "fields": {"metadata": META, "old": {"type": "string"}}}, unresolved)

    def convert(obj: Mapping[str, Any], version: str) -> tuple[Draft, Schema] | None:
        if version != "v0":
            return None
        return {"metadata": obj.get("metadata"), **({"old": obj["s"]} if "s" in obj else {})}, old_names

    records = [
        {**_record("ann", "Update", "", {"f:old": {}}), "apiVersion": "v0"},
        {**_record("bob", "Update", "", {"f:gone": {}}), "apiVersion": "v9"},
    ]
    live = _stored({"s": "x", "n": 1}, records)
    kept = _track(live, {"s": "x", "n": 2, "metadata": {"uid": "u"}}, "eve", convert=convert)
    assert [record["manager"] for record in kept] == ["ann", "eve"]
    lost = _track(live, {"s": "y", "n": 1, "metadata": {"uid": "u"}}, "eve", convert=convert)
    assert [record["manager"] for record in lost] == ["eve"]


def test_a_pod_as_the_real_server_records_it(schema: Schemas) -> None:
    """The entry of a created pod names its container by key, and its empty resources."""
    container = {"name": "c", "image": "x", "resources": {}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container], "securityContext": {}}, "status": {}}
    (record,) = _track(None, pod, "ann", schema=schema("v1/Pod"))
    element: Draft = {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}
    assert record["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"c"}': element}, "f:securityContext": {}}}
