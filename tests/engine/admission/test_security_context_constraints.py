"""Pods of OpenShift clusters are held to the SecurityContextConstraints that their user or account may use."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit import Cluster
from simkit.logic.podsecurity.constraints import held, precedence
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.seams.caveats import NO_CONSTRAINTS
from tests.analysis.worlds import binding

ANN = Identity("ann", ("system:authenticated",))
RBAC = "rbac.authorization.k8s.io/v1"
SPEC: dict[str, Any] = {"containers": [{"name": "main", "image": "web"}]}
PRIVILEGED: dict[str, Any] = {
    "hostPID": True,
    "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
    "containers": [{"name": "main", "image": "web", "securityContext": {"privileged": True, "runAsUser": 0}}],
}
AS_ROOT = {**PRIVILEGED, "serviceAccountName": "root"}
HOSTED = {**SPEC, "hostPID": True}
RANGES = {
    "openshift.io/sa.scc.uid-range": "1000660000/10000",
    "openshift.io/sa.scc.supplemental-groups": "1000660000/10000",
    "openshift.io/sa.scc.mcs": "s0:c26,c5",
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "securitycontextconstraints.security.openshift.io"},
    "spec": {
        "group": "security.openshift.io",
        "scope": "Cluster",
        "names": {"plural": "securitycontextconstraints", "kind": "SecurityContextConstraints"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def constraint(name: str, strategy: str = "RunAsAny", **fields: Any) -> dict[str, Any]:
    """A constraint with one strategy for all that it chooses."""
    kinds = ("runAsUser", "seLinuxContext", "fsGroup", "supplementalGroups")
    head = {"apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints", "metadata": {"name": name}}
    return {**head, **{kind: {"type": strategy} for kind in kinds}, **fields}


RESTRICTED = constraint(
    "restricted-v2",
    "MustRunAs",
    runAsUser={"type": "MustRunAsRange"},
    supplementalGroups={"type": "RunAsAny"},
    allowPrivilegeEscalation=False,
    requiredDropCapabilities=["ALL"],
    allowedCapabilities=["NET_BIND_SERVICE"],
    seccompProfiles=["runtime/default"],
    volumes=["configMap", "downwardAPI", "emptyDir", "projected", "secret"],
)
LAX = constraint(
    "privileged",
    allowPrivilegedContainer=True,
    allowHostPID=True,
    allowHostNetwork=True,
    allowHostPorts=True,
    allowedCapabilities=["*"],
    seccompProfiles=["*"],
    volumes=["*"],
    users=["system:admin"],
)


def role(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    """A ClusterRole."""
    return {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}


def use(name: str) -> dict[str, Any]:
    """A ClusterRole that allows the use of a constraint."""
    rule = {"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"], "verbs": ["use"]}
    return role(f"use-{name}", {**rule, "resourceNames": [name]})


def world(*more: dict[str, Any], constraints: tuple[dict[str, Any], ...] = (RESTRICTED, LAX)) -> Cluster:
    """A cluster of OpenShift in which ann may make pods, and everybody may use ``restricted-v2``."""
    everybody = "group:system:authenticated"
    reviews = {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"], "verbs": ["create"]}
    pods = {"apiGroups": [""], "resources": ["pods", "pods/exec"], "verbs": ["*"]}
    return simkit.load(
        [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"node.openshift.io/os_id": "x"}}},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "1", "annotations": RANGES}},
            *(
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "shop"}}
                for name in ("default", "root")
            ),
            DEFINITION,
            *constraints,
            *(use(name) for name in ("restricted-v2", "privileged")),
            role("pods", pods),
            role("basic-user", reviews),
            binding("everybody", "use-restricted-v2", everybody),
            binding("basic-users", "basic-user", everybody),
            binding("ann", "pods", "user:ann", namespace="shop"),
            *more,
        ],
        captured=["*"],
    )


def root_may_use_privileged() -> dict[str, Any]:
    """The binding that makes the account ``root`` dangerous."""
    return binding("root", "use-privileged", "sa:shop/root", namespace="shop")


def made(cluster: Cluster, spec: dict[str, Any], name: str = "web", **annotations: str) -> Response:
    """The answer to ann, who makes a pod in ``shop``."""
    meta = {"name": name, "annotations": annotations}
    return cluster.perform(
        Request.of("POST", "/api/v1/namespaces/shop/pods", {"metadata": meta, "spec": spec}), identity=ANN
    )


def test_what_a_constraint_sets() -> None:
    """A plain pod gets the user, group and level of its namespace, and says which constraint admitted it."""
    pod = made(world(), SPEC).object
    assert pod["metadata"]["annotations"] == {
        "openshift.io/scc": "restricted-v2",
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "security.openshift.io/validated-scc-subject-type": "user",
    }
    assert pod["spec"]["securityContext"] == {
        "seLinuxOptions": {"level": "s0:c26,c5"},
        "fsGroup": 1000660000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["spec"]["containers"][0]["securityContext"] == {
        "capabilities": {"drop": ["ALL"]},
        "runAsUser": 1000660000,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
    }


def test_what_no_constraint_admits() -> None:
    """A privileged pod is refused with the reasons of each constraint."""
    answer = made(world(), PRIVILEGED)
    assert answer.status == 403
    start = 'pods "web" is forbidden: unable to validate against any security context constraint: ['
    assert answer.message.removeprefix(start).removesuffix("]").split(", provider ") == [
        "provider restricted-v2: .spec.securityContext.hostPID: Invalid value: true: Host PID is not allowed to be "
        'used, spec.volumes[0]: Invalid value: "hostPath": hostPath volumes are not allowed to be used',
        "restricted-v2: .containers[0].runAsUser: Invalid value: 0: must be in the ranges: [1000660000, 1000669999]",
        "restricted-v2: .containers[0].privileged: Invalid value: true: Privileged containers are not allowed",
        "restricted-v2: .containers[0].hostPID: Invalid value: true: Host PID is not allowed to be used",
        '"privileged": Forbidden: not usable by user or serviceaccount',
    ]


def test_the_account_of_a_pod_counts() -> None:
    """Whoever may make pods may use the constraints of every account of the namespace, and those that name it."""
    cluster = world(root_may_use_privileged())
    assert made(cluster, PRIVILEGED).status == 403
    answer = made(cluster, AS_ROOT)
    assert answer.object["metadata"]["annotations"]["openshift.io/scc"] == "privileged"
    named = {**LAX, "users": ["system:serviceaccount:shop:default"]}
    assert made(world(constraints=(RESTRICTED, named)), PRIVILEGED).status == 201


def test_a_required_constraint() -> None:
    """An annotation pins the constraint; one that is not there is refused, and the annotation stays as it is."""
    cluster = world(root_may_use_privileged())
    spec = {**SPEC, "serviceAccountName": "root"}
    pinned = made(cluster, spec, "pinned", **{"openshift.io/required-scc": "privileged"})
    assert pinned.object["metadata"]["annotations"]["openshift.io/scc"] == "privileged"
    answer = made(cluster, spec, "other", **{"openshift.io/required-scc": "none"})
    assert 'failed to retrieve the required SCC "none"' in answer.message
    patch = Request.of(
        "PATCH",
        "/api/v1/namespaces/shop/pods/pinned",
        {"metadata": {"annotations": {"openshift.io/required-scc": "restricted-v2"}}},
        content_type="application/merge-patch+json",
    )
    assert "invalid change of required security context constraint annotation" in cluster.perform(patch).message


def test_changes_and_commands_need_a_constraint() -> None:
    """A user who may use no constraint of a pod can neither label it nor run commands in it."""
    cluster = world()
    assert cluster.perform(Request.of("POST", "/api/v1/namespaces/shop/pods", pod_of(PRIVILEGED))).status == 201
    label = Request.of(
        "PATCH",
        "/api/v1/namespaces/shop/pods/web",
        {"metadata": {"labels": {"a": "b"}}},
        content_type="application/merge-patch+json",
    )
    assert cluster.perform(label, identity=ANN).status == 403
    command = Request.of("POST", "/api/v1/namespaces/shop/pods/web/exec?command=id&stdout=true")
    told = cluster.perform(command, identity=ANN).message
    assert "exec operation is not allowed because the pod's security context exceeds your permissions" in told


def pod_of(spec: dict[str, Any]) -> dict[str, Any]:
    """A pod named ``web``."""
    return {"metadata": {"name": "web"}, "spec": spec}


def test_forks_and_proofs_are_held_to_constraints() -> None:
    """There is a path by a privileged pod, and it is proven, where an account of the namespace may use a constraint."""
    assert not world().escalations("user:ann", goal="a node")
    cluster = world(root_may_use_privileged())
    assert cluster.escalations("user:ann", goal="a node")[0].prove(cluster)


def test_a_pod_without_the_processes_of_its_node_is_proven() -> None:
    """Where a constraint admits the files of a node alone, the proof asks for no more, as hostmount-anyuid does."""
    mounting = constraint("mounting", volumes=["hostPath", "secret", "projected"])
    bound = binding("mount", "use-mounting", "sa:shop/root", namespace="shop")
    cluster = world(use("mounting"), bound, constraints=(RESTRICTED, LAX, mounting))
    (path,) = cluster.escalations("user:ann", goal="a node")
    assert path.prove(cluster), path.prove(cluster)


def test_a_pod_of_another_account_is_proven() -> None:
    """Pods of proofs run as a user of the namespace, which constraints ask for."""
    cluster = world(binding("strong", "cluster-admin", "sa:shop/root", namespace="shop"), role_of_everything())
    path = cluster.escalations("user:ann", goal="get secrets in shop")[0]
    assert path.prove(cluster), path.prove(cluster)


def role_of_everything() -> dict[str, Any]:
    """cluster-admin."""
    return role("cluster-admin", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})


def test_where_constraints_were_not_captured() -> None:
    """A dump of OpenShift without constraints admits pods with a warning, and a plan has a note."""
    cluster = world(constraints=())
    assert NO_CONSTRAINTS in made(cluster, PRIVILEGED).warnings
    plan = cluster.plan({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": SPEC}, namespace="shop")
    assert any("SecurityContextConstraints are not in the dump" in note for note in plan.notes)


def test_other_clusters_have_no_constraints() -> None:
    """Objects of the kind mean nothing to the servers of others."""
    cluster = Cluster(seed=1)
    cluster.apply(DEFINITION)
    cluster.apply(RESTRICTED)
    answer = cluster.perform(Request.of("POST", "/api/v1/namespaces/default/pods", pod_of(HOSTED)))
    assert answer.status == 201
    assert not answer.warnings


@pytest.mark.parametrize(
    ("fields", "context", "errors"),
    [
        ({"allowPrivilegeEscalation": False}, {"allowPrivilegeEscalation": True}, 1),
        ({"readOnlyRootFilesystem": True}, {"readOnlyRootFilesystem": False}, 1),
        ({"runAsUser": {"type": "MustRunAsNonRoot"}}, {"runAsUser": 0, "runAsNonRoot": True}, 1),
        ({"runAsUser": {"type": "MustRunAs", "uid": 7}}, {"runAsUser": 8}, 1),
        ({"allowedCapabilities": ["CHOWN"]}, {"capabilities": {"add": ["CHOWN", "KILL"]}}, 1),
        ({"seccompProfiles": ["localhost/a"]}, {"seccompProfile": {"type": "Unconfined"}}, 1),
        ({}, {"seccompProfile": {"type": "Unconfined"}}, 1),
        ({"seLinuxContext": {"type": "MustRunAs"}}, {"seLinuxOptions": {"level": "s0:c5,c26"}}, 0),
        ({"seLinuxContext": {"type": "MustRunAs"}}, {"seLinuxOptions": {"level": "s0:c1", "type": "t"}}, 2),
    ],
)
def test_what_a_constraint_refuses_of_a_container(fields: Any, context: Any, errors: int) -> None:
    """Each field of a constraint has its field in a container."""
    pod = {"metadata": {}, "spec": {"containers": [{"name": "main", "securityContext": context}]}}
    found = held(constraint("c", **fields), {"metadata": {"annotations": RANGES}}, pod)
    assert len(found.errors) == errors, found.errors


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": "x"},
        {"volumes": 5},
        {"users": {"ann": True}},
        {"runAsUser": "x"},
        {"runAsUser": {"type": "MustRunAs", "uid": "x"}},
        {"seLinuxContext": {"type": "MustRunAs", "seLinuxOptions": {"level": 1}}},
        {"seccompProfiles": [1]},
        {"requiredDropCapabilities": [{"a": 1}]},
        {"fsGroup": {"type": "MustRunAs", "ranges": [5]}},
        {"supplementalGroups": {"type": "MustRunAs", "ranges": [{"min": "a", "max": 2}]}},
        {"allowedFlexVolumes": [1]},
    ],
)
def test_a_constraint_that_cannot_be_read(fields: Any) -> None:
    """It counts neither as one that admits a pod nor as one that refuses it: a proof says why it was not executed."""
    cluster = world(constraints=({**RESTRICTED, **fields}, LAX))
    answer = made(cluster, SPEC)
    assert (answer.status, "restricted-v2 cannot be read" in answer.message) == (500, True)
    proof = cluster.escalations("user:ann", goal="a node")[0].prove(cluster)
    assert proof.verdict == "not executed"
    assert made(world(root_may_use_privileged(), constraints=({**RESTRICTED, **fields}, LAX)), AS_ROOT).status == 201


_POINTS = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.integers(0, 2),
        "allowPrivilegedContainer": st.booleans(),
        "allowHostPorts": st.booleans(),
        "allowHostNetwork": st.booleans(),
        "volumes": st.lists(st.sampled_from(["*", "hostPath", "nfs", "secret", "none"]), max_size=3),
        "allowedCapabilities": st.lists(st.sampled_from(["*", "ALL", "CHOWN"]), max_size=3),
    },
)


@given(_POINTS, _POINTS)
def test_the_more_restrictive_constraint_comes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Priority decides, then what a constraint allows: privileged containers weigh more than all that follows."""
    one, two = constraint("a", **first), constraint("b", **second)
    if one.get("priority", 0) != two.get("priority", 0):
        assert (precedence(one) < precedence(two)) == (one.get("priority", 0) > two.get("priority", 0))
        return
    for field in ("allowPrivilegedContainer", "allowHostPorts", "allowHostNetwork"):
        if bool(one.get(field)) != bool(two.get(field)):
            assert (precedence(one) < precedence(two)) == bool(two.get(field))
            return


@pytest.mark.parametrize("text", ["", "x", "0", "1000/x", "1000/100,x", "9" * 5000 + "/1"])
def test_users_of_a_namespace_that_cannot_be_read(text: str) -> None:
    """They count as not yet given, and never as root."""
    pod = {"metadata": {}, "spec": {"containers": [{"name": "main"}]}}
    namespace = {"metadata": {"annotations": {**RANGES, "openshift.io/sa.scc.uid-range": text}}}
    found = held(RESTRICTED, namespace, pod)
    assert found.pod["spec"]["containers"][0]["securityContext"]["runAsUser"] == 1_000_000_000
