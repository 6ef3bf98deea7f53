"""Reports for build servers and code hosts: JUnit and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

from simkit.meta.distribution import VERSION
from simkit.meta.visible_text import one_line
from simkit.present.escaping import markdown_cell, sarif_text, xml_text

if TYPE_CHECKING:
    from simkit.seams.caveats import Caveat

FORMS: Final = ("junit", "sarif")
_LEVELS: Final = {"info": "note", "low": "note", "medium": "warning", "high": "error", "critical": "error"}
_SCORES: Final = {"info": "0.0", "low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}
"""The scores by which code hosts order security results."""
_BASE: Final = "%SRCROOT%"
"""The name of the root of the checkout."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test case; it passes if it has no faults. ``references`` are controls of public frameworks."""

    rule: str
    name: str
    severity: str
    faults: Sequence[Fault] = ()
    description: str = ""
    skipped: str = ""
    fix: str = ""
    references: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure of a case. ``fingerprint`` is stable from one run to the next.

    ``suppressed`` says why somebody accepts it; such faults fail nothing.
    """

    message: str
    severity: str
    file: str
    line: int = 1
    fingerprint: str = ""
    suppressed: str = ""


def junit(name: str, cases: Sequence[Case], caveats: Sequence[Caveat] = ()) -> str:
    """The cases as a JUnit test suite, valid for the schema of Jenkins; the limits of the answer are its properties.

    Examples
    --------
    >>> print(junit("demo", [Case("a", "holds", "low")]), end="")
    <?xml version='1.0' encoding='utf-8'?>
    <testsuite name="demo" tests="1" failures="0" errors="0" skipped="0"><testcase classname="demo" name="holds" />\
</testsuite>
    """
    broken = sum(bool(_open(case)) for case in cases)
    skipped = sum(bool(case.skipped) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(broken), "errors": "0", "skipped": str(skipped)}
    suite = ElementTree.Element("testsuite", {"name": name, **counts})
    if caveats:
        told = ElementTree.SubElement(suite, "properties")
        for caveat in caveats:
            ElementTree.SubElement(told, "property", name=f"caveat:{caveat.id}", value=xml_text(caveat.text))
    for case in cases:
        entry = ElementTree.SubElement(suite, "testcase", classname=name, name=xml_text(case.name))
        if case.skipped:
            ElementTree.SubElement(entry, "skipped", message=xml_text(case.skipped))
        faults = [xml_text(fault.message) for fault in _open(case)]
        if faults:
            failure = ElementTree.SubElement(entry, "failure", message=faults[0], type=case.severity)
            failure.text = "\n".join(faults)
    head = "<?xml version='1.0' encoding='utf-8'?>\n"
    return head + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _open(case: Case) -> list[Fault]:
    return [fault for fault in case.faults if not fault.suppressed]


def sarif(cases: Sequence[Case], caveats: Sequence[Caveat] = (), *, name: str = "simkit") -> dict[str, Any]:
    """The faults as a SARIF 2.1.0 log, every case a rule; the limits of the answer are notifications of the tool.

    Files below the working directory are named relative to it, as code hosts want them; ``name`` tells the logs of
    several commands apart.

    References: SARIF 2.1.0 (OASIS); what code hosts read of it: rule help, tags, security-severity, fingerprints.
    """
    numbers = {case.rule: number for number, case in enumerate(cases)}
    results = [_result(case, fault, numbers[case.rule]) for case in cases for fault in case.faults]
    driver = {"name": "simkit", "semanticVersion": VERSION, "rules": [_rule(case) for case in cases]}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{name}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"uri": f"{Path.cwd().as_uri()}/"}},
        "results": results,
    }
    if caveats:
        told = [
            {"descriptor": {"id": each.id}, "level": "warning", "message": {"text": sarif_text(each.text)}}
            for each in caveats
        ]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": told}]
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def _rule(case: Case) -> Mapping[str, Any]:
    told = [sarif_text(text) for text in (case.description, case.fix) if text] or [sarif_text(case.name)]
    shown = [text for text in (case.description, case.fix) if text] or [case.name]
    rule = one_line(case.rule)
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in rule.split("-")),
        "shortDescription": {"text": sarif_text(case.name)},
        "fullDescription": {"text": sarif_text(case.description or case.name)},
        "help": {"text": " ".join(told), "markdown": "\n\n".join(map(markdown_cell, shown))},
        "defaultConfiguration": {"level": _LEVELS[case.severity]},
        "properties": {
            "security-severity": _SCORES[case.severity],
            "tags": ["security", "access-control", *case.references],
        },
    }


def _result(case: Case, fault: Fault, number: int) -> Mapping[str, Any]:
    place = {"artifactLocation": _artifact(fault.file), "region": {"startLine": fault.line}}
    made: dict[str, Any] = {
        "ruleId": one_line(case.rule),
        "ruleIndex": number,
        "level": _LEVELS[fault.severity],
        "message": {"text": sarif_text(fault.message)},
        "locations": [{"physicalLocation": place}],
    }
    if fault.fingerprint:
        made["partialFingerprints"] = {"simkit/v1": fault.fingerprint}
    if fault.suppressed:
        reason = sarif_text(fault.suppressed)
        made["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]
    return made


def _artifact(file: str) -> Mapping[str, str]:
    """The location of a file: relative to the working directory, or as an absolute address."""
    path = Path(file)
    if not path.is_absolute():
        return {"uri": quote(path.as_posix()), "uriBaseId": _BASE}
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(path.relative_to(Path.cwd()).as_posix()), "uriBaseId": _BASE}
    return {"uri": path.as_uri()}
