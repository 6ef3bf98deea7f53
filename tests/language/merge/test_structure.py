"""The structure of new objects: equal structures have equal owned fields."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simkit.language.merge.structure import structure
from simkit.language.merge.update import track_update
from simkit.meta.names import GroupVersionKind
from simkit.schema.catalogue import Catalogue
from tests.releases import BASE

SCALARS = st.sampled_from(["", "x", "y", 0, 1, 7, False, True, None])
LISTS = st.lists(st.sampled_from(["a", "b"]) | st.fixed_dictionaries({"name": st.sampled_from(["p", "q"])}), max_size=2)
NAMES = st.sampled_from(["data", "labels", "spec", "user", "groups", "extra", "ports", "immutable"])
VALUES = st.recursive(SCALARS | LISTS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
KINDS = [("", "v1", "ConfigMap"), ("", "v1", "Service"), ("authorization.k8s.io", "v1", "SubjectAccessReview")]


def owned(obj: dict[str, Any], kind: tuple[str, str, str]) -> object:
    """The managed fields of a new object."""
    schema = Catalogue.for_release("1.30").schema(GroupVersionKind(*kind))
    return track_update(BASE, None, obj, schema, manager="m", api_version="v1", time="t")


@given(st.data(), st.sampled_from(KINDS))
def test_equal_structures_have_equal_fields(data: st.DataObject, kind: tuple[str, str, str]) -> None:
    """Whatever the values are: two objects of one structure are owned alike."""
    body = st.dictionaries(NAMES, VALUES, max_size=3)
    one = {"metadata": {"name": "a"}, **data.draw(body)}
    other = {"metadata": {"name": "b"}, **_altered(one, data)}
    assert structure(one) == structure(other)
    assert owned(one, kind) == owned(other, kind)


def _altered(obj: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """The same keys and zeros with other values."""
    out: dict[str, Any] = {}
    for name, value in obj.items():
        if name == "metadata":
            continue
        if isinstance(value, dict):
            out[name] = _altered(value, data)
        else:
            out[name] = data.draw(st.sampled_from(["z", 3, True])) if value and not isinstance(value, list) else value
    return out


def test_large_objects_have_no_structure() -> None:
    """The kept structures have a bound."""
    assert structure({"data": {f"k{number}": "" for number in range(300)}}) is None
    assert structure({"a": {}, "b": 1}) != structure({"a": {"b": 1}})
