"""The users and groups of OpenShift, which a dump holds."""

from __future__ import annotations

import random
from typing import Any

import simkit
from simkit.analysis.access.can import can
from simkit.meta.names import Key
from simkit.snapshot.openshift import GROUPS
from simkit.snapshot.overlay import OverlaySnapshot
from tests.engine.admission.test_security_context_constraints import DEFINITION

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"node.openshift.io/os_id": "rhcos"}}}
PEOPLE, TEAMS = (
    ("ann", "bob", "cy", "b64:kube:x"),
    ("devs", "ops", "system:authenticated:oauth", "system:cluster-admins"),
)
RBAC = "rbac.authorization.k8s.io"


def user(name: str) -> dict[str, Any]:
    """A User of OpenShift."""
    return {"apiVersion": "user.openshift.io/v1", "kind": "User", "metadata": {"name": name}}


def group(name: str, users: Any) -> dict[str, Any]:
    """A Group of OpenShift."""
    return {"apiVersion": "user.openshift.io/v1", "kind": "Group", "metadata": {"name": name}, "users": users}


def bound(name: str) -> list[dict[str, Any]]:
    """A group that may get pods."""
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    meta = {"name": f"to-{TEAMS.index(name)}"}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": meta["name"]}
    subject = {"apiGroup": RBAC, "kind": "Group", "name": name}
    return [
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules},
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": meta}
        | {"roleRef": reference, "subjects": [subject]},
    ]


def test_random_groups_are_answered_as_by_a_naive_model() -> None:
    """A user has what one of her groups has, and what everybody has who can log in."""
    seen = set()
    for seed in range(40):
        dice = random.Random(seed)
        members = {team: dice.sample(PEOPLE, dice.randrange(3)) for team in TEAMS[:2]}
        users = dice.sample(PEOPLE, 2)
        allowed = dice.sample(TEAMS, 1)
        objects = [NODE, *map(user, users), *(group(*one) for one in members.items()), *bound(allowed[0])]
        cluster = simkit.load(objects, captured=["*"])
        for person in PEOPLE:
            known = person in users or any(person in some for some in members.values())
            wanted = known if allowed == ["system:authenticated:oauth"] else person in members.get(allowed[0], ())
            assert bool(cluster.can(f"user:{person}", "get", "pods")) == wanted, (seed, person)
            seen.add(wanted)
    assert seen == {True, False}


def test_the_first_administrator_counts_until_the_secret_is_gone() -> None:
    """``kube:admin`` belongs to the administrators as long as its password is kept."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubeadmin", "namespace": "kube-system"}}
    objects = [NODE, *bound("system:cluster-admins")]
    assert simkit.load([*objects, secret], captured=["*"]).can("user:kube:admin", "get", "pods")
    assert not simkit.load(objects, captured=["*"]).can("user:kube:admin", "get", "pods")


def test_damaged_groups_are_passed_over() -> None:
    """Members that are no texts, and no list of them, break no answer."""
    strange = [group("a", None), group("b", "ann"), group("c", [7, None, "", "ann"]), group("devs", {"ann": 1})]
    cluster = simkit.load([NODE, *strange, *bound("devs")], captured=["*"])
    assert not cluster.can("user:ann", "get", "pods")


def test_groups_of_other_clusters_count_only_where_they_are_asked_for() -> None:
    """Without the marks of OpenShift, objects of this kind say nothing about who is in which group."""
    cluster = simkit.load([group("devs", ["ann"]), *bound("devs")], captured=["*"])
    assert not cluster.can("user:ann", "get", "pods")
    assert cluster.can("user:ann", "get", "pods", members={"devs": ["user:ann"]})


def test_lists_of_constraints_count_for_admission_and_for_no_authorizer() -> None:
    """Whom a constraint names may use it; each answer says that no role and no access review lets them."""
    kind = {"apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints"}
    constraint = {**kind, "metadata": {"name": "anyuid"}, "users": ["ann"], "groups": ["devs", 7]}
    cluster = simkit.load(
        [NODE, group("devs", ["bob"]), user("ann"), user("cy"), DEFINITION, constraint], captured=["*"]
    )
    asked: Any = {"verb": "use", "resource": "securitycontextconstraints", "api_group": "security.openshift.io"}
    table = cluster.who_can(**asked, name="anyuid")
    listed = table[table["binding"].str.contains("for admission only")]
    assert set(listed["subject"]) == {"user:ann", "group:devs", "group:7"}
    assert not len(cluster.who_can(**asked, name="other").query("binding.str.contains('for admission')"))
    for who, named in (("user:ann", "user:ann"), ("user:bob", "group:devs")):
        found = cluster.can(who, **asked, name="anyuid")
        assert not found
        assert str(found).startswith("no by roles, yes for the admission of pods")
        assert f"anyuid names {named} itself" in found.why
        rows = cluster.permissions(who).to_dict("records")
        assert [row["resource_names"] for row in rows if row["verbs"] == ("use",)] == [("anyuid",)]
    assert str(cluster.can("user:cy", **asked, name="anyuid")).startswith("no  user:cy")


def test_a_change_of_a_group_counts_for_what_is_laid_over() -> None:
    """A snapshot with another object of a group has its members, and keeps those of the one underneath."""
    before = simkit.load([NODE, group("devs", ["ann"]), *bound("devs")], captured=["*"]).snapshot()
    after = OverlaySnapshot(before, [group("devs", ["bob"])])
    gone = OverlaySnapshot(after, remove=[Key(GROUPS, "", "devs")])
    told = [[bool(can(one, f"user:{who}", "get", "pods")) for who in ("ann", "bob")] for one in (before, after, gone)]
    assert told == [[True, False], [False, True], [False, False]]


def test_a_change_of_a_group_on_a_fork_counts() -> None:
    """What-if analyses heed who is put into a group."""
    kind = {"plural": "groups", "kind": "Group"}
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        **DEFINITION,
        "metadata": {"name": "groups.user.openshift.io"},
        "spec": {
            "group": "user.openshift.io",
            "scope": "Cluster",
            "names": kind,
            "versions": [{**version, "schema": schema}],
        },
    }
    objects = [NODE, definition, user("bob"), group("devs", ["ann"]), *bound("devs")]
    cluster = simkit.load(objects, captured=["*"])
    with cluster.what_if() as trial:
        trial.apply(group("devs", ["bob"]))
    assert [bool(one.can("user:bob", "get", "pods")) for one in (cluster, trial)] == [False, True]
    assert not trial.can("user:ann", "get", "pods")
