"""Checks that are given to an audit or registered by packages, and the suite of checks over one of simkit's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint

import pytest

from simkit.analysis import audit, findings
from simkit.analysis.findings import CHECKS, Check, Finding, Severity
from simkit.analysis.findings.audit import FINDINGS
from simkit.analysis.findings.survey import Survey
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.snapshot.memory import MemorySnapshot
from simkit.testing.suites import CheckSuite

EMPTY = MemorySnapshot([], captured=["*"])


def fails(survey: Survey, check: Check) -> Iterable[Finding]:
    """A mistake in a check."""
    raise ValueError("no such column")


BROKEN = Check("broken", "A broken check", Severity.HIGH, "It shows.", "Mend it.", fails)


def test_a_check_that_fails_is_a_row() -> None:
    """An audit with a broken check does not look like one without findings; the other checks are made."""
    table = findings(EMPTY, rules=[BROKEN])
    row = table[table["check"] == "broken"].iloc[0]
    assert (row["severity"], row["message"]) == (
        "high",
        "The check failed, so its findings are unknown: ValueError: no such column",
    )
    assert audit(EMPTY, rules=[BROKEN]).counts()["high"] == 1


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that registers the broken check."""
    point = EntryPoint("broken", f"{__name__}:BROKEN", "simkit.findings")
    monkeypatch.setattr(EntryPoint, "load", lambda self: BROKEN)  # this module has no name to be imported by
    monkeypatch.setitem(FINDINGS.__dict__, "_installed", {"broken": point})


@pytest.mark.usefixtures("_registered")
def test_a_check_of_a_package_is_made_by_name() -> None:
    """It is made where its id is given, and only there."""
    assert [finding.check for finding in audit(EMPTY, checks=["broken"])] == ["broken"]
    assert audit(EMPTY, checks=["broken"]).summary()["title"].tolist() == ["A broken check"]
    assert len(audit(EMPTY)) == 0
    with pytest.raises(SimkitError, match=r"there is no check 'brokn'; known: .*broken"):
        audit(EMPTY, checks=["brokn"])


class TestSubsumedBinding(CheckSuite):
    """A check of simkit keeps the promises too."""

    def make(self) -> Check:
        return next(check for check in CHECKS if check.id == "subsumed-binding")

    def bad(self) -> Sequence[Object]:
        return [_role("wide", "*"), _role("narrow", "get"), _binding("wide"), _binding("narrow")]

    def good(self) -> Sequence[Object]:
        return [_role("narrow", "get"), _binding("narrow")]


def _role(name: str, verb: str) -> Object:
    rules = [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }


def _binding(role: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
    }
