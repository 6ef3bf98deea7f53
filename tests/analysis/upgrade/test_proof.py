"""Recorded requests and manifests executed before and after an upgrade, and after the mending."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.analysis import upgrade_report
from simkit.meta.errors import SimkitError
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

BETA = "flowcontrol.apiserver.k8s.io/v1beta3"


def event(verb: str, path: str = "", code: int = 200, **more: Any) -> dict[str, Any]:
    group, _, version = BETA.partition("/")
    return {
        "auditID": f"{verb}{path}",
        "verb": verb,
        "user": {"username": "system:serviceaccount:ops:tuner", "groups": ["system:masters"]},
        "userAgent": "tuner/1",
        "requestURI": f"/apis/{BETA}/flowschemas{path}",
        "objectRef": {"apiGroup": group, "apiVersion": version, "resource": "flowschemas", **more},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": "2026-01-01T00:00:00Z",
    }


def test_both_answers() -> None:
    """A broken request works again after the repair, and the proof shows both answers."""
    cluster = simkit.Cluster(release="1.31", seed=1)
    job = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "a"}}
    policy = {"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": {"name": "a"}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
    job["spec"] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    log = [event("list"), event("get", "/exempt", name="exempt"), event("get", "/absent", 404, name="absent")]
    proof = cluster.upgrade_report("1.32", audit_log=log, manifests=[job, policy]).prove()
    rows = {(row.what, row.request): row for row in proof.rows}
    asked = rows[f"{BETA} flowschemas", "get exempt"]
    assert (asked.release, asked.before, asked.after, asked.mended) == ("1.32", 200, 404, 200)
    assert asked.who == "sa:ops/tuner (tuner/1)"
    assert rows[f"{BETA} flowschemas", "get absent"].verdict == "fails before and after"
    written = rows["CronJob a", "create batch/v1beta1 CronJob"]
    assert (written.after, written.mended, written.mending) == (404, 201, "written as batch/v1")
    assert "no successor" in rows["PodSecurityPolicy a", "create policy/v1beta1 PodSecurityPolicy"].mending
    assert not proof.holds
    assert proof.summary()["count"].tolist() == [1, 3, 1]


def test_a_report_without_a_cluster() -> None:
    """A report without a cluster cannot be executed."""
    with pytest.raises(SimkitError, match="sandbox"):
        upgrade_report(simkit.Cluster(seed=1).snapshot(), "1.32").prove()


@needs_shared
def test_recorded_cluster() -> None:
    """The requests of a recorded cluster that fail at 1.32 work in another version."""
    folder = SHARED / "datasets"
    cluster = simkit.load(folder / "operators-and-teams.json.gz")
    proof = cluster.upgrade_report("1.32", audit_log=folder / "audit.jsonl.gz").prove()
    assert proof.holds
    broken = [row for row in proof.rows if row.verdict == "breaks, and works when mended"]
    assert {row.who.partition(" ")[0] for row in broken} == {"sa:platform-tools/apf-tuner", "user:auditor-1"}
    assert all((row.after, (row.mended or 0) < 400) == (404, True) for row in broken)


def test_tightened_validation() -> None:
    """Objects that only the later release refuses are found by trials on forks; those that both refuse are reported."""
    network = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a"}}
    block = {"ipBlock": {"cidr": "10.0.0.1/8"}}
    network["spec"] = {"podSelector": {}, "ingress": [{"from": [block]}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 0}]}}
    cluster = simkit.Cluster(release="1.33", seed=1)
    found = cluster.upgrade_report("1.36", manifests=[network, service], validate=True).rows
    told = {(row.check, row.kind, row.breaks) for row in found if row.check in ("validation", "refused-already")}
    assert told == {("validation", "NetworkPolicy", True), ("refused-already", "Service", False)}
