"""Impersonation verb by verb, as 1.36 allows it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import simkit
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response

ALICE = Identity("alice", ("system:authenticated",))
RULES = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:user-info:list"]},
]


def cluster(release: str = "1.36") -> simkit.Cluster:
    """A cluster in which Alice may list config maps as any user, and Joe may list them."""
    made = simkit.Cluster(release=release, seed=1)
    head = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    group = "rbac.authorization.k8s.io"
    listing = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "get"]}]
    for name, rules in (("lend", RULES), ("read", listing)):
        made.apply({**head, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    for role, user in (("lend", "alice"), ("read", "joe")):
        reference = {"apiGroup": group, "kind": "ClusterRole", "name": role}
        subjects = [{"apiGroup": group, "kind": "User", "name": user}]
        head_of_binding = {**head, "kind": "ClusterRoleBinding", "metadata": {"name": role}}
        made.apply({**head_of_binding, "roleRef": reference, "subjects": subjects})
    return made


def ask(made: simkit.Cluster, path: str, headers: Mapping[str, str]) -> Response:
    return made.perform(Request.of("GET", path, headers=headers), identity=ALICE)


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_permissions_of_the_impersonated_user_count() -> None:
    """Listing as Joe, and nothing else."""
    made = cluster()
    assert ask(made, CONFIG_MAPS, {"Impersonate-User": "joe"}).status == 200
    refused = ask(made, f"{CONFIG_MAPS}/a", {"Impersonate-User": "joe"})
    assert refused.status == 403
    assert "cannot impersonate-on:user-info:get resource" in refused.object["message"]


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"Impersonate-User": "joe", "Impersonate-Group": "g"}, 'impersonate:user-info resource "groups"'),
        ({"Impersonate-User": "joe", "Impersonate-Group": "system:masters"}, "the system:masters group is not allowed"),
        ({"Impersonate-User": "system:node:n"}, "impersonate-on:arbitrary-node:list"),
        ({"Impersonate-User": "system:serviceaccount:a:b"}, "impersonate-on:serviceaccount:list"),
        ({"Impersonate-User": "joe", "Impersonate-Extra-plain": "x"}, "an invalid key in extra is not allowed"),
    ],
)
def test_the_first_refusal_is_told(headers: Mapping[str, str], told: str) -> None:
    """Of the mode that fits the user."""
    refused = ask(cluster(), CONFIG_MAPS, headers)
    assert refused.status == 403
    assert told in refused.object["message"]


def test_headers_without_a_user_are_a_bad_request() -> None:
    """They are told in full."""
    refused = ask(cluster(), CONFIG_MAPS, {"Impersonate-Group": "g"})
    assert refused.status == 400
    assert 'Groups:[]string{"g"}, Extra:map[string][]string(nil)}' in refused.object["message"]


def test_earlier_releases_know_only_the_whole() -> None:
    """Up to 1.35 the verb is impersonate, whatever is asked for."""
    refused = ask(cluster("1.35"), CONFIG_MAPS, {"Impersonate-User": "joe"})
    assert 'cannot impersonate resource "users"' in refused.object["message"]
