"""Paths executed on forks: proven, refused at the right step, or not executed; never more than was done."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from simkit.analysis import forked
from simkit.analysis.escalation import CLUSTER, Path, Proofs, escalations, next_steps, prove, risky_permissions
from simkit.analysis.escalation.prove import proof as proof_module
from simkit.analysis.escalation.prove.proof import prove_all
from simkit.cluster.cluster import Cluster
from simkit.cluster.loading import demo, load
from simkit.meta.errors import SimkitError
from tests.analysis.escalation.scenes import ATTACKER, RBAC, fenced, node, pod, scene, served
from tests.analysis.worlds import account, binding, namespace, role, rule

TOKENS = rule("create", "serviceaccounts/token")
ADMIN = binding("ops-admin", "cluster-admin", "sa:ops/admin")
CERTIFICATES = [
    rule("create,get", "certificatesigningrequests", groups="certificates.k8s.io"),
    rule("update", "certificatesigningrequests/approval", groups="certificates.k8s.io"),
    rule("approve", "signers", groups="certificates.k8s.io", names="kubernetes.io/kube-apiserver-client"),
]


def attacked(*objects: dict[str, Any], **more: Any) -> tuple[Cluster, Path]:
    """A server with the objects, and the attacker's best path to cluster-admin."""
    cluster = served(*objects, ADMIN)
    paths = escalations(cluster.snapshot(), ATTACKER, goal=CLUSTER, ways="each", **more)
    return cluster, paths[0]


def outline(cluster: Cluster, path: Path) -> list[tuple[str, int]]:
    """The requests of a proof that must succeed: primitive and status."""
    proof = prove(path, cluster)
    assert proof.proven, str(proof)
    return [(one.primitive, one.status) for one in proof.performed if one.request]


def test_a_dump_without_nodes_has_a_name_for_the_kubelet() -> None:
    """A pod is made and its token read by a kubelet of some node: a dump of access alone has none."""
    cluster, path = attacked(*scene(rule("create", "pods"), place="ops"))
    kubelets = [one.actor for one in prove(path, cluster).performed if one.actor.startswith("system:node:")]
    assert kubelets
    assert all(actor.startswith("system:node:some-node") for actor in kubelets), kubelets


def test_a_token_is_requested_and_used() -> None:
    """The credential is the one that the fork issued, and the goal is granted to its holder."""
    cluster, path = attacked(*scene(TOKENS, place="ops"))
    before = cluster.snapshot()
    proof = prove(path, cluster)
    assert proof
    assert proof.assumptions == ()
    assert [(one.primitive, one.status) for one in proof.performed] == [("C5", 201), ("A1", 201), ("end", 201)]
    assert proof.performed[-1].actor == "system:serviceaccount:ops:admin"
    assert proof.performed[-1].message.startswith("allowed: RBAC: allowed by ClusterRoleBinding")
    assert cluster.snapshot() is before, "the cluster itself is not touched"


