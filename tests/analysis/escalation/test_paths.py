"""Paths, blast radius and what changes, on clusters of few objects."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis import who_can
from simkit.analysis.access.expectations import Suite, check
from simkit.analysis.escalation import (
    Escalations,
    anyone,
    blast_radius,
    compare_paths,
    escalations,
    graph_of,
    next_steps,
    parse_goal,
    risky_permissions,
)
from simkit.analysis.escalation.find.path import primitive_words
from simkit.meta.errors import SimkitError
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.overlay import OverlaySnapshot
from tests.analysis.escalation.scenes import ATTACKER, RBAC, fenced, node, pod, scene, served
from tests.analysis.worlds import account, binding, namespace, role, rule, world
from tests.bench.bench_escalation import objects

pytestmark = pytest.mark.slow

ADMIN = binding("ops-admin", "cluster-admin", "sa:ops/admin")
EVERYTHING = role("cluster-admin", rule("*", "*", groups="*"))


def found(*objects: dict[str, Any], subject: str = ATTACKER, goal: str = "cluster-admin", **more: Any) -> Escalations:
    """The attacker's paths to a goal."""
    return escalations(world(EVERYTHING, ADMIN, *objects), subject, goal=goal, **more)


def ids(paths: Escalations) -> list[tuple[str, ...]]:
    return [path.primitives for path in paths]


TOKENS = rule("create", "serviceaccounts/token")


