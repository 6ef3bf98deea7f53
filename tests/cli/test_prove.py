"""``simkit prove``: answers about all requests on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simkit.analysis.prove.policy import policy_of_expressions
from simkit.cli import main
from simkit.meta.names import GroupResource
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.save import save
from tests.analysis.worlds import binding, role, rule

READER = role("reader", rule("get", "secrets"))
BOUND = binding("own", "reader", "user:ann", namespace="pay")


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[str, str]:
    """A dump without and one with a binding."""
    for name, objects in (("before", [READER]), ("after", [READER, BOUND])):
        save(MemorySnapshot(objects, captured=["*"]), tmp_path / f"{name}.yaml")
    return str(tmp_path / "before.yaml"), str(tmp_path / "after.yaml")


def test_a_change_is_proven_or_refuted(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code says whether the claim holds."""
    before, after = dumps
    assert main(["prove", "no-new-access", after, before]) == 0
    assert capsys.readouterr().out.startswith("PASS")
    assert main(["prove", "no-new-access", before, after, "-o", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"][0]["verdict"] == "FAIL"
    assert answer["rows"][0]["subject"] == "user:ann"
    assert main(["prove", "no-new-access", before, after, "-o", "sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"]


def test_invariants_take_words_as_they_are_spoken(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The permission needs no quotes; the last word is the dump."""
    _, after = dumps
    assert main(["prove", "never", "get", "secrets", "in", "pay", after]) == 1
    assert "user:ann can get secrets in pay" in capsys.readouterr().out
    assert main(["prove", "never", "get secrets in pay", after, "--except", "user:a*"]) == 0
    assert main(["prove", "always", "get secrets in pay", "-f", after, "--by", "user:ann", "-o", "csv"]) == 0
    assert "PASS,user:ann can always get secrets in pay" in capsys.readouterr().out


def test_wrong_words_are_explained(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Options of another claim, and claims without words."""
    before, after = dumps
    assert main(["prove", "no-new-access", before, after, "--by", "user:ann"]) == 2
    assert "--by goes with always" in capsys.readouterr().err
    assert main(["prove", "no-new-access", after]) == 2
    assert "name two dumps" in capsys.readouterr().err
    assert main(["prove", "never", after]) == 2
    assert "name the permission" in capsys.readouterr().err


def test_policies_are_files_names_or_expressions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a dump they are tried on an empty cluster."""
    images = "object.spec.containers.all(c, c.image.startsWith('r.io/'))"
    policy = policy_of_expressions("images", [images], GroupResource("", "pods"))
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    file = ("--policy", str(tmp_path / "policy.json"))
    assert main(["prove", "implies", *file, "--policy", "object.spec.containers.exists(c, true)"]) == 2
    assert "resource='pods'" in capsys.readouterr().err
    assert main(["prove", "implies", *file, "--policy", "size(object.spec.containers) > 1", "--resource", "pods"]) == 1
    assert "passes images, and is refused by expression-2" in capsys.readouterr().out
    assert main(["prove", "contradictions", *file, "-o", "json"]) == 0
    assert main(["prove", "admits", *file, "--constraint", images]) == 0
    capsys.readouterr()
    assert main(["prove", "implies", *file]) == 2
    assert "implies is about 2 policies" in capsys.readouterr().err
