"""The removal report: signs in objects and configuration, callers, and answers on a fork."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import simkit
from simkit import Cluster
from simkit.analysis.rbac.subject import text_of_user
from simkit.analysis.upgrade.upgrade_report import UpgradeReport, removal_report
from simkit.meta.errors import SimkitError
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

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
def found(cluster: Cluster) -> UpgradeReport:
    return removal_report(cluster, BETA, audit_log=REQUESTS)


def test_signs_in_objects(found: UpgradeReport) -> None:
    """Writers in the version, and objects that name it; what goes on working breaks nothing."""
    signs = {(row.name, row.field, row.breaks) for row in found.rows if row.check == "api-version"}
    assert ("mine", "metadata.managedFields", True) in signs
    assert ("templates", "data.schema.yaml", False) in signs
    assert not any(row.severity == "critical" for row in found.rows)


def test_rules_and_webhooks_that_name_it(found: UpgradeReport) -> None:
    """Rules know no versions; a webhook that names no version which is left matches nothing."""
    assert not [row for row in found.rows if row.check == "rule"]
    hooks = {row.field: row.breaks for row in found.rows if row.check == "configuration"}
    assert hooks == {"old.example.com": True, "both.example.com": False}


def test_callers_with_what_they_did(found: UpgradeReport) -> None:
    """One row for the program, with its verbs, codes and the number of its requests; it is told what to use."""
    (row,) = (row for row in found.rows if row.check == "caller")
    assert row.who == f"{text_of_user(ROBOT)} (robot/1)"
    assert row.evidence.startswith("5 requests: create, delete, get, list; answers 200, 201, 404")
    assert (row.breaks, row.release) == (True, "")
    assert "flowcontrol.apiserver.k8s.io/v1 " in row.remedy


def test_answers_before_and_after(found: UpgradeReport) -> None:
    """Executed on forks: what worked breaks, in another version it works, and nothing is written."""
    proof = found.prove()
    answers = {row.request.split()[0]: (row.before, row.after, row.mended) for row in proof.rows}
    assert answers["list"] == (200, 404, 200)
    assert answers["get"] == (200, 404, 200)
    assert answers["delete"] == (404, 404, 404)
    assert found.has_impact


def test_a_kind_that_goes_altogether_leaves_objects_out_of_reach(cluster: Cluster) -> None:
    """No version is left, so that rules grant nothing and objects are lost, and no version is recommended."""
    found = removal_report(cluster, "flowcontrol.apiserver.k8s.io")
    lost = {row.name: row for row in found.rows if row.severity == "critical"}
    assert lost["mine"].remedy == "Delete it; no other version replaces it."
    assert {row.name for row in found.rows if row.check == "rule"} >= {"flow"}


def test_the_removal_of_an_unused_version_has_no_signs() -> None:
    """An empty cluster without a log has no complaints beside its own API services."""
    found = removal_report(Cluster(seed=1), "storage.k8s.io/v1/csinodes")
    assert not [row for row in found.rows if row.breaks]


def _manifest(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default", **more}}


def test_manifests_in_versions_that_are_gone_or_go() -> None:
    """They are found by the version that they are written in, although a cluster would answer in another.

    One with a uid was printed by some server, and will be applied like the others. What is deleted since is not found.
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
    rows = {(row.api_version, row.name): row for row in found.rows if row.check == "api-version"}
    assert set(rows) == {
        ("policy/v1beta1", "budget"),
        ("extensions/v1beta1", "way"),
        ("extensions/v1beta1", "listed"),
        (BETA, "flow"),
    }
    assert all(row.breaks for row in rows.values())
    assert "1.30 does not serve it either" in rows["policy/v1beta1", "budget"].evidence


def test_callers_are_not_known_without_a_log(cluster: Cluster) -> None:
    """Without recorded requests, the report says so."""
    for log, known in ((None, False), ([], True)):
        found = removal_report(cluster, BETA, audit_log=log)
        assert found.callers_known is known
        assert ("callers are not known" in repr(found)) is not known


def test_it_is_the_part_of_the_upgrade_report_about_versions(cluster: Cluster) -> None:
    """The same rows, and no others."""
    rows = removal_report(cluster, release="1.32", audit_log=REQUESTS).rows
    assert rows
    whole = cluster.upgrade_report("1.32", audit_log=REQUESTS)
    assert [row for row in whole.rows if row in rows] == list(rows)


def test_either_elements_or_a_release(cluster: Cluster) -> None:
    """Neither and both are refused."""
    with pytest.raises(SimkitError, match="name either API versions"):
        removal_report(cluster)
    with pytest.raises(SimkitError, match="name either API versions"):
        removal_report(cluster, BETA, release="1.32")


@needs_shared
def test_everybody_who_calls_what_1_32_no_longer_serves() -> None:
    """In the recorded log: by name, also whom somebody impersonated, and also who was refused."""
    datasets = SHARED / "datasets"
    cluster = simkit.load(datasets / "operators-and-teams.json.gz")
    found = removal_report(cluster, release="1.32", audit_log=datasets / "audit.jsonl.gz")
    tuner, inventory = (f"sa:platform-tools/{name}" for name in ("apf-tuner", "inventory"))
    callers = {
        (who, program.partition("/")[0], program.endswith("sent by user:admin"), row.release, row.breaks)
        for row in found.rows
        for who, _, program in [row.who.partition(" (")]
        if row.check == "caller"
    }
    assert callers == {
        (tuner, "apf-tuner", False, "1.32", True),
        (tuner, "kubectl", True, "1.32", True),
        (inventory, "inventory", False, "1.32", False),  # it was refused
        (inventory, "inventory", False, "1.25", False),
        ("user:auditor-1", "k9s", True, "1.32", True),
    }
    broken = [row for row in found.prove().rows if row.before == 200 and row.after == 404]
    assert {row.who.partition(" (")[0] for row in broken} == {tuner, "user:auditor-1"}
    assert {row.request.split()[0] for row in broken} >= {"delete", "get", "list", "patch", "watch"}
