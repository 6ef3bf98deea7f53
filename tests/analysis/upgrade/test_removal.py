"""The removal report: signs in objects and configuration, callers, and answers on a fork."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import simkit
from simkit import Cluster
from simkit.analysis.rbac.subject import text_of_user
from simkit.analysis.upgrade.removal_report import RemovalReport, removal_report
from simkit.meta.errors import SimkitError
from tests.shared import SHARED, needs_shared

BETA = "flowcontrol.apiserver.k8s.io/v1beta3"
ROBOT = "system:serviceaccount:default:robot"


def event(number: int, verb: str, path: str, code: int, **more: Any) -> dict[str, Any]:
    reference = {"apiGroup": "flowcontrol.apiserver.k8s.io", "apiVersion": "v1beta3", "resource": "flowschemas", **more}
    user = {"username": ROBOT, "groups": ["system:masters"]}
    return {
        "auditID": f"{number}",
        "verb": verb,
        "user": user,
        "userAgent": "robot/1",
        "requestURI": f"/apis/{BETA}/flowschemas{path}",
        "objectRef": reference,
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": f"2026-01-01T00:00:0{number}Z",
    }


REQUESTS = [
    event(1, "list", "", 200),
    event(2, "list", "?limit=1", 200),
    event(3, "get", "/mine", 200, name="mine"),
    event(4, "create", "", 201),
    event(5, "delete", "/absent", 404, name="absent"),
    {**event(6, "watch", "?watch=1", 200), "objectRef": {"apiVersion": "v1", "resource": "pods"}},
]


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A cluster in which everything speaks of the version that goes."""
    made = Cluster(seed=1)
    made.create(
        {
            "apiVersion": BETA,
            "kind": "FlowSchema",
            "metadata": {"name": "mine"},
            "spec": {"priorityLevelConfiguration": {"name": "global-default"}},
        }
    )
    applied = orjson.dumps({"apiVersion": BETA, "kind": "FlowSchema"}).decode()
    made.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "templates",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied},
            },
            "data": {"schema.yaml": f"apiVersion: {BETA}\nkind: FlowSchema\n"},
        }
    )
    made.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "flow"},
            "rules": [{"apiGroups": ["flowcontrol.apiserver.k8s.io"], "resources": ["flowschemas"], "verbs": ["get"]}],
        }
    )
    made.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook"},
            "webhooks": [
                {
                    "name": f"{name}.example.com",
                    "clientConfig": {"url": "https://hook.example.com/"},
                    "sideEffects": "None",
                    "failurePolicy": "Ignore",
                    "admissionReviewVersions": ["v1"],
                    "rules": [
                        {
                            "apiGroups": ["flowcontrol.apiserver.k8s.io"],
                            "apiVersions": versions,
                            "resources": ["flowschemas"],
                            "operations": ["CREATE"],
                        }
                    ],
                }
                for name, versions in (("old", ["v1beta3"]), ("both", ["v1", "v1beta3"]), ("new", ["v1"]))
            ],
        }
    )
    return made


@pytest.fixture(scope="module")
def found(cluster: Cluster) -> RemovalReport:
    return removal_report(cluster, BETA, audit_log=REQUESTS)


def test_signs_in_objects(found: RemovalReport) -> None:
    """Writers in the version, appliers, and objects that name it."""
    signs = {(row.evidence, row.name) for row in found.objects.itertuples()}
    assert ("written", "mine") in signs
    assert ("text", "templates") in signs
    assert not any(evidence == "unreachable" for evidence, _ in signs)


def test_rules_and_webhooks_that_name_it(found: RemovalReport) -> None:
    """Rules know no versions; a webhook that names no version which is left is blind."""
    rules = found.rules[found.rules["role"] == "flow"]
    assert rules["verdict"].tolist() == ["kept"]
    hooks = found.configurations[found.configurations["name"] == "hook"]
    assert dict(zip(hooks["part"], hooks["verdict"], strict=True)) == {
        "old.example.com": "blind",
        "both.example.com": "kept",
    }


def test_callers_with_what_they_did(found: RemovalReport) -> None:
    """One row for the program, with its verbs, codes and last call."""
    row = found.callers.iloc[0]
    assert (row["subject"], row["agent"], row["requests"]) == (text_of_user(ROBOT), "robot/1", 5)
    assert (row["verbs"], row["codes"]) == (("create", "delete", "get", "list"), (200, 201, 404))


