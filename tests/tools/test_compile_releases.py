"""Differences between releases can be undone, and the bundled tables are what the script makes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simkit.schema.definitions import apply, table_of
from tools import compile_releases
from tools.releases.rows import difference, namesake, row_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = Path(os.environ.get("SIMKIT_PACKAGES", ROOT / "build" / "packages"))


@pytest.mark.parametrize(("old", "new"), [("1.16", "1.37"), ("1.30", "1.22"), ("1.22", "1.21")])
def test_a_difference_leads_from_one_table_to_the_other(old: str, new: str) -> None:
    """Whatever was added, removed or changed."""
    before, after = table_of(old)["definitions"], table_of(new)["definitions"]
    assert apply(before, difference(before, after)) == after


def test_schemas_are_read_without_null_and_descriptions() -> None:
    """Types that allow null are their other type; references are names."""
    source = {
        "type": ["object", "null"],
        "description": "A thing.",
        "properties": {"size": {"type": ["integer", "null"], "format": "int32"}, "part": {"$ref": "#/$defs/a.b.Part"}},
        "required": ["size"],
    }
    assert row_of(source) == {
        "type": "object",
        "fields": {"part": {"ref": "a.b.Part"}, "size": {"type": "integer", "format": "int32"}},
        "required": ["size"],
    }


def test_namesakes_are_looked_for_in_the_same_group_first() -> None:
    """And in stable versions before others."""
    known: dict[str, dict[str, str]] = {
        "io.api.apps.v1.Scale": {},
        "io.api.autoscaling.v1.Scale": {},
        "io.api.apps.v1beta1.Scale": {},
    }
    assert namesake("io.api.apps.v1beta2.Scale", known) == "io.api.apps.v1.Scale"
    assert namesake("io.api.apps.v1.Other", known) is None


@pytest.mark.skipif(not PACKAGES.is_dir(), reason="the pinned packages are not downloaded")
def test_compiling_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """A second run writes exactly the files that are in the repository."""
    assert compile_releases.main(["--packages", str(PACKAGES), "--out", str(tmp_path)]) == 0
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert made
    for name in made:
        assert (tmp_path / name).read_bytes() == (ROOT / "datasets" / name).read_bytes(), name
