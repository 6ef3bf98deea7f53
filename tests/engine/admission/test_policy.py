"""Admission policies: what they see, what they say, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.admission.policies import binding, config_map, policy, refusal, sent, with_policy


@pytest.mark.parametrize(
    ("row", "code", "text"),
    [
        ({"expression": "false"}, 422, "failed expression: false"),
        ({"expression": "false", "message": " no "}, 422, "no"),
        ({"expression": "false", "reason": "Forbidden"}, 403, "failed expression: false"),
        ({"expression": "false", "reason": "RequestEntityTooLarge"}, 413, "failed expression: false"),
        ({"expression": "false", "message": "a", "messageExpression": "'b ' + request.operation"}, 422, "b CREATE"),
        ({"expression": "false", "message": "a", "messageExpression": "'x\\ny'"}, 422, "a"),
        ({"expression": "object.data.x == ''"}, 422, "expression 'object.data.x == ''' resulted in error: no such key"),
    ],
)
def test_denials_carry_code_and_text(row: dict[str, Any], code: int, text: str) -> None:
    """The reason decides the code; the message is computed, given, or the expression itself."""
    error = refusal(with_policy(policy(row), binding()), config_map())
    start = "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
    assert (error.code, error.message.startswith(start + text)) == (code, True), error.message
    assert error.details is not None


def test_updates_carry_their_revision() -> None:
    """A policy sees the revision that is changed, whether or not the writer named it; a new object has none."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    same = "oldObject == null ? !has(object.metadata.resourceVersion) : "
    same += "object.metadata.resourceVersion == oldObject.metadata.resourceVersion"
    cluster = with_policy(policy(same, rule=rule), binding())
    cluster.create(config_map())
    path, named = "/api/v1/namespaces/default/configmaps/a", {"name": "a"}
    merge = "application/merge-patch+json"
    revision = cluster.perform(Request.of("GET", path)).object["metadata"]["resourceVersion"]
    changes = [
        Request.of("PATCH", path, {"data": {"x": "1"}}, content_type=merge),
        Request.of("PUT", path, {"metadata": named, "data": {"x": "2"}}),
    ]
    assert revision
    assert [cluster.perform(change).status for change in changes] == [200, 200]


def test_the_first_denial_is_told_and_policies_without_bindings_are_not_asked() -> None:
    """Policies come by name, and one that nothing binds has no say."""
    cluster = with_policy(
        policy({"expression": "false", "message": "late"}, name="z"),
        policy({"expression": "false", "message": "early"}, name="a"),
        policy("false", name="unbound"),
        binding("z", "z"),
        binding("a", "a"),
    )
    assert refusal(cluster, config_map()).message.endswith("early")


def test_warnings_and_audit_annotations() -> None:
    """Warn lets the write pass with a header, Audit leaves a note for the log only."""
    cluster = Cluster(seed=1, options=Options(audit_policy="Metadata"))
    for obj in (policy({"expression": "false", "message": "hm"}), binding(actions=["Warn", "Audit"])):
        cluster.create(obj)
    response = sent(cluster, "POST", "/api/v1/namespaces/default/configmaps", config_map())
    assert response.status == 201
    warning = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': hm\""
    assert ("Warning", warning) in response.headers
    noted = [event["annotations"] for event in cluster.audit_log() if event.get("annotations")]
    assert any("validation_failure" in key for notes in noted for key in notes)


def test_audit_annotations_are_published_under_the_policy() -> None:
    """Values of audit annotations stand behind the policy's name; null and blanks leave none."""
    rows = [
        {"key": "who", "valueExpression": "request.userInfo.username"},
        {"key": "none", "valueExpression": "null"},
        {"key": "blank", "valueExpression": "'  '"},
    ]
    cluster = Cluster(seed=1, options=Options(audit_policy="Metadata"))
    cluster.create(policy(auditAnnotations=rows))
    cluster.create(binding(actions=["Audit"]))
    cluster.create(config_map())
    notes = {key: value for event in cluster.audit_log() for key, value in (event.get("annotations") or {}).items()}
    assert notes.get("p/who") == "simkit-admin"
    assert not {"p/none", "p/blank"} & notes.keys()


