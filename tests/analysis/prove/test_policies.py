"""Proofs about admission policies, with objects that the server takes and refuses."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.analysis import implies
from simkit.analysis.prove.object_claim import ObjectCounterexample
from simkit.analysis.prove.policy import policy_of_expressions
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.snapshot.memory import MemorySnapshot

PODS = GroupResource("", "pods")
OURS = "startsWith('registry.example.com/')"
CONTAINERS = f"object.spec.containers.all(c, c.image.{OURS})"
EVERY_CONTAINER = (
    "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))"
    f".all(c, c.image.{OURS})"
)
IF_SET = (
    "object.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.runAsNonRoot) || "
    "c.securityContext.runAsNonRoot)"
)
SET = "object.spec.containers.all(c, has(c.securityContext) && c.securityContext.?runAsNonRoot.orValue(false))"
ALWAYS_SET = (
    "object.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.runAsNonRoot) && "
    "c.securityContext.runAsNonRoot)"
)
NOTHING = MemorySnapshot([], captured=["*"])


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """An empty cluster."""
    return simkit.Cluster(seed=1)


def found(answer: Any) -> Mapping[str, Any]:
    """The object of the only counterexample, which was created on forks."""
    (example,) = answer.counterexamples
    assert isinstance(example, ObjectCounterexample)
    assert example.executed
    return example.object


def test_a_policy_that_forgot_init_containers_is_found(cluster: simkit.Cluster) -> None:
    """Images of init containers come from anywhere; the pod is created with the policy in force."""
    answer = cluster.implies(CONTAINERS, EVERY_CONTAINER, resource="pods")
    assert answer.verdict == "FAIL"
    spec = found(answer)["spec"]
    assert all(each["image"].startswith("registry.example.com/") for each in spec["containers"])
    assert not all(each["image"].startswith("registry.example.com/") for each in spec["initContainers"])
    assert cluster.implies(EVERY_CONTAINER, CONTAINERS, resource="pods").verdict == "PASS"


def test_has_on_the_wrong_side_is_found(cluster: simkit.Cluster) -> None:
    """What is allowed where nothing is set is found with a container that sets nothing."""
    answer = cluster.admits(ALWAYS_SET, policies=[IF_SET])
    assert answer.verdict == "FAIL"
    first = found(answer)["spec"]["containers"][0]
    assert "runAsNonRoot" not in first.get("securityContext", {})
    assert cluster.admits(IF_SET, policies=[ALWAYS_SET]).verdict == "PASS"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("object.spec.containers.all(c, c.image.matches('^r[.]io/[a-z]+:v[0-9]+$'))", CONTAINERS, "FAIL"),
        ("object.spec.containers.all(c, c.image.matches('^registry[.]example[.]com/[a-z]+$'))", CONTAINERS, "PASS"),
        ("object.metadata.labels['team'] == 'a'", "'team' in object.metadata.labels", "PASS"),
        ("size(object.spec.containers) > 2", "size(object.spec.containers) > 1", "PASS"),
        ("size(object.spec.containers) > 1", "size(object.spec.containers) > 2", "FAIL"),
        (
            "object.spec.containers.exists_one(c, c.name == 'a')",
            "object.spec.containers.exists(c, c.name == 'a')",
            "PASS",
        ),
        (
            "object.metadata.name.startsWith('a-') && object.metadata.name.endsWith('-b')",
            "object.metadata.name != 'a'",
            "PASS",
        ),
        ("size(object.spec.containers) > 2.5", "size(object.spec.containers) > 2", "UNKNOWN"),
        ("'hostNetwork' in object.spec", "object.spec.hostNetwork == true", "PASS"),
        ("true", "has(object.metadata.name) && has(object.metadata.namespace)", "PASS"),
        ("true", "object.metadata.namespace != 'default'", "FAIL"),
        ("object.metadata.namespace != 'default'", "false", "FAIL"),
        ("object.spec.hostNetwork == false", "false", "PASS"),
        ("object.kind == 'Pod' && object.apiVersion == 'v1'", "true", "PASS"),
        ("object.kind != 'Pod' || object.metadata.name == 'a'", "object.metadata.name == 'a'", "PASS"),
        ("!has(object.spec.hostNetwork)", "!object.spec.?hostNetwork.orValue(false)", "PASS"),
        ("object.?metadata.?labels[?'a'].orValue('') == 'b'", "'a' in object.metadata.labels", "PASS"),
        ("object.metadata.name.lowerAscii() == 'a'", "object.metadata.name.startsWith('a')", "UNKNOWN"),
        ("object.metadata.name.split('-')[0] == 'a'", "object.metadata.name.split('-')[0] == 'b'", "UNKNOWN"),
        ("request.namespace == 'a'", "object.metadata.namespace == 'a'", "PASS"),
        ("request.userInfo.username == 'ann'", "'devs' in request.userInfo.groups", "FAIL"),
        ("namespaceObject.metadata.labels['team'] == 'a'", "object.metadata.namespace == 'a'", "FAIL"),
        ("true", "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace", "PASS"),
        ("object == oldObject", "false", "PASS"),
        ("object.spec.terminationGracePeriodSeconds > 10", "object.spec.terminationGracePeriodSeconds >= 11", "PASS"),
        (
            "object.spec.containers.all(c, c.name.size() > 3)",
            "object.spec.containers.map(c, c.name.size()).all(s, s > 3)",
            "PASS",
        ),
    ],
)
def test_implications(cluster: simkit.Cluster, first: str, second: str, verdict: str) -> None:
    """Strings, patterns, sizes, quantifiers, and fields that Kubernetes does not write when they are empty."""
    assert cluster.implies(first, second, resource="pods").verdict == verdict


def test_what_has_no_formula_is_named(cluster: simkit.Cluster) -> None:
    """UNKNOWN says which part of the expression it is."""
    answer = cluster.implies("object.all(k, k != 'a')", "true && object.all(k, k != 'b')", resource="configmaps")
    assert (answer.verdict, "fields of an object" in answer.why) == ("UNKNOWN", True)
    answer = cluster.implies(
        "object.spec.volumes.all(v, object.spec.containers.exists(c, c.name == v.name))",
        "object.spec.volumes.all(v, object.spec.containers.exists(c, c.name.startsWith('') && c.name == v.name))",
        resource="pods",
    )
    assert (answer.verdict, "depends on the elements" in answer.why) == ("UNKNOWN", True)


def test_size_comparisons_through_variables_are_not_taken_for_proven(cluster: simkit.Cluster) -> None:
    """A size that a variable holds has no bound that the proof knows."""
    policy = policy_of_expressions("sizes", ["variables.count > 100"], PODS)
    policy["spec"]["variables"] = [{"name": "count", "expression": "size(object.spec.containers)"}]
    assert cluster.contradictions([policy]).verdict == "UNKNOWN"


def test_failure_policies_and_match_conditions_count(cluster: simkit.Cluster) -> None:
    """An error refuses, or not; a condition that is false lets everything pass."""
    strict = policy_of_expressions("strict", ["object.metadata.labels.team == 'a'"], PODS)
    loose = {**strict, "spec": {**strict["spec"], "failurePolicy": "Ignore"}}
    assert cluster.implies(strict, loose).verdict == "PASS"
    assert "team" not in found(cluster.implies(loose, strict))["metadata"].get("labels", {})
    conditions = [{"name": "named", "expression": "object.metadata.name != 'b'"}]
    narrow = {**strict, "spec": {**strict["spec"], "matchConditions": conditions}}
    assert found(cluster.implies(narrow, strict))["metadata"]["name"] == "b"


def test_contradictions(cluster: simkit.Cluster) -> None:
    """Policies that refuse everything contradict each other."""
    elsewhere = "object.spec.containers.exists(c, c.image == 'elsewhere')"
    assert cluster.contradictions([CONTAINERS, elsewhere], resource="pods").verdict == "FAIL"
    assert cluster.contradictions([CONTAINERS, IF_SET], resource="pods").verdict == "PASS"


@pytest.mark.parametrize("resource", ["replicationcontrollers", "podtemplates", "cronjobs", "services", "rolebindings"])
def test_objects_are_completed_to_valid_ones(cluster: simkit.Cluster, resource: str) -> None:
    """The server takes an object of which the claim is about a label alone."""
    assert cluster.contradictions(["has(object.metadata.labels.team)"], resource=resource).verdict == "PASS"


def test_bound_policies_of_the_cluster_are_looked_at() -> None:
    """Names stand for policies of the cluster, and bound ones count where none are given."""
    cluster = simkit.Cluster(seed=1)
    policy = policy_of_expressions("ours", [CONTAINERS], PODS)
    cluster.apply(policy)
    assert cluster.admits(CONTAINERS).verdict == "FAIL"
    binding = {"policyName": "ours", "validationActions": ["Deny"]}
    kind = "ValidatingAdmissionPolicyBinding"
    cluster.apply({"apiVersion": policy["apiVersion"], "kind": kind, "metadata": {"name": "ours"}, "spec": binding})
    assert cluster.admits(CONTAINERS).verdict == "PASS"
    assert cluster.implies("ours", EVERY_CONTAINER, resource="pods").verdict == "FAIL"


def test_custom_resources_have_their_schemas() -> None:
    """Minima, enumerations and required fields of a definition hold for every object."""
    fields = {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"type": "string", "enum": ["fast", "safe"]},
        "note": {"type": "string"},
    }
    spec = {"type": "object", "required": ["size", "mode"], "properties": fields}
    schema = {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": spec}}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    cluster = simkit.Cluster(seed=1)
    cluster.apply(definition)
    options = {"resource": "widgets.example.com"}
    assert cluster.implies("true", "object.spec.size > 0 && object.spec.size < 10", **options).verdict == "PASS"
    assert cluster.implies("object.spec.mode != 'fast'", "object.spec.mode == 'safe'", **options).verdict == "PASS"
    assert (
        cluster.implies("object.metadata.labels.a == 'b'", "'a' in object.metadata.labels", **options).verdict == "PASS"
    )
    assert "note" not in found(cluster.implies("true", "has(object.spec.note)", **options))["spec"]
    policy = policy_of_expressions("widgets", ["object.metadata.name != params.spec.note"], PODS)
    policy["spec"]["paramKind"] = {"apiVersion": "example.com/v1", "kind": "Widget"}
    (example,) = cluster.implies("true", policy, resource="pods").counterexamples
    assert isinstance(example, ObjectCounterexample)
    assert example.write.params
    lacking = policy_of_expressions("lacking", ["has(params.spec.note) && params.spec.note == ''"], PODS)
    lacking["spec"]["paramKind"] = policy["spec"]["paramKind"]
    assert cluster.contradictions([lacking]).verdict == "PASS"


def test_without_a_cluster_expressions_are_evaluated() -> None:
    """A snapshot alone gives counterexamples that were not executed."""
    (example,) = implies(NOTHING, CONTAINERS, EVERY_CONTAINER, resource="pods").counterexamples
    assert not example.executed


def test_selectors_narrow_a_policy(cluster: simkit.Cluster) -> None:
    """What a selector leaves out passes; the namespace of the counterexample has the labels that it needs."""
    policy = policy_of_expressions("narrow", [CONTAINERS], PODS)

    def narrowed(**selectors: Any) -> dict[str, Any]:
        constraints = {**policy["spec"]["matchConstraints"], **selectors}
        return {**policy, "spec": {**policy["spec"], "matchConstraints": constraints}}

    by_object = narrowed(objectSelector={"matchLabels": {"a": "b"}})
    assert found(cluster.implies(by_object, CONTAINERS, resource="pods"))["metadata"].get("labels", {}).get("a") != "b"
    assert cluster.implies(CONTAINERS, by_object, resource="pods").verdict == "PASS"
    expression = {"key": "team", "operator": "NotIn", "values": ["a"]}
    by_namespace = narrowed(namespaceSelector={"matchExpressions": [expression]})
    (example,) = cluster.implies(by_namespace, CONTAINERS, resource="pods").counterexamples
    assert isinstance(example, ObjectCounterexample)
    assert example.write.namespace is not None
    assert example.write.namespace["metadata"]["labels"]["team"] == "a"
    named = narrowed(
        excludeResourceRules=[{**by_object["spec"]["matchConstraints"]["resourceRules"][0], "resourceNames": ["x"]}]
    )
    assert found(cluster.implies(named, CONTAINERS, resource="pods"))["metadata"]["name"] == "x"


def test_parameters_are_unknown_unless_a_binding_names_them() -> None:
    """A claim about a policy holds for any parameters; one about the cluster holds for those of its bindings."""
    cluster = simkit.Cluster(seed=1)
    policy = policy_of_expressions(
        "names", ["object.metadata.name.startsWith(params.data.start)"], GroupResource("", "configmaps")
    )
    policy["spec"]["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    limit = "object.metadata.name.startsWith('ab')"
    (example,) = cluster.implies(policy, limit, resource="configmaps").counterexamples
    assert isinstance(example, ObjectCounterexample)
    assert not str(example.write.params[0]["data"]["start"]).startswith("ab")
    metadata = {"name": "limits", "namespace": "default"}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"start": "ab"}})
    cluster.apply(policy)
    ref = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    binding = {"policyName": "names", "validationActions": ["Deny"], "paramRef": ref}
    kind = "ValidatingAdmissionPolicyBinding"
    cluster.apply({"apiVersion": policy["apiVersion"], "kind": kind, "metadata": {"name": "names"}, "spec": binding})
    assert cluster.admits(limit, resource="configmaps").verdict == "PASS"
    assert cluster.admits("object.metadata.name.startsWith('abc')", resource="configmaps").verdict == "FAIL"


def test_a_missing_solver_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, with what to type."""
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(SimkitError, match=r"need z3-solver: pip install 'kube-simkit\[prove\]'"):
        implies(NOTHING, "true", "false", resource="pods")


def test_expressions_need_a_resource() -> None:
    """A policy names its resource; an expression does not."""
    with pytest.raises(SimkitError, match="resource='pods'"):
        implies(NOTHING, "true", "false")


def test_claims_are_about_policies(cluster: simkit.Cluster) -> None:
    """Other objects are refused by name."""
    with pytest.raises(SimkitError, match="Pod a is no ValidatingAdmissionPolicy"):
        cluster.contradictions([{"kind": "Pod", "metadata": {"name": "a"}}])


def test_a_policy_that_names_another_version_is_not_taken_for_one_that_lets_pass() -> None:
    """The server asks it about the object in the version that it names."""
    cluster = simkit.Cluster(seed=1)
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    versions = [{"name": name, "served": True, "storage": name == "v2", "schema": schema} for name in ("v1", "v2")]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    cluster.apply({**kind, "metadata": {"name": "widgets.example.com"}, "spec": spec})
    policy = policy_of_expressions("first", ["false"], GroupResource("example.com", "widgets"))
    policy["spec"]["matchConstraints"]["resourceRules"][0]["apiVersions"] = ["v1"]
    answer = cluster.contradictions([policy])
    assert (answer.verdict, "another version" in answer.why) == ("UNKNOWN", True)
