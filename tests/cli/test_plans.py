"""The command cut --best."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import yaml

from simkit.cli import main
from tests.analysis.worlds import namespace
from tests.cli.test_escalation_commands import LOG, OBJECTS, written


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """A small dump, complete as it is."""
    return written(tmp_path / "cluster.json", [*OBJECTS, namespace("default")])


def test_a_plan_is_proposed_and_verified(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As an ordered list, with what each change closes, leaves, breaks, and how it is taken back."""
    target = tmp_path / "plan.yaml"
    words = ["cut", dump, "--complete", "*", "--best", "3", "--verify", "--write", str(target)]
    assert main([*words, "-o", "json"]) == 1
    told, notes = capsys.readouterr()
    assert "the plan holds" in notes
    made = orjson.loads(told)
    first, *_ = made
    assert {"closes", "remaining", "breaks", "cumulative_share"} <= first.keys()
    assert [one["step"] for one in made] == list(range(1, len(made) + 1))
    assert made[-1]["remaining"] == 0
    assert first["paths_before"] == sum(one["closes"] for one in made)
    assert first["way_back"]
    assert all(one["verified"]["holds"] for one in made)
    text = target.read_text(encoding="utf-8")
    assert "# kubectl delete" in text or any(yaml.safe_load_all(text))


def test_changes_without_cost_in_use(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log says what is used; tables say what the changes are of."""
    log = tmp_path / "audit.jsonl"
    log.write_bytes(orjson.dumps(LOG))
    assert main(["cut", dump, "--complete", "*", "--best", "3", "--free", "--audit-log", str(log), "-o", "json"]) == 1
    made = orjson.loads(capsys.readouterr().out)
    assert all(one["with_audit_log"] and one["breaks"] == [] for one in made)
    assert main(["cut", dump, "--complete", "*", "--best", "1", "--goal", "cluster-admin"]) == 1
    table, notes = capsys.readouterr()
    assert "remove sa:dev/attacker from RoleBinding ops/attack" in table
    assert "1 path of 1 subject to cluster-admin" in notes
    assert main(["cut", dump, "--complete", "*", "--best", "1", "--commands"]) == 1
    assert capsys.readouterr().out.startswith("kubectl ")


def test_wrong_use(dump: str) -> None:
    """Options that need a plan, and a plan without changes."""
    assert main(["cut", dump, "--complete", "*", "--free"]) == 2
    assert main(["cut", dump, "--complete", "*", "--best", "0"]) == 2
    assert main(["cut", dump, "--complete", "*", "--best", "many"]) == 2


def test_all_changes(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``all`` plans until no path is left that changes can close."""
    assert main(["cut", dump, "--complete", "*", "--best", "all", "-o", "json"]) == 1
    steps = orjson.loads(capsys.readouterr().out)
    assert steps
    assert steps[-1]["remaining"] == 0
