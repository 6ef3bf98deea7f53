"""Manifests are loaded as a server would hold them that was started over them: one truth about each role."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simkit
from simkit.logic.rbac.rule import rules_of
from simkit.meta.identity import AUTHENTICATED, Identity
from simkit.meta.message import Request
from tests.analysis.worlds import binding, role, rule

PODS, SECRETS, NODES = rule("get", "pods"), rule("list", "secrets"), rule("get", "nodes")
ANN = Identity("ann", (AUTHENTICATED,))


def whole(name: str, *rules: dict[str, Any], gathers: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """An aggregated cluster role."""
    selectors = [{"matchLabels": {"to": one}} for one in gathers]
    return {**role(name, *rules, labels=labels), "aggregationRule": {"clusterRoleSelectors": selectors}}


def allowed(cluster: simkit.Cluster, path: str) -> bool:
    """True if the API server does not refuse ann."""
    return cluster.perform(Request.of("GET", path), identity=ANN).status != 403


@pytest.mark.parametrize("release", ["1.24", "1.30", "1.37"])
def test_aggregated_default_roles(release: str) -> None:
    """A binding of ``view`` allows the same by analysis, by request, in forks, and after the controllers have run."""
    cluster = simkit.load(binding("b", "view", "user:ann"), manifests=True, release=release)
    for one in (cluster, cluster.fork()):
        for _ in range(2):
            assert one.can("ann", "list", "pods")
            assert allowed(one, "/api/v1/pods")
            assert not one.can("ann", "list", "secrets")
            assert not allowed(one, "/api/v1/secrets")
            assert one.get("clusterrole", "view")["rules"]
            one.settle()
    with cluster.what_if() as trial:
        trial.apply(role("more", SECRETS, labels={"rbac.authorization.k8s.io/aggregate-to-view": "true"}))
    assert set(trial.compare()["resources"]) == {("secrets",)}
    assert allowed(trial, "/api/v1/secrets")


def test_own_rules_of_aggregated_roles_are_overwritten() -> None:
    """Of an aggregated role in manifests, the collected rules count; of one in a dump, those that it has."""
    part = role("part", PODS, labels={"to": "w"})
    objects = [part, whole("w", SECRETS, gathers="w"), binding("b", "w", "user:ann")]
    for cluster, counts in (
        (simkit.load(objects, manifests=True), "pods"),
        (simkit.load(objects, captured="*"), "secrets"),
    ):
        assert allowed(cluster, "/api/v1/namespaces/x/pods/p") == (counts == "pods")
        assert cluster.can("ann", "get", "pods").allowed == (counts == "pods")
        assert allowed(cluster, "/api/v1/secrets") == (counts == "secrets")
        assert cluster.can("ann", "list", "secrets").allowed == (counts == "secrets")


def test_manifests_of_default_roles_are_repaired() -> None:
    """A manifest that takes rules from a default role gets them back, as from a starting server."""
    cluster = simkit.load(role("system:basic-user"), manifests=True)
    assert cluster.can("ann", "create", "selfsubjectaccessreviews")
    kept = role("system:basic-user")
    kept["metadata"]["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    assert not simkit.load(kept, manifests=True).can("ann", "create", "selfsubjectaccessreviews")


def fill(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Cluster roles of which some are aggregated from later ones, with rules of their own or without."""
    found = []
    for number in range(draw(st.integers(2, 5))):
        label = {"to": draw(st.sampled_from("abc"))} if number else None
        rules = draw(st.lists(st.sampled_from([PODS, SECRETS, NODES]), max_size=2, unique_by=str))
        name = f"r{number}"
        gathers = "".join(one for one in "abc" if one > (label or {"to": ""})["to"] and draw(st.booleans()))
        found.append(
            whole(name, *rules, gathers=gathers, labels=label) if gathers else role(name, *rules, labels=label)
        )
    return found


EMPTY = simkit.Cluster(seed=1)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.composite(fill)())
def test_the_controller_comes_to_the_same(roles: list[dict[str, Any]]) -> None:
    """Manifests have the rules that the controller gives to the same roles when they are created."""
    live = EMPTY.fork()
    for one in roles:
        live.create(one)
    live.settle()
    loaded = simkit.load(roles, manifests=True)
    for name in (one["metadata"]["name"] for one in roles):
        assert rules_of(loaded.get("clusterrole", name)) == rules_of(live.get("clusterrole", name)), name
