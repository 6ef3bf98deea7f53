"""Mistakes of other tools about the authorizer, one test for each."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simkit.logic.rbac.aggregate import with_aggregated_rules
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity, service_account
from simkit.meta.objects import Object
from tests.logic.rbac.worlds import World, binding, role, rule

ANN = Identity("ann", ("system:authenticated",))


def allowed(
    objects: Sequence[Object], verb: str, what: str, namespace: str = "", name: str = "", who: Identity = ANN
) -> bool:
    """True if the user may do it; ``what`` is ``resource.group/subresource`` or a path."""
    index = AccessIndex.of(World(objects))
    if what.startswith("/"):
        return index.authorize(Attributes(who, verb, path=what, is_resource=False)).allowed
    path, _, subresource = what.partition("/")
    resource, _, group = path.partition(".")
    return index.authorize(Attributes(who, verb, group, "v1", resource, subresource, namespace, name)).allowed


def everywhere(*rules: Object) -> list[Object]:
    """Ann has these rules in the whole cluster."""
    return [role("r", *rules), binding("b", "clusterrole r", "user ann")]


def only_in_x(*rules: Object) -> list[Object]:
    """Ann has the rules of a cluster role in one namespace."""
    return [role("r", *rules), binding("b", "clusterrole r", "user ann", namespace="x")]


def test_s1_subresource_wildcards() -> None:
    """``*/exec`` is any exec subresource, ``pods/*`` is no wildcard, ``pods`` does not hold its subresources."""
    assert allowed(everywhere(rule("create", "-", "*/exec")), "create", "pods/exec", "x", "p")
    for resources in ("pods/*", "*/*", "pods", "pods/log"):
        assert not allowed(everywhere(rule("create", "-", resources)), "create", "pods/exec", "x", "p")
    assert allowed(everywhere(rule("create", "-", "*")), "create", "pods/exec", "x", "p")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*", "/anything", True),
        ("/logs/*", "/logs/a/b", True),
        ("/logs/*", "/logs/", True),
        ("/logs/*", "/logs", False),
        ("/logs*", "/logsandmore", True),
        ("/a**", "/abc", True),
        ("/a*/b", "/ax/b", False),
        ("/healthz", "/healthz/", False),
    ],
)
def test_s2_paths(pattern: str, path: str, expected: bool) -> None:
    """A path is named exactly, or by a beginning and a star at the end."""
    assert allowed(everywhere(rule("get", paths=pattern)), "get", path) is expected


def test_s3_dead_grants_of_role_bindings() -> None:
    """In a RoleBinding, paths and cluster-scoped resources are dead, except for the namespace itself."""
    objects = only_in_x(rule("*", "*", "*"), rule("*", paths="*"))
    assert not allowed(objects, "get", "/healthz")
    assert not allowed(objects, "get", "nodes", name="n")
    assert not allowed(objects, "list", "namespaces")
    assert allowed(objects, "delete", "namespaces", "x", "x")
    assert not allowed(objects, "delete", "namespaces", "y", "y")


def test_s4_groups_must_match() -> None:
    """The same resource name in another group is another resource."""
    objects = everywhere(rule("get", "apps", "deployments"))
    assert allowed(objects, "get", "deployments.apps", "x", "d")
    assert not allowed(objects, "get", "deployments.extensions", "x", "d")
    assert not allowed(objects, "get", "deployments", "x", "d")


def test_s5_wildcards_of_the_rule() -> None:
    """A star in the rule grants what is concrete; a star in the question is only a name."""
    assert allowed(everywhere(rule("*", "*", "*")), "impersonate", "users", name="root")
    assert not allowed(everywhere(rule("get", "-", "pods")), "*", "pods", "x")


