"""``who_can`` gives the authorizer's own answers, for all subjects at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simkit
from simkit.analysis.access.can import can, namespace_of_request
from simkit.analysis.access.resolve import resolve_permission
from simkit.analysis.access.who_can import COLUMNS, who_can
from simkit.analysis.rbac.index import known_subjects
from simkit.analysis.rbac.subject import identity_of, parse_subject, text_of
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.errors import IncompleteSnapshot, SimkitError, UnknownResource
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import account, binding, clusters, role, rule, world

if TYPE_CHECKING:
    import pandas as pd

pytestmark = pytest.mark.slow


def named(found: pd.DataFrame) -> list[str]:
    """The subjects of an answer without system:masters, as texts."""
    return sorted({*found["subject"]} - {"group:system:masters"})


def test_subresource_wildcards() -> None:
    """``*/exec`` is any exec; ``pods/*`` is nothing; pods does not include its subresources."""
    snapshot = world(
        *(role("star", rule("create", "*/exec")), binding("b1", "star", "user:star")),
        *(role("slash", rule("create", "pods/*")), binding("b2", "slash", "user:slash")),
        *(role("plain", rule("create", "pods")), binding("b3", "plain", "user:plain")),
        *(role("exact", rule("create", "pods/exec")), binding("b4", "exact", "user:exact")),
    )
    assert named(who_can(snapshot, "create", "pods/exec")) == ["user:exact", "user:star"]
    assert named(who_can(snapshot, "create", "pod", subresource="exec")) == ["user:exact", "user:star"]


def test_urls() -> None:
    """URLs match exactly, by a star, or by a beginning; and only through a ClusterRoleBinding."""
    snapshot = world(
        *(role("exact", rule("get", urls="/metrics")), binding("b1", "exact", "user:exact")),
        *(role("begin", rule("get", urls="/met*")), binding("b2", "begin", "user:begin")),
        *(role("all", rule("*", urls="*")), binding("b3", "all", "user:all")),
        binding("b4", "all", "user:dead", namespace="dev"),
    )
    assert named(who_can(snapshot, "get", url="/metrics")) == ["user:all", "user:begin", "user:exact"]


def test_cluster_resources_need_a_cluster_binding() -> None:
    """A RoleBinding gives nothing on nodes, but on the namespace itself it does."""
    rules = rule("get,list", "nodes,namespaces")
    snapshot = world(role("r", rules), binding("b", "r", "user:local", namespace="dev"), binding("c", "r", "user:wide"))
    assert named(who_can(snapshot, "get", "nodes")) == ["user:wide"]
    assert named(who_can(snapshot, "get", "nodes", namespace="dev")) == ["user:wide"]
    assert named(who_can(snapshot, "get", "namespaces", name="dev")) == ["user:local", "user:wide"]
    assert named(who_can(snapshot, "get", "ns", namespace="dev")) == ["user:local", "user:wide"]
    assert named(who_can(snapshot, "get", "namespaces", name="ops")) == ["user:wide"]
    assert named(who_can(snapshot, "list", "namespaces")) == ["user:wide"]


def test_groups_of_resources_count() -> None:
    """A rule about another API group does not grant, whatever it calls its resource."""
    snapshot = world(
        *(role("apps", rule("get", "deployments", groups="apps")), binding("b1", "apps", "user:apps")),
        *(role("old", rule("get", "deployments", groups="extensions")), binding("b2", "old", "user:old")),
    )
    assert named(who_can(snapshot, "get", "deploy")) == ["user:apps"]
    assert named(who_can(snapshot, "get", "deployments", api_group="extensions")) == ["user:old"]


def test_names() -> None:
    """Rules for single names count for that name, for no request without one, and for any name if asked so."""
    snapshot = world(
        *(role("one", rule("get,create", "secrets", names="db")), binding("b1", "one", "user:one")),
        *(role("all", rule("get", "secrets")), binding("b2", "all", "user:all")),
    )
    assert named(who_can(snapshot, "get", "secrets")) == ["user:all"]
    assert named(who_can(snapshot, "get", "secrets", name="db")) == ["user:all", "user:one"]
    assert named(who_can(snapshot, "get", "secrets", name="web")) == ["user:all"]
    assert named(who_can(snapshot, "create", "secrets")) == []
    found = who_can(snapshot, "get", "secrets", name=None)
    assert dict(zip(found["subject"], found["names"])) == {
        "group:system:masters": (),
        "user:all": (),
        "user:one": ("db",),
    }


