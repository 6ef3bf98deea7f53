"""Proofs on simulated nodes: what pods, commands and controllers do is executed and not assumed."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.escalation import CLUSTER, escalations, next_steps, prove
from simkit.analysis.escalation.prove.proof import Proof
from simkit.analysis.escalation.prove.simulated_nodes import is_carried_out
from simkit.cluster.cluster import Cluster
from simkit.engine.pipeline.subresources.connection_target import PortSession
from simkit.meta.errors import unexplained
from simkit.meta.message import Response
from simkit.seams import PortHandler
from tests.analysis.escalation.scenes import ATTACKER, RBAC, scene
from tests.analysis.worlds import binding, rule
from tests.simulation.worlds import simulated

ADMIN = binding("ops-admin", "cluster-admin", "sa:ops/admin")
BATCH = {"groups": "batch"}
RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def running(name: str = "operator", **more: Any) -> dict[str, Any]:
    """An administrator's pod, as the restricted level asks for it."""
    container = {"name": "main", "image": "app", "securityContext": RESTRICTED, **more}
    spec = {
        "serviceAccountName": "admin",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ops"}, "spec": spec}


def cluster_of(*objects: dict[str, Any], nodes: int = 1) -> Cluster:
    """A cluster with simulated nodes, on which the objects are made in turn."""
    cluster = simulated(nodes)
    for obj in [*objects, ADMIN]:
        cluster.apply([dict(obj)])
    cluster.settle()
    return cluster


def proof_of(cluster: Cluster, primitive: str) -> Proof:
    """The proof of the first path that begins with a primitive."""
    paths = escalations(cluster.snapshot(), ATTACKER, goal=CLUSTER, ways="each")
    proof = prove(next(path for path in paths if path.primitives[0] == primitive), cluster)
    assert proof.proven, str(proof)
    return proof


@pytest.mark.parametrize(
    ("rules", "primitive"),
    [
        ([rule("create", "pods")], "D1"),
        ([rule("create", "deployments", groups="apps")], "D2"),
        ([rule("create", "statefulsets", groups="apps")], "D2"),
        ([rule("create", "replicationcontrollers")], "D2"),
        ([rule("create", "jobs", **BATCH)], "D2"),
        ([rule("create", "cronjobs", **BATCH)], "D2"),
        ([rule("create", "secrets"), rule("watch", "secrets")], "C3"),
    ],
)
def test_what_the_attacker_makes_runs(rules: list[dict[str, Any]], primitive: str) -> None:
    """The script in a pod of the attacker prints the token of its account, and the server knows it."""
    proof = proof_of(cluster_of(*scene(*rules, place="ops")), primitive)
    assert proof.assumptions == ()
    assert not any(one.actor.startswith("system:node:") for one in proof.performed)
    assert proof.performed[-1].actor == "system:serviceaccount:ops:admin"


def test_a_changed_workload_rolls_out() -> None:
    """The new pod of a deployment runs the attacker's script as another account."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {**running()["spec"], "serviceAccountName": "default"}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": "ops"}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    cluster = cluster_of(*scene(rule("patch", "deployments", groups="apps"), place="ops"), web)
    assert proof_of(cluster, "D2").assumptions == ()


@pytest.mark.parametrize(
    ("rules", "primitive", "pod"),
    [
        ([rule("create", "pods/exec")], "D5", running()),
        ([rule("create", "pods/attach")], "D6", running(stdin=True, command=["sh"])),
        ([rule("patch", "pods/ephemeralcontainers")], "D7", running()),
        ([rule("update", "pods/ephemeralcontainers")], "D7", running()),
    ],
)
def test_a_running_pod_gives_its_token(rules: list[dict[str, Any]], primitive: str, pod: dict[str, Any]) -> None:
    """To a command, to what is typed to its shell, and to a container that is added."""
    proof = proof_of(cluster_of(*scene(*rules, place="ops"), pod), primitive)
    assert proof.assumptions == ()
    assert proof.performed[-1].actor == "system:serviceaccount:ops:admin"


def test_exec_is_opened_over_a_websocket() -> None:
    """The answer is a change of protocols, as the kubelet gives it."""
    proof = proof_of(cluster_of(*scene(rule("create", "pods/exec"), place="ops"), running()), "D5")
    assert (proof.performed[1].request.split("?")[0], proof.performed[1].status) == (
        "POST /api/v1/namespaces/ops/pods/operator/exec",
        101,
    )


def test_a_program_that_reads_no_input_gives_nothing() -> None:
    """What is typed to it is not answered, so that the step stays an assumption."""
    cluster = cluster_of(*scene(rule("create", "pods/attach"), place="ops"), running())
    assert len(proof_of(cluster, "D6").assumptions) == 2


def test_the_signing_controller_signs() -> None:
    """A request that the attacker has approved is signed by the controller, with the cluster's own key."""
    certificates = "certificates.k8s.io"
    rules = [
        rule("create,get", "certificatesigningrequests", groups=certificates),
        rule("update", "certificatesigningrequests/approval", groups=certificates),
        rule("approve", "signers", groups=certificates, names="kubernetes.io/kube-apiserver-client"),
    ]
    assert proof_of(cluster_of(*scene(*rules, place="")), "F1").assumptions == ()


def test_the_approving_controller_approves() -> None:
    """What looks like a request of a node, made by one who may: the attacker is a node then."""
    certificates = "certificates.k8s.io"
    rules = [
        rule("create,get", "certificatesigningrequests", groups=certificates),
        rule("create", "certificatesigningrequests/nodeclient", groups=certificates),
    ]
    proof = step_of(cluster_of(*scene(*rules, place="")), "F3")
    assert proof.assumptions == ()
    assert not any("kube-system:certificate-controller" in one.actor for one in proof.performed)


def test_a_new_namespace_has_its_account() -> None:
    """Without which no pod of the attacker starts in it."""
    cluster = cluster_of(*scene(rule("create", "namespaces"), rule("create", "pods"), place=""))
    assert step_of(cluster, "D11").assumptions == ()


def test_aggregated_roles_are_filled() -> None:
    """By the controller: the role that the attacker writes comes into the aggregated one."""
    escalates = rule("update,escalate", "clusterroles", groups=RBAC, names="rules")
    assert step_of(cluster_of(*scene(escalates, place="")), "A9").assumptions == ()


def test_containers_that_take_time_to_start() -> None:
    """Time goes on until the attacker's container has started."""
    cluster = cluster_of(*scene(rule("create", "pods"), place="ops"))
    cluster.behave(namespace="ops", start_after="20s")
    assert proof_of(cluster, "D1").assumptions == ()


def test_a_clock_that_goes_by_itself() -> None:
    """Time cannot be let go on, so that the pod of a cron job is made in the controller's name, and runs all the same."""
    cluster = Cluster()
    cluster.add_nodes(1)
    cluster.apply([*scene(rule("create", "cronjobs", **BATCH), place="ops"), ADMIN])
    cluster.settle()
    assert proof_of(cluster, "D2").assumptions == (
        "the controller of the workload makes the pod that its template describes",
    )


def step_of(cluster: Cluster, primitive: str) -> Proof:
    """The proof of the attacker's next step by a primitive."""
    steps = next_steps(cluster.snapshot(), ATTACKER, sandbox=cluster)
    proof = prove(next(path for path in steps if path.primitives[0] == primitive), cluster)
    assert proof.proven, str(proof)
    return proof


@pytest.mark.parametrize(
    ("asked", "primitive"),
    [
        (rule("create", "pods/portforward"), "D8"),
        (rule("get", "pods/proxy"), "D15"),
    ],
)
def test_pods_answer(asked: dict[str, Any], primitive: str) -> None:
    """Whoever reaches a port of a pod has its answer."""
    assert step_of(cluster_of(*scene(asked, place="ops"), running()), primitive).assumptions == ()


def test_a_port_on_which_nothing_listens() -> None:
    """A connection that opens and answers nothing shows nothing."""

    def refuses(port: int) -> PortHandler:
        raise unexplained(f"port {port} is refused")

    assert not is_carried_out(Response(101, upgrade=PortSession(refuses, [80])))
    assert not is_carried_out(Response(101, upgrade=PortSession(lambda port: lambda data: b"", [80])))
    assert is_carried_out(Response(101, upgrade=PortSession(lambda port: lambda data: data, [80])))


def test_a_mounted_secret_is_printed() -> None:
    """The script in the pod reads the file: nobody fetches the secret in the name of a kubelet."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ops"}}
    cluster = cluster_of(*scene(rule("create", "pods"), place="ops"), {**secret, "stringData": {"password": "p"}})
    proof = step_of(cluster, "C6")
    assert proof.assumptions == ()
    assert proof.performed[-1].request.endswith("/log")
