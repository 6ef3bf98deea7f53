"""Field and label selectors in what authorizers see, from release 1.32 on."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authz.webhook import compiled, spec_of
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.language.cel.environment import CompileError, Environment, EvaluationError, type_named
from simkit.language.cel.lib_policies import AuthorizerValue
from simkit.language.cel.types import BOOL
from simkit.meta.attributes import ALLOW, Attributes, Decision
from simkit.meta.fields import Term
from simkit.meta.identity import AUTHENTICATED, Identity
from simkit.meta.labels import Requirement
from simkit.meta.message import Request
from simkit.schema.behaviour import default_behaviour
from tests.releases import BASE

BEHAVIOUR = default_behaviour("1.30")

ANN = Identity("ann")
NODE = Identity("system:node:n1", ("system:nodes", AUTHENTICATED))
PODS = "/api/v1/pods"


def asked(method: str, path: str, release: str = "1.36", **query: str) -> Attributes:
    """The attributes of a request."""
    info = parse_request_info(method, path, {name: [value] for name, value in query.items()})
    return info.asks(default_behaviour(release), ANN)


@pytest.mark.parametrize(
    ("method", "query"),
    [("GET", {}), ("GET", {"watch": "1"}), ("DELETE", {})],
    ids=["list", "watch", "deletecollection"],
)
def test_selectors_of_requests(method: str, query: dict[str, str]) -> None:
    """Lists, watches and deletions of collections carry both selectors, the labels in the order of their keys."""
    ask = asked(method, PODS, **query, fieldSelector="spec.nodeName=n1", labelSelector="b,a in (y,x)")
    assert ask.field_selector == (Term("spec.nodeName", "n1", True),)
    assert ask.label_selector == (Requirement("a", "in", ("x", "y")), Requirement("b", "exists"))


def test_requests_without_selectors_for_authorizers() -> None:
    """Earlier releases, other verbs and the verb in the path have none; one that cannot be parsed is left out."""
    chosen = {"fieldSelector": "spec.nodeName=n1"}
    for ask in (
        asked("GET", PODS, "1.31", **chosen),
        asked("GET", "/api/v1/namespaces/x/pods/p", **chosen),
        asked("GET", "/api/v1/watch/pods", **chosen),
        asked("GET", PODS, fieldSelector="nonsense", labelSelector="a in ("),
    ):
        assert (ask.field_selector, ask.label_selector) == ((), ())


def test_webhooks_get_requirements() -> None:
    """The review has requirements; comparisons by size, which reviews do not know, are left out."""
    ask = asked("GET", PODS, fieldSelector="spec.nodeName!=n1", labelSelector="a=x,!b,c,d notin (z),e>3")
    attributes = spec_of(ask)["resourceAttributes"]
    assert attributes["fieldSelector"] == {
        "requirements": [{"key": "spec.nodeName", "operator": "NotIn", "values": ["n1"]}]
    }
    assert attributes["labelSelector"] == {
        "requirements": [
            {"key": "a", "operator": "In", "values": ["x"]},
            {"key": "b", "operator": "DoesNotExist"},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "NotIn", "values": ["z"]},
        ]
    }


def test_conditions_of_webhooks_read_selectors() -> None:
    """Conditions see the selectors of a question; before 1.32 an expression that names them is refused."""
    source = "request.resourceAttributes.?fieldSelector.requirements.orValue([]).exists(r, r.values[0] == 'n1')"
    conditions, errors = compiled(default_behaviour("1.36"), [source], "authorizers[0]")
    assert conditions is not None
    assert not errors
    assert conditions.hold(spec_of(asked("GET", PODS, fieldSelector="spec.nodeName=n1")))
    assert not conditions.hold(spec_of(asked("GET", PODS)))
    _, errors = compiled(default_behaviour("1.30"), [source], "authorizers[0]")
    assert "undefined field 'fieldSelector'" in errors[0].told(BASE)


def of_nodes(**more: Any) -> Cluster:
    """A cluster of 1.36, or of another release, with the Node authorizer."""
    return Cluster(options=Options(**{"release": "1.36", "seed": 1, "authorization_mode": ("Node", "RBAC"), **more}))


def review(cluster: Cluster, **attributes: Any) -> dict[str, Any]:
    """The status of a review about the node n1."""
    spec = {"user": NODE.user, "groups": list(NODE.groups), "resourceAttributes": attributes}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = cluster.perform(Request("POST", path, body=orjson.dumps(body)))
    assert answer.status == 201
    status: dict[str, Any] = orjson.loads(answer.body)["status"]
    return status


def of_field(operator: str, *values: str, key: str = "spec.nodeName") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_reviews_pass_selectors_on() -> None:
    """A review about a node's pods is allowed with the selector, raw or as requirements."""
    cluster = of_nodes()
    listing = {"verb": "list", "resource": "pods"}
    assert not review(cluster, **listing)["allowed"]
    for selector in ({"rawSelector": "spec.nodeName=n1"}, {"requirements": [of_field("In", "n1")]}):
        assert review(cluster, **listing, fieldSelector=selector) == {"allowed": True}
    assert not review(cluster, **listing, fieldSelector={"requirements": [of_field("NotIn", "n1")]})["allowed"]