def test_namespaces() -> None:
    """Anywhere includes RoleBindings, one namespace those in it, and the whole cluster none."""
    snapshot = world(
        role("r", rule("get", "pods")),
        binding("b1", "r", "user:dev", namespace="dev"),
        binding("b2", "r", "user:ops", namespace="ops"),
        binding("b3", "r", "user:wide"),
    )
    found = who_can(snapshot, "get", "pods")
    assert named(found) == ["user:dev", "user:ops", "user:wide"]
    assert dict(zip(found["subject"], found["scope"])) == {
        "group:system:masters": "*",
        "user:wide": "*",
        "user:dev": "dev",
        "user:ops": "ops",
    }
    assert named(who_can(snapshot, "get", "pods", namespace="dev")) == ["user:dev", "user:wide"]
    assert named(who_can(snapshot, "get", "pods", namespace="*")) == ["user:wide"]


@pytest.mark.parametrize(
    ("verb", "word", "granted"),
    [
        ("impersonate", "users", rule("impersonate", "users")),
        ("impersonate", "groups", rule("impersonate", "groups")),
        ("impersonate", "serviceaccounts", rule("impersonate", "serviceaccounts")),
        ("impersonate", "uids", rule("impersonate", "uids", groups="authentication.k8s.io")),
        ("impersonate", "userextras/scopes", rule("impersonate", "userextras/scopes", groups="authentication.k8s.io")),
        ("bind", "clusterroles", rule("bind", "clusterroles", groups="rbac.authorization.k8s.io")),
        ("escalate", "roles", rule("escalate", "roles", groups="rbac.authorization.k8s.io")),
        ("approve", "signers", rule("approve", "signers", groups="certificates.k8s.io")),
        ("sign", "signers.certificates.k8s.io", rule("sign", "signers", groups="certificates.k8s.io")),
        ("create", "serviceaccounts/token", rule("create", "serviceaccounts/token")),
    ],
)
def test_special_verbs_and_resources(verb: str, word: str, granted: dict[str, Any]) -> None:
    """Verbs and resources that no discovery lists can be asked about."""
    snapshot = world(role("r", granted), binding("b", "r", "user:ann"))
    assert named(who_can(snapshot, verb, word)) == ["user:ann"]