def test_answers_before_and_after(found: RemovalReport) -> None:
    """Executed on forks: what worked breaks, what failed fails for another reason, and nothing is written."""
    answers = {row.verb: (row.before, row.after, row.verdict) for row in found.replayed.itertuples()}
    assert answers["list"] == (200, 404, "breaks")
    assert answers["get"] == (200, 404, "breaks")
    assert answers["delete"] == (404, 404, "fails otherwise")
    assert found.has_impact
    assert "5 callers" not in repr(found)


def test_a_kind_that_goes_altogether_leaves_objects_out_of_reach(cluster: Cluster) -> None:
    """No version is left, so that rules are dead and objects unreachable."""
    found = removal_report(cluster, "flowcontrol.apiserver.k8s.io")
    assert "unreachable" in set(found.objects["evidence"])
    assert set(found.rules[found.rules["role"] == "flow"]["verdict"]) == {"dead"}
    assert "objects: unreachable" in set(found.summary()["what"])


def test_the_removal_of_an_unused_version_has_no_signs() -> None:
    """An empty cluster without a log has no complaints beside its own API services."""
    found = removal_report(Cluster(seed=1), "storage.k8s.io/v1/csinodes")
    assert len(found.objects) == len(found.callers) == len(found.replayed) == 0


def _manifest(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default", **more}}


def test_manifests_in_versions_that_are_gone_or_go() -> None:
    """They are found by the version that they are written in, although a cluster would answer in another.

    What a server listed, and so has a uid, says nothing of how it was written; nor does what is deleted since.
    """
    manifests = [
        _manifest("policy/v1beta1", "PodDisruptionBudget", "budget"),
        _manifest("extensions/v1beta1", "Ingress", "way"),
        _manifest("extensions/v1beta1", "Ingress", "listed", uid="u"),
        _manifest("extensions/v1beta1", "Ingress", "deleted"),
        _manifest("policy/v1", "PodDisruptionBudget", "new"),
        _manifest(BETA, "FlowSchema", "flow"),
    ]
    cluster = simkit.load(manifests, manifests=True)
    cluster.delete("ingress", "deleted", "default")
    found = removal_report(cluster, release="1.32")
    rows = [(row.evidence, row.api_version, row.name) for row in found.objects.itertuples()]
    assert rows == [
        ("written", "policy/v1beta1", "budget"),
        ("written", "extensions/v1beta1", "way"),
        ("written", BETA, "flow"),
    ]
    assert found.has_impact


def test_callers_are_not_known_without_a_log(cluster: Cluster) -> None:
    """A count is told only of recorded requests, be they none."""
    for log, told in ((None, "not known"), ([], 0)):
        found = removal_report(cluster, BETA, audit_log=log)
        summary = found.summary().set_index("what")["count"]
        assert summary["callers"] == told
        assert f"callers: {told};" in repr(found)


def test_either_elements_or_a_release(cluster: Cluster) -> None:
    """Neither and both are refused."""
    with pytest.raises(SimkitError, match="either"):
        removal_report(cluster)
    with pytest.raises(SimkitError, match="either"):
        removal_report(cluster, BETA, release="1.32")


@needs_shared
def test_everybody_who_calls_what_1_32_no_longer_serves() -> None:
    """In the recorded log: by name, also whom somebody impersonated, and also who was refused."""
    datasets = SHARED / "datasets"
    cluster = simkit.load(datasets / "operators-and-teams.json.gz")
    found = removal_report(cluster, release="1.32", audit_log=datasets / "audit.jsonl.gz")
    tuner, inventory = (f"sa:platform-tools/{name}" for name in ("apf-tuner", "inventory"))
    rows = found.callers.itertuples()
    assert {(row.subject, row.impersonator, str(row.agent).partition("/")[0], row.removed_in) for row in rows} == {
        (tuner, "", "apf-tuner", "1.32"),
        (tuner, "user:admin", "kubectl", "1.32"),
        (inventory, "", "inventory", "1.32"),
        (inventory, "", "inventory", "1.25"),
        ("user:auditor-1", "user:admin", "k9s", "1.32"),
    }
    summary = dict(zip(found.summary()["what"], found.summary()["count"], strict=True))
    assert (summary["callers"], summary["callers of what is gone already"]) == (5, 1)
    breaks = found.replayed[found.replayed["verdict"] == "breaks"]
    assert set(breaks["subject"]) == {"sa:platform-tools/apf-tuner", "user:auditor-1"}
    assert set(breaks["after"]) == {404}
    assert set(breaks["verb"]) == {"create", "delete", "get", "list", "patch", "watch"}
    assert list(found.replayed["before"]) == list(found.replayed["recorded"])
    assert found.replayed["requests"].sum() == 401
