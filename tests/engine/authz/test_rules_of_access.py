"""The rules of access control, asked as reviews of a server and compared with a naive reading of what it stores.

The numbers are those of the specification: 1 bindings grant in their namespace or everywhere; 2 a cluster role that is
bound in a namespace grants there alone; 3 the role of a binding cannot be changed; 4 how subjects are named; 5 how
subresources are named; 6 default roles are put right at a start, unless that is switched off; 7 nobody in particular can
be kept out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.cluster import bootstrap
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.attributes import Attributes
from simkit.meta.identity import AUTHENTICATED, Identity, service_account
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from tests.logic.rbac.naive import allows, reasons
from tests.logic.rbac.worlds import GROUP

pytestmark = pytest.mark.slow

REVIEWS = "/apis/authorization.k8s.io/v1"
ANN = Identity("ann", ("devs", AUTHENTICATED))
STRANGER = Identity("stranger", ("system:unauthenticated",))
PEOPLE = (ANN, Identity("bob", (AUTHENTICATED,)), service_account("a", "robot"), STRANGER)
NAMESPACES = ("a", "b")


def base() -> Cluster:
    """A cluster with two namespaces, and the default roles."""
    cluster = Cluster(seed=1)
    for name in NAMESPACES:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return cluster


BASE = base()

some = st.sampled_from
resources = some(["pods", "pods/log", "*/log", "*/*", "pods/*", "*", "secrets", "Pods", "deployments"])
rules = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": st.lists(some(["get", "list", "*", "create", "Get"]), min_size=1, max_size=2),
            "apiGroups": st.lists(some(["", "*", "apps", "apps/v1"]), min_size=1, max_size=2),
            "resources": st.lists(resources, min_size=1, max_size=2),
        },
        optional={"resourceNames": st.lists(some(["x", "y", "*", ""]), min_size=1, max_size=2)},
    ),
    st.fixed_dictionaries(
        {
            "verbs": st.lists(some(["get", "*"]), min_size=1, max_size=1),
            "nonResourceURLs": st.lists(some(["/x", "/x/*", "*", "/y*"]), min_size=1, max_size=2),
        }
    ),
)
plain_rules = rules.filter(lambda rule: "nonResourceURLs" not in rule)
subjects = some(
    [
        {"kind": "User", "name": "ann", "apiGroup": GROUP},
        {"kind": "User", "name": "Ann", "apiGroup": GROUP},
        {"kind": "User", "name": "*", "apiGroup": GROUP},
        {"kind": "User", "name": "system:serviceaccount:a:robot", "apiGroup": GROUP},
        {"kind": "Group", "name": "devs", "apiGroup": GROUP},
        {"kind": "Group", "name": "system:authenticated", "apiGroup": GROUP},
        {"kind": "Group", "name": "system:unauthenticated", "apiGroup": GROUP},
        {"kind": "Group", "name": "system:serviceaccounts:a", "apiGroup": GROUP},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "a"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "b"},
    ]
)
roles = st.one_of(
    st.tuples(some(["one", "two"]), st.just(""), st.lists(rules, max_size=3)),
    st.tuples(some(["one", "two"]), some(NAMESPACES), st.lists(plain_rules, max_size=3)),
)
bindings = st.tuples(
    some(["first", "second", "third"]),
    some(["", *NAMESPACES]),
    some(["Role", "ClusterRole"]),
    some(["one", "two", "absent", "view"]),
    st.lists(subjects, max_size=3),
)
worlds = st.tuples(st.lists(roles, max_size=4), st.lists(bindings, max_size=4))
questions = st.one_of(
    st.builds(
        Attributes,
        some(PEOPLE),
        some(["get", "list", "create", "Get", "*"]),
        some(["", "apps"]),
        st.just("v1"),
        some(["pods", "secrets", "deployments", "Pods"]),
        some(["", "log"]),
        some(["", *NAMESPACES]),
        some(["", "x", "y"]),
    ),
    st.builds(
        lambda who, verb, path: Attributes(who, verb, path=path, is_resource=False),
        some(PEOPLE),
        some(["get", "post"]),
        some(["/x", "/x/y", "/xy", "/y", "/healthz"]),
    ),
)


def filled(world: tuple[Sequence[Any], Sequence[Any]]) -> Cluster:
    """The base with these roles and bindings on top; what is there already is replaced."""
    cluster = BASE.fork()
    for name, namespace, listed in world[0]:
        put(cluster, "Role" if namespace else "ClusterRole", name, namespace, {"rules": listed})
    for name, namespace, kind, role, who in world[1]:
        reference = {"apiGroup": GROUP, "kind": kind if namespace else "ClusterRole", "name": role}
        put(
            cluster,
            "RoleBinding" if namespace else "ClusterRoleBinding",
            name,
            namespace,
            {"roleRef": reference, "subjects": who},
        )
    return cluster


def put(cluster: Cluster, kind: str, name: str, namespace: str, body: Mapping[str, Any]) -> None:
    scope = f"/namespaces/{namespace}" if namespace else ""
    path = f"/apis/{GROUP}/v1{scope}/{kind.lower()}s/{name}"
    cluster.perform(Request.of("DELETE", path))
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **body}
    answer = cluster.perform(Request.of("PUT", path, obj))
    assert answer.status == 201, answer.object


def spec_of(ask: Attributes) -> dict[str, Any]:
    """The attributes in a review, without its subject."""
    if not ask.is_resource:
        return {"nonResourceAttributes": {"path": ask.path, "verb": ask.verb}}
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return {"resourceAttributes": {name: getattr(ask, name) for name in names if getattr(ask, name)}}


def allowed(cluster: Cluster, kind: str, spec: Mapping[str, Any], who: Identity | None = None, path: str = "") -> bool:
    answer = cluster.perform(Request.of("POST", f"{REVIEWS}{path}/{kind}", {"spec": spec}), identity=who)
    assert answer.status == 201, answer.object
    found: bool = answer.object["status"]["allowed"]
    return found


def naively(cluster: Cluster, ask: Attributes) -> bool:
    """Rules 1, 2, 4 and 5, read in the stored objects one after another."""
    return bool(reasons(cluster.snapshot(), ask)[0])


@settings(max_examples=80)
@given(worlds, st.lists(questions, min_size=1, max_size=12))
def test_reviews_say_what_is_written(world: Any, asked: Sequence[Attributes]) -> None:
    """A review of anybody answers as a naive reading does; in a namespace, the local review answers the same."""
    cluster = filled(world)
    for ask in asked:
        expected = naively(cluster, ask)
        who = {"user": ask.identity.user, "groups": list(ask.identity.groups)}
        assert allowed(cluster, "subjectaccessreviews", {**spec_of(ask), **who}) is expected
        if ask.is_resource and ask.namespace:
            local = f"/namespaces/{ask.namespace}"
            assert allowed(cluster, "localsubjectaccessreviews", {**spec_of(ask), **who}, path=local) is expected
        if AUTHENTICATED in ask.identity.groups:
            assert allowed(cluster, "selfsubjectaccessreviews", spec_of(ask), ask.identity) is expected


@settings(max_examples=40)
@given(worlds, some([person for person in PEOPLE if AUTHENTICATED in person.groups]), some(NAMESPACES))
def test_rules_reviews_list_all_and_nothing_else(world: Any, who: Identity, namespace: str) -> None:
    """Whatever is allowed in a namespace is allowed by a listed rule, and what a listed rule allows is allowed.

    As in kube-apiserver, the list also shows the paths of cluster roles that are bound in the namespace, where they
    allow nothing.
    """
    cluster = filled(world)
    body = {"spec": {"namespace": namespace}}
    answer = cluster.perform(Request.of("POST", f"{REVIEWS}/selfsubjectrulesreviews", body), identity=who)
    status = answer.object["status"]
    listed = [*status["resourceRules"], *status["nonResourceRules"]]
    assert status["incomplete"] is False
    for ask in every_question(who, namespace):
        by_list = any(allows(rule, ask) for rule in listed)
        expected = naively(cluster, ask)
        assert by_list is expected or (by_list and not ask.is_resource), ask


def every_question(who: Identity, namespace: str) -> list[Attributes]:
    asks = [
        Attributes(who, verb, group, "v1", resource, part, namespace, name)
        for verb in ("get", "create")
        for group in ("", "apps")
        for resource in ("pods", "secrets", "deployments")
        for part in ("", "log")
        for name in ("", "x")
    ]
    paths = ("/x", "/x/y", "/xy", "/y", "/version")
    return asks + [Attributes(who, verb, path=path, is_resource=False) for verb in ("get", "post") for path in paths]


def test_the_role_of_a_binding_stays() -> None:
    """Rule 3: whoever may change a binding's subjects may not change its role, not even an administrator."""
    cluster = filled(([], [("first", "a", "ClusterRole", "view", [])]))
    path = f"/apis/{GROUP}/v1/namespaces/a/rolebindings/first"
    live = cluster.perform(Request.of("GET", path)).object
    changed = {**live, "roleRef": {**live["roleRef"], "name": "edit"}}
    answer = cluster.perform(Request.of("PUT", path, changed))
    assert answer.status == 422
    assert "cannot change roleRef" in answer.object["message"]
    patch = {"subjects": [{"kind": "User", "name": "ann", "apiGroup": GROUP}]}
    merge = Request.of("PATCH", path, patch, content_type="application/merge-patch+json")
    assert cluster.perform(merge).status == 200


