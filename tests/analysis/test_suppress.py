"""Findings that are accepted: by whom, until when, and since when they are known."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest

from simkit.analysis.findings import Severity, audit
from simkit.analysis.findings.suppress import Suppression, apply_suppressions, baseline, fingerprint, read_suppressions
from simkit.cli import main
from simkit.cli.reports import Case, Fault, junit, sarif
from simkit.meta.errors import SimkitError
from tests.analysis.worlds import binding, role, rule, world

OBJECTS = [
    role("all", rule("*", "*", groups="*")),
    role("secrets", rule("get,list", "secrets")),
    binding("admins", "all", "group:admins"),
    binding("readers", "secrets", "sa:dev/app", namespace="dev"),
    binding("gone", "deleted", "user:ann"),
]
TODAY = date(2026, 5, 1)


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """The path of a small dump."""
    path = tmp_path / "dump.json"
    items = [*OBJECTS, role("local", rule("get", "pods"), namespace="dev")]
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"binding": "admins"}, {"admins"}),
        ({"binding": "dev/*"}, {"readers"}),
        ({"subject": "sa:dev/*"}, {"readers"}),
        ({"role": "all"}, {"admins"}),
        ({"check": "missing-role"}, {"gone"}),
        ({"namespace": "dev", "binding": "none"}, set()),
    ],
)
def test_fields_of_a_suppression(fields: dict[str, Any], names: set[str]) -> None:
    """It takes out what all of its fields match, and nothing else."""
    found = audit(world(*OBJECTS))
    sifted = apply_suppressions(found, [Suppression(reason="known", **fields)], today=TODAY)
    assert {each.finding.binding.name for each in sifted.accepted if each.finding.binding} == names
    assert len(sifted.audit.findings) + len(sifted.accepted) == len(found.findings)
    assert bool(sifted.unused) is not bool(names)


def test_suppressions_end() -> None:
    """On its last day a suppression holds; on the next what it meant is back, and that is told."""
    ending = Suppression(reason="until the move", binding="admins", expires=TODAY)
    found = audit(world(*OBJECTS))
    assert apply_suppressions(found, [ending], today=TODAY).accepted
    after = apply_suppressions(found, [ending], today=TODAY + timedelta(days=1))
    assert (after.accepted, after.expired, after.unused) == ((), (ending,), ())
    assert after.audit.findings == found.findings


def test_a_baseline_knows_what_was_there() -> None:
    """An audit over its own baseline is empty; a new binding is found; wording and severity do not matter."""
    found = audit(world(*OBJECTS))
    known = frozenset(entry["fingerprint"] for entry in baseline(found.findings)["findings"])
    assert apply_suppressions(found, known=known, today=TODAY).audit.findings == ()
    more = audit(world(*OBJECTS, binding("late", "all", "user:eve")))
    left = apply_suppressions(more, known=known, today=TODAY).audit.findings
    assert left
    assert all(each.binding and each.binding.name == "late" for each in left if each.binding)
    first = found.findings[0]
    assert fingerprint(replace(first, message="other", severity=Severity.LOW)) == fingerprint(first)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("suppressions: [{check: missing-role}]", "suppressions, entry 1: 'reason' is missing"),
        ("suppressions: [{reason: ' ', check: missing-role}]", "reason"),
        ("suppressions: [{reason: because}]", "subject or fingerprint"),
        ("suppressions: [{reason: because, check: unheard-of}]", "there is no check 'unheard-of'"),
        ("suppressions: [{reason: because, check: '*', until: 2026-01-01}]", "until"),
        ("suppressions: [", "is not YAML"),
    ],
)
def test_mistakes_in_the_file_are_told(text: str, fault: str, tmp_path: Path) -> None:
    """A file that suppresses without a reason, or nothing, or everything, is refused."""
    path = tmp_path / "accepted.yaml"
    path.write_text(text)
    with pytest.raises(SimkitError, match=fault):
        read_suppressions(path)


def test_the_command(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Suppressed and known findings fail nothing; what is over or unused is told."""
    accepted, known = tmp_path / "accepted.yaml", tmp_path / "known.json"
    accepted.write_text(
        "suppressions:\n- {reason: they are, binding: admins}\n- {reason: old, check: missing-role, expires: 2020-01-01}\n"
        "- {reason: idle, binding: nowhere}\n"
    )
    words = ["audit", dump, "--complete", "*"]
    assert main([*words, "--fail-on", "critical"]) == 1
    capsys.readouterr()
    assert main([*words, "--fail-on", "critical", "--suppress", str(accepted), "-o", "json"]) == 0
    told = capsys.readouterr()
    assert {each["reason"] for each in orjson.loads(told.out)["accepted"]} == {"they are"}
    assert "2020-01-01" in told.err
    assert "idle" in told.err
    assert main([*words, "--write-baseline", str(known)]) == 0
    assert main([*words, "--fail-on", "info", "--baseline", str(known)]) == 0
    known.write_text("{}")
    assert main([*words, "--baseline", str(known)]) == 2


def test_reports_of_the_audit(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JUnit fails the checks from --fail-on; SARIF places findings in the dump, suppressed ones marked as such."""
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text("suppressions: [{reason: they are, binding: admins}]")
    words = ["audit", dump, "--suppress", str(accepted), "-o"]
    main([*words, "junit", "--fail-on", "low"])
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) != "0"
    assert suite.findall("testcase/skipped")
    main([*words, "sarif"])
    run = orjson.loads(capsys.readouterr().out)["runs"][0]
    rules = {each["id"] for each in run["tool"]["driver"]["rules"]}
    assert {each["ruleId"] for each in run["results"]} <= rules
    assert {each["suppressions"][0]["justification"] for each in run["results"] if "suppressions" in each} == {
        "they are"
    }
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert all(
        place["artifactLocation"]["uri"] == Path(dump).as_uri() and place["region"]["startLine"] >= 1
        for place in places
    )
    assert all(each["partialFingerprints"]["simkit/v1"] for each in run["results"])


def test_reports_hold_what_is_hard_to_write() -> None:
    """Control characters are shown and do not break XML; an accepted fault fails nothing."""
    case = Case("a", "<name>", "high", [Fault("bad\x00 & <worse>", "high", "f")])
    failure = ElementTree.fromstring(junit("x", [case])).find("testcase/failure")
    assert failure is not None
    assert failure.text == "bad\\x00 & <worse>"
    quiet = Case("a", "n", "high", [Fault("m", "high", "f", suppressed="fine")])
    assert ElementTree.fromstring(junit("x", [quiet])).get("failures") == "0"
    assert sarif([quiet])["runs"][0]["results"][0]["level"] == "error"