def test_s6_resource_names() -> None:
    """Names never match requests without one; a list limited to the name, and a subresource's create, carry it."""
    objects = everywhere(rule("create list deletecollection", "-", "pods pods/exec", names="p"))
    assert not allowed(objects, "create", "pods", "x")
    assert not allowed(objects, "deletecollection", "pods", "x")
    assert not allowed(objects, "list", "pods", "x")
    assert allowed(objects, "list", "pods", "x", "p")
    assert allowed(objects, "create", "pods/exec", "x", "p")
    assert not allowed(objects, "create", "pods/exec", "x", "q")


def test_s8_groups_of_service_accounts() -> None:
    """A service account has what its groups have, and is the user of its name."""
    robot = service_account("x", "robot")
    for subject in (
        "group system:serviceaccounts",
        "group system:serviceaccounts:x",
        "group system:authenticated",
        "account x/robot",
        "user system:serviceaccount:x:robot",
    ):
        objects = [role("r", rule("get", "-", "pods")), binding("b", "clusterrole r", subject)]
        assert allowed(objects, "get", "pods", "x", who=robot)
    objects = [role("r", rule("get", "-", "pods")), binding("b", "clusterrole r", "group system:serviceaccounts:y")]
    assert not allowed(objects, "get", "pods", "x", who=robot)


def test_s9_aggregated_roles() -> None:
    """Roles that gather have their rules even in manifests that no controller has seen."""
    wants = {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}
    part = role("part", rule("get", "-", "pods"))
    part["metadata"]["labels"] = {"to": "whole"}
    whole = role("whole", aggregationRule=wants)
    bound = binding("b", "clusterrole whole", "user ann")
    assert not allowed([part, whole, bound], "get", "pods", "x")
    assert allowed([*with_aggregated_rules([part, whole]), bound], "get", "pods", "x")


def test_s10_any_namespace() -> None:
    """The subjects allowed in any namespace include those of one namespace; the cluster-wide ones do not."""
    index = AccessIndex.of(World(only_in_x(rule("get", "-", "secrets"))))
    assert len(list(index.who(Question("get", resource="secrets", namespace=None)))) == 1
    assert not list(index.who(Question("get", resource="secrets", namespace="")))


@pytest.mark.parametrize(
    ("verb", "what", "group", "resource"),
    [
        ("bind", "clusterroles.rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "clusterroles"),
        ("escalate", "roles.rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "roles"),
        ("impersonate", "userextras.authentication.k8s.io/scopes", "authentication.k8s.io", "userextras/scopes"),
        ("impersonate", "uids.authentication.k8s.io", "authentication.k8s.io", "uids"),
        ("approve", "signers.certificates.k8s.io", "certificates.k8s.io", "signers"),
        ("use", "podsecuritypolicies.policy", "policy", "podsecuritypolicies"),
    ],
)
def test_s11_verbs_and_resources_outside_discovery(verb: str, what: str, group: str, resource: str) -> None:
    """Any verb on any resource can be granted and asked for."""
    assert allowed(everywhere(rule(verb, group, resource)), verb, what)


def test_s13_permissions_add_up() -> None:
    """Rules of several bindings of a subject add up."""
    objects = [
        role("r1", rule("get", "-", "pods")),
        role("r2", rule("create", "-", "pods/exec"), namespace="x"),
        binding("b1", "clusterrole r1", "group system:authenticated"),
        binding("b2", "role r2", "user ann", namespace="x"),
    ]
    assert allowed(objects, "get", "pods", "x", "p")
    assert allowed(objects, "create", "pods/exec", "x", "p")


def test_s16_subresources_belong_to_the_group_of_their_parent() -> None:
    """Tokens and evictions are authorized in the core group, whatever group their bodies are of."""
    objects = everywhere(rule("create", "-", "serviceaccounts/token pods/eviction"))
    assert allowed(objects, "create", "serviceaccounts/token", "x", "robot")
    assert allowed(objects, "create", "pods/eviction", "x", "p")
    assert not allowed(objects, "create", "pods.policy/eviction", "x", "p")