def test_failure_policy_ignore_lets_errors_pass_but_not_falsehood() -> None:
    """Under Ignore an expression that cannot be evaluated admits; one that is false still denies."""
    cluster = with_policy(policy("object.data.x == 'y'", failurePolicy="Ignore"), binding())
    cluster.create(config_map())
    assert refusal(cluster, config_map("b", data={"x": "z"})).code == 422


def test_match_conditions_narrow_what_is_seen() -> None:
    """A false condition passes the write by; an error with no false condition is judged by the failure policy."""
    conditions = [{"name": "n", "expression": "object.metadata.name.startsWith('t')"}]
    cluster = with_policy(policy("false", matchConditions=conditions), binding())
    cluster.create(config_map("other"))
    assert refusal(cluster, config_map("this")).code == 422
    broken = [{"name": "n", "expression": "object.data.x == ''"}, {"name": "m", "expression": "true"}]
    failing = with_policy(policy("true", matchConditions=broken), binding())
    assert "no such key: data" in refusal(failing, config_map()).message
    open_ = with_policy(policy("false", matchConditions=broken, failurePolicy="Ignore"), binding())
    open_.create(config_map())


def test_variables_are_worked_out_once_and_only_when_asked_for() -> None:
    """A variable that fails hurts only those who use it, and names itself."""
    variables = [
        {"name": "bad", "expression": "object.nothing"},
        {"name": "n", "expression": "object.metadata.name"},
        {"name": "long", "expression": "variables.n.size() > 3"},
    ]
    cluster = with_policy(policy("!variables.long", variables=variables), binding())
    cluster.create(config_map("abc"))
    assert refusal(cluster, config_map("abcd")).code == 422
    failing = with_policy(policy("variables.bad == 1", variables=variables), binding())
    assert 'composited variable "bad" fails to evaluate: no such key: nothing' in refusal(failing, config_map()).message


def test_selectors_of_policies_and_bindings() -> None:
    """Labels of the object, and of its namespace, decide whether a binding applies."""
    chosen = {"objectSelector": {"matchLabels": {"on": "1"}}, "namespaceSelector": {"matchLabels": {"team": "red"}}}
    cluster = with_policy(policy("false"), binding(matchResources=chosen))
    red = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "red", "labels": {"team": "red"}}}
    cluster.create(red)
    cluster.create(config_map(labels={"on": "1"}))
    cluster.create(config_map(namespace="red"))
    assert refusal(cluster, config_map("b", "red", labels={"on": "1"})).code == 422


def test_equivalent_versions_are_matched_and_converted() -> None:
    """A rule for one version sees writes in the others, as objects of the version that it names."""
    rule = {
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["horizontalpodautoscalers"],
    }
    says = {
        "expression": "false",
        "messageExpression": "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version + ' ' "
        "+ string(object.spec.targetCPUUtilizationPercentage)",
    }
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "maxReplicas": 3,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                }
            ],
        },
    }
    equivalent = with_policy(policy(says, rule=rule), binding())
    assert refusal(equivalent, scaler).message.endswith("autoscaling/v1 v1 v2 70")
    exact = policy(says, rule=rule)
    exact["spec"]["matchConstraints"]["matchPolicy"] = "Exact"
    with_policy(exact, binding()).create(scaler)


def test_names_of_resources_and_excluded_rules() -> None:
    """A rule may name objects, and an excluding rule wins over a matching one."""
    named = policy("false")
    named["spec"]["matchConstraints"]["resourceRules"][0] |= {"resourceNames": ["x"]}
    cluster = with_policy(named, binding())
    cluster.create(config_map("a"))
    assert refusal(cluster, config_map("x")).code == 422
    excluding = policy("false")
    constraints = excluding["spec"]["matchConstraints"]
    constraints["excludeResourceRules"] = [{**constraints["resourceRules"][0], "resourceNames": ["free"]}]
    other = with_policy(excluding, binding())
    other.create(config_map("free"))
    assert refusal(other, config_map("x")).code == 422


