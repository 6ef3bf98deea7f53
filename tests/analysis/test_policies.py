"""Policies before they are in force: what they see, what they would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.admission.policies import policy_coverage, policy_effect, skipped_calls
from simkit.analysis.result import Evidence
from simkit.cluster.cluster import Cluster
from simkit.meta.errors import SimkitError
from tests.engine.admission.policies import binding, config_map, policy
from tests.engine.admission.test_webhook import configuration, hook

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["resourcequotas"]}
SHORT = policy({"expression": "object.metadata.name.size() < 3", "message": "too long"}, rule=RULE)


def quota(name: str, namespace: str, **labels: str) -> dict[str, Any]:
    """An empty quota: nothing in a fresh cluster has any."""
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {}}


@pytest.fixture
def cluster() -> Cluster:
    """Two teams with quotas, and an object with a label of its own."""
    made = Cluster(seed=1)
    for team in ("red", "blue"):
        made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team, "labels": {"team": team}}})
    for name, namespace in (("a", "red"), ("long", "red"), ("longer", "blue"), ("b", "blue")):
        made.create(quota(name, namespace))
    made.create(quota("shared", "red", team="green"))
    return made


def test_the_effect_counts_by_team(cluster: Cluster) -> None:
    """Each object that was looked at belongs to a team: its own label's, or its namespace's."""
    effect = policy_effect(cluster.snapshot(), [SHORT])
    table = effect.by_team().set_index("team")
    assert table["denied"].to_dict() == {"blue": 1, "green": 1, "red": 1}
    assert table["objects"].to_dict()["blue"] == 2
    assert effect.sentence() == "3 of 5 resourcequotas would be denied"
    assert effect.summary().to_dict("records") == [{"what": "resourcequotas", "count": 5, "denied": 3}]
    assert set(effect.rows["message"]) == {"too long"}
    assert "would be denied" in effect._repr_html_()


def test_predicted_refusals_happen_on_a_fork(cluster: Cluster) -> None:
    """Denied objects are written on a fork with the policy in force, and refused there; the cluster stays as it is."""
    objects = [SHORT, binding()]
    effect = cluster.policy_effect(objects)
    proof = effect.prove()
    assert isinstance(proof, Evidence)
    assert proof.holds
    assert len(proof.to_frame()) == 3
    assert str(proof) == "3 of 3 objects were refused on a fork (3 would be denied)"
    assert proof.summary()["count"].tolist() == [3, 3, 3]
    assert not cluster.list("validatingadmissionpolicies")
    assert len(effect.prove(limit=2).to_frame()) == 2


def test_an_effect_of_nothing_is_not_proven(cluster: Cluster) -> None:
    """No object was tried: nothing is shown. Without a cluster there is no place to try."""
    fine = policy({"expression": "true"}, rule=RULE)
    assert not cluster.policy_effect([fine]).prove()
    with pytest.raises(SimkitError, match=r"effect\.prove\(simkit\.load"):
        policy_effect(cluster.snapshot(), [SHORT]).prove()


def test_warnings_and_errors_count_apart(cluster: Cluster) -> None:
    """Warn does not deny; an expression that fails denies with its error, unless the policy ignores errors."""
    warned = policy_effect(cluster.snapshot(), [SHORT, binding(actions=["Warn"])])
    assert (len(warned.denied), set(warned.rows["action"])) == (0, {"Warn"})
    failing = policy_effect(cluster.snapshot(), [policy("object.spec.x == 'y'", rule=RULE)])
    assert len(failing.denied) == 5
    ignoring = policy("object.spec.x == 'y'", rule=RULE, failurePolicy="Ignore")
    assert not len(policy_effect(cluster.snapshot(), [ignoring]).rows)


def test_parameters_may_come_with_the_manifests(cluster: Cluster) -> None:
    """A parameter that is not in the cluster yet is taken from beside the policy."""
    limited = policy(
        "object.metadata.name.size() <= int(params.data.most)",
        rule=RULE,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    ref = {"name": "limit", "namespace": "ops", "parameterNotFoundAction": "Deny"}
    objects: list[Any] = [limited, binding(paramRef=ref), config_map("limit", "ops", data={"most": "4"})]
    assert sorted(policy_effect(cluster.snapshot(), objects).denied["name"]) == ["longer", "shared"]


def test_teams_by_function(cluster: Cluster) -> None:
    """Any function can tell the team of an object."""
    effect = policy_effect(cluster.snapshot(), [SHORT], team=lambda obj, _: obj["metadata"]["namespace"])
    assert effect.teams == {"blue": 2, "red": 3}


def test_coverage_lists_what_each_binding_sees(cluster: Cluster) -> None:
    """One row per policy, binding and object; selectors count, and the cluster's own policies are the default."""
    red = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
    for obj in (SHORT, binding("all"), binding("red", matchResources=red)):
        cluster.create(obj)
    seen = policy_coverage(cluster.snapshot())
    assert seen.groupby("binding").size().to_dict() == {"all": 5, "red": 3}
    with pytest.raises(SimkitError, match="no ValidatingAdmissionPolicy in the snapshot"):
        policy_coverage(Cluster(seed=1).snapshot())


def test_calls_that_were_not_made_are_a_table() -> None:
    """Without calls the table still has its columns."""
    assert list(skipped_calls([]).columns) == ["kind", "name", "target", "about"]


def test_webhooks_see_what_their_rules_and_selectors_take(cluster: Cluster) -> None:
    """One row for each webhook and object; without rules a webhook is asked about nothing."""
    quotas = [{**RULE}]
    red = {"matchLabels": {"team": "red"}}
    cluster.create(
        configuration(
            hook(name="all.example.com", rules=quotas, failurePolicy="Ignore"),
            hook(name="none.example.com", rules=[]),
            mutating=True,
            name="m",
        )
    )
    service = {"service": {"namespace": "ops", "name": "hook"}}
    cluster.create(
        configuration(hook(name="red.example.com", rules=quotas, namespaceSelector=red, clientConfig=service), name="v")
    )
    found = cluster.webhook_coverage()
    counts = found.groupby(["kind", "webhook", "on_failure"]).size().to_dict()
    assert counts == {
        ("MutatingWebhookConfiguration", "all.example.com", "Ignore"): 5,
        ("ValidatingWebhookConfiguration", "red.example.com", "Fail"): 3,
    }
    assert set(found.loc[found["webhook"] == "red.example.com", "target"]) == {"ops/hook"}
    assert set(found["resource"]) == {"resourcequotas"}
