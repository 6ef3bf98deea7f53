"""Server-side apply beyond the stories: properties, versions, the client that used to apply by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings

from simkit.language.merge.apply import ApplyConflict, apply
from simkit.language.merge.fieldset import EMPTY, difference, paths
from simkit.language.merge.lastapplied import ANNOTATION
from simkit.language.merge.managedfields import Owner, read
from simkit.language.merge.mergepatch import PatchError
from simkit.language.merge.type_def import type_def_of
from simkit.language.merge.typed import field_set
from simkit.schema.structural import Schema
from tests.language.merge.values import WIDGET, WIDGETS, unresolved
from tests.releases import BASE

Draft = dict[str, Any]
IDENTITY = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
METADATA = {"type": "object", "fields": {"name": {"type": "string"}, "annotations": {"type": "object", "values": {"type": "string"}}, "managedFields": {"type": "array"}, "uid": {"type": "string"}}}  # fmt: skip
SCHEMA = Schema({**WIDGET, "fields": {**WIDGET["fields"], **IDENTITY, "metadata": METADATA}}, unresolved)


def _intent(value: Mapping[str, Any], **metadata: Any) -> Draft:
    return {"apiVersion": "e/v1", "kind": "W", "metadata": {"name": "a", **metadata}, **value}


def _apply(live: Draft | None, value: Mapping[str, Any], manager: str, **more: Any) -> Draft:
    intent = value if "apiVersion" in value else _intent(value)
    more = {"force": False, "api_version": "e/v1", "time": "2024-01-01T00:00:00Z", **more}
    return apply(BASE, live, intent, more.pop("schema", SCHEMA), manager=manager, **more)


def _rest(obj: Mapping[str, Any]) -> Draft:
    return {name: value for name, value in obj.items() if name not in ("metadata", "apiVersion", "kind")}


@settings(max_examples=100)
@given(WIDGETS, WIDGETS)
def test_applying_again_changes_nothing(one: Draft, other: Draft) -> None:
    """The second apply of the same intent gives the same object, time of the entry and all.

    An object that nobody owns a field of looks as if it came from before applying was known: it gets an owner.
    """
    live = _apply(_apply(None, one, "ann"), other, "bob", force=True)
    assume(live["metadata"].get("managedFields"))
    again = _apply(live, other, "bob", time="2024-01-01T00:00:09Z")
    assert again == live


@settings(max_examples=100)
@given(WIDGETS, WIDGETS)
def test_a_sole_applier_gets_what_it_asks_for(first: Draft, second: Draft) -> None:
    """With one owner the object is the last intent, but for parts that lost all and are empty or null."""
    out = _rest(_apply(_apply(None, first, "ann"), second, "ann"))
    kept = {name: value for name, value in second.items() if value != []}
    assert {name: value for name, value in out.items() if value not in (None, [], {}) or name in kept} == _nulled(
        kept, out
    )


def _nulled(wanted: Draft, out: Draft) -> Draft:
    """The wanted value; an empty part of it may have become null when all that was in it went away."""
    return {name: _empty_as_it_came_out(value, out.get(name)) for name, value in wanted.items()}


def _empty_as_it_came_out(value: Any, out: Any) -> Any:
    if value == {} and out in (None, {}):
        return out
    if isinstance(value, dict) and isinstance(out, dict):
        return {name: _empty_as_it_came_out(item, out.get(name)) for name, item in value.items()}
    return value


@settings(max_examples=100)
@given(WIDGETS, WIDGETS)
def test_conflicts_are_what_force_would_take(one: Draft, other: Draft) -> None:
    """An apply is refused exactly where forcing it takes fields from their owner, and for those fields."""
    live = _apply(None, one, "ann")
    forced = read(_apply(live, other, "bob", force=True)["metadata"].get("managedFields", ()))
    before = read(live["metadata"].get("managedFields", ()))
    ann = Owner("ann", "Apply")
    mine = before[ann].fields if ann in before else EMPTY
    lost = set(paths(difference(mine, forced[ann].fields if ann in forced else EMPTY)))
    try:
        _apply(live, other, "bob")
        refused: set[tuple[str, ...]] = set()
    except ApplyConflict as conflict:
        refused = {path for _, path in conflict.conflicts}
    assert refused <= lost
    assert bool(refused) or not lost


@settings(max_examples=60)
@given(WIDGETS, WIDGETS)
def test_arguments_are_not_changed(one: Draft, other: Draft) -> None:
    """Neither the live object nor the intent is edited."""
    live = _apply(None, one, "ann")
    text = orjson.dumps([live, other])
    _apply(live, other, "bob", force=True)
    assert orjson.dumps([live, other]) == text


def test_intents_of_another_type() -> None:
    """The type of the intent must be that of the path."""
    with pytest.raises(PatchError, match="invalid object type: /, Kind="):
        _apply(None, {"apiVersion": "", "kind": ""}, "ann")
    with pytest.raises(PatchError, match="invalid object type: e/v1, Kind=W"):
        _apply(None, _intent({}), "ann", kind="Z")


def test_one_manager_may_move_between_versions() -> None:
    """An applier's fields are its own whatever version it named them in; what it lets go is found in the old one."""
    v1 = Schema({"type": "object", "fields": {**IDENTITY, "metadata": METADATA, "a": {"type": "string"}, "b": {"type": "string"}}}, unresolved)  # fmt: skip
    v2 = Schema({"type": "object", "fields": {**IDENTITY, "metadata": METADATA, "x": {"type": "string"}, "y": {"type": "string"}}}, unresolved)  # fmt: skip
    names = {"a": "x", "b": "y"}

    def convert(obj: Mapping[str, Any], version: str) -> tuple[Draft, Schema] | None:
        renamed = names if version == "e/v2" else {new: old for old, new in names.items()}
        return {**{renamed.get(name, name): value for name, value in obj.items()}, "apiVersion": version}, (
            v2 if version == "e/v2" else v1
        )

    live = _apply(None, {"a": "1", "b": "1"}, "ann", schema=v1)
    shown = convert(live, "e/v2")
    assert shown is not None
    moved = _apply(
        shown[0],
        {**_intent({"x": "2"}), "apiVersion": "e/v2"},
        "ann",
        schema=v2,
        api_version="e/v2",
        convert=convert,
    )
    assert _rest(moved) == {"x": "2"}
    (record,) = moved["metadata"]["managedFields"]
    assert (record["apiVersion"], record["fieldsV1"]) == ("e/v2", {"f:x": {}})
    back = convert(moved, "e/v1")
    assert back is not None
    with pytest.raises(ApplyConflict, match=r'conflict with "ann": \.x'):
        _apply(back[0], {"a": "3"}, "bob", schema=v1, convert=convert)