def test_parameters_by_selector_each_have_a_say() -> None:
    """Every selected parameter is tried; one that forbids is enough."""
    rows = {"expression": "object.metadata.name != params.data.bad", "messageExpression": "'not ' + params.data.bad"}
    selecting = {"selector": {"matchLabels": {"kind": "list"}}, "parameterNotFoundAction": "Allow"}
    cluster = with_policy(
        policy(rows, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}), binding(paramRef=selecting)
    )
    for name, bad in (("one", "x"), ("two", "y")):
        cluster.create(config_map(name, labels={"kind": "list"}, data={"bad": bad}))
    assert refusal(cluster, config_map("x")).message.endswith("not x")
    assert refusal(cluster, config_map("y")).message.endswith("not y")
    cluster.create(config_map("z"))


def test_misconfigured_parameters_deny_under_fail() -> None:
    """An unknown kind, and a namespace for a kind without one, are told as kube-apiserver tells them."""
    unknown = with_policy(policy("true", paramKind={"apiVersion": "x.example/v1", "kind": "Nope"}), binding())
    text = "denied request: failed to configure policy: failed to find resource referenced by paramKind: "
    assert f"{text}'x.example/v1, Kind=Nope'" in refusal(unknown, config_map()).message
    ref = {"name": "a", "namespace": "default", "parameterNotFoundAction": "Deny"}
    cluster_wide = with_policy(
        policy("true", paramKind={"apiVersion": "v1", "kind": "Namespace"}), binding(paramRef=ref)
    )
    assert "must not be provided for a cluster-scoped `paramKind`" in refusal(cluster_wide, config_map()).message


@pytest.mark.slow
def test_expressions_that_cost_too_much_deny() -> None:
    """An evaluation has a limit of its own, and all evaluations of a policy one together."""
    numbers = f"[{','.join(map(str, range(200)))}]"
    deep = f"{numbers}.all(a, {numbers}.all(b, {numbers}.all(c, a + b + c >= 0)))"
    error = refusal(with_policy(policy(deep), binding()), config_map())
    assert "operation cancelled: actual cost limit exceeded" in error.message
    wide = f"{numbers}.all(a, {numbers}.all(b, {numbers}.size() > a - b - 1000))"
    many = refusal(with_policy(policy(*([wide] * 60)), binding()), config_map())
    assert "denied request: validation failed due to running out of cost budget" in many.message


@pytest.mark.slow
def test_messages_that_cost_too_much_deny() -> None:
    """Even where the validations themselves hold; one that could not be evaluated still says why."""
    numbers = f"[{','.join(map(str, range(200)))}]"
    wide = f"{numbers}.all(a, {numbers}.all(b, {numbers}.size() > a - b - 1000))"
    row = {"expression": "true", "messageExpression": f"string({wide})"}
    error = refusal(with_policy(policy(*([row] * 60)), binding()), config_map())
    assert "denied request: failed messageExpression: validation failed due to running out of" in error.message
    broken = {**row, "expression": "object.data.missing == ''"}
    error = refusal(with_policy(policy(*([broken] * 60)), binding()), config_map())
    assert "resulted in error: no such key: data" in error.message


def test_audit_annotations_cannot_ask_the_authorizer() -> None:
    """They may mention it, as in kube-apiserver, which then does not lend it."""
    rows = [{"key": "a", "valueExpression": "authorizer.path('/x').check('get').reason()"}]
    error = refusal(with_policy(policy(auditAnnotations=rows), binding()), config_map())
    assert error.message.endswith("resulted in error: no such attribute(s): authorizer")


def test_policies_and_bindings_are_not_judged() -> None:
    """A policy that denies everything does not keep anybody from removing it."""
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    cluster = with_policy(policy("false", rule=everything), binding())
    assert refusal(cluster, config_map()).code == 422
    cluster.delete("validatingadmissionpolicybinding", "b")
    cluster.create(config_map())


