"""Every conversion that real programs were seen to make."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
import pytest

from simkit.kinds.conversions import ConversionError, convert
from simkit.kinds.conversions.convert import differences
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.schema.decoding import decode
from simkit.schema.definitions import definitions
from simkit.schema.lifecycle import newest_release
from tests.releases import BASE
from tests.shared import SHARED, needs_shared

FILE: Final = SHARED / "datasets" / "conversions-shared.jsonl"
SERVER_MADE: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")

EXCEPTIONS: Final[Mapping[str, str]] = {
    r"^Horizontal.*containerResource\.container$": "the reference loses the container through v2beta1",
    r"^Horizontal\w+ (container-resource|every-field).*autoscaling\.alpha": "the same, inside the annotations",
    r"^PodDisruptionBudget deprecated-key-twice.*selector": "with the mark alone the reference selects everything",
    r"^CustomResourceDefinition version-mismatch spec\.version$": "one that is in no list is dropped",
    r"^LocalSubjectAccessReview wrong-key spec\.group\[0\]$": "dropped on reading, not by a conversion",
    r"^FlowSchema defaults status\.conditions": "written by a controller of the recorded server",
}
"""Differences that stay: patterns over kind, case and path, with the reason."""


def lines() -> Iterator[dict[str, Any]]:
    if FILE.exists():
        for line in FILE.read_bytes().splitlines():
            yield orjson.loads(line)


def typed(obj: Any) -> Any:
    """The object as the newest release with that version reads it; what it does not know is kept as it is."""
    gvk = GroupVersionKind(*GroupVersion.parse(obj["apiVersion"]), obj["kind"])
    for release in filter(None, (newest_release(gvk), "1.30", "1.17")):
        table = definitions(release)
        name = table.name_of(gvk)
        if name is not None:
            return _kept(obj, dict(decode(BASE, obj, table.node(name)).object))
    return obj


def _kept(given: Any, read: Any) -> Any:
    if isinstance(given, dict) and isinstance(read, dict):
        merged = {name: _kept(value, read[name]) if name in read else value for name, value in given.items()}
        return {**read, **{name: value for name, value in merged.items() if value is not None}}
    if isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        return [_kept(one, other) for one, other in zip(given, read, strict=True)]
    return read


def plain(obj: Any) -> Any:
    """Without what a server makes, and without empty values."""
    found = copy.deepcopy(obj)
    for name in SERVER_MADE:
        (found.get("metadata") or {}).pop(name, None)
    return _pruned(found)


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {name: _pruned(item) for name, item in value.items()}
        return {name: item for name, item in inner.items() if item not in (None, {}, [], "", 0, False) or item is True}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def unexplained(record: Mapping[str, Any]) -> list[str]:
    """The differences between our conversion and the recorded one that no exception explains."""
    ours = typed(convert(typed(record["input"]), record["to"], default_behaviour("1.30"), defaults=True))
    found = differences(plain(typed(record["output"])), plain(ours))
    places = ((each, f"{record['kind']} {record['case']} {each.path}") for each in found)
    return [str(each) for each, place in places if not any(re.search(pattern, place) for pattern in EXCEPTIONS)]


@needs_shared
@pytest.mark.parametrize("kind", sorted({record["kind"] for record in lines()}))
def test_conversions_are_as_recorded(kind: str) -> None:
    """All versions of a kind into all others, with the defaults of the version that was read."""
    wrong = []
    for record in lines():
        if record["kind"] == kind and "output" in record:
            found = unexplained(record)
            if found:
                wrong.append(f"{record['id']} {record['case']} {record['from']} -> {record['to']}: {found[:3]}")
    assert not wrong, f"{len(wrong)} differ: " + "\n".join(wrong[:5])


@needs_shared
def test_annotations_that_are_no_numbers_are_refused() -> None:
    """With the message of kube-apiserver."""
    refused = [record for record in lines() if "strconv.ParseInt" in record.get("error", "")]
    assert refused
    for record in refused:
        with pytest.raises(ConversionError) as error:
            convert(record["input"], record["to"], default_behaviour("1.30"))
        assert str(error.value) in record["error"]
