"""Custom resources lose what their schema does not know, and nothing else."""

from __future__ import annotations

import pytest

from simkit.schema import strict_json
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import DecodeError, decode
from simkit.schema.pruning import prune
from simkit.schema.structural import Schema
from tests.releases import BASE

STRING = {"type": "string"}
SPEC = {
    "type": "object",
    "fields": {
        "a": STRING,
        "o": {"type": "object", "fields": {"b": STRING}},
        "free": {"type": "object", "preserveUnknown": True, "fields": {"known": {"type": "object", "fields": {"c": STRING}}}},
        "list": {"type": "array", "items": {"type": "object", "fields": {"d": STRING}}},
        "map": {"type": "object", "values": {"type": "object", "fields": {"e": STRING}}},
        "pod": {"type": "object", "embedded": True, "preserveUnknown": True},
    },
}  # fmt: skip
WIDGET = Schema({"type": "object", "fields": {"spec": SPEC}}, Catalogue.for_release("1.30").definition)


def test_unknown_fields_are_told_by_path() -> None:
    """Problems are sorted by path, behind repeated fields and those of metadata; empty values stay."""
    text = b"""{"apiVersion":"x/v1","kind":"W","metadata":{"name":"a","bogus":1},"top":1,
      "spec":{"u":1,"a":"1","a":"","o":{"b":"","v":2},"list":[{"d":"x"},{"y":1}],"map":{"k":{"e":"","z":1}}}}"""
    decoded = decode(BASE, strict_json.parse(text), WIDGET)
    unknown = ("metadata.bogus", "spec.list[1].y", "spec.map.k.z", "spec.o.v", "spec.u", "top")
    assert decoded.problems == ['duplicate field "spec.a"', *(f'unknown field "{path}"' for path in unknown)]
    assert decoded.object["metadata"] == {"name": "a"}
    assert decoded.object["spec"] == {"a": "", "o": {"b": ""}, "list": [{"d": "x"}, {}], "map": {"k": {"e": ""}}}


def test_preserved_content_is_kept_but_known_parts_are_pruned() -> None:
    """Below the marker everything stays, except inside properties that are described again."""
    free = {"any": {"thing": [1, {}]}, "known": {"c": "", "gone": 1}}
    decoded = decode(BASE, {"spec": {"free": free}}, WIDGET)
    assert decoded.object["spec"]["free"] == {"any": {"thing": [1, {}]}, "known": {"c": ""}}


def test_embedded_objects_keep_their_type_and_clean_metadata() -> None:
    """An embedded object's metadata is read as metadata."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "creationTimestamp": None, "odd": 1},
        "spec": {"q": 1},
    }
    decoded = decode(BASE, {"spec": {"pod": pod}}, WIDGET)
    assert decoded.object["spec"]["pod"] == {**pod, "metadata": {"name": "x"}}
    assert decoded.problems == ['unknown field "spec.pod.metadata.odd"']


def test_metadata_of_a_wrong_type_is_refused() -> None:
    """The error is that of the metadata alone, as kube-apiserver reads it alone."""
    with pytest.raises(DecodeError) as caught:
        decode(BASE, {"metadata": {"labels": {"x": 5}}}, WIDGET)
    assert str(caught.value) == "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        (
            {"metadata": {"labels": {"a": 1}}},
            'spec.pod.metadata: Invalid value: map[string]interface {}{"labels":map[string]interface {}{"a":1}}: '
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (
            {"metadata": "x"},
            'spec.pod.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
        ),
        ({"kind": 1}, "spec.pod.kind: Invalid value: 1: must be a string"),
        ({"apiVersion": None}, 'spec.pod.apiVersion: Invalid value: "null": must be a string'),
    ],
)
def test_embedded_objects_are_refused_for_what_they_cannot_be(pod: dict[str, object], told: str) -> None:
    """Kind, apiVersion and metadata of an object inside of an object have types; what is stored already is read."""
    body = {"apiVersion": "x/v1", "kind": "W", "metadata": {"name": "a"}, "spec": {"pod": pod}}
    with pytest.raises(DecodeError) as failure:
        decode(BASE, body, WIDGET)
    assert str(failure.value) == told
    assert prune(BASE, body, WIDGET, stored=True)[0]["spec"] == {"pod": pod}
