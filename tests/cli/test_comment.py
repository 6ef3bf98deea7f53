"""The comment on a change says the worst first, in few lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from simkit.analysis.access.compare import compare
from simkit.cli import main
from simkit.cli.diff import SHOWN, comment
from tests.analysis.worlds import binding, role, rule, world

if TYPE_CHECKING:
    import pytest

BEFORE = [role("r", rule("get", "pods")), binding("b", "r", "user:ann"), binding("old", "r", "user:zoe")]


def told(*objects: dict[str, object]) -> list[str]:
    """The lines of a comment on what objects replace the old ones."""
    return comment(compare(world(*BEFORE), world(*objects), each="permission").to_dict("records")).splitlines()


def test_a_change_without_effect() -> None:
    """The headline says so, and there is no list."""
    assert told(*BEFORE) == ["### Access: nothing changes", ""]


def test_verbs_and_resources_are_put_together() -> None:
    """One line for a subject, a place and the same verbs; wildcards and secrets are marked and stand first."""
    wide = role(
        "r", rule("get,list,watch", "pods,services,endpoints"), rule("*", "*", groups="*"), rule("get", urls="/x")
    )
    lines = told(
        wide,
        BEFORE[1],
        role("s", rule("list", "secrets", names="db")),
        binding("s", "s", "sa:dev/app", namespace="dev"),
    )
    assert lines[0] == "### Access: 2 subjects gain 11 permissions, 1 subject loses 1 permission"
    assert lines[2] == "- :warning: `user:ann` can now do anything **everywhere** (by ClusterRoleBinding b)"
    assert "- :warning: `sa:dev/app` can now list `secrets db` in `dev` (by RoleBinding dev/s)" in lines
    assert (
        "- `user:ann` can now get, list, watch `services`, `endpoints` **everywhere** (by ClusterRoleBinding b)"
        in lines
    )
    assert "- `user:ann` can now get `/x` **everywhere** (by ClusterRoleBinding b)" in lines
    assert lines[-1] == "- `user:zoe` can no longer get `pods` **everywhere** (by ClusterRoleBinding old)"


def test_much_is_folded_away() -> None:
    """However much changes, few lines are seen at once."""
    many = [binding(f"b{number}", "r", f"user:u{number}") for number in range(SHOWN + 5)]
    lines = told(*BEFORE, *many)
    assert lines[0] == f"### Access: {SHOWN + 5} subjects gain {SHOWN + 5} permissions, nobody loses access"
    assert lines[SHOWN + 3] == "<details><summary>5 more</summary>"
    assert sum(line.startswith("- ") for line in lines[: SHOWN + 3]) == SHOWN


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``simkit diff -o markdown`` prints it; manifests need no defaults in them."""
    for name, objects in (("before", []), ("after", [binding("b", "edit", "user:ann", namespace="dev")])):
        (tmp_path / f"{name}.json").write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    paths = [str(tmp_path / "before.json"), str(tmp_path / "after.json")]
    assert main(["diff", *paths, "--manifests", "-o", "markdown"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("### Access: 1 subject gains 382 permissions, nobody loses access\n")
    (grave,) = [line for line in out.splitlines() if "impersonate" in line]
    assert grave.startswith("- :warning: `user:ann` can now impersonate, get, list")
    assert "`serviceaccounts`" in grave
    assert len(out.split("<details>")[0].splitlines()) <= SHOWN + 4


def test_the_table_has_a_row_for_each_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Permissions that come with the same verbs through the same binding are one row for people, and several as CSV."""
    made = [role("r", rule("get,list", "pods,secrets")), binding("b", "r", "user:zoe", namespace="shop")]
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_bytes(orjson.dumps({"kind": "List", "apiVersion": "v1", "items": made[:1]}))
    after.write_bytes(orjson.dumps({"kind": "List", "apiVersion": "v1", "items": made}))
    rows = {}
    for form in ("table", "csv"):
        assert main(["diff", str(before), str(after), "--complete", "*", "-o", form]) == 1
        rows[form] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gained")]
    assert len(rows["table"]) == 2  # secrets weigh more than pods
    assert "get, list" in rows["table"][0]
    assert len(rows["csv"]) == 4
