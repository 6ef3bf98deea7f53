"""Mutating admission policies: what they make of writes, and how they refuse. Answers are those of kube-apiserver 1.36."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request

_GROUP = "admissionregistration.k8s.io/v1"
_MAPS = "/api/v1/namespaces/default/configmaps"


def _apply(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def _patch(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def _send(cluster: simkit.Cluster, path: str, obj: Mapping[str, Any]) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = cluster.perform(Request.of("POST", path, obj)).object
    return answer


def _policy(cluster: simkit.Cluster, name: str, *mutations: Mapping[str, Any], **spec: Any) -> Mapping[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    content = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never", "mutations": mutations}
    kind = "MutatingAdmissionPolicy"
    policy = {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": {**content, **spec}}
    made = _send(cluster, f"/apis/{_GROUP}/mutatingadmissionpolicies", policy)
    binding = {"apiVersion": _GROUP, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": {"policyName": name}}
    _send(cluster, f"/apis/{_GROUP}/mutatingadmissionpolicybindings", binding)
    return made


def _written(*mutations: Mapping[str, Any], **spec: Any) -> Mapping[str, Any]:
    """The answer to the creation of a config map under a policy with these mutations."""
    cluster = simkit.Cluster(release="1.36")
    _policy(cluster, "p", *mutations, **spec)
    return _send(cluster, _MAPS, {"metadata": {"name": "c"}, "data": {"x": "1"}})


@pytest.mark.parametrize(
    ("mutation", "data"),
    [
        (_apply('Object{data: {"k": "v" + object.metadata.name}}'), {"k": "vc", "x": "1"}),
        (
            _patch('[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a.b"), value: "2"}]'),
            {"a.b": "2", "x": "1"},
        ),
        (
            _patch('[JSONPatch{op: "test", path: "/data/x", value: "2"}, JSONPatch{op: "remove", path: "/data"}]'),
            {"x": "1"},
        ),
        (_patch('object.data.map(k, JSONPatch{op: "replace", path: "/data/" + k, value: "7"})'), {"x": "7"}),
        (_apply("Object{?data: optional.none()}"), {"x": "1"}),
    ],
)
def test_changes_the_object(mutation: Mapping[str, Any], data: Mapping[str, str]) -> None:
    """An applied configuration is merged; a JSON patch is made; a failed test leaves the object alone."""
    assert _written(mutation)["data"] == data


@pytest.mark.parametrize(
    ("mutation", "told"),
    [
        (_apply('Object{foo: "x"}'), "error applying patch: failed to convert patch object to typed object: .foo: field not declared in schema"),
        (
            _apply("Object{metadata: Object.wrong{}}"),
            'type mismatch: unexpected type name "Object.wrong", expected "Object.metadata", which matches field name path '
            "from root Object type",
        ),
        (
            _apply('Object{metadata: {"labels": {"a": "b"}}}'),
            "error applying patch: failed to convert patch object to typed object: .metadata.labels: expected map, got "
            "&{map[a:b]}",
        ),
        (
            _patch('[JSONPatch{op: "remove", path: "/data/q"}]'),
            "JSON Patch: error in remove for path: '/data/q': Unable to remove nonexistent key: q: missing value",
        ),
        (
            _apply('Object{data: {"k": object.none}}'),
            "expression 'Object{data: {\"k\": object.none}}' resulted in error: no such key: none",
        ),
    ],
)  # fmt: skip
def test_refuses_with_the_reason(mutation: Mapping[str, Any], told: str) -> None:
    """A mutation that fails refuses the write with 403, unless the policy ignores failures."""
    refused = _written(mutation)
    assert (refused["code"], refused["reason"]) == (403, "Invalid")
    assert refused["message"] == f"policy 'p' with binding 'p' denied request: {told}"
    assert _written(mutation, failurePolicy="Ignore")["data"] == {"x": "1"}


@pytest.mark.parametrize(
    ("mutation", "told"),
    [
        (_apply('{"a": "b"}'), "must evaluate to Object but got map(string, string)"),
        (_patch("Object{}"), "must evaluate to list(JSONPatch) but got Object"),
        (_patch("[JSONPatch{op: 1}]"), "expected type of field 'op' is 'string' but provided type is 'int'"),
        (_apply("Object{a: JSONPatch}"), "reference to undefined type: JSONPatch"),
        (_apply("variables.x"), "undefined field 'x'"),
    ],
)
def test_expressions_are_compiled(mutation: Mapping[str, Any], told: str) -> None:
    """A policy with an expression of a wrong type is invalid."""
    refused = _policy(simkit.Cluster(release="1.36"), "p", mutation)
    assert refused["code"] == 422
    assert told in refused["message"]


def test_policies_are_asked_again() -> None:
    """A policy with reinvocation sees the object once more after any mutation was made; others see it once."""
    count = _patch('[JSONPatch{op: "add", path: "/data/n", value: string(int(object.data[?"n"].orValue("0")) + 1)}]')
    assert _written(count)["data"]["n"] == "1"
    assert _written(count, reinvocationPolicy="IfNeeded")["data"]["n"] == "2"


def test_conditions_and_variables() -> None:
    """Match conditions keep a policy away; variables are there for its mutations."""
    variables = [{"name": "a", "expression": "object.data.x + '!'"}]
    made = _apply('Object{data: {"k": variables.a}}')
    assert _written(made, variables=variables)["data"] == {"k": "1!", "x": "1"}
    conditions = [{"name": "c", "expression": "object.data.x == '2'"}]
    assert _written(made, variables=variables, matchConditions=conditions)["data"] == {"x": "1"}


def test_earlier_releases_store_policies_without_the_gate() -> None:
    """At 1.34 the beta kinds do nothing unless the gate is on."""
    assert not any(plugin.name == "MutatingAdmissionPolicy" for plugin in _plugins("1.34"))
    assert any(plugin.name == "MutatingAdmissionPolicy" for plugin in _plugins("1.36"))


def _plugins(release: str) -> tuple[Any, ...]:
    from simkit.cluster.control_plane import fresh
    from simkit.cluster.options import Options

    return fresh(Options(release=release)).engine.admission.plugins
