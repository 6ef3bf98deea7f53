"""The search for escalation paths heeds SecurityContextConstraints: beside an engine that is asked to admit each pod."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simkit import Cluster
from simkit.analysis.escalation.find.pod_constraints import NODE_PODS
from simkit.analysis.escalation.find.pod_specs import escapes_of
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.analysis.worlds import binding
from tests.engine.admission.test_security_context_constraints import (
    LAX,
    RESTRICTED,
    constraint,
    role,
    root_may_use_privileged,
    use,
    world,
)

OAUTH = "system:authenticated:oauth"
FLAGS: tuple[dict[str, Any], ...] = (
    {"allowHostPID": True, "allowHostDirVolumePlugin": True, "volumes": ["hostPath"]},
    {"volumes": ["hostPath", "secret"]},
    {"allowPrivilegedContainer": True},
    {"allowedCapabilities": ["SYS_ADMIN"]},
    {"allowedCapabilities": ["NET_ADMIN"], "volumes": ["secret"]},
    {"volumes": ["gitRepo"]},
    {"allowHostNetwork": True, "allowHostPorts": True},
)


def leads_to_a_node(cluster: Cluster, who: str = "user:ann") -> bool:
    """True if a path by a privileged pod is found."""
    found = cluster.escalations(who, goal="a node")
    return any(step in ("D9", "D10", "D11") for path in found for step in path.primitives)


def test_every_pod_of_the_search_has_a_way_to_its_node() -> None:
    """The search asks for pods that the list of escapes knows, and for each capability of that list."""
    assert all(escapes_of(pod) for pod in NODE_PODS)


@pytest.mark.parametrize("part", range(4))
def test_random_constraints_are_heeded_as_the_engine_does(part: int) -> None:
    """A path exists exactly if the engine admits one of the pods, as one of the accounts or for the user."""
    seen = set()
    for seed in range(part, 60, 4):
        dice = random.Random(seed)
        lists = {
            "users": ["ann", "system:serviceaccount:shop:root"],
            "groups": ["devs", OAUTH, "system:serviceaccounts"],
        }
        named: Any = {field: dice.sample(some, 1) for field, some in lists.items() if dice.random() < 0.3}
        special = constraint("special", **dice.choice(FLAGS), **named)
        bound = [("user:ann", "shop"), ("group:devs", ""), ("sa:shop/default", "shop"), ("sa:shop/root", "other")]
        chosen = dice.sample(bound, dice.choice((0, 1)))
        more = [binding(f"b{number}", "use-special", who, namespace=at) for number, (who, at) in enumerate(chosen)]
        devs = {"apiVersion": "user.openshift.io/v1", "kind": "Group", "metadata": {"name": "devs"}, "users": ["ann"]}
        if dice.random() < 0.5:
            more.append(devs)
        cluster = world(*more, use("special"), constraints=(RESTRICTED, LAX, special))
        wanted = any_pod_is_admitted(cluster, "devs" if devs in more else "")
        assert leads_to_a_node(cluster) == wanted, (seed, special, chosen)
        seen.add(wanted)
    assert seen == {True, False}


def any_pod_is_admitted(cluster: Cluster, group: str) -> bool:
    """Whether the engine admits one of the pods that lead to a node."""
    groups = ("system:authenticated", *((group, OAUTH) if group else ()))
    for pod in NODE_PODS:
        for account in ("default", "root"):
            spec = {**pod["spec"], "serviceAccountName": account, "automountServiceAccountToken": False}
            body = {"metadata": {"name": "web"}, "spec": spec}
            trial = cluster.fork()
            request = Request.of("POST", "/api/v1/namespaces/shop/pods", body)
            if trial.perform(request, identity=Identity("ann", groups)).status == 201:
                return True
    return False


def test_one_group_creates_the_pod_and_another_admits_it() -> None:
    """The grants of a group alone are no way to a node where its members need the constraint of another."""
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}
    groups = [
        {"apiVersion": "user.openshift.io/v1", "kind": "Group", "metadata": {"name": name}, "users": ["bob"]}
        for name in ("makers", "trusted")
    ]
    makes = binding("makers", "make-pods", "group:makers", namespace="shop")
    for named, wanted in (({"groups": ["trusted"]}, True), ({"users": ["bob"]}, True), ({"users": ["eve"]}, False)):
        cluster = world(*groups, role("make-pods", pods), makes, constraints=(RESTRICTED, {**LAX, **named}))
        assert leads_to_a_node(cluster, "user:bob") == wanted, named
        assert not leads_to_a_node(cluster, "group:makers")


def test_pods_of_workloads_are_held_to_the_rights_of_their_account() -> None:
    """A controller makes the pod, so the user's own constraints do not count; those of the account do."""
    jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}
    of_bob = binding("bob", "make-jobs", "user:bob", namespace="shop")
    both = (role("make-jobs", jobs), of_bob, binding("own", "use-privileged", "user:bob", namespace="shop"))
    assert not leads_to_a_node(world(*both), "user:bob")
    assert leads_to_a_node(world(*both, root_may_use_privileged()), "user:bob")


def test_a_change_of_a_role_changes_the_path() -> None:
    """What is kept of a graph after a change does not outlive the grant that admitted the pod."""
    cluster = world(root_may_use_privileged())
    assert leads_to_a_node(cluster)
    with cluster.what_if() as trial:
        trial.delete("rolebinding", "root", namespace="shop")
    assert not leads_to_a_node(trial)
