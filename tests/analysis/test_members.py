"""The members of groups from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simkit
from simkit.analysis import members_of_files
from simkit.cli import main
from tests.analysis.worlds import binding, role, rule


def test_tables_are_read_and_joined(tmp_path: Path) -> None:
    """One file adds to another; a group may have no members."""
    first, second = tmp_path / "a.yaml", tmp_path / "b.json"
    first.write_text("devs: [ann, 'sa:dev/app']\nops: []\n")
    second.write_text('{"devs": ["ann", "bob"]}')
    assert members_of_files([first, second]) == {"devs": ("ann", "sa:dev/app", "bob"), "ops": ()}


@pytest.mark.parametrize(
    "content", ["", "just text\n", "a: 1\nb: 2\n", "devs: ['group:']\n", "apiVersion: v1\n", "[ann]"]
)
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    """The message names the file."""
    (tmp_path / "odd").write_text(content)
    with pytest.raises(simkit.SimkitError, match="odd"):
        members_of_files(tmp_path / "odd")


def test_commands_take_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question about a person counts the groups that the file says."""
    dump, table = tmp_path / "dump.json", tmp_path / "groups.yaml"
    objects = [role("r", rule("get", "pods")), binding("b", "r", "group:devs")]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    table.write_text("devs: [ann]\n")
    asked = ["--dump", str(dump), "--complete", "*"]
    assert main(["can-i", "get", "pods", "--as", "ann", *asked]) == 1
    assert main(["can-i", "get", "pods", "--as", "ann", *asked, "--members", str(table)]) == 0
    assert main(["can-i", "--list", "--as", "ann", *asked, "--members", str(table)]) == 0
    assert main(["can-i", "--list", "--as", "ann", *asked, "--group", "devs"]) == 0
    capsys.readouterr()
    assert main(["who-can", "get", "pods", *asked, "--members", str(table)]) == 0
    assert "user:ann (in group:devs)" in capsys.readouterr().out
    assert main(["audit", str(dump), "--complete", "*", "--members", str(table)]) == 0
