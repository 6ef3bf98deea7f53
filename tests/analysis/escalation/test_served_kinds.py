"""Paths lead only through kinds that the cluster serves."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.escalation import escalations, graph_of
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.logic.rbac.binding import USER
from simkit.schema.catalogue import Catalogue
from simkit.schema.releases import RELEASES
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule

HOOKS = "admissionregistration.k8s.io"
POLICIES = [
    role("hooks", rule("create", "mutatingadmissionpolicies,mutatingadmissionpolicybindings", groups=HOOKS)),
    binding("hooks", "hooks", "user:ann"),
]


def reached(release: str, **options: Any) -> bool:
    cluster = simkit.Cluster(options=simkit.Options(release=release, **options))
    for obj in POLICIES:
        cluster.apply([obj])
    return bool(escalations(cluster.snapshot(), "user:ann", "cluster-admin"))


def test_the_way_over_mutating_policies_needs_a_server_that_serves_them() -> None:
    """At 1.34 they are off unless they are enabled; at 1.36 they are on."""
    assert not reached("1.34")
    assert reached("1.34", runtime_config={f"{HOOKS}/v1beta1": True})
    assert reached("1.36")
    for release, found in (("1.34", False), ("1.36", True)):
        manifests = MemorySnapshot(POLICIES, release=release, captured=["*"])
        assert bool(escalations(manifests, "user:ann", "cluster-admin")) is found


@pytest.mark.parametrize("release", RELEASES[::4])
def test_no_step_uses_a_kind_that_the_release_does_not_serve(release: str) -> None:
    """Everything that primitives require, granted to somebody in an empty cluster."""
    every = [
        option.permission
        for one in primitives().primitives
        for number in range(len(one.variants))
        for need in requirements_of(one.id, number, release)
        for option in need.any_of
    ]
    rules = [
        rule(one.verb, one.resource.replace("?", "scopes"), groups=one.group)
        for one in dict.fromkeys(every)
        if one.verb != "*"
    ]
    graph = graph_of(
        MemorySnapshot([role("all", *rules), binding("all", "all", "user:ann")], release=release, captured=["*"])
    )
    known = Catalogue.for_release(release)
    holder = graph.holder(AttackState(USER, "ann"))
    assert holder is not None
    for edge in graph.uses.of(holder):
        for permission in edge.permissions:
            plural = permission.resource.partition("/")[0]
            assert plural in AUTHORIZATION_RESOURCES or any(
                one.resource == plural for one in known.resources(permission.group)
            ), (release, edge.primitive, permission)


def test_a_group_of_an_aggregated_server_is_served() -> None:
    """What an APIService hands to another server exists, although no definition lists it."""
    rules = role("commands", rule("create", "pipelineruns", groups="tekton.dev"))
    service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.tekton.dev"},
        "spec": {"group": "tekton.dev", "version": "v1", "service": {"name": "tekton", "namespace": "tekton"}},
    }
    bound = binding("commands", "commands", "user:ann", namespace="dev")
    for objects, found in (([], False), ([service], True)):
        graph = graph_of(MemorySnapshot([rules, bound, *objects], captured=["*"]))
        holder = graph.holder(AttackState(USER, "ann"))
        assert holder is not None
        assert any(edge.primitive == "J3" for edge in graph.uses.of(holder)) is found


def test_resources_of_definitions_that_were_not_captured_may_be_served() -> None:
    """With RBAC alone nothing says that the cluster is not OpenShift, so the permission is a finding; with all kinds it is
    none."""
    rule = {"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"], "verbs": ["use"]}
    api = "rbac.authorization.k8s.io"
    kind = {"apiVersion": f"{api}/v1", "metadata": {"name": "scc"}}
    role = {**kind, "kind": "ClusterRole", "rules": [rule]}
    subjects = [{"apiGroup": api, "kind": "User", "name": "eve"}]
    reference = {"apiGroup": api, "kind": "ClusterRole", "name": "scc"}
    binding = {**kind, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference}
    rbac = [f"{plural}.{api}" for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")]
    found = [
        {each.check for each in simkit.load([role, binding], captured=captured).audit()} for captured in (rbac, ["*"])
    ]
    assert ["security-constraint" in checks for checks in found] == [True, False]
