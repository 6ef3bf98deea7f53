"""What failed on our side, was not captured or cannot be read is never a refusal."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.analysis.escalation import Proofs
from simkit.analysis.escalation.prove.proof import tally
from simkit.meta.message import Request, Response

pytestmark = pytest.mark.slow

RBAC = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def objects_of_the_demo() -> list[Mapping[str, Any]]:
    snapshot = simkit.demo().snapshot()
    return [obj for resource in snapshot.captured() for obj in snapshot.scan(resource)]


DEMO = objects_of_the_demo()
KINDS = sorted({obj["kind"] for obj in DEMO} - set(RBAC))


def proofs_of(objects: list[Mapping[str, Any]]) -> Proofs:
    """The proofs of all paths of a dump."""
    cluster = simkit.load({"apiVersion": "v1", "kind": "List", "items": objects})
    return cluster.escalations().prove()


def stored(kind: str, api_version: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}, **fields}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_was_not_captured_refuses_nothing(kind: str) -> None:
    """All paths of the demo cluster are proven; a dump without some kind makes none of them refused."""
    proofs = proofs_of([obj for obj in DEMO if obj["kind"] != kind])
    counts = tally(proofs)
    assert counts["not proven"] == 0, [str(proof) for proof in proofs if proof.outcome == "not proven"][:1]
    assert counts["proven"] + counts["proven with assumptions"] > 0
    assert all(proof.reason for proof in proofs if proof.outcome == "not executed")


def test_a_namespace_that_was_not_captured_is_assumed() -> None:
    """An export of RBAC objects has no Namespace objects; each that a proof needs is assumed, and said."""
    proofs = proofs_of([obj for obj in DEMO if obj["kind"] != "Namespace"])
    assert tally(proofs)["not executed"] == tally(proofs)["not proven"] == 0
    assumed = [proof for proof in proofs if any("namespace exists" in text for text in proof.assumptions)]
    assert assumed
    assert all(", " in proof.verdict and "assumed" in proof.verdict for proof in assumed)


def test_a_namespace_of_objects_is_assumed_though_namespaces_were_captured() -> None:
    """Manifests of a chart are for a namespace that they do not create."""
    left_out = {obj["metadata"]["name"] for obj in DEMO if obj["kind"] == "Namespace"} - {"default"}
    proofs = proofs_of([obj for obj in DEMO if obj["kind"] != "Namespace" or obj["metadata"]["name"] not in left_out])
    assert tally(proofs)["not proven"] == 0


QUOTAS = [
    stored("ResourceQuota", "v1", "broken", obj["metadata"]["name"], status={"hard": {"pods": "9", "x": "lots"}})
    for obj in DEMO
    if obj["kind"] == "Namespace"
]
ELSEWHERE = {"group": "rbac.authorization.k8s.io", "version": "v1", "service": {"name": "s", "namespace": "default"}}
UNREADABLE = {
    "a quota": (QUOTAS, "resourcequotas"),
    "a quota that fails the server": (
        [{**quota, "status": {"hard": {"pods": "lots"}, "used": {"pods": "1"}}} for quota in QUOTAS],
        "resourcequotas",
    ),
    "another server": (
        [stored("APIService", "apiregistration.k8s.io/v1", "v1.rbac.authorization.k8s.io", spec=ELSEWHERE)],
        "default/s",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_stops_only_the_fork_is_no_refusal(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """An object that cannot be read, or another server that is not called: not executed, with the reason."""
    objects, named = UNREADABLE[name]
    with caplog.at_level(logging.WARNING):
        proofs = proofs_of([*DEMO, *objects])
    counts = tally(proofs)
    assert counts["not proven"] == 0
    assert counts["not executed"] > 0
    assert all(named in reason for reason in proofs.not_executed())
    assert sum(proofs.not_executed().values()) == counts["not executed"]
    assert not caplog.records, "no traceback for what the answer says"


def test_an_api_service_whose_group_was_lost_changes_nothing() -> None:
    """It has the path ``/apis//v1``, for which nobody asks: not that of the core group."""
    lost = stored("APIService", "apiregistration.k8s.io/v1", "v1.example.com", spec={**ELSEWHERE, "group": None})
    assert tally(proofs_of([*DEMO, lost])) == tally(proofs_of(DEMO))


class Failing:
    """A cluster whose forks answer some requests with a fault of the server."""

    def __init__(self, cluster: Any, word: str, status: int) -> None:
        self._cluster, self._word, self._status = cluster, word, status

    def fork(self, *, release: str | None = None) -> Failing:
        return Failing(self._cluster.fork(release=release), self._word, self._status)

    def perform(self, request: Request, *, identity: Any) -> Response:
        if self._word in request.path:
            return Response(self._status, b"broken\n", "text/plain")
        answer: Response = self._cluster.perform(request, identity=identity)
        return answer

    def snapshot(self) -> Any:
        return self._cluster.snapshot()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("word", ["", "/token", "subjectaccessreviews", "clusterrolebindings", "/exec"])
def test_a_fault_of_the_server_is_no_answer(word: str, status: int) -> None:
    """Wherever it comes, a path is then neither proven nor refused."""
    cluster = simkit.load({"apiVersion": "v1", "kind": "List", "items": DEMO})
    for proof in cluster.escalations().prove(Failing(cluster, word, status)):
        assert proof.outcome != "not proven", str(proof)
        faults = [one for one in proof.performed if one.status >= 500]
        assert all(one.assumption for one in faults) or not proof.proven, str(proof)
        assert word or proof.outcome == "not executed"


def test_answers_of_nodes_that_are_not_there_are_assumptions() -> None:
    """In a proof each status of 500 or more is that of a node, whose part is told as assumed and counted."""
    for proof in proofs_of(DEMO):
        faults = [one for one in proof.performed if one.status >= 500]
        assert all(one.assumption for one in faults), str(proof)
        assert not faults or proof.counted_as == "proven with assumptions"
