"""Guesses of people who know kubectl: short flags, output formats, a namespace and a severity."""

from __future__ import annotations

import csv
import io
from typing import Any

import orjson
import pytest
import yaml

from simkit.cli import main


def told(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(command.split())
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["audit --demo", "who-can get secrets --demo", "can-i list pods --as user:nobody --demo", "causes --demo"],
)
def test_yaml_holds_what_json_holds(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same values, in a form that people read and kubectl writes."""
    _, as_json, _ = told(f"{command} -o json", capsys)
    _, as_yaml, _ = told(f"{command} -o yaml", capsys)
    assert yaml.safe_load(as_yaml) == orjson.loads(as_json)


@pytest.mark.slow
def test_findings_of_a_namespace_and_a_severity(capsys: pytest.CaptureFixture[str]) -> None:
    """The options of the command are the arguments of the method."""
    _, out, _ = told("audit --demo -n billing --severity medium -o json", capsys)
    found: list[dict[str, Any]] = orjson.loads(out)["findings"]
    assert found
    assert {each["namespace"] for each in found} == {"billing"}
    assert {each["severity"] for each in found} <= {"medium", "high", "critical"}
    _, table, _ = told("audit --demo --severity critical", capsys)
    assert "findings are critical or worse" in table
    _, _, warned = told("audit --demo -n biling", capsys)
    assert "there is no namespace 'biling'; did you mean 'billing'?" in warned
    assert warned.count("there is no namespace") == 1


def test_quiet_has_a_letter(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("who-can get secrets -n nope --demo -q", capsys)[2] == ""


def test_from_is_another_word_for_the_subject_of_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told("escalations --demo --from group:oidc:helpdesk -o json", capsys)
    assert code in (0, 1)
    assert {row["subject"] for row in orjson.loads(out)} <= {"group:oidc:helpdesk"}


def test_negative_numbers_are_no_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    """The row of system:masters has no rule, which is number -1."""
    _, out, _ = told("who-can get secrets --demo -o csv", capsys)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["rule"] for row in rows if row["binding"] == "(no binding)"} == {"-1"}


def test_a_version_that_is_gone_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """A question about a version that an earlier release removed is answered: nothing here uses it."""
    code, _, err = told("removal-report policy/v1beta1 --demo", capsys)
    assert (code, "nothing breaks" in err) == (0, True)
    code, _, err = told("removal-report polcy/v1beta1 --demo", capsys)
    assert code == 2
    assert "does not serve 'polcy/v1beta1'" in err
