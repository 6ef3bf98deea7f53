"""Reports that build servers and code hosts read: JUnit and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree

FORMS: Final = ("junit", "sarif")
_LEVELS: Final = {"info": "note", "low": "note", "medium": "warning", "high": "error", "critical": "error"}
_SCORES: Final = {"info": "0.0", "low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}
"""What code hosts order security results by."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was tested; it holds where there are no faults."""

    rule: str
    name: str
    severity: str
    faults: Sequence[Fault] = ()
    description: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which a case does not hold. ``fingerprint`` stays the same from one run to the next.

    ``suppressed`` says why somebody accepts it; such faults fail nothing.
    """

    message: str
    severity: str
    file: str
    line: int = 1
    fingerprint: str = ""
    suppressed: str = ""


def junit(name: str, cases: Sequence[Case]) -> str:
    """The cases as a JUnit test suite.

    Examples
    --------
    >>> print(junit("demo", [Case("a", "holds", "low")]), end="")
    <?xml version='1.0' encoding='utf-8'?>
    <testsuite name="demo" tests="1" failures="0" skipped="0"><testcase classname="demo" name="holds" /></testsuite>
    """
    broken = sum(bool(_open(case)) for case in cases)
    skipped = sum(bool(case.skipped) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(broken), "skipped": str(skipped)}
    suite = ElementTree.Element("testsuite", {"name": name, **counts})
    for case in cases:
        entry = ElementTree.SubElement(suite, "testcase", classname=name, name=case.name)
        if case.skipped:
            ElementTree.SubElement(entry, "skipped", message=_legal(case.skipped))
        faults = [_legal(fault.message) for fault in _open(case)]
        if faults:
            failure = ElementTree.SubElement(entry, "failure", message=faults[0], type=case.severity)
            failure.text = "\n".join(faults)
    head = "<?xml version='1.0' encoding='utf-8'?>\n"
    return head + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _open(case: Case) -> list[Fault]:
    return [fault for fault in case.faults if not fault.suppressed]


def _legal(text: str) -> str:
    """The text without the characters that XML cannot hold."""
    return "".join(letter for letter in text if letter >= " " or letter in "\t\n\r")


def sarif(cases: Sequence[Case]) -> dict[str, Any]:
    """The faults as a SARIF 2.1.0 log, every case a rule."""
    results = [_result(case, fault) for case in cases for fault in case.faults]
    driver = {"name": "simkit", "rules": [_rule(case) for case in cases]}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(case: Case) -> Mapping[str, Any]:
    more = {"fullDescription": {"text": case.description}} if case.description else {}
    return {
        "id": case.rule,
        "shortDescription": {"text": case.name},
        **more,
        "defaultConfiguration": {"level": _LEVELS[case.severity]},
        "properties": {"security-severity": _SCORES[case.severity]},
    }


def _result(case: Case, fault: Fault) -> Mapping[str, Any]:
    place = {"artifactLocation": {"uri": fault.file}, "region": {"startLine": fault.line}}
    made: dict[str, Any] = {
        "ruleId": case.rule,
        "level": _LEVELS[fault.severity],
        "message": {"text": fault.message},
        "locations": [{"physicalLocation": place}],
    }
    if fault.fingerprint:
        made["partialFingerprints"] = {"simkit/v1": fault.fingerprint}
    if fault.suppressed:
        made["suppressions"] = [{"kind": "external", "justification": fault.suppressed}]
    return made