def test_defaults_are_put_right() -> None:
    """Rule 6: a start adds what is missing of default roles and bindings, and keeps what was added; not where told."""
    cluster = Cluster(seed=1)
    view = f"/apis/{GROUP}/v1/clusterroles/system:discovery"
    basic = f"/apis/{GROUP}/v1/clusterrolebindings/system:basic-user"
    kept = f"/apis/{GROUP}/v1/clusterroles/system:basic-user"
    extra = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}

    def change(path: str, body: Mapping[str, Any]) -> None:
        request = Request.of("PATCH", path, body, content_type="application/merge-patch+json")
        assert cluster.perform(request).status == 200

    def read(path: str) -> Any:
        return cluster.perform(Request.of("GET", path)).object

    before = read(view)["rules"]
    change(view, {"rules": [extra]})
    change(basic, {"subjects": [{"kind": "User", "name": "ann", "apiGroup": GROUP}]})
    change(kept, {"rules": [], "metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}})
    bootstrap.fill(cluster.engine, cluster.snapshot)
    assert extra in read(view)["rules"]
    assert {path for rule in before for path in rule["nonResourceURLs"]} == {
        path for rule in read(view)["rules"] for path in rule.get("nonResourceURLs", ())
    }
    assert [each["name"] for each in read(basic)["subjects"]] == ["ann", "system:authenticated"]
    assert not read(kept).get("rules")
    assert read(view)["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}


@pytest.mark.parametrize(("anonymous", "status"), [(True, 200), (False, 401)])
def test_anonymous(anonymous: bool, status: int) -> None:
    """Rule 7: requests without a credential are somebody, or refused."""
    cluster = Cluster(options=Options(seed=1, anonymous_auth=anonymous))
    assert serve_request(cluster.engine, Request.of("GET", "/version")).status == status
    assert GroupResource("", "pods") in cluster.snapshot().captured()
