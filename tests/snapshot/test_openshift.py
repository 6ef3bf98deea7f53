"""The users and groups of OpenShift, which a dump holds."""

from __future__ import annotations

import random
from typing import Any

import pytest

import simkit
from simkit.analysis.access.can import can
from simkit.meta.errors import UnknownResource
from simkit.meta.names import Key
from simkit.snapshot.openshift import GROUPS
from simkit.snapshot.overlay import OverlaySnapshot
from tests.analysis.worlds import account, binding, role
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


def test_damaged_groups_are_told() -> None:
    """Members that are no texts, and no list of them, break no answer, and leave it a lower bound."""
    strange = [group("a", None), group("b", "ann"), group("c", [7, None, "", "ann"]), group("devs", {"ann": 1})]
    cluster = simkit.load([NODE, user("ann"), *strange, *bound("devs")], captured=["*"])
    assert not cluster.can("user:ann", "get", "pods")
    (caveat,) = cluster.snapshot().authorization.caveats
    told = "; ".join(f"users of the group {name!r} could not be read" for name in ("b", "c", "devs"))
    assert caveat.text == f"Lower bound: {told}."


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


def leads_to(*rules: dict[str, Any], who: str = "user:eve", more: tuple[Any, ...] = (), node: Any = NODE) -> set[str]:
    """The primitives of the paths of somebody with some rules to what an administrator has, by himself or by a group."""
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    objects = [
        node,
        account("shop", "robot"),
        *(role(name, *some) for name, some in (("all", [everything]), ("some", rules))),
        binding("boss", "all", "user:boss", "group:bosses", "user:system:admin"),
        binding("some", "some", who),
        *more,
    ]
    cluster = simkit.load(objects, captured=["*"])
    return {step for path in cluster.escalations(who, goal="cluster-admin") for step in path.primitives}


def of(group_: str, resource: str, *verbs: str, **more: Any) -> dict[str, Any]:
    """A rule about a resource of OpenShift."""
    return {"verbs": list(verbs), "apiGroups": [f"{group_}.openshift.io"], "resources": [resource], **more}


def test_who_writes_how_people_log_in_becomes_anybody() -> None:
    """Tokens, mappings, groups and the configuration of OAuth; for a group, the name counts, and only a user joins."""
    tokens, users = of("oauth", "oauthaccesstokens", "create"), of("user", "users", "get", "patch")
    assert "B8" in leads_to(tokens, users)
    assert not leads_to(tokens)
    assert "B9" in leads_to(of("user", "useridentitymappings", "update"))
    assert "B9" in leads_to(of("user", "identities", "patch"), users)
    assert not leads_to(of("user", "identities", "patch"))
    assert "B11" in leads_to(of("config", "oauths", "patch"))
    groups = of("user", "groups", "patch")
    assert "B10" in leads_to(groups)
    assert not leads_to({**groups, "resourceNames": ["others"]})
    assert "B10" in leads_to({**groups, "resourceNames": ["bosses"]})
    assert not leads_to(groups, who="sa:shop/robot")
    elsewhere = {**NODE, "metadata": {"name": "n"}}
    assert not leads_to(groups, tokens, users, node=elsewhere)