@pytest.mark.parametrize(
    ("rules", "place", "primitives"),
    [
        ([TOKENS], "ops", ("C5", "A1")),
        ([TOKENS], "", ("C5", "A1")),
        ([rule("create", "pods")], "ops", ("D1", "A1")),
        ([rule("create", "deployments", groups="apps")], "ops", ("D2", "A1")),
        ([rule("create", "secrets"), rule("list", "secrets")], "ops", ("C3", "A1")),
        ([rule("impersonate", "serviceaccounts", names="admin")], "ops", ("B3", "A1")),
        ([rule("impersonate", "users,groups")], "", ("B2", "A3")),
        ([rule("create", "clusterrolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)], "", ("A4",)),
        ([rule("patch", "clusterrolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)], "", ("A4",)),
        ([rule("update,escalate", "clusterroles", groups=RBAC, names="rules")], "", ("A5",)),
        ([rule("create", "mutatingwebhookconfigurations", groups="admissionregistration.k8s.io")], "", ("G1",)),
        (
            [
                rule("create,get", "certificatesigningrequests", groups="certificates.k8s.io"),
                rule("update", "certificatesigningrequests/approval", groups="certificates.k8s.io"),
                rule("approve", "signers", groups="certificates.k8s.io", names="kubernetes.io/*"),
            ],
            "",
            ("F1", "A1"),
        ),
    ],
)
def test_grants_that_lead_to_everything(rules: list[dict[str, Any]], place: str, primitives: tuple[str, ...]) -> None:
    """Each is found as the shortest path."""
    paths = found(*scene(*rules, place=place))
    assert primitives in ids(paths)
    assert paths[0].hops == 1


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ([TOKENS], "dev"),
        ([rule("create", "serviceaccounts/token", names="default")], "ops"),
        ([rule("create", "pods/*")], "ops"),
        ([rule("create", "pods", names="web")], "ops"),
        ([rule("create", "deployments")], "ops"),
        ([rule("create", "secrets")], "ops"),
        ([rule("create", "clusterrolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)], "ops"),
        ([rule("create,bind", "clusterrolebindings", groups=RBAC)], ""),
        ([rule("create,update,patch", "clusterrolebindings,rolebindings", groups=RBAC)], ""),
        ([rule("create,update,patch", "clusterroles,roles", groups=RBAC)], ""),
        ([rule("update,escalate", "clusterroles", groups=RBAC, names="another")], ""),
        ([rule("get", "nodes/proxy")], "ops"),
        ([rule("impersonate", "groups")], ""),
        ([rule("impersonate", "users", names="nobody")], ""),
        ([rule("update,patch", "*/scale", groups="*")], ""),
        (
            [
                rule("create,get", "certificatesigningrequests", groups="certificates.k8s.io"),
                rule("update", "certificatesigningrequests/approval", groups="certificates.k8s.io"),
                rule("approve", "signers", groups="certificates.k8s.io", names="example.com/own"),
            ],
            "",
        ),
    ],
)
def test_grants_that_only_look_like_it(rules: list[dict[str, Any]], place: str) -> None:
    """Wrong place, wrong name, wrong group, half of what is needed."""
    assert not found(*scene(*rules, place=place))


def test_needs_may_come_from_several_bindings_and_groups() -> None:
    """All permissions that a subject holds count together."""
    objects = scene(rule("create", "clusterrolebindings", groups=RBAC), place="")
    binder = role("binder", rule("bind", "clusterroles", groups=RBAC))
    group = binding("binders", "binder", "group:system:serviceaccounts:dev")
    paths = found(*objects, binder, group)
    assert ids(paths) == [("A4",)]
    assert {source.binding.name for need in paths[0].grants for source in need} == {"attack", "binders"}
    assert not found(*objects, binder, binding("binders", "binder", "group:system:serviceaccounts:ops"))


def test_a_grant_to_everybody_gives_everybody_a_path() -> None:
    """Also to those without an account, where it says so."""
    open_door = binding("open", "minter", "group:system:unauthenticated", namespace="ops")
    snapshot = world(EVERYTHING, ADMIN, *scene(), role("minter", TOKENS), open_door)
    assert {path.subject for path in escalations(snapshot, anyone(), goal="cluster-admin")} == {
        "group:system:unauthenticated",
        "user:system:anonymous",
    }


def test_running_pods_give_their_tokens_and_nodes_their_pods() -> None:
    """From exec to a privileged pod, its node, another pod of the node, and its account."""
    privileged = {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]}
    objects = [
        *scene(rule("create", "pods/exec")),
        *(node("node-1"), pod("dev", "debug", "other", privileged), pod("ops", "operator", "admin")),
    ]
    [path] = found(*objects)
    assert path.primitives == ("D5", "K1", "K5", "K0", "A1")
    assert found(*objects, goal="a node")[0].primitives == ("D5", "K1")
    assert not found(*scene(rule("create", "pods/exec")), pod("dev", "debug", "other", privileged))


def test_pods_without_a_token_give_none() -> None:
    """automountServiceAccountToken of the pod or of its account keeps it out."""
    exec_in = rule("create", "pods/exec")
    assert found(*scene(exec_in, place="ops"), pod("ops", "operator", "admin"))
    assert not found(
        *scene(exec_in, place="ops"), pod("ops", "operator", "admin", {"automountServiceAccountToken": False})
    )
    quiet = {**account("ops", "admin"), "automountServiceAccountToken": False}
    assert not found(*scene(exec_in, place="ops"), quiet, pod("ops", "operator", "admin"))


def test_a_control_plane_node_is_everything() -> None:
    """A creator of privileged pods reaches any node, since nodeName and tolerations need no permission."""
    control = node("cp", **{"node-role.kubernetes.io/control-plane": ""})
    plain = namespace("dev")
    assert ids(found(*scene(rule("create", "pods")), plain, control)) == [("D9", "E7")]
    assert not found(*scene(rule("create", "pods")), control)
    relabel = rule("patch", "namespaces")
    assert ids(found(*scene(rule("create", "pods"), relabel), control)) == [("D10", "E7")]
    other = rule("patch", "namespaces", names="ops")
    assert not found(*scene(rule("create", "pods"), other), control)


def test_missing_objects_can_be_made() -> None:
    """A service account, a namespace, a role that bindings name and nobody has made."""
    lost = binding("lost", "cluster-admin", "sa:dev/gone")
    makes = [rule("create", "serviceaccounts"), TOKENS]
    assert ids(found(*scene(*makes), lost)) == [("A11", "A1")]
    nowhere = binding("lost", "cluster-admin", "sa:gone/robot")
    assert not found(*scene(*makes), nowhere)
    maker = scene(*makes, rule("create", "namespaces"), place="")
    assert ("A11", "A1") in ids(found(*maker, nowhere, ways="each"))
    orphan = binding("orphan", "deleted", ATTACKER)
    write = rule("create,escalate", "clusterroles", groups=RBAC)
    assert ids(found(*scene(write, place=""), orphan)) == [("A10",)]


def test_impersonation_does_not_nest() -> None:
    """An impersonated subject cannot impersonate again, but can use tokens."""
    middle = role("middle", rule("impersonate", "users"))
    first = scene(rule("impersonate", "users", names="eve"), place="")
    boss = binding("boss", "cluster-admin", "user:boss")
    assert not found(*first, middle, binding("middle", "middle", "user:eve"), boss)
    minter = binding("minter", "minter", "user:eve", namespace="ops")
    assert ids(found(*first, role("minter", TOKENS), minter)) == [("B1", "C5", "A1")]


def test_the_shortest_path_comes_first() -> None:
    """A webhook is one hop that needs patience; two tokens are two that need none."""
    hooks = rule("create", "mutatingwebhookconfigurations", groups="admissionregistration.k8s.io")
    more = [role("minter", TOKENS), binding("minter", "minter", "sa:dev/other", namespace="ops")]
    objects = [*scene(TOKENS), role("hooks", hooks), binding("hooks", "hooks", ATTACKER), *more]
    assert found(*objects)[0].primitives == ("G1",)
    assert ids(found(*objects, ways="each")) == [("G1",), ("C5", "C5", "A1")]
    assert not found(*scene(TOKENS), *more, max_hops=1)


def test_goals_can_be_any_permission_or_subject() -> None:
    """Paths to reading secrets of a namespace, to a namespace, to somebody."""
    reader = [role("reader", rule("list", "secrets")), binding("reader", "reader", "sa:dev/other", namespace="shop")]
    objects = [*scene(TOKENS), *reader, fenced("shop")]
    assert ids(found(*objects, goal="list secrets in shop")) == [("C5",)]
    assert not found(*objects, goal="list secrets in ops")
    assert ids(found(*objects, goal="sa:dev/other")) == [("C5",)]
    owner = [role("owner", rule("*", "*", groups="*")), binding("owner", "owner", "sa:dev/other", namespace="shop")]
    assert ids(found(*scene(TOKENS), *owner, fenced("shop"), goal="namespace shop")) == [("C5", "A1")]
    with pytest.raises(SimkitError, match="is no goal"):
        parse_goal("be very powerful")
    with pytest.raises(SimkitError, match="did you mean 'cluster-admin'"):
        parse_goal("cluster-amdin")


def test_max_hops_of_who_can() -> None:
    """Those who get there by escalation follow those who are granted it."""
    snapshot = world(EVERYTHING, ADMIN, *scene(TOKENS, place="ops"))
    table = who_can(snapshot, "list", "secrets", max_hops=1)
    rows = {row["subject"]: (row["hops"], row["path"]) for row in table.to_dict("records")}
    assert rows["sa:ops/admin"] == (0, ())
    assert rows["sa:dev/attacker"] == (1, ("C5",))
    assert "sa:dev/attacker" not in set(who_can(snapshot, "list", "secrets", max_hops=0)["subject"])


def test_blast_radius_of_a_subject_and_of_a_pod() -> None:
    """All places, the nearest first."""
    snapshot = world(EVERYTHING, ADMIN, *scene(TOKENS, place="ops"), pod("dev", "web", "attacker"))
    radius = blast_radius(snapshot, ATTACKER)
    assert radius.cluster_admin
    assert "sa:ops/admin" in set(radius.reached["place"])
    assert list(radius.reached["hops"]) == sorted(radius.reached["hops"])
    assert not radius.reached.duplicated(["kind", "name", "namespace"]).any(), "one row, however many ways lead there"
    assert f"reaches {len(radius)} place" in str(radius)
    assert blast_radius(snapshot, "pod:dev/web").cluster_admin
    assert not blast_radius(snapshot, "sa:dev/other").cluster_admin
    assert "including cluster-admin" in str(radius)
    with pytest.raises(SimkitError, match="no running pod"):
        blast_radius(snapshot, "pod:dev/none")


def test_new_and_closed_paths() -> None:
    """Between two snapshots, or in a what-if."""
    before = world(EVERYTHING, ADMIN, *scene(TOKENS, place="ops"))
    after = OverlaySnapshot(before, [binding("attack", "rules", "sa:dev/other", namespace="ops")])
    changes = compare_paths(before, after, goal="cluster-admin")
    assert dict(zip(changes["subject"], changes["change"])) == {ATTACKER: "closed", "sa:dev/other": "new"}
    assert compare_paths(before, before).empty


def test_moves_are_single_steps() -> None:
    """The moves are all single steps of a subject, harmful ones included."""
    snapshot = world(EVERYTHING, ADMIN, *scene(TOKENS, rule("delete", "networkpolicies", groups="networking.k8s.io")))
    steps = {path.primitives: str(path.end) for path in next_steps(snapshot, ATTACKER)}
    assert steps == {("C5",): "sa:dev/other", ("I9",): "impact I9"}


def test_risky_permissions_tell_the_harmless_ones_too() -> None:
    """Permissions that only look like an escalation are listed and not flagged."""
    snapshot = world(EVERYTHING, *scene(rule("create,patch", "clusterrolebindings", groups=RBAC), place=""))
    table = risky_permissions(snapshot, ATTACKER)
    assert list(zip(table["primitive"], table["flagged"])) == [("A6", False)]
    assert (
        "the cluster has nothing"
        in risky_permissions(world(*scene(rule("create", "pods/exec"))), ATTACKER)["reason"][0]
    )


def test_members_of_groups_that_the_cluster_does_not_keep() -> None:
    """A table of members gives users their groups."""
    objects = [*scene(), role("minter", TOKENS), binding("minter", "minter", "group:devs", namespace="ops")]
    assert not found(*objects, subject="alice")
    assert ids(found(*objects, subject="alice", members={"devs": ["alice"]})) == [("C5", "A1")]


def test_resources_that_were_not_captured_are_named() -> None:
    """Without pods in the snapshot no path leads through them, and the answer says so."""
    snapshot = MemorySnapshot(
        [EVERYTHING, ADMIN, *scene(rule("create", "pods/exec"), place="ops")],
        captured=["roles", "clusterroles", "rolebindings", "clusterrolebindings", "serviceaccounts", "namespaces"],
    )
    answer = escalations(snapshot, ATTACKER)
    assert "pods" in answer.unknown
    assert "not in the snapshot" in str(answer)


def test_answers_are_readable() -> None:
    """As text, as a table, as HTML."""
    paths = found(*scene(TOKENS, place="ops"))
    assert "C5 Requests tokens of service accounts -> sa:ops/admin" in str(paths[0])
    assert "RoleBinding ops/attack (ClusterRole rules, rule 0) to sa:dev/attacker" in str(paths[0])
    assert list(paths.to_frame().columns) == ["subject", "goal", "hops", "cost", "severity", "primitives", "path"]
    assert paths.to_frame()["severity"][0] == "critical"
    assert "<ul" in paths._repr_html_()
    assert "<ul" in paths[0]._repr_html_()
    assert len(paths[:1]) == 1
    assert len(paths.to("cluster-admin")) == 1


def test_expectations_about_escalation() -> None:
    """In a file beside the others: nobody but the exceptions gets to a goal within some hops."""
    snapshot = world(EVERYTHING, ADMIN, *scene(TOKENS, place="ops"))
    wanted = {"goal": "cluster-admin", "within_hops": 3, "except": ["sa:ops/*"]}
    suite = Suite.model_validate({"expectations": [{"name": "closed", "never": wanted}]})
    [outcome] = check(snapshot, suite)
    reached = f"{ATTACKER} reaches cluster-admin: {primitive_words(('C5', 'A1'))} (1 hop)"
    assert outcome.failures[0].startswith(reached)
    wanted["except"] = ["sa:ops/*", ATTACKER]
    [outcome] = check(snapshot, Suite.model_validate({"expectations": [{"name": "open", "never": wanted}]}))
    assert outcome.passed


@pytest.mark.parametrize("wide", [0.0, 0.1, 0.5])
def test_the_graph_grows_with_the_grants(wide: float) -> None:
    """Twice as many subjects, pods, namespaces and grants: about twice as many steps, also where grants are wide."""

    def steps(subjects: int) -> int:
        graph = graph_of(MemorySnapshot(objects(subjects, wide), captured=["*"]))
        return sum(map(len, graph.reachable(graph.sources()).values()))

    assert 1.6 < steps(800) / steps(400) < 2.4


def test_a_wide_grant_of_names_is_one_step_with_choices() -> None:
    """To a set of things in all namespaces; the path and its proof name the one that was chosen."""
    cluster = served(*scene(rule("create", "serviceaccounts/token", names="admin,other"), place=""), ADMIN)
    [path] = escalations(cluster.snapshot(), ATTACKER, goal="cluster-admin")
    assert [str(edge.target) for edge in path.edges[:2]] == ["a service account named admin, other", "sa:ops/admin"]
    assert str(path.steps[0].target) == "sa:ops/admin"
    assert path.prove(cluster).proven


def test_a_path_that_is_no_resource_is_a_goal() -> None:
    """Reached and proven like any other permission."""
    metrics = [role("metrics", rule("get", urls="/metrics/*")), binding("m", "metrics", "sa:ops/admin")]
    cluster = served(*scene(TOKENS, place="ops"), *metrics)
    [path] = escalations(cluster.snapshot(), ATTACKER, goal="get /metrics/cadvisor")
    assert path.primitives == ("C5",)
    proof = path.prove(cluster)
    assert proof.proven
    assert proof.performed[-1].request == "review of self: get /metrics/cadvisor"
    assert not escalations(cluster.snapshot(), ATTACKER, goal="get /logs")


def test_impersonation_brings_no_groups_of_others() -> None:
    """An impersonated user has the server's own groups besides, not those of an identity provider."""
    world = [
        *scene(rule("impersonate", "users", names="ann"), place=""),
        binding("admins", "cluster-admin", "group:admins"),
    ]
    snapshot = served(*world).snapshot()
    assert escalations(snapshot, "ann", goal="cluster-admin", direct=True, members={"admins": ["ann"]})
    assert not escalations(snapshot, ATTACKER, goal="cluster-admin", members={"admins": ["ann"]})
