"""Escalation primitives that installed packages register: found, proven, and refused where they are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simkit.analysis.escalation.table.primitive import primitives
from simkit.meta.errors import SimkitError
from simkit.testing.suites import PrimitiveSuite
from tests.analysis.worlds import binding, role, rule

ROW: dict[str, Any] = {
    "id": "Z1",
    "title": "Writes walls",
    "severity": "high",
    "mitigation": "Grant it to nobody.",
    "references": ["https://example.com"],
    "variants": [{"requires": ["create walls.example.com"], "outcome": "impact"}],
}


class TestImpersonation(PrimitiveSuite):
    """The suite over a primitive of simkit."""

    identifier = "B1"
    subject = "user:ann"

    def objects(self) -> list[dict[str, Any]]:
        """Ann may impersonate users."""
        return [role("r", rule("impersonate", "users")), binding("b", "r", "user:ann")]


def test_a_table_of_a_package_joins_the_table() -> None:
    """Its rows come after those of simkit, and may use its own bodies and groups."""
    joined = primitives().with_package("walls", {"groups": {"walls": "example.com"}, "primitives": [ROW]})
    assert joined.primitive("Z1").title == "Writes walls"
    assert joined.primitives[:-1] == primitives().primitives
    assert joined.groups["walls"] == "example.com"


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"primitives": [{**ROW, "id": "A1"}]}, "walls: A1 is taken"),
        ({"primitives": [ROW], "groups": {"rbac": "example.com"}}, "walls: groups.rbac is taken"),
        ({"primitives": [{**ROW, "class": "node"}]}, "walls: Z1: class 'node' is not one of escalation"),
        ({"primitives": [{**ROW, "colour": "red"}]}, "walls: primitives, entry 1: there is no field 'colour'"),
        ({"primitives": [{**ROW, "severity": "bad"}]}, "walls: there is no severity 'bad'; use one of"),
        ({}, "walls: 'primitives' is missing"),
    ],
)
def test_a_wrong_table_is_refused(fields: dict[str, Any], complaint: str) -> None:
    """The error names the package, the field and the reason."""
    with pytest.raises(SimkitError) as raised:
        primitives().with_package("walls", fields)
    assert str(raised.value).startswith(f"simkit.primitives: {complaint}")


@pytest.mark.parametrize(
    ("field", "complaint"),
    [("outcome", "no outcome 'riches' is known"), ("condition", "no condition 'riches' is known")],
)
def test_an_unknown_word_is_refused(field: str, complaint: str, tmp_path: Path) -> None:
    """A primitive whose condition or outcome simkit does not know stops the search, and is not passed over."""
    variant = {**ROW["variants"][0], field: "riches"}
    (tmp_path / "walls.py").write_text(f"WALLS = {{'primitives': [{ {**ROW, 'variants': [variant]} }]}}")
    info = tmp_path / "walls-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: walls\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[simkit.primitives]\nwalls = walls:WALLS\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import simkit; simkit.demo().escalations('user:ann')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"SimkitError: escalation primitive Z1: {complaint}" in done.stderr
