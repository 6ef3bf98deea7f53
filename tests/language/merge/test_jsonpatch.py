"""JSON patches: the public suites, and where kube-apiserver departs from the RFC."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest

from simkit.language.merge.jsonpatch import MAX_OPERATIONS, checked_json_patch, json_patch, loosely_checked
from simkit.language.merge.mergepatch import GENERIC, PatchError
from tests.shared import SHARED, needs_shared

DIFFERENCES: Mapping[str, frozenset[int]] = {
    "json-patch-tests": frozenset(
        {
            *(11, 12, 63),  # the document itself is no target of ``add``
            19,  # -1 is the last place of a list
            *(77, 78),  # a missing value is null
            79,  # a missing value tests for null
            82,  # a missing key is copied as null
            *(87, 88),  # positions may have leading zeros
        }
    ),
    "json-patch-spec-tests": frozenset(),
}
"""Cases of the suites that kube-apiserver, and so we, answer differently."""


def _suite() -> Iterator[Any]:
    for name, different in DIFFERENCES.items():
        path = SHARED / "datasets" / "public" / f"{name}.json"
        cases = orjson.loads(path.read_bytes()) if path.exists() else []
        for number, case in enumerate(cases):
            if "patch" in case and not case.get("disabled"):
                yield pytest.param(case, number in different, id=f"{name}-{number}")


@needs_shared
@pytest.mark.parametrize(("case", "different"), list(_suite()))
def test_public_suites(case: Mapping[str, Any], different: bool) -> None:
    """The public suites pass, but for the documented differences, which are there."""
    document = orjson.dumps(case["doc"])
    try:
        result = json_patch(case["doc"], checked_json_patch(case["patch"]))
        agrees = "error" not in case and result == case.get("expected", result)
    except PatchError:
        agrees = "error" in case
    assert agrees is not different
    assert orjson.dumps(case["doc"]) == document


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "replace", "path": "/none", "value": 1}, {"a": [1, 2], "none": 1}),
        ({"op": "copy", "from": "/none", "path": "/b"}, {"a": [1, 2], "b": None}),
        ({"op": "add", "path": "x/b", "value": 1}, {"a": [1, 2], "b": 1}),
        ({"op": "remove", "path": "/a/-1"}, {"a": [1]}),
        ({"op": "add", "path": "/a/-1", "value": 3}, {"a": [1, 2, 3]}),
        ({"op": "replace", "path": "/a/-2", "value": 3}, {"a": [3, 2]}),
        ({"op": "test", "path": "/none", "value": None}, {"a": [1, 2]}),
        ({"op": "test", "path": "/a/+1", "value": 2}, {"a": [1, 2]}),
        ({"op": "test", "path": "", "value": {"a": [1, 2]}}, {"a": [1, 2]}),
        ({"op": "replace", "path": "", "value": {"b": 1}}, {"b": 1}),
        ({"op": "replace", "path": "", "value": "text"}, {"a": [1, 2]}),
    ],
)
def test_departures_from_the_rfc(operation: Mapping[str, Any], result: Any) -> None:
    """Missing keys count as null, and negative positions from the end."""
    assert json_patch({"a": [1, 2]}, checked_json_patch([operation])) == result


@pytest.mark.parametrize(
    ("operation", "detail"),
    [
        ({"op": "move", "from": "/none", "path": "/b"}, "error in move for path: 'none': Unable to remove nonexistent key: none: missing value"),
        ({"op": "remove", "path": "/a/2"}, "error in remove for path: '/a/2': Unable to access invalid index: 2: invalid index referenced"),
        ({"op": "add", "path": "/a/-4", "value": 1}, "error in add for path: '/a/-4': Unable to access invalid index: -4: invalid index referenced"),
        ({"op": "add", "path": "/b/c", "value": 1}, 'add operation does not apply: doc is missing path: "/b/c": missing value'),
        ({"op": "test", "path": "/a/0", "value": 1.0}, "testing value /a/0 failed: test failed"),
        ({"op": "shout", "path": "/a"}, "Unexpected kind: shout"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        ({"op": "copy", "path": "/b"}, "copy operation failed to decode from: missing value"),
    ],
)  # fmt: skip
def test_patches_that_do_not_fit(operation: Mapping[str, Any], detail: str) -> None:
    """An operation that does not fit is 422 without a reason that clients see; the detail is kept beside it."""
    with pytest.raises(PatchError) as refused:
        json_patch({"a": [1, 2]}, checked_json_patch([operation]))
    assert (refused.value.code, refused.value.message, refused.value.detail) == (422, GENERIC, detail)
    assert refused.value.status()["details"] == {}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"op": "add"}, 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([5], 400, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 5}], 400, "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{}] * (MAX_OPERATIONS + 1), 413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"),
    ],
)  # fmt: skip
def test_malformed_patches(body: Any, code: int, message: str) -> None:
    """A body that is no list of operations is 400, one that is too long 413."""
    with pytest.raises(PatchError) as refused:
        checked_json_patch(body)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_a_failed_patch_changes_nothing() -> None:
    """Operations before the one that fails leave no trace in the argument."""
    document = {"a": {"b": [1]}}
    with pytest.raises(PatchError):
        json_patch(document, [{"op": "add", "path": "/a/b/0", "value": 0}, {"op": "remove", "path": "/x"}])
    assert document == {"a": {"b": [1]}}


def test_values_of_a_patch_are_not_shared() -> None:
    """Applying the same patch twice does not let one result change with another."""
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a", "value": {}},
        {"op": "add", "path": "/a/b", "value": 1},
    ]
    assert json_patch({}, operations) == json_patch({}, operations) == {"a": {"b": 1}}
    assert operations[0]["value"] == {}


def test_copies_do_not_grow_without_bounds() -> None:
    """Operations that copy more than three mebibytes together are refused."""
    operations = [{"op": "copy", "from": "/a", "path": "/a/b"} for _ in range(40)]
    with pytest.raises(PatchError, match=re.escape(GENERIC)):
        json_patch({"a": {"text": "x" * 100_000}}, operations)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"op": "add"}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ([5], "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
def test_malformed_patches_with_unknown_fields(body: Any, message: str) -> None:
    """Without field validation the words are others, and an operation that is no text is an unknown one."""
    with pytest.raises(PatchError) as refused:
        loosely_checked(body)
    assert (refused.value.code, refused.value.message) == (400, message)
    with pytest.raises(PatchError) as unknown:
        json_patch({}, loosely_checked([{"op": 5, "path": "/a"}]))
    assert unknown.value.detail == "Unexpected kind: unknown"
