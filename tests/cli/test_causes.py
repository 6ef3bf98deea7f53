"""The command causes."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from simkit.cli import main
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.worlds import binding, role, rule
from tests.cli.test_escalation_commands import written


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """A dump with somebody who may become anybody."""
    objects = [
        role("cluster-admin", rule("*", "*", groups="*")),
        binding("ops-admin", "cluster-admin", "sa:ops/admin"),
        *scene(rule("create", "serviceaccounts/token"), place="ops"),
    ]
    return written(tmp_path / "cluster.json", objects)


def test_causes_are_listed(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON with the commands and the way back; exit code 1 where there are some."""
    assert main(["causes", dump, "--complete", "*", "-o", "json", "--goal", "cluster-admin"]) == 1
    told = orjson.loads(capsys.readouterr().out)
    first = told[0]
    assert first["goals"] == {"cluster-admin": 1}
    assert first["subject_names"] == [ATTACKER]
    assert first["commands"][0].startswith("kubectl ")
    assert len(first["way_back"]) == len(first["commands"])
    assert sum(row["paths"] for row in told) == 1


def test_a_nature_is_chosen(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, SARIF and the exit code are of what was chosen."""
    assert main(["causes", dump, "--complete", "*", "--nature", "server"]) == 0
    assert main(["causes", dump, "--complete", "*"]) == 1
    assert "RoleBinding ops/attack" in capsys.readouterr().out
    assert main(["causes", dump, "--complete", "*", "-o", "sarif"]) == 1
    log = orjson.loads(capsys.readouterr().out)
    assert {one["ruleId"] for one in log["runs"][0]["results"]} <= {
        "cause-mistake",
        "cause-unused",
        "cause-administrators",
    }
