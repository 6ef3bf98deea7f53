"""Tables, the graph, permissions, matrices and comparisons."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from simkit.analysis.access.compare import compare
from simkit.analysis.access.permissions import permissions
from simkit.analysis.access.who_can import who_can
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.subject import parse_subject, text_of
from simkit.analysis.rbac.tables import access_graph, bindings, roles, rules, subject_parts, subjects
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.overlay import OverlaySnapshot
from tests.analysis.worlds import account, binding, clusters, role, rule, world

pytestmark = pytest.mark.slow

SMALL = world(
    account("dev", "app"),
    role(
        "readers",
        rule("get,list", "pods"),
        rule("get", urls="/metrics"),
        labels={"kubernetes.io/bootstrapping": "rbac-defaults"},
    ),
    role("local", rule("get", "secrets", names="db"), namespace="dev"),
    binding("wide", "readers", "user:ann", "sa:dev/ghost"),
    binding("narrow", "local", "sa:dev/app", namespace="dev", local=True),
    binding("odd", "readers", "user:ann", namespace="dev"),
    binding("empty", "missing", namespace="dev"),
)


def test_subjects_know_who_exists() -> None:
    """Service accounts exist or not; of users the cluster cannot tell; bindings are counted."""
    table = subjects(SMALL).set_index("subject")
    assert table.loc["sa:dev/app", "exists"]
    assert not table.loc["sa:dev/ghost", "exists"]
    assert table.loc["user:ann", "exists"] is None
    assert (table.loc["user:ann", "bindings"], table.loc["user:ann", "cluster_wide"]) == (2, 1)


def test_bindings_have_a_row_per_subject() -> None:
    """Each subject of a binding has a row, a binding without subjects one with empty columns."""
    table = bindings(SMALL)
    assert len(table) == 5
    empty = table[table["binding"] == "empty"].iloc[0]
    assert (empty["subject"], empty["role_exists"], empty["role_kind"]) == ("", False, "ClusterRole")


def test_roles_and_rules() -> None:
    """Roles count rules and bindings and know the defaults' label; rules are tuples of strings."""
    table = roles(SMALL).set_index("role")
    assert (table.loc["readers", "rules"], table.loc["readers", "bindings"], table.loc["readers", "bootstrap"]) == (
        2,
        2,
        True,
    )
    listed = rules(SMALL)
    assert listed.loc[1, "urls"] == ("/metrics",)
    assert listed.loc[2, "resource_names"] == ("db",)


def test_empty_tables_keep_their_columns() -> None:
    """Without roles and bindings the tables are empty, not broken."""
    for made in (subjects, bindings, roles, rules):
        assert len(made(world()).columns) >= 4


def test_the_graph_has_a_way_for_every_grant() -> None:
    """From a subject one comes over binding and role to the rule; missing roles are marked."""
    graph = access_graph(SMALL)
    assert graph.has_edge("user:ann", "ClusterRoleBinding wide")
    (role_name,) = graph.successors("ClusterRoleBinding wide")
    assert [graph.nodes[node]["text"] for node in graph.successors(role_name)] == ["get,list pods", "get /metrics"]
    assert [seen["name"] for _, seen in graph.nodes(data=True) if seen.get("exists") is False] == ["missing"]
    assert {seen["layer"] for _, seen in access_graph(SMALL, rules=False).nodes(data=True)} == {
        "subject",
        "binding",
        "role",
    }


def test_permissions_say_what_is_dead() -> None:
    """All rules of a subject are listed with their way; URLs in a RoleBinding are marked as without effect."""
    table = permissions(SMALL, "ann")
    assert list(zip(table["scope"], table["rule"], table["effective"])) == [
        ("*", 0, True),
        ("*", 1, True),
        ("dev", 0, True),
        ("dev", 1, False),
    ]
    assert list(permissions(SMALL, "bob", members={"admins": ["bob"]})["binding"]) == []
    masters = permissions(SMALL, "bob", members={"system:masters": ["bob"]})
    assert list(masters["binding"]) == ["(no binding)"]


def test_comparison_is_of_access() -> None:
    """Another binding to the same is no change; a lost and a gained permission are; wider ones include narrower."""
    same = OverlaySnapshot(
        SMALL, put=[binding("other", "readers", "user:ann")], remove=[Key(CLUSTER_ROLE_BINDINGS, "", "wide")]
    )
    changed = compare(SMALL, same)
    assert set(changed["subject"]) == {"sa:dev/ghost"}
    assert set(changed["change"]) == {"lost"}
    less = OverlaySnapshot(SMALL, remove=[Key(ROLE_BINDINGS, "dev", "odd")])
    assert compare(SMALL, less).empty, "ann has the same in the whole cluster"
    more = OverlaySnapshot(SMALL, put=[role("local", rule("get,update", "secrets", names="db"), namespace="dev")])
    folded = ("gained", "sa:dev/app", "dev", ("update",), ("secrets db",), 1, ("RoleBinding dev/narrow",))
    assert tuple(compare(SMALL, more).iloc[0]) == folded
    row = compare(SMALL, more, each="permission").iloc[0]
    assert tuple(row) == (
        "gained",
        "sa:dev/app",
        "dev",
        "update",
        "",
        "secrets",
        "db",
        "",
        ("RoleBinding dev/narrow",),
    )


@settings(max_examples=60)
@given(before=clusters(), after=clusters())
def test_comparison_is_symmetric(before: MemorySnapshot, after: MemorySnapshot) -> None:
    """Gains in one direction are losses in the other, and a cluster compared with itself has no change."""
    there, back = (compare(*both, each="permission") for both in ((before, after), (after, before)))
    assert compare(before, after)["permissions"].sum() == len(there)
    columns = list(there.columns[1:])
    gained = set(map(tuple, there[there["change"] == "gained"][columns].to_numpy().tolist()))
    assert gained == set(map(tuple, back[back["change"] == "lost"][columns].to_numpy().tolist()))
    assert compare(before, before).empty
    assert index_of(before) is index_of(before)


def test_subjects_of_every_table_are_read_back() -> None:
    """The texts of all tables name the same subjects, so that tables join on them; parts are there on request."""
    known = set(subjects(SMALL)["subject"])
    for rows in (bindings(SMALL), who_can(SMALL, "get", "pods")):
        assert {*rows["subject"]} - {"", "group:system:masters"} <= known
        parts = rows.join(subject_parts(rows))
        assert len(parts) == len(rows)
        named = parts[parts["subject_kind"] == "ServiceAccount"]
        assert list("sa:" + named["subject_namespace"] + "/" + named["subject_name"]) == list(named["subject"])
    assert [text_of(parse_subject(text)) for text in sorted(known)] == sorted(known)


def test_a_graph_of_one_namespace_has_the_bindings_that_apply_in_it() -> None:
    """Its own and the cluster-wide ones, with their subjects and roles; nothing of other namespaces."""
    snapshot = world(
        role("wide", rule("get", "pods")),
        role("own", rule("get", "secrets"), namespace="dev"),
        role("other", rule("get", "secrets"), namespace="ops"),
        binding("everywhere", "wide", "user:ann"),
        binding("here", "own", "user:bob", namespace="dev", local=True),
        binding("there", "other", "user:eve", namespace="ops", local=True),
    )
    graph = access_graph(snapshot, rules=False, namespace="dev")
    assert set(graph) == {
        *("user:ann", "ClusterRoleBinding everywhere", "ClusterRole wide"),
        *("user:bob", "RoleBinding dev/here", "Role dev/own"),
    }
    with pytest.raises(SimkitError, match="namespace"):
        access_graph(snapshot, namespace="")