@pytest.mark.parametrize(
    ("selector", "error"),
    [
        ({"rawSelector": "nonsense"}, "spec.resourceAttributes.fieldSelector ignored due to parse error"),
        (
            {"requirements": [of_field("In", "n1"), of_field("Near", "n2")]},
            "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
        ),
    ],
)
def test_selectors_that_cannot_be_read(selector: dict[str, Any], error: str) -> None:
    """What cannot be read is left out, and the answer says so."""
    cluster = of_nodes()
    status = review(cluster, verb="list", resource="pods", fieldSelector=selector)
    assert status["evaluationError"] == error


NAMED = {"fieldSelector": "spec.nodeName=n1"}


@pytest.mark.parametrize(
    ("path", "query", "earlier", "now", "reason"),
    [
        ("/api/v1/nodes", {}, True, False, "node 'n1' cannot read all nodes, only its own Node object"),
        ("/api/v1/nodes", {"fieldSelector": "metadata.name=n1"}, True, True, ""),
        ("/api/v1/nodes/n2", {}, True, False, "node 'n1' cannot read 'n2', only its own Node object"),
        ("/api/v1/nodes/n1", {}, True, True, ""),
        (PODS, {}, True, False, "can only list/watch pods with spec.nodeName field selector"),
        (PODS, NAMED, True, True, ""),
        (PODS, {**NAMED, "watch": "1"}, True, True, ""),
        (PODS, {"fieldSelector": "spec.nodeName=n2"}, True, False, "can only list/watch pods with spec.nodeName field"),
        ("/api/v1/namespaces/default/pods/mine", {}, True, True, ""),
        ("/api/v1/namespaces/default/pods", {"fieldSelector": "metadata.name=mine"}, True, True, ""),
        ("/api/v1/namespaces/default/pods/other", {}, True, False, "no relationship found between node 'n1' and this"),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            {"fieldSelector": "spec.nodeName=n1"},
            True,
            False,
            "resourceslices",
        ),
        ("/apis/resource.k8s.io/v1/resourceslices", {"fieldSelector": "nodeName=n1"}, True, True, ""),
    ],
)
def test_nodes_read_their_own(path: str, query: dict[str, str], earlier: bool, now: bool, reason: str) -> None:
    """From 1.32 on a node reads itself and what runs on it; without the gate it reads all."""
    container = [{"name": "c", "image": "i"}]
    for gate, allowed in ((False, earlier), (True, now)):
        cluster = of_nodes(
            release="1.33",
            disable_admission_plugins=("ServiceAccount",),
            feature_gates={} if gate else {"AuthorizeNodeWithSelectors": False},
        )
        for name, node in (("mine", "n1"), ("other", "n2")):
            spec = {"nodeName": node, "containers": container}
            cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        info = parse_request_info("GET", path, {name: [value] for name, value in query.items()})
        decision = cluster._control_plane.engine.authorizer.authorize(
            info.asks(cluster._control_plane.engine.behaviour, NODE)
        )
        assert decision.allowed is allowed, gate
        assert gate is False or reason in decision.reason


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("POST", "/api/v1/nodes", True),
        ("PATCH", "/api/v1/nodes/n1/status", True),
        ("DELETE", "/api/v1/nodes/n1", False),
        ("GET", "/api/v1/nodes/n1/status", False),
        ("POST", "/api/v1/namespaces/x/pods", True),
        ("DELETE", "/api/v1/namespaces/x/pods/p", True),
        ("POST", "/api/v1/namespaces/x/pods/p/eviction", True),
        ("PATCH", "/api/v1/namespaces/x/pods/p/status", True),
        ("PATCH", "/api/v1/namespaces/x/pods/p", False),
        ("GET", "/api/v1/namespaces/x/pods/p/log", False),
    ],
)
def test_what_nodes_write(verb: str, path: str, allowed: bool) -> None:
    """What nodes write is left to admission; what they never do is refused."""
    cluster = of_nodes()
    info = parse_request_info(verb, path, {})
    assert (
        cluster._control_plane.engine.authorizer.authorize(
            info.asks(cluster._control_plane.engine.behaviour, NODE)
        ).allowed
        is allowed
    )


