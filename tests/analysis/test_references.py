"""References to public frameworks: they name checks and primitives that exist, and limit an audit."""

from __future__ import annotations

import pytest

from simkit.analysis import audit
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.findings import CHECKS
from simkit.analysis.findings.references import FRAMEWORKS, framework_named, frameworks, references
from simkit.meta.errors import SimkitError
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule

OBJECTS = [
    role("secrets", rule("list", "secrets")),
    role("proxy", rule("get", "nodes/proxy")),
    binding("secrets", "secrets", "user:ann"),
    binding("proxy", "proxy", "user:bob"),
]


def test_what_they_name_exists() -> None:
    """Each check and primitive of a control is one of simkit's, and no control is named twice."""
    assert tuple(frameworks()) == FRAMEWORKS
    known = {check.id for check in CHECKS}
    steps = {one.id for one in primitives().primitives}
    for framework in frameworks().values():
        ids = [control.id for control in framework.controls]
        assert len(ids) == len(set(ids))
        assert framework.checks <= known
        assert {name for control in framework.controls for name in control.primitives} <= steps


def test_an_audit_by_framework() -> None:
    """It has the findings of its controls; a control that nobody can check is told apart from one without findings."""
    made = audit(MemorySnapshot(OBJECTS, captured=["*"]), framework="cis")
    assert {one.check for one in made} <= framework_named("cis").checks
    rows = made.controls("cis").set_index("control")
    assert tuple(rows.loc["5.1.2", ["findings", "worst"]]) == (1, "high")
    assert rows.loc["5.1.3", "findings"] == 0
    assert rows.loc["5.4.2", "checks"] == []
    [shown] = made.filter(check="secrets-list").to_frame()["references"]
    assert shown == references("secrets-list") == ("CIS 5.1.2", "NSA RBAC", "MITRE T1552.007")


def test_checks_that_did_not_run_are_told() -> None:
    """A control whose check needs what the dump lacks is not shown as one without findings."""
    roles = [
        f"{kind}.rbac.authorization.k8s.io" for kind in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    ]
    made = audit(MemorySnapshot(OBJECTS, captured=roles), framework="cis")
    assert made.controls("cis").set_index("control").loc["5.3.2", "skipped"] == ["network-policy"]


def test_an_unknown_framework_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(SimkitError, match="no framework 'pci'; there are cis, nsa, mitre"):
        framework_named("pci")