def test_how_people_log_in_is_a_finding() -> None:
    """The first administrator, a mapping that joins providers, and LDAP without TLS; a careful configuration is none."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubeadmin", "namespace": "kube-system"}}
    kind = {"apiVersion": "config.openshift.io/v1", "kind": "OAuth", "metadata": {"name": "cluster"}}
    local = {"name": "local", "type": "HTPasswd", "mappingMethod": "claim", "htpasswd": {"fileData": {"name": "x"}}}
    ldap: dict[str, Any] = {"name": "corp", "type": "LDAP", "mappingMethod": "add"}
    ldap |= {"ldap": {"url": "ldap://ldap.example/ou=x?uid", "insecure": True}}
    identity = {"apiVersion": "user.openshift.io/v1", "kind": "Identity", "metadata": {"name": "corp:ann"}}
    identity |= {"providerName": "corp", "providerUserName": "ann", "user": {"name": "ann"}}

    def found(*objects: Any) -> list[str]:
        read = simkit.load([NODE, *bound("devs"), *objects], captured=["*"])
        checks = ["first-administrator", "identity-provider"]
        return [str(one) for one in read.findings(checks=checks)["message"]]

    told = found(secret, {**kind, "spec": {"identityProviders": [local, ldap, 7]}}, identity)
    provider = "The identity provider 'corp' (LDAP), by which 1 identities are known,"
    assert sorted(told) == [
        f"{provider} asks LDAP without TLS.",
        f"{provider} maps its identities to users that other providers have made.",
        "Whether identity providers can be misused is not known: 1 could not be read.",
        "kube:admin can log in: the secret kubeadmin in kube-system is there.",
    ]
    assert not found({**kind, "spec": {"identityProviders": [local]}})
    assert not found({**kind, "spec": {}})
    for strange in (5, "x", {"name": "x"}, [5], [{"type": "LDAP", "ldap": 5}], [{**local, "mappingMethod": ["add"]}]):
        assert found({**kind, "spec": {"identityProviders": strange}}) == [
            "Whether identity providers can be misused is not known: 1 could not be read."
        ], strange
    assert len(found({**kind, "spec": 5})) == 1


def test_groups_that_are_not_in_the_dump_are_told() -> None:
    """Kinds that were not captured, and an external provider, leave each answer about groups a lower bound."""
    kind = {"apiVersion": "config.openshift.io/v1", "kind": "Authentication", "metadata": {"name": "cluster"}}

    def told(*objects: Any, **more: Any) -> str:
        people = [user("ann"), group("devs", ["ann"])] if not more else []
        read = simkit.load([NODE, *bound("devs"), *people, *objects], **{"captured": ["*"], **more}).snapshot()
        return " ".join(one.text for one in read.authorization.caveats)

    assert told() == ""
    assert told({**kind, "spec": {"type": "IntegratedOAuth"}}) == ""
    assert told({**kind, "spec": {"type": "OIDC"}}).startswith("Lower bound: users and their groups come from")
    captured = ["nodes", "clusterroles", "clusterrolebindings", "roles", "rolebindings"]
    assert "users and groups of OpenShift were not captured" in told(captured=captured)


@pytest.mark.parametrize(
    ("resource", "what", "namespace"),
    [
        ("groups.user.openshift.io", ("user.openshift.io", "groups"), None),
        ("identities", ("user.openshift.io", "identities"), None),
        ("routes", ("route.openshift.io", "routes"), "shop"),
        ("scc", ("security.openshift.io", "securitycontextconstraints"), None),
        ("projectrequests.project.openshift.io", ("project.openshift.io", "projectrequests"), None),
    ],
)
def test_resources_of_aggregated_servers_need_no_definition(
    resource: str, what: tuple[str, str], namespace: str | None
) -> None:
    """No CustomResourceDefinition in a dump of OpenShift tells of them."""
    rule = {"apiGroups": [what[0]], "resources": [what[1]], "verbs": ["update"]}
    meta = {"name": "r"}
    objects = [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": meta, "rules": [rule]},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "Group", "name": "devs", "apiGroup": "rbac.authorization.k8s.io"}],
        },
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    ]
    cluster = simkit.load([NODE, group("devs", ["ann"]), user("ann"), *objects], captured=["*"])
    assert cluster.can("user:ann", "update", resource, namespace=namespace)
    assert "group:devs" in set(cluster.who_can("update", resource, namespace=namespace)["subject"])
    with pytest.raises(UnknownResource):
        simkit.load(objects, captured=["*"]).who_can("update", resource.partition(".")[0] + "x")


def test_a_constraint_counts_without_its_definition() -> None:
    """Its kind is a plural already."""
    constraint: dict[str, Any] = {"apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints"}
    constraint |= {"metadata": {"name": "own"}, "users": ["ann"], "groups": ["devs"]}
    rows = simkit.load([NODE, constraint], captured=["*"]).who_can("use", "scc", name="own")
    assert {"user:ann", "group:devs"} <= set(rows["subject"])
