"""Admission policies that close escalation paths, and what they must not refuse."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import simkit
from simkit.analysis.escalation import Path
from simkit.analysis.escalation.prove.proof import prove
from simkit.cli import main
from simkit.meta.errors import SimkitError


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """The cluster of the demo."""
    return simkit.demo()


def path(cluster: simkit.Cluster, *primitives: str) -> Path:
    """The first path with these steps."""
    return next(each for each in cluster.escalations() if each.primitives == primitives)


@pytest.mark.parametrize(
    ("primitives", "expression"),
    [
        (("A4",), "object.roleRef.name != 'cluster-admin'"),
        (("C5", "A1"), "request.name != 'driftwatch'"),
        (("D1", "A1"), "object.spec.?serviceAccountName.orValue('default') != 'strongroom-agent'"),
        (("D7", "K0", "A1"), "false"),
        (("D5", "K0", "A1"), "false"),
        (("E1", "K0", "A1"), "false"),
    ],
)
def test_the_path_is_closed_for_its_identity(cluster: simkit.Cluster, primitives: Any, expression: str) -> None:
    """With the policy in force the proof fails; an administrator may do the same still."""
    claim = path(cluster, *primitives)
    found = cluster.closing_policy(claim)
    assert found.policy is not None
    assert found.policy["spec"]["validations"][0]["expression"] == expression
    fork = cluster.fork()
    assert prove(claim, fork)
    fork.apply(list(found.manifests))
    assert not prove(claim, fork)
    assert found.to_frame()["reason"].tolist()[-1] == ""


def test_requests_of_the_audit_log_are_not_refused(cluster: simkit.Cluster) -> None:
    """Where the log has a request that a policy refuses, another one is looked for, or there is none."""
    claim = path(cluster, "C5", "A1")
    reference = {
        "apiVersion": "v1",
        "resource": "serviceaccounts",
        "subresource": "token",
        "namespace": "driftwatch",
        "name": "driftwatch",
    }
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "auditID": "1",
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "system:serviceaccount:ci:shiftwork", "groups": ["system:authenticated"]},
        "objectRef": reference,
    }
    found = cluster.closing_policy(claim, audit_log=[event])
    assert not found
    assert set(found.to_frame()["reason"]) == {"the audit log has a request that it refuses: create serviceaccounts"}
    other = {**event, "objectRef": {**reference, "name": "another"}}
    assert cluster.closing_policy(claim, audit_log=[other])


def test_running_workloads_are_not_refused(cluster: simkit.Cluster) -> None:
    """A daemon set that needs the host is what the attacker could change; no policy takes that from it."""
    found = cluster.closing_policy(path(cluster, "D4"))
    assert not found
    assert all("would be refused" in reason for reason in found.to_frame()["reason"])


def test_releases_without_policies_have_none() -> None:
    """Before 1.30 no server has stable policies."""
    old = simkit.demo().fork(release="1.29")
    claim = path(old, "A4")
    assert not old.closing_policy(claim)


def test_findings_have_paths(cluster: simkit.Cluster) -> None:
    """Of a finding, the path counts that needs its binding; a finding without one is told."""
    found = [each for each in cluster.audit().findings if each.check == "escalation-path" and each.binding is not None]
    closed = [cluster.closing_policy(each) for each in found[:6]]
    assert any(closed)
    other = next(each for each in cluster.audit().findings if each.binding is None)
    with pytest.raises(SimkitError, match="no path of escalation follows"):
        cluster.closing_policy(other)


def test_reads_and_unproven_paths_have_no_policy(cluster: simkit.Cluster) -> None:
    """Admission does not see reads; a path that is closed already is told."""
    assert not cluster.closing_policy(path(cluster, "C1"))
    claim = path(cluster, "A4")
    fork = cluster.fork()
    fork.apply(list(cluster.closing_policy(claim).manifests))
    with pytest.raises(SimkitError, match="no proof of the path"):
        fork.closing_policy(claim)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The manifests go to standard output, and what was tried to standard error."""
    assert main(["policy", "close", "--demo", "--subject", "sa:ci/shiftwork"]) == 0
    told = capsys.readouterr()
    kinds = [obj["kind"] for obj in yaml.safe_load_all(told.out)]
    assert set(kinds) == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert "request.name != 'driftwatch': closes the path" in told.err