def test_a_custom_resource_called_groups_does_not_hide_the_groups() -> None:
    """Impersonation is about the groups of identities, everything else about the custom resource."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "groups.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "groups", "kind": "Group"},
            "versions": [{"name": "v1", "served": True}],
        },
    }
    snapshot = world(
        definition,
        *(role("act", rule("impersonate", "groups")), binding("b1", "act", "user:act")),
        *(role("read", rule("get", "groups", groups="example.com")), binding("b2", "read", "user:read")),
    )
    assert named(who_can(snapshot, "impersonate", "groups")) == ["user:act"]
    assert named(who_can(snapshot, "get", "groups")) == ["user:read"]


def test_system_masters_need_no_binding() -> None:
    """The group is in every answer, marked by having no binding."""
    first = who_can(world(), "delete", "nodes").iloc[0]
    assert (first["subject"], first["binding"], first["rule"]) == ("group:system:masters", "(no binding)", -1)


def test_groups_are_expanded_on_demand() -> None:
    """Implied groups and a table of members become rows of their own that say through which group."""
    snapshot = world(
        *(account("dev", "app"), account("ops", "app"), role("r", rule("get", "pods"))),
        binding("b", "r", "group:system:serviceaccounts:dev", "group:devs"),
    )
    plain = who_can(snapshot, "get", "pods")
    assert named(plain) == ["group:devs", "group:system:serviceaccounts:dev"]
    wide = who_can(snapshot, "get", "pods", expand_groups=True, members={"devs": ["alice"]})
    assert named(wide[wide["via_group"] != ""]) == ["sa:dev/app", "user:alice"]


def test_the_rule_of_the_answer_is_the_one_that_grants() -> None:
    """The row names binding, role and the index of the rule; an unlimited rule before a limited one."""
    snapshot = world(
        role("r", rule("list", "pods"), rule("get", "pods", names="a"), rule("get", "pods"), namespace="dev"),
        binding("b", "r", "sa:dev/app", namespace="dev", local=True),
    )
    found = who_can(snapshot, "get", "pods", name=None)
    assert list(found.columns) == list(COLUMNS)
    row = found.iloc[1]
    assert (row["binding_kind"], row["binding"], row["role_kind"], row["role"]) == ("RoleBinding", "b", "Role", "r")
    assert (row["rule"], row["names"], row["scope"]) == (2, (), "dev")


def test_aggregated_roles_of_manifests_have_their_parts_rules() -> None:
    """An aggregated role without rules, as it stands in a manifest, grants what its parts do."""
    whole = role("whole")
    whole["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}
    part = role("part", rule("get", "pods"), labels={"to": "whole"})
    loaded = simkit.load([whole, part, binding("b", "whole", "user:ann")], manifests=True)
    assert "user:ann" in named(who_can(loaded.snapshot(), "get", "pods"))


def test_wrong_words_are_explained() -> None:
    """Unknown resources and verbs are refused with near ones, and verbs that a rule names are not."""
    snapshot = world(role("r", rule("prune", "pods")), binding("b", "r", "user:ann"))
    with pytest.raises(UnknownResource, match="deployments"):
        who_can(snapshot, "get", "deploymnets")
    with pytest.raises(SimkitError, match="did you mean 'list'"):
        who_can(snapshot, "lsit", "pods")
    assert named(who_can(snapshot, "prune", "pods")) == ["user:ann"]
    with pytest.raises(SimkitError, match="'get' needs either a resource"):
        who_can(snapshot, "get")
    with pytest.raises(SimkitError, match="'get' needs either a resource"):
        who_can(snapshot, "get", "pods", url="/metrics")
    with pytest.raises(SimkitError, match="another subresource"):
        who_can(snapshot, "get", "pods/log", subresource="exec")


def test_an_incomplete_dump_is_not_taken_for_an_empty_one() -> None:
    """Without bindings in the dump there is no answer, and the error names what to capture."""
    snapshot = MemorySnapshot([role("r", rule("get", "pods"))])
    with pytest.raises(IncompleteSnapshot, match="rolebindings"):
        who_can(snapshot, "get", "pods")


ASKED = ("ann", "bob", "sa:dev/app", "sa:ops/app", "sa:dev/idle", "system:anonymous", "group:devs", "carol")


@settings(max_examples=150)
@given(
    snapshot=clusters(),
    verb=st.sampled_from(("get", "list", "create", "impersonate")),
    word=st.sampled_from(("pods", "pods/exec", "secrets", "namespaces", "nodes", "deploy", "users", "")),
    name=st.sampled_from(("", "one", "dev")),
    place=st.sampled_from(("", "dev", "ops")),
)
def test_everybody_in_the_answer_is_allowed_and_nobody_else(
    snapshot: MemorySnapshot, verb: str, word: str, name: str, place: str
) -> None:
    """On random clusters a subject is in the answer exactly if the authorizer allows its request."""
    url = "" if word else "/metrics"
    name = name if word else ""
    found = who_can(snapshot, verb, word, name=name, namespace=place or "*", url=url, expand_groups=True)
    allowed = set(named(found)) | {text_of(parse_subject("group:system:masters"))}
    index = AccessIndex.of(snapshot)
    asked = resolve_permission(snapshot, verb, word, name=name, url=url)
    for text in {*ASKED, *map(text_of, known_subjects(snapshot))}:
        subject = parse_subject(text)
        ask = asked.ask(namespace_of_request(asked, place), identity_of(subject))
        groups = {f"group:{group}" for group in ask.identity.groups}
        masters = "group:system:masters" in groups
        expected = masters or index.authorize(ask).allowed
        assert bool(can(snapshot, subject, verb, word, name=name, namespace=place or None, url=url)) is expected
        assert (text_of(subject) in allowed or bool(groups & allowed)) is expected


def test_a_path_is_asked_for_as_it_is() -> None:
    """A text that begins with a slash is a path, not a resource."""
    snapshot = world(role("r", rule("get", urls="/metrics")), binding("b", "r", "user:ann"))
    assert list(who_can(snapshot, "get", "/metrics")["subject"]) == ["group:system:masters", "user:ann"]


def test_several_names_are_asked_for_one_by_one() -> None:
    """The message says so."""
    names: Any = ["a", "b"]
    with pytest.raises(SimkitError, match="name is one name"):
        who_can(world(), "get", "secrets", name=names)


def test_a_resource_that_was_enabled_in_addition_is_served() -> None:
    """Of a live server, and of a dump that holds such objects; by default the release does not know it."""
    options = Options(
        release="1.33",
        seed=1,
        runtime_config={"certificates.k8s.io/v1beta1": True},
        feature_gates={"ClusterTrustBundle": True},
    )
    subjects = who_can(Cluster(options=options).snapshot(), "create", "clustertrustbundles")["subject"]
    assert "group:system:masters" in set(subjects)
    kinds = ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
    rbac = [f"{kind}.rbac.authorization.k8s.io" for kind in kinds]
    bundle = {"apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle", "metadata": {"name": "b"}}
    dump = load([{**bundle, "spec": {"trustBundle": "x"}}], release="1.33", captured=rbac).snapshot()
    assert len(who_can(dump, "get", "clustertrustbundles")) == 1
    with pytest.raises(UnknownResource):
        who_can(Cluster("1.33").snapshot(), "create", "clustertrustbundles")
