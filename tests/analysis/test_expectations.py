"""Expectations of access, and the commands that check them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simkit.analysis.access.expectations import Suite, check, read_suite
from simkit.cli import main
from simkit.meta.errors import SimkitError
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.save import save
from tests.analysis.worlds import binding, role, rule

OBJECTS = [
    role("reader", rule("get", "secrets"), namespace="pay"),
    binding("ops", "reader", "group:oidc:platform", namespace="pay", local=True),
    binding("leak", "reader", "user:mallory", namespace="pay", local=True),
]
SUITE = """
expectations:
- name: platform reads the secrets of pay
  can: {subject: "group:oidc:platform", verb: get, resource: secrets, namespace: pay}
- name: ann does not
  cannot: {subject: ann, verb: [get, list], resource: secrets, namespace: pay}
- name: nobody outside platform reads secrets
  severity: critical
  never: {verb: get, resource: secrets, namespace: pay, except: "group:oidc:*"}
"""


def snapshot() -> MemorySnapshot:
    """One role, bound to whom it should be and to whom it should not."""
    return MemorySnapshot(OBJECTS, captured=["*"])


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The suite and the dump as files."""
    (tmp_path / "suite.yaml").write_text(SUITE)
    save(snapshot(), tmp_path / "dump.yaml")
    return str(tmp_path / "suite.yaml"), str(tmp_path / "dump.yaml")


def test_each_expectation_has_an_outcome(files: tuple[str, str]) -> None:
    """A met expectation passes; a broken one names the subject and the binding."""
    met, also, broken = check(snapshot(), read_suite(files[0]))
    assert met.passed
    assert also.passed
    assert "user:mallory can get secrets in pay: RoleBinding" in broken.failures[0]
    assert "leak" in broken.failures[0]


def test_access_that_is_missing_is_told_with_its_reason() -> None:
    """A near miss, or the sentence that there is none: no expectation is broken without a word why."""
    given = {"subject": "user:zoe", "verb": "get", "resource": "secrets", "namespace": "pay"}
    (none,) = check(snapshot(), Suite.model_validate({"expectations": [{"name": "zoe reads", "can": given}]}))
    assert none.failures[0].startswith("user:zoe cannot get secrets: no binding grants this")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("expectations: []", "expectations"),
        ("expectations: [{name: x}]", "exactly one"),
        ("expectations: [{name: x, can: {subject: a, verb: get, resorce: pods}}]", "resorce"),
        (
            "expectations: [{name: x, never: {verb: get, allowed: []}}]",
            "expectations, entry 1, never: there is no field 'allowed'; known fields: verb",
        ),
        ("[", "not YAML"),
    ],
)
def test_a_wrong_suite_is_explained(tmp_path: Path, text: str, what: str) -> None:
    """The entry and the fault are named."""
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(SimkitError, match=what):
        read_suite(tmp_path / "s.yaml")


def test_the_command_in_every_form(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 for a broken expectation; JUnit and SARIF can be read by their readers."""
    suite, dump = files
    command = ["check", suite, "--dump", dump, "--complete", "*", "-o"]
    assert main([*command, "table"]) == 1
    assert "broken" in capsys.readouterr().out
    main([*command, "junit"])
    assert ElementTree.fromstring(capsys.readouterr().out).get("failures") == "1"
    main([*command, "sarif"])
    log = json.loads(capsys.readouterr().out)
    assert log["runs"][0]["results"][0]["level"] == "error"


def test_diff_tells_who_gained(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A binding more is somebody's gain and an exit code; the way back is none."""
    save(MemorySnapshot(OBJECTS[:2], captured=["*"]), tmp_path / "before.yaml")
    before, after = str(tmp_path / "before.yaml"), files[1]
    assert main(["diff", before, after, "--complete", "*"]) == 1
    assert "mallory" in capsys.readouterr().out
    assert main(["diff", after, before, "--complete", "*", "-o", "markdown"]) == 0


def test_suites_have_a_schema() -> None:
    """Editors can be given the JSON schema of the file."""
    assert "expectations" in Suite.model_json_schema()["properties"]
