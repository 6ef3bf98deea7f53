"""The graph of a changed cluster is that of a cluster which was always so, whatever is kept of the earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.meta.names import Key
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.overlay import OverlaySnapshot
from tests.analysis.escalation.scenes import fenced, pod
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.engine.admission.test_security_context_constraints import DEFINITION, LAX, constraint

pytestmark = pytest.mark.slow

RULES = (
    rule("create", "serviceaccounts/token"),
    rule("create,patch", "pods,deployments", groups=",apps"),
    rule("impersonate", "users,groups"),
    rule("bind,create,update,patch", "clusterroles,roles,rolebindings,clusterrolebindings", groups="*"),
    rule("escalate,update,patch", "clusterroles,roles", groups="*"),
    rule("create", "serviceaccounts/token", names="app"),
    rule("bind", "clusterroles,roles", groups="*", names="r0,r1"),
    rule("impersonate", "users,serviceaccounts", names="app"),
    rule("patch", "namespaces"),
    rule("get,list", "secrets"),
    rule("create,get", "pods/exec,pods/ephemeralcontainers"),
    rule("update,patch", "deployments,cronjobs", groups="apps,batch"),
    rule("get,create,list", "secrets", names="token-0,token-1"),
    rule("create,patch", "nodes,nodes/proxy,persistentvolumes,configmaps"),
    rule("use", "securitycontextconstraints", groups="security.openshift.io", names="lax"),
    rule("*", "*", groups="*"),
)
SUBJECTS = ("user:ann", "sa:dev/app", "sa:ops/app", "sa:gone/app", "group:devs", "group:system:authenticated")
PLACES = ("", "dev", "ops")


def roles(draw: st.DrawFn, number: int) -> dict[str, Any]:
    some = draw(st.lists(st.sampled_from(RULES), min_size=0, max_size=3))
    return role(f"r{number}", *some)


def bindings(draw: st.DrawFn, number: int) -> dict[str, Any]:
    subjects = draw(st.lists(st.sampled_from(SUBJECTS), min_size=0, max_size=2, unique=True))
    return binding(f"b{number}", f"r{draw(st.integers(0, 3))}", *subjects, namespace=PLACES[number % 3])


CONSTRAINTS = {
    "restricted": constraint("restricted", groups=["system:authenticated"], runAsUser={"type": "MustRunAsRange"}),
    "lax": {**LAX, "metadata": {"name": "lax"}, "users": ["system:serviceaccount:dev:app"], "groups": ["devs"]},
}
RANGED = {"openshift.io/sa.scc.uid-range": "1000/10"}


@st.composite
def of_openshift(draw: st.DrawFn) -> list[Mapping[str, Any]]:
    """A cluster with constraints, one of which some may use for pods that lead to nodes."""
    mark = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"node.openshift.io/os_id": "x"}}}
    lax = {**CONSTRAINTS["lax"], **draw(st.sampled_from(({}, {"users": ["ann"]}, {"users": [], "groups": []})))}
    group = {"apiVersion": "user.openshift.io/v1", "kind": "Group", "metadata": {"name": "devs"}, "users": ["ann"]}
    return [mark, DEFINITION, CONSTRAINTS["restricted"], lax, group]


@st.composite
def clusters(draw: st.DrawFn) -> list[Mapping[str, Any]]:
    """Roles and bindings of which some are missing, two namespaces of three, and a pod."""
    objects: list[Mapping[str, Any]] = [namespace("dev"), fenced("ops"), account("dev", "app"), account("ops", "app")]
    objects += [pod("ops", "app-0", "app"), role("cluster-admin", rule("*", "*", groups="*"))]
    objects += [roles(draw, number) for number in range(draw(st.integers(1, 4)))]
    objects += draw(of_openshift()) if draw(st.booleans()) else []
    return [*objects, *(bindings(draw, number) for number in range(draw(st.integers(1, 6))))]


@st.composite
def changes(draw: st.DrawFn) -> list[Mapping[str, Any]]:
    """Objects that are written in one step."""
    made: list[Mapping[str, Any]] = []
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from((roles, bindings, bindings)))
        made.append(kind(draw, draw(st.integers(0, 5))))
    if draw(st.booleans()):
        ranged = {**namespace("dev"), "metadata": {"name": "dev", "annotations": RANGED}}
        made.append(draw(st.sampled_from((fenced("dev"), namespace("ops"), ranged))))
    return [*made, *draw(st.lists(others(), max_size=2))]


@st.composite
def others(draw: st.DrawFn) -> Mapping[str, Any]:
    """A pod, running or ended, a token of a service account, a service account, a deployment or a node."""
    place, number = draw(st.sampled_from(PLACES[1:])), draw(st.integers(0, 1))
    kind = draw(st.sampled_from(("Pod", "Secret", "ServiceAccount", "Deployment", "Node", "PersistentVolume")))
    if kind == "Pod":
        more: dict[str, Any] = draw(
            st.sampled_from(({}, {"hostPID": True}, {"nodeName": "node-0"}, {"nodeName": "node-1"}))
        )
        made = pod(place, f"app-{number}", draw(st.sampled_from(("app", "default", "other"))), more)
        return {**made, "status": {"phase": draw(st.sampled_from(("Running", "Succeeded")))}}
    where = {"name": f"{kind.lower()}-{number}", "namespace": place}
    if kind == "Secret":
        note = {"kubernetes.io/service-account.name": draw(st.sampled_from(("app", "other")))}
        meta = {**where, "name": f"token-{number}", "annotations": note}
        of_type = draw(st.sampled_from(("kubernetes.io/service-account-token", "Opaque")))
        return {"apiVersion": "v1", "kind": kind, "metadata": meta, "type": of_type}
    if kind == "ServiceAccount":
        mounts = draw(st.booleans())
        return {**account(place, draw(st.sampled_from(("app", "other")))), "automountServiceAccountToken": mounts}
    if kind == "Deployment":
        spec = {"template": {"spec": {"serviceAccountName": "app", "containers": []}}}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": where, "spec": spec}
    labels = draw(st.sampled_from(({}, {"node-role.kubernetes.io/control-plane": ""})))
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"node-{number}", "labels": labels}, "spec": {}}


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(clusters(), st.lists(changes(), min_size=1, max_size=4), st.data())
def test_what_is_kept_is_what_would_be_found(
    objects: list[Mapping[str, Any]], steps: list[list[Mapping[str, Any]]], data: st.DataObject
) -> None:
    """After each of some changes and removals every state has the edges that a new graph gives it, in their order."""
    before = MemorySnapshot(objects, captured=["*"])
    graph = EscalationGraph(before)
    assert graph.everything
    keys = [key for key, obj in before.items() if str(obj.get("kind")).endswith(("Binding", "Pod", "Account"))]
    snapshot: Any = before
    for put in steps:
        gone: list[Key] = data.draw(st.lists(st.sampled_from(keys), max_size=1)) if keys else []
        snapshot = OverlaySnapshot(snapshot, put, gone)
        graph = graph.after(snapshot, snapshot.covered)
        fresh = EscalationGraph(snapshot)
        assert graph.everything == fresh.everything
        assert set(graph.facts.unknown) >= set(fresh.facts.unknown)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(clusters())
def test_who_impersonates_can_do_what_the_identity_can(objects: list[Mapping[str, Any]]) -> None:
    """Impersonated identities, which share the steps of the identities, have those that are found for them alone.

    Groups that the cluster does not keep would be lost by impersonation: where there are some, nothing is shared.
    """
    snapshot = MemorySnapshot(objects, captured=["*"])
    assert EscalationGraph(snapshot).everything == EscalationGraph(snapshot, {"elsewhere": ["zoe"]}).everything
