"""Proofs about custom resource definitions, compared with objects that servers take and refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

import simkit
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.prove.definitions import still_valid
from simkit.analysis.prove.object_claim import ObjectCounterexample, created
from simkit.analysis.prove.policy import policy_of_expressions
from simkit.analysis.prove.write import Write
from simkit.cli import main
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource

ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "n": {"type": "integer"}},
}
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "items": {"type": "array", "maxItems": 10, "items": ITEM},
    },
}


def definition(
    change: str = "", value: Any = None, *, rules: Sequence[str] = (), item_rule: str = ""
) -> dict[str, Any]:
    """A definition in which a property of a field, ``size.maximum``, is another one."""
    spec = deepcopy(SPEC)
    if change:
        field, _, name = change.partition(".")
        place = (
            spec["properties"]["items"]["items"]["properties"]["name"] if field == "name" else spec["properties"][field]
        )
        place[name] = value
    if item_rule:
        spec["properties"]["items"]["items"]["x-kubernetes-validations"] = [{"rule": item_rule}]
    schema: dict[str, Any] = {"type": "object", "properties": {"spec": spec}}
    if rules:
        schema["x-kubernetes-validations"] = [{"rule": rule} for rule in rules]
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """An empty cluster."""
    return simkit.Cluster(seed=1)


SMALL = "!has(self.spec) || self.spec.size < 4"
SHORT = "!has(self.spec) || !has(self.spec.items) || self.spec.items.all(i, has(i.name) && i.name.size() < 5)"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (definition(), definition(), "PASS"),
        (definition(), definition("size.maximum", 5), "FAIL"),
        (definition(), definition("size.maximum", 50), "PASS"),
        (definition(rules=[SMALL]), definition("size.maximum", 5), "PASS"),
        (definition(), definition(rules=["!has(self.spec) || self.spec.size < 10"]), "PASS"),
        (definition(), definition(rules=["self.spec.size < 10"]), "FAIL"),
        (definition(), definition(rules=[SHORT]), "FAIL"),
        (definition("name.maxLength", 4), definition(rules=[SHORT]), "FAIL"),
        (definition(item_rule="has(self.name) && self.name.size() < 4"), definition(rules=[SHORT]), "PASS"),
        (definition(), definition(item_rule="self.n > 3"), "FAIL"),
        (definition(), definition("name.pattern", "^[a-z]*$"), "FAIL"),
        (definition("name.pattern", "^[a-c]+$"), definition("name.pattern", "^[a-z]*$"), "PASS"),
        (definition(), definition("mode.enum", ["a", "b", "c"]), "PASS"),
        (definition(), definition("mode.enum", ["a"]), "FAIL"),
        (definition(), definition("size.multipleOf", 2), "UNKNOWN"),
        (definition(), definition("size.default", 3), "UNKNOWN"),
        (definition("size.nullable", True), definition(), "FAIL"),
    ],
)
def test_what_was_valid_stays_valid(cluster: simkit.Cluster, old: Any, new: Any, verdict: str) -> None:
    """Limits, rules, patterns and enumerations; a counterexample was created on a fork with the old definition."""
    answer = still_valid(old, new, "v1", sandbox=cluster)
    assert answer.verdict == verdict, answer
    for example in answer.counterexamples:
        assert isinstance(example, ObjectCounterexample)
        assert example.executed


def _widget(random: Random) -> dict[str, Any]:
    def maybe(made: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in made.items() if random.random() < 0.7}

    items = [maybe({"name": random.choice(("a", "bcd", "long-name")), "n": random.randint(0, 6)}) for _ in range(2)]
    spec = {
        "size": random.randint(1, 9),
        **maybe({"mode": random.choice("ab"), "items": items[: random.randint(0, 2)]}),
    }
    header = {"apiVersion": "example.com/v1", "kind": "Widget"}
    return {**header, "metadata": {"name": "w", "namespace": "default"}, **maybe({"spec": spec})}


def test_no_random_object_contradicts_a_proof(cluster: simkit.Cluster) -> None:
    """Random rules over random objects: what is proven to stay valid does."""
    leaves = ("self.spec.size < 5", "has(self.spec)", "self.spec.mode == 'a'", "has(self.spec.items)")
    quantified = ("self.spec.items.all(i, i.n > 2)", "self.spec.items.exists(i, i.name == 'a')")
    proven = 0
    for seed in range(25):
        random = Random(seed)

        def rule(random: Random = random) -> str:
            parts = random.sample([*leaves, *quantified], 2)
            return f"{random.choice(('', '!'))}({parts[0]}) {random.choice(('&&', '||'))} ({parts[1]})"

        old, new = definition(rules=[rule(), leaves[1]]), definition(rules=[rule()])
        answer = still_valid(old, new, "v1", sandbox=cluster)
        assert answer.verdict != "UNKNOWN"
        proven += answer.passed
        if answer.passed:
            forks = [cluster.fork(), cluster.fork()]
            for fork, made in zip(forks, (old, new), strict=True):
                fork.apply(made)
            resource = catalogue_of(forks[0].snapshot()).lookup("widgets")
            for _ in range(10):
                write = Write("CREATE", _widget(random))
                taken, kept = (created(fork.fork(), write, resource).status < 400 for fork in forks)
                assert kept or not taken, (old, new, write)
    assert 2 < proven < 25


def test_claims_about_policies_take_definitions(cluster: simkit.Cluster) -> None:
    """Implication, equivalence, dead rules, and whether anything is valid at all."""
    small, both = definition(rules=[SMALL]), definition(rules=[SMALL, "!has(self.spec) || self.spec.size < 6"])
    assert cluster.implies(small, definition()).verdict == "PASS"
    assert cluster.equivalent(small, both).verdict == "PASS"
    assert cluster.equivalent(small, definition()).verdict == "FAIL"
    assert cluster.dead_rules(both).to_frame()["case"].tolist() == ["alive", "dead"]
    assert cluster.contradictions([small]).verdict == "PASS"
    assert cluster.contradictions([definition(rules=["has(self.spec)", "!has(self.spec)"])]).verdict == "FAIL"


def test_claims_about_policies_take_conditions_of_webhooks_and_authorizers(cluster: simkit.Cluster) -> None:
    """Match conditions of webhooks see the write, those of authorizers the spec of the review."""

    def hook(*conditions: str) -> dict[str, Any]:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        listed = [{"name": f"c{number}", "expression": each} for number, each in enumerate(conditions)]
        webhook = {"name": "hook.example.com", "rules": [rule], "matchConditions": listed}
        return {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hooks"}, "webhooks": [webhook]}

    def authorizer(*conditions: str) -> dict[str, Any]:
        webhook = {"matchConditions": [{"expression": each} for each in conditions]}
        return {"kind": "AuthorizationConfiguration", "authorizers": [{"name": "remote", "webhook": webhook}]}

    ours, every = "request.userInfo.username.startsWith('a-')", "request.userInfo.username != 'b'"
    assert cluster.implies(hook(ours), hook(every)).verdict == "PASS"
    assert cluster.implies(hook(every), hook(ours)).verdict == "FAIL"
    assert cluster.dead_rules(hook(ours, every)).to_frame()["case"].tolist() == ["alive", "dead"]
    asked, secrets = "has(request.resourceAttributes)", "request.resourceAttributes.resource == 'secrets'"
    assert cluster.implies(authorizer(secrets), authorizer(asked)).verdict == "PASS"
    assert cluster.implies(authorizer(asked), authorizer(asked, secrets)).verdict == "FAIL"
    assert cluster.contradictions([authorizer(f"!{asked}", secrets)]).verdict == "FAIL"
    with pytest.raises(SimkitError, match="has no expressions"):
        cluster.contradictions([{"kind": "Pod", "metadata": {"name": "a"}}])


def test_a_policy_that_names_another_version_is_not_taken_for_one_that_lets_pass() -> None:
    """The server asks it about the object in the version that it names."""
    cluster = simkit.Cluster(seed=1)
    made = definition()
    (first,) = made["spec"]["versions"]
    made["spec"]["versions"] = [{**first, "storage": False}, {**first, "name": "v2"}]
    cluster.apply(made)
    policy = policy_of_expressions("first", ["false"], GroupResource("example.com", "widgets"))
    policy["spec"]["matchConstraints"]["resourceRules"][0]["apiVersions"] = ["v1"]
    answer = cluster.contradictions([policy])
    assert (answer.verdict, "another version" in answer.why) == ("UNKNOWN", True)


def test_a_rule_that_refuses_nothing_is_no_break(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """crd-diff tells for each version whether what was valid stays valid, and shows what does not."""
    wide, rows = "!has(self.spec) || self.spec.size < 10", {}
    for name, rules in (("old", []), ("wide", [wide]), ("small", [wide, SMALL])):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(definition(rules=rules)))
    for name, code in (("wide", 0), ("small", 1)):
        assert main(["crd-diff", str(tmp_path / "old.yaml"), str(tmp_path / f"{name}.yaml"), "-o", "json"]) == code
        rows[name] = {row["change"]: row["breaks"] for row in json.loads(capsys.readouterr().out)}
    assert rows["wide"] == {f"the rule {wide} is new": False, "every valid object stays valid": False}
    assert rows["small"][f"the rule {wide} is new"] is False
    assert rows["small"]["a valid object is refused"] is True