@pytest.mark.parametrize(
    ("rules", "place", "primitive", "assumed"),
    [
        ([rule("create", "pods")], "ops", "D1", 1),
        ([rule("create", "jobs", groups="batch")], "ops", "D2", 2),
        ([rule("create", "secrets"), rule("watch", "secrets")], "ops", "C3", 1),
        ([rule("impersonate", "serviceaccounts", names="admin")], "ops", "B3", 0),
        ([rule("impersonate", "users,groups")], "", "B2", 0),
        ([rule("create", "clusterrolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)], "", "A4", 0),
        ([rule("update", "clusterrolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)], "", "A4", 0),
        ([rule("patch,escalate", "clusterroles", groups=RBAC, names="rules")], "", "A5", 0),
        ([rule("create", "mutatingwebhookconfigurations", groups="admissionregistration.k8s.io")], "", "G1", 2),
        (CERTIFICATES, "", "F1", 1),
    ],
)
def test_primitives_are_proven(rules: list[dict[str, Any]], place: str, primitive: str, assumed: int) -> None:
    """Each with the assumptions that it takes, and no other."""
    cluster, path = attacked(*scene(*rules, place=place))
    assert path.primitives[0] == primitive
    proof = path.prove(cluster)
    assert proof.proven, str(proof)
    assert len(proof.assumptions) == assumed


def test_running_pods_and_nodes() -> None:
    """Steps of the kubelet are done in its name; steps without a request are reported."""
    host = {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}
    mounted = {"containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "host", "mountPath": "/h"}]}]}
    objects = [
        *(
            namespace("dev"),
            account("dev", "attacker"),
            account("dev", "other"),
            fenced("ops"),
            account("ops", "admin"),
        ),
        *(role("rules", rule("create", "pods/exec")), binding("attack", "rules", ATTACKER, namespace="dev")),
        *(node("node-1"), pod("dev", "debug", "other", {**host, **mounted}), pod("ops", "operator", "admin", safe())),
    ]
    cluster, path = attacked(*objects)
    assert path.primitives == ("D5", "K3", "K5", "K0", "A1")
    proof = prove(path, cluster)
    assert proof.proven, str(proof)
    assert any(one.actor.startswith("system:node:node-1") for one in proof.performed)
    assert "hostPath /" in " ".join(proof.assumptions)


def safe() -> dict[str, Any]:
    """The fields that a pod needs for the restricted level."""
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "app", "securityContext": context}],
    }


def test_a_label_taken_off_lets_a_host_path_in() -> None:
    """Both requests are the attacker's, and the second would have been refused without the first."""
    control = node("cp", **{"node-role.kubernetes.io/control-plane": ""})
    cluster, path = attacked(*scene(rule("create", "pods"), rule("patch", "namespaces")), control)
    assert path.primitives == ("D10", "E7")
    assert outline(cluster, path)[:2] == [("D10", 200), ("D10", 201)]


@pytest.mark.parametrize(
    ("verbs", "resource", "asked"),
    [
        ("list", "secrets", "review of self: list secrets in kube-system"),
        ("watch", "secrets", "review of self: watch secrets in kube-system"),
        ("get", "secrets", "review of self: get secrets in kube-system"),
        ("patch", "secrets", "review of self: patch secrets in kube-system"),
        ("deletecollection", "secrets", "review of self: deletecollection secrets in kube-system"),
        ("create", "pods", "GET /api/v1/namespaces/dev/secrets/taken"),
    ],
)
def test_secrets_are_read_as_they_can_be(verbs: str, resource: str, asked: str) -> None:
    """The end of the proof asks for the verb that is granted; a mounted secret has been shown already."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "taken", "namespace": "dev"}}
    cluster = served(*scene(rule(verbs, resource), place=""), secret)
    [path] = escalations(cluster.snapshot(), ATTACKER, goal="all secrets")
    proof = path.prove(cluster)
    assert proof.proven, str(proof)
    assert proof.performed[-1].request == asked


@pytest.mark.parametrize(
    "goal", ["list customresourcedefinitions", "create deployments in dev", "get nodes", "get /logs"]
)
def test_goals_are_asked_for_in_their_group(goal: str) -> None:
    """Words without a group name the resource that the server knows by it."""
    cluster = served(*scene(TOKENS, place="ops"), ADMIN)
    [path] = escalations(cluster.snapshot(), ATTACKER, goal=goal)
    assert path.prove(cluster).proven, str(path.prove(cluster))


def test_a_missing_precondition_is_refused_where_it_is_missed() -> None:
    """The path of one cluster, executed on another that lacks one thing."""
    cluster, path = attacked(*scene(TOKENS, place="ops"))
    without_grant = served(*scene(TOKENS, place="dev"), ADMIN)
    refused = prove(path, without_grant)
    assert (refused.verdict, refused.refused_at) == ("not proven", 1)
    assert "cannot create resource" in refused.reason
    assert not refused
    without_account = served(*scene(TOKENS, place="ops"), ADMIN)
    without_account.delete("sa", "admin", "ops")
    assert "not found" in prove(path, without_account).reason
    without_power = served(*scene(TOKENS, place="ops"))
    at_the_end = prove(path, without_power)
    assert (at_the_end.verdict, at_the_end.refused_at) == ("not proven", 2)
    assert "may not * *.*" in at_the_end.reason
    assert prove(path, cluster).proven


def test_pod_security_refuses_at_the_right_step() -> None:
    """A host path is let into an unlabelled namespace, and kept out of a labelled one."""
    control = node("cp", **{"node-role.kubernetes.io/control-plane": ""})
    attack = [role("rules", rule("create", "pods")), binding("attack", "rules", ATTACKER, namespace="dev")]
    unlabelled = [
        namespace("dev"),
        account("dev", "attacker"),
        namespace("ops"),
        account("ops", "admin"),
        *attack,
        control,
    ]
    cluster, path = attacked(*unlabelled)
    assert path.primitives == ("D9", "E7")
    assert prove(path, cluster).proven
    labelled = cluster.fork()
    labelled.apply([fenced("dev", "baseline")])
    refused = prove(path, labelled)
    assert (refused.verdict, refused.refused_at) == ("not proven", 1)
    assert 'violates PodSecurity "baseline:latest"' in refused.reason


def test_a_step_that_cannot_be_executed_is_not_proven() -> None:
    """No pod to run commands in, no such object: that is no proof of anything."""
    cluster = served(*scene(rule("create", "pods/exec"), rule("delete", "networkpolicies", groups="networking.k8s.io")))
    proofs = next_steps(cluster.snapshot(), ATTACKER, sandbox=cluster).prove()
    assert {proof.path.primitives[0]: proof.verdict for proof in proofs} == {"D5": "not executed", "I9": "not executed"}
    assert not proofs.proven


def test_impacts_are_proven_by_what_they_write() -> None:
    """Harm that is no access: the request itself went through."""
    priority = rule("create", "priorityclasses", groups="scheduling.k8s.io")
    volumes = rule("create", "persistentvolumes")
    cluster = served(*scene(priority, volumes, rule("get", "nodes/proxy"), place=""))
    table = risky_permissions(cluster.snapshot(), ATTACKER, sandbox=cluster)
    verdicts = dict(zip(table["primitive"], table["verdict"]))
    assert (verdicts["D17"], verdicts["I1"]) == ("proven", "proven")
    assert verdicts["E1"] == "possible", "there is no pod, but there may be one"


def test_gains_of_others_are_checked_as_those_others() -> None:
    """A role pushed into an aggregated one: its holders have the rules after the controller ran."""
    reader = role("secret-reader", rule("get,list", "secrets"))
    objects = [
        *(reader, binding("own", "secret-reader", ATTACKER)),
        *(*scene(rule("patch", "clusterroles", groups=RBAC, names="secret-reader"), place=""),),
        binding("all", "view", "group:system:authenticated"),
    ]
    cluster = served(*objects)
    [path] = [one for one in next_steps(cluster.snapshot(), ATTACKER) if one.primitives == ("A8",)]
    proof = prove(path, cluster)
    assert proof.proven, str(proof)
    assert "review of system:authenticated: get secrets" in str(proof)


def test_a_facade_proves_its_own_paths() -> None:
    """cluster.escalations gives paths that know their cluster; others must be told."""
    cluster = served(*scene(TOKENS, place="ops"), ADMIN)
    proofs = cluster.escalations(ATTACKER).prove()
    assert isinstance(proofs, Proofs)
    assert proofs.proven
    assert "proven" in str(proofs)
    [bare] = escalations(cluster.snapshot(), ATTACKER, goal=CLUSTER)
    with pytest.raises(SimkitError, match="proven on a cluster"):
        bare.prove()


def test_processes_prove_what_this_one_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many paths are shared by two processes; each proof belongs to its path, with the same requests and answers."""
    begun: list[Any] = []
    begin = forked._begun

    def noted(*given: Any) -> Any:
        begun.append(given)
        return begin(*given)

    monkeypatch.setattr(forked, "_cores", lambda: 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(forked, "_begun", noted)
    monkeypatch.setattr(proof_module, "_WORTH_A_PROCESS", 1)
    risks = rule("create", "pods/exec"), rule("delete", "networkpolicies", groups="networking.k8s.io"), TOKENS
    cluster = served(*scene(*risks, place="ops"), ADMIN)
    paths = [*cluster.escalations(ATTACKER), *next_steps(cluster.snapshot(), ATTACKER)] * 2
    proofs = prove_all(paths, cluster)
    assert len(begun) == 1
    assert [proof.path for proof in proofs] == paths
    alone = {path: prove(path, cluster) for path in paths}
    assert {proof.verdict for proof in proofs} == {"proven", "not executed"}
    assert all(
        (proof.verdict, proof.reason, proof.performed)
        == (alone[proof.path].verdict, alone[proof.path].reason, alone[proof.path].performed)
        for proof in proofs
    )


def test_paths_of_the_same_steps_are_executed_together() -> None:
    """Paths to three goals by the same steps take them on one fork, and each is proven as if it were alone."""
    cluster, _ = attacked(*scene(TOKENS, place="ops"))
    paths = list(cluster.escalations(ATTACKER))
    assert len({path.edges for path in paths}) < len(paths)
    shown = [(proof.verdict, proof.reason, proof.performed) for proof in prove_all(paths, cluster)]
    assert shown == [
        (proof.verdict, proof.reason, proof.performed) for proof in (prove(path, cluster) for path in paths)
    ]


@pytest.mark.parametrize(("primitive", "resource"), [("D5", "pods/exec"), ("E1", "nodes/proxy")])
def test_an_admission_policy_refuses_a_connection(primitive: str, resource: str) -> None:
    """A policy that denies CONNECT answers 422, which is a refusal, and not a node that cannot be reached."""
    cluster = demo(seed=1)
    path = next(one for one in cluster.escalations() if one.primitives[:1] == (primitive,))
    assert path.prove(cluster).proven
    resources = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": [resource]}]
    spec = {"matchConstraints": {"resourceRules": resources}, "validations": [{"expression": "false"}]}
    bound = {"policyName": "none", "validationActions": ["Deny"]}
    fork = cluster.fork()
    for kind, inner in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", bound)):
        meta = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "none"}}
        fork.apply([{**meta, "spec": inner}])
    fork.settle()
    proof = path.prove(fork)
    assert proof.verdict == "not proven"
    assert "ValidatingAdmissionPolicy 'none'" in proof.reason


def test_proofs_are_readable() -> None:
    """As text, as a table, as HTML."""
    cluster, path = attacked(*scene(rule("create", "pods"), place="ops"))
    proof = path.prove(cluster)
    text = str(proof)
    assert text.startswith("proven, 1 assumed: sa:dev/attacker -> cluster-admin")
    assert "POST /api/v1/namespaces/ops/pods -> 201" in text
    assert "assumed: the pod starts on a node" in text
    assert list(proof.to_frame()["primitive"]) == ["D1", "D1", "A1", "end"]
    assert "<ul" in proof._repr_html_()
    assert "<table" in Proofs((proof,))._repr_html_()


def test_goals_of_clusters_in_which_nobody_may_review_itself() -> None:
    """Without the role ``system:basic-user``, an administrator reviews what the attacker has reached."""
    objects = [namespace("shop"), account("shop", "default"), account("shop", "strong")]
    objects += [role("everything", rule("*", "*", groups="*")), role("maker", rule("create", "pods"))]
    objects += [
        binding("strong", "everything", "sa:shop/strong"),
        binding("ann", "maker", "user:ann", namespace="shop"),
    ]
    cluster = load(objects, captured=["*"])
    path = cluster.escalations("user:ann", goal="get secrets in shop")[0]
    assert path.prove(cluster), path.prove(cluster)