def _updated(value: Draft, last: Draft | None) -> Draft:
    """An object that an updater owns, with the annotation of a client-side intent."""
    annotations = {ANNOTATION: orjson.dumps(last).decode()} if last is not None else {}
    obj = _intent(value, annotations=annotations, uid="u")
    fields: Draft = {"f:s": {}, "f:n": {}}
    record = {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "e/v1"}
    obj["metadata"]["managedFields"] = [{**record, "fieldsType": "FieldsV1", "fieldsV1": fields}]
    return obj


def test_the_client_takes_over_what_it_applied_by_itself() -> None:
    """Fields that still are as the annotation has them are no conflict for that client; others are."""
    live = _updated({"s": "x", "n": 1}, _intent({"s": "x"}))
    with pytest.raises(ApplyConflict) as conflict:
        _apply(live, {"s": "y", "n": 2}, "kubectl")
    assert [path for _, path in conflict.value.conflicts] == [("f:n",)]
    taken = _apply(live, {"s": "y"}, "kubectl")
    assert taken["s"] == "y"
    assert orjson.loads(taken["metadata"]["annotations"][ANNOTATION]) == _intent({"s": "y"})
    assert taken["metadata"]["annotations"][ANNOTATION].endswith("}\n")
    with pytest.raises(ApplyConflict):
        _apply(live, {"s": "y"}, "somebody")


@pytest.mark.parametrize("last", [None, {}, {"apiVersion": "e/v0"}, []])
def test_without_a_fitting_annotation_conflicts_stand(last: Any) -> None:
    """No annotation, an empty one, or one of another version allows nothing."""
    with pytest.raises(ApplyConflict):
        _apply(_updated({"s": "x", "n": 1}, last), {"s": "y"}, "kubectl")


def test_an_annotation_that_grows_too_large_is_dropped() -> None:
    """Annotations have a limit together; the intent is not kept where it would exceed it."""
    live = _updated({"s": "x"}, _intent({"s": "x"}))
    taken = _apply(live, {"s": "y" * 300_000}, "kubectl")
    assert ANNOTATION not in taken["metadata"]["annotations"]


def test_unreadable_records_stop_an_apply() -> None:
    """Ownership that cannot be read is an error of the server."""
    live = _intent({}, uid="u", managedFields=[{"operation": "Dance"}])
    with pytest.raises(PatchError, match="failed to decode managed fields: operation must be"):
        _apply(live, {"s": "x"}, "ann")


def test_a_live_list_without_its_keys_stops_an_apply() -> None:
    """Elements of a live list that cannot be told apart cannot be merged with."""
    live = _intent({"map": [{"value": "1"}]}, uid="u")
    with pytest.raises(PatchError, match="failed to create manager for existing fields: failed to convert new object"):
        _apply(live, {"map": [{"name": "a"}]}, "ann")


def test_the_message_of_several_conflicts() -> None:
    """Conflicts are told by owner, then by path."""
    live = _apply(_apply(None, {"s": "1", "inner": {"a": "1", "b": "1"}}, "ann"), {"n": 1}, "bob")
    with pytest.raises(ApplyConflict) as conflict:
        _apply(live, {"s": "2", "n": 2, "inner": {"a": "2"}}, "eve")
    assert conflict.value.message == (
        'Apply failed with 3 conflicts: conflicts with "ann":\n- .s\n- .inner.a\nconflicts with "bob":\n- .n'
    )


def test_an_applier_owns_the_applied_fields() -> None:
    """The entry of an applier is the field set of its intent without what nobody owns."""
    value = {"s": "x", "map": [{"name": "a"}], "inner": {}}
    (record,) = _apply(None, value, "ann")["metadata"]["managedFields"]
    assert record["fieldsV1"] == field_set(value, type_def_of(BASE, SCHEMA))