def test_expressions_check_with_selectors() -> None:
    """``fieldSelector`` and ``labelSelector`` narrow a check; what cannot be parsed is left out."""
    asked: list[Attributes] = []

    def ask(question: Attributes) -> Decision:
        asked.append(question)
        return Decision(ALLOW)

    environment = Environment(BEHAVIOUR, {"authorizer": type_named("Authorizer")}, version="1.31")
    source = "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector({}).check('list').allowed()"
    for labels in ("'c'", "'c in ('"):
        program = environment.compile(source.format(labels), expected=BOOL)
        found = program.evaluate({"authorizer": AuthorizerValue(ANN, ask)}, budget=1_000_000)
        assert found.value is True
        assert asked[-1].field_selector == (Term("a", "b", True),)
    assert [each.label_selector for each in asked] == [(Requirement("c", "exists"),), ()]
    with pytest.raises(CompileError, match="undeclared reference to 'fieldSelector'"):
        Environment(BEHAVIOUR, {"authorizer": type_named("Authorizer")}, version="1.30").compile(source.format("'c'"))


def test_service_accounts_in_expressions_are_not_authenticated() -> None:
    """As in kube-apiserver, the account that an expression names is in the groups of service accounts only."""
    asked: list[Attributes] = []
    environment = Environment(BEHAVIOUR, {"authorizer": type_named("Authorizer")}, version="1.30")

    def ask(question: Attributes) -> Decision:
        asked.append(question)
        return Decision(ALLOW)

    value = AuthorizerValue(ANN, ask)
    environment.compile("authorizer.serviceAccount('a', 'b').path('/x').check('get').allowed()").evaluate(
        {"authorizer": value}
    )
    assert asked[0].identity.groups == ("system:serviceaccounts", "system:serviceaccounts:a")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("authorizer.path(' ')", "path must not be empty"),
        ("authorizer.group('').resource(' ')", "resource must not be empty"),
        ("authorizer.serviceAccount('x', 'A_B')", "Invalid service account name"),
        ("authorizer.serviceAccount('x.y', 'a')", "Invalid service account namespace"),
    ],
)
def test_checks_that_name_nothing(source: str, message: str) -> None:
    """Empty paths and resources, and names that no service account can have, are errors of the evaluation."""
    environment = Environment(BEHAVIOUR, {"authorizer": type_named("Authorizer")}, version="1.30")
    value = AuthorizerValue(ANN, lambda question: Decision(ALLOW))
    with pytest.raises(EvaluationError, match=message):
        environment.compile(source).evaluate({"authorizer": value})
