"""Doubts about a policy's expressions come into its status."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from tests.engine.admission.policies import policy, with_policy

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}


def checked(obj: Any) -> Any:
    """The status of a policy once the controllers have looked at it."""
    cluster = with_policy(obj)
    cluster.settle()
    return cluster.get("validatingadmissionpolicy", "p")["status"]


def test_a_misspelt_field_is_told_with_its_kind_and_place() -> None:
    """The expression is read with the type of the objects that the rules name."""
    status = checked(policy("object.replicas > 1", rule=DEPLOYMENTS))
    assert status["observedGeneration"] == 1
    (warning,) = status["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    told = "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'"
    assert warning["warning"] == f"{told}\n | object.replicas > 1\n | ......^\n"


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("object.spec.replicas > 1 && object.metadata.labels['a'] == 'b'", DEPLOYMENTS),
        ("object.anything == 1", {**DEPLOYMENTS, "apiGroups": ["*"]}),
        ("object.anything == 1", {**DEPLOYMENTS, "resources": ["deployments/scale"]}),
        ("object.anything == 1", {**DEPLOYMENTS, "resources": ["unheardof"]}),
    ],
)
def test_a_policy_without_warnings(expression: str, rule: Any) -> None:
    """Well-typed expressions, and rules that name no kind, have an empty list of warnings."""
    assert checked(policy(expression, rule=rule))["typeChecking"] == {}


def test_the_request_s_resource_is_unknown_to_the_check() -> None:
    """As in kube-apiserver, whose check knows ``authorizer`` alone; the policy itself may ask it."""
    asked = "authorizer.requestResource.check('get').allowed()"
    (warning,) = checked(policy(asked, rule=DEPLOYMENTS))["typeChecking"]["expressionWarnings"]
    assert "1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'" in warning["warning"]
    assert checked(policy("authorizer.path('/x').check('get').allowed()", rule=DEPLOYMENTS))["typeChecking"] == {}


def test_ten_kinds_are_looked_at() -> None:
    """The rule that reaches the tenth is the last that is read."""
    some = ["pods", "services", "endpoints", "secrets", "configmaps", "events", "nodes", "namespaces", "bindings"]
    many = ["persistentvolumes", "persistentvolumeclaims", "serviceaccounts", "limitranges"]
    core = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": some + many}
    checked_policy = policy("object.nothing == 1", rule=core)
    checked_policy["spec"]["matchConstraints"]["resourceRules"].append(DEPLOYMENTS)
    (warning,) = checked(checked_policy)["typeChecking"]["expressionWarnings"]
    assert warning["warning"].count("Kind=") == 10
    assert "Deployment" not in warning["warning"]


def test_types_reach_through_variables_and_parameters() -> None:
    """Variables have the types of their expressions, parameters that of their kind."""
    variables = [{"name": "n", "expression": "object.spec.replicas"}, {"name": "d", "expression": "params.dat"}]
    row = {"expression": "variables.n == 'x'", "messageExpression": "string(variables.n) + params.data['x'].y"}
    spec: Any = {"variables": variables, "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    warnings = checked(policy(row, rule=DEPLOYMENTS, **spec))["typeChecking"]["expressionWarnings"]
    assert "found no matching overload for '_==_' applied to '(int, string)'" in warnings[0]["warning"]
    assert warnings[1]["fieldRef"] == "spec.validations[0].messageExpression"


def test_every_generation_is_checked_once() -> None:
    """A change of the spec is looked at; the controllers come to rest."""
    cluster: Cluster = with_policy(policy("object.replicas > 1", rule=DEPLOYMENTS))
    cluster.settle()
    cluster.apply(policy("object.spec.replicas > 1", rule=DEPLOYMENTS))
    cluster.settle()
    status = cluster.get("validatingadmissionpolicy", "p")["status"]
    assert (status["observedGeneration"], status.get("typeChecking", {})) == (2, {})
    assert cluster.settle() == 0
