"""The lines of items of JSON lists, in whatever layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.cli import main
from simkit.snapshot.json_positions import item_lines
from simkit.snapshot.load import load
from tests.analysis.worlds import binding, role, rule

pytestmark = pytest.mark.slow

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("items"), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=4),
    st.dictionaries(st.text(), JSON, max_size=3),
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
)
def test_lines_are_those_at_which_items_begin(
    items: list[dict[str, Any]], others: dict[str, Any], indent: int | str | None, bare: bool
) -> None:
    """Of arrays and of lists among other fields: a marked item is found at the line that is told."""
    marked = [{"marker": number, **item} for number, item in enumerate(items)]
    text = "\n \n" + json.dumps(marked if bare else {**others, "items": marked}, indent=indent)
    lines = item_lines(text, 1)
    rows = text.split("\n")
    assert len(lines) == len(items)
    assert list(lines) == sorted(lines)
    if indent in (2, "\t") and not bare:
        assert all(rows[line - 1].strip().startswith("{") for line in lines)
        assert len(set(lines)) == len(items)


@given(st.text() | st.text(alphabet='{}[],:"items 0'))
def test_any_text_has_some_lines_or_none(text: str) -> None:
    """Errors in JSON are left to the decoder."""
    assert all(line >= 1 for line in item_lines(text, 1))


def test_the_last_of_two_fields_counts_as_for_the_decoder() -> None:
    assert item_lines('{"items": [1,\n2],\n"items": [3]}', 1) == [3]
    assert not item_lines('{"items": {"items": [1]}}', 1)
    assert not item_lines("[" * 100_000, 1)


def test_sarif_results_stand_at_their_objects(tmp_path: Path, capsys: Any) -> None:
    """In a list over many lines, in objects one after the other, and on one line."""
    objects = [
        role("cluster-admin", rule("*", "*", groups="*")),
        binding("first", "cluster-admin", "user:ann"),
        binding("second", "cluster-admin", "user:bob"),
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    pretty = json.dumps(listed, indent=4)
    rows = {
        "list.json": pretty,
        "row.json": "\n".join(json.dumps(each, indent=2) for each in objects),
        "line.json": json.dumps(listed),
        "lines.json": "\n".join(json.dumps(each) for each in objects),
    }
    for name, text in rows.items():
        path = tmp_path / name
        path.write_text(text)
        assert main(["audit", str(path), "--complete", "*", "--check", "cluster-admin", "-o", "sarif"]) == 1
        for result in orjson.loads(capsys.readouterr().out)["runs"][0]["results"]:
            place = result["locations"][0]["physicalLocation"]
            line = place["region"]["startLine"]
            assert place["artifactLocation"]["uri"].endswith(name)
            who = "first" if "user:ann" in result["message"]["text"] else "second"
            following = "".join(text.split("\n")[line - 1 :])
            assert following.index(f'"name": "{who}"') < 400 or name == "line.json"
            other = "second" if who == "first" else "first"
            if name != "line.json":
                assert f'"name": "{other}"' not in following[: following.index(f'"name": "{who}"')]


def test_lines_cost_nothing_where_nobody_asks() -> None:
    """Without positions the items of a JSON list stand at the line of the list, as before."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [role("a"), role("b")]}, indent=1)
    assert {line for _, line in load(text).origins.values()} == {1}
    assert len({line for _, line in load(text, positions=True).origins.values()}) == 2
