"""The audit is clean only where nobody but administrators can reach more than they were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simkit
from simkit.analysis import audit, escalations, findings
from simkit.analysis.escalation import primitives
from simkit.analysis.escalation.table.primitive import requirements_of
from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.escalation.table.severity import Severity
from simkit.schema.catalogue import Catalogue
from simkit.schema.releases import RELEASES
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.escalation.scenes import pod
from tests.analysis.worlds import account, binding, namespace, role, rule, world
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

RBAC = "rbac.authorization.k8s.io"
ADMIN = [role("cluster-admin", rule("*", "*", groups="*")), binding("boss", "cluster-admin", "sa:ops/admin")]


@st.composite
def clusters(draw: st.DrawFn) -> MemorySnapshot:
    """A cluster at any release, where roles require what variants of primitives do, perhaps for single names."""
    release = draw(st.sampled_from(RELEASES))
    objects: list[Mapping[str, Any]] = [
        *(namespace("dev"), namespace("ops"), account("dev", "app"), account("ops", "admin"), *ADMIN),
        pod("ops", "boss-0", "admin"),
    ]
    variants = [(one.id, number) for one in primitives().primitives for number in range(len(one.variants))]
    for number in range(draw(st.integers(1, 3))):
        chosen = draw(st.lists(st.sampled_from(variants), min_size=1, max_size=2))
        options = [draw(st.sampled_from(need.any_of)) for one in chosen for need in requirements_of(*one, release)]
        kept = [one.permission for one in options if one.permission.verb != "*"]
        names = draw(st.sampled_from(("", "cluster-admin", "view")))
        rules = [rule(one.verb, one.resource.replace("?", "scopes"), groups=one.group, names=names) for one in kept]
        objects.append(role(f"r{number}", *rules))
        who = draw(st.sampled_from(("user:ann", "sa:dev/app", "group:devs", "group:system:authenticated")))
        place = draw(st.sampled_from(("", "dev", "ops", "kube-system")))
        objects.append(binding(f"b{number}", f"r{number}", who, namespace=place))
    return MemorySnapshot(objects, release=release, captured=["*"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_whoever_has_a_path_has_a_finding_that_fails_the_audit(snapshot: MemorySnapshot) -> None:
    """Each path that is listed has a finding at the default threshold which names its subject."""
    found = audit(snapshot)
    named = {subject for one in found.filter(severity=Severity.HIGH) for subject in one.subjects}
    assert {path.start.subject for path in escalations(snapshot)} <= named
    assert len(findings(snapshot, severity="high")) or not escalations(snapshot)


def test_every_primitive_that_can_be_granted_belongs_to_a_check() -> None:
    """A primitive of the catalogue that requires permissions is a finding, by an entry or by itself."""
    table = risky_permission_table()
    known = {one for permission in table.every for one in permission.primitives}
    known.update(one for check in table.checks.values() for one in check.primitives)
    assert not {one.id for one in primitives().primitives if any(each.requires for each in one.variants)} - known


@pytest.mark.parametrize(
    ("rules", "check"),
    [
        (rule("patch", "pods/status"), "pod-status"),
        (rule("get", "nodes/log"), "node-read"),
        (rule("impersonate", "userextras/scopes", groups="authentication.k8s.io"), "impersonate-extra"),
    ],
)
def test_what_only_the_catalogue_knew_is_a_finding(rules: dict[str, Any], check: str) -> None:
    assert check in {one.check for one in audit(world(role("r", rules), binding("b", "r", "user:ann"))).findings}


def test_security_context_constraints_are_found_where_they_are_served() -> None:
    """OpenShift defines the resource; elsewhere the rule means nothing."""
    group, plural = "security.openshift.io", "securitycontextconstraints"
    objects = [role("r", rule("use", plural, groups=group)), binding("b", "r", "user:ann", namespace="dev")]
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": "SecurityContextConstraints"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    for more, found in (([], False), ([definition], True)):
        assert ("security-constraint" in {one.check for one in audit(world(*objects, *more)).findings}) is found


@pytest.mark.parametrize("release", ["1.33", "1.34", "1.36"])
def test_mutating_policies_are_a_finding_where_they_are_served(release: str) -> None:
    group, plural = "admissionregistration.k8s.io", "mutatingadmissionpolicies"
    rules = rule("create", f"{plural},mutatingadmissionpolicybindings", groups=group)
    snapshot = MemorySnapshot([role("r", rules), binding("b", "r", "user:ann")], release=release, captured=["*"])
    served = any(one.resource == plural for one in Catalogue.for_release(release).resources(group))
    assert ("policy-mutate" in {one.check for one in audit(snapshot).findings}) is served


@pytest.mark.parametrize(("name", "severity"), [("cluster-admin", "critical"), ("view", "info")])
def test_bind_by_name_is_as_bad_as_the_role_that_may_be_bound(name: str, severity: str) -> None:
    """``bind`` of cluster-admin is critical and of view is not; neither is told to use resourceNames."""
    rules = [rule("bind", "clusterroles", groups=RBAC, names=name), rule("create", "clusterrolebindings", groups=RBAC)]
    objects = [*ADMIN, role("view", rule("get", "pods")), role("r", *rules), binding("b", "r", "user:ann")]
    [found] = [one for one in audit(world(*objects)).findings if one.check == "rbac-bind"]
    assert found.severity.word == severity
    assert "Limit" not in found.fix
    assert name in found.fix


@pytest.mark.parametrize("place", ["demo", pytest.param("operators-and-teams.json.gz", marks=needs_shared)])
def test_whoever_has_a_path_has_a_finding_in_whole_clusters(place: str) -> None:
    cluster = simkit.demo() if place == "demo" else simkit.load(SHARED / "datasets" / place)
    named = {subject for one in cluster.audit().filter(severity="high") for subject in one.subjects}
    assert {path.start.subject for path in cluster.escalations()} <= named