def test_the_authorizer_answers_for_the_requester() -> None:
    """``authorizer`` and ``authorizer.requestResource`` ask the server's own authorizer about who writes."""
    row = "authorizer.requestResource.check('delete').allowed() && authorizer.path('/x').check('get').allowed()"
    cluster = with_policy(policy(row), binding())
    cluster.create(config_map())
    weak = Identity("ann", ("system:authenticated",))
    rights = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    cluster.create({**role, "rules": rights})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    bound = {**role, "kind": "ClusterRoleBinding", "roleRef": ref, "subjects": [{"kind": "User", "name": "ann"}]}
    bound["subjects"][0]["apiGroup"] = "rbac.authorization.k8s.io"  # type: ignore[index]
    cluster.create(bound)
    assert refusal(cluster, config_map("b"), identity=weak).code == 422


def test_a_fork_has_the_policies_and_goes_its_own_way() -> None:
    """Changes of policies on a fork are not seen by its origin."""
    cluster = with_policy(policy("false"), binding())
    fork = cluster.fork()
    fork.delete("validatingadmissionpolicybinding", "b")
    fork.create(config_map())
    assert refusal(cluster, config_map()).code == 422


def test_collections_are_deleted_object_by_object() -> None:
    """A policy sees each removal, whose refusal has no name of its own."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    cluster = with_policy(policy("oldObject.metadata.name != 'keep'", rule=rule), binding(), config_map("keep"))
    response = sent(cluster, "DELETE", "/api/v1/namespaces/default/configmaps")
    assert (response.status, 'configmaps "Unknown" is forbidden' in response.object["message"]) == (422, True)


def test_a_dry_run_is_judged_too() -> None:
    """``request.dryRun`` and the options tell how a write was asked for."""
    row = {"expression": "!request.dryRun || request.options.fieldManager != 'bad'"}
    cluster = with_policy(policy(row), binding())
    path = "/api/v1/namespaces/default/configmaps"
    assert sent(cluster, "POST", f"{path}?dryRun=All&fieldManager=bad", config_map()).status == 422
    assert sent(cluster, "POST", f"{path}?fieldManager=bad", config_map()).status == 201


def test_a_namespace_is_judged_by_its_own_labels() -> None:
    """While a namespace is written, its new labels count; ``namespaceObject`` is null."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"]}
    chosen = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
    cluster = with_policy(policy("namespaceObject != null", rule=rule), binding(matchResources=chosen))
    namespace: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue"}}
    cluster.create(namespace)
    red = {**namespace, "metadata": {"name": "red", "labels": {"team": "red"}}}
    with pytest.raises(StatusError, match="failed expression: namespaceObject != null"):
        cluster.create(red)


@pytest.mark.parametrize(
    ("variables", "expression", "texts"),
    [
        ([("a", "1")], "variables.b == 1", ["undefined field 'b'"]),
        ([("a", "variables.b"), ("b", "1")], "variables.a == 1", ["undefined field 'b'"]),
        ([("a", "variables.a")], "true", ["undefined field 'a'"]),
        ([("a", "1")], "variables.a", ["must evaluate to bool"]),
        ([("a", "[1]")], "variables.a[0] == 'x'", ["no matching overload for '_==_' applied to '(int, string)'"]),
        ([("a", "quantity('1')")], "variables.a.isGreaterThan(quantity('0')) && variables.a == 'x'", []),
        ([], "variables.a == 1", ["undeclared reference to 'variables'"]),
    ],
)
def test_variables_have_the_types_of_their_expressions(
    variables: list[tuple[str, str]], expression: str, texts: list[str]
) -> None:
    """Simple types, lists and maps are known; others, and variables that do not compile, may be anything."""
    rows = [{"name": name, "expression": source} for name, source in variables]
    cluster = Cluster(seed=1)
    if not texts:
        cluster.create(policy(expression, variables=rows))
        return
    causes = (refusal(cluster, policy(expression, variables=rows)).details or {})["causes"]
    assert [text in cause["message"] for text, cause in zip(texts, causes, strict=True)] == [True] * len(texts)
