"""Pod security policies at work: who may use them, which one is chosen, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.admission.objects import change, obj, pod, refusal

ANY = {"rule": "RunAsAny"}
ANN = Identity("ann", ("system:authenticated",))
PODS = "/api/v1/namespaces/default/pods"


def policy(name: str, **rules: Any) -> dict[str, Any]:
    spec = {"seLinux": ANY, "runAsUser": ANY, "fsGroup": ANY, "supplementalGroups": ANY, "volumes": ["*"], **rules}
    return obj("policy/v1beta1", "PodSecurityPolicy", name, spec=spec)


def cluster_at(release: str = "1.21") -> simkit.Cluster:
    """A cluster with the plugin; Ann may write pods."""
    cluster = simkit.Cluster(options=Options(release=release, seed=1, enable_admission_plugins=("PodSecurityPolicy",)))
    cluster.settle()
    grant(cluster, "pods", "", ["create", "update", "patch"], ["pods"], "User:ann")
    return cluster


def grant(
    cluster: simkit.Cluster, name: str, group: str, verbs: list[str], resources: list[str], subject: str, **more: Any
) -> None:
    """A role in the namespace default, bound to one user or service account."""
    rule = {"apiGroups": [group], "verbs": verbs, "resources": resources, **more}
    space = {"namespace": "default"}
    cluster.create(obj("rbac.authorization.k8s.io/v1", "Role", name, meta=space, rules=[rule]))
    kind, _, who = subject.partition(":")
    named = {"kind": kind, "name": who, **({"namespace": "default"} if kind == "ServiceAccount" else {})}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    cluster.create(obj("rbac.authorization.k8s.io/v1", "RoleBinding", name, meta=space, roleRef=role, subjects=[named]))


def may_use(cluster: simkit.Cluster, name: str, subject: str, group: str = "policy") -> None:
    grant(cluster, f"use-{name}", group, ["use"], ["podsecuritypolicies"], subject, resourceNames=[name])


def admitted(cluster: simkit.Cluster, made: dict[str, Any], who: Identity | None = ANN) -> dict[str, Any]:
    return dict(cluster.create({**made, "metadata": {**made["metadata"], "namespace": "default"}}, identity=who))


def test_off_by_default() -> None:
    """Without the plugin, policies are kept and hold nobody."""
    cluster = simkit.Cluster("1.21", seed=1)
    cluster.settle()
    assert "annotations" not in admitted(cluster, pod(), None)["metadata"]


def test_without_policies_no_pod_is_admitted() -> None:
    """Even an administrator needs a policy; 1.17 did not say who refuses."""
    text = "no providers available to validate pod request"
    assert refusal(cluster_at(), pod()).message == f'pods "p" is forbidden: PodSecurityPolicy: {text}'
    assert refusal(cluster_at("1.17"), pod()).message == f'pods "p" is forbidden: {text}'


@pytest.mark.parametrize("subject", ["User:ann", "ServiceAccount:default"])
@pytest.mark.parametrize("group", ["policy", "extensions"])
def test_the_user_or_the_account_of_the_pod_may_use_it(subject: str, group: str) -> None:
    """In the group of policies or the one of old; who may not use a policy does not learn its errors."""
    cluster = cluster_at()
    cluster.create(policy("narrow"))
    refused = refusal(cluster, pod(hostNetwork=True), identity=ANN)
    assert refused.message == 'pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: []'
    may_use(cluster, "narrow", subject, group)
    refused = refusal(cluster, pod(hostNetwork=True), identity=ANN)
    error = "spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used"
    assert refused.message == f'pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: [{error}]'
    assert admitted(cluster, pod())["metadata"]["annotations"] == {"kubernetes.io/psp": "narrow"}


def test_older_wording() -> None:
    """Up to 1.18 the plugin does not name itself."""
    cluster = cluster_at("1.16")
    cluster.create(policy("narrow"))
    message = refusal(cluster, pod(), identity=ANN).message
    assert message == 'pods "p" is forbidden: unable to validate against any pod security policy: []'


def test_policies_that_change_nothing_come_first() -> None:
    """Then those that change something, by name; a changed pod names its policy too."""
    cluster = cluster_at()
    users = {"rule": "MustRunAs", "ranges": [{"min": 7, "max": 9}]}
    for name, rules in (("a", {"runAsUser": users}), ("b", {"runAsUser": users}), ("c", {})):
        cluster.create(policy(name, **rules))
        may_use(cluster, name, "User:ann")
    assert admitted(cluster, pod("one"))["metadata"]["annotations"] == {"kubernetes.io/psp": "c"}
    cluster.delete("podsecuritypolicies", "c")
    made = admitted(cluster, pod("two"))
    assert made["metadata"]["annotations"] == {"kubernetes.io/psp": "a"}
    assert made["spec"]["containers"][0]["securityContext"] == {"runAsUser": 7}


def test_updates_are_validated() -> None:
    """Nothing is set in updates: where no policy admits the pod as it is, it cannot change, except for its owners."""
    cluster = cluster_at()
    cluster.create(policy("wide", hostNetwork=True))
    may_use(cluster, "wide", "User:ann")
    admitted(cluster, pod(hostNetwork=True))
    assert change(cluster, f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, identity=ANN).status == 200
    cluster.delete("podsecuritypolicies", "wide")
    cluster.create(policy("wide"))
    answer = change(cluster, f"{PODS}/p", {"metadata": {"labels": {"a": "c"}}}, identity=ANN)
    assert answer.status == 403
    assert "PodSecurityPolicy: unable to validate pod: [spec.securityContext.hostNetwork" in answer.body.decode()
    assert change(cluster, f"{PODS}/p", {"metadata": {"finalizers": ["x.example.com/y"]}}, identity=ANN).status == 200


def test_policies_are_validated() -> None:
    """A policy with rules that are unknown or at odds is refused; what it does not say of escalation is allowed."""
    cluster = simkit.Cluster("1.24", seed=1)
    body = policy(
        "wrong",
        seLinux={"rule": "Never"},
        runAsGroup={"rule": "MustRunAs"},
        volumes=["hostpath"],
        requiredDropCapabilities=["KILL"],
        defaultAddCapabilities=["KILL"],
        allowedHostPaths=[{"pathPrefix": "/a/../b"}],
        allowedUnsafeSysctls=["net.*"],
        forbiddenSysctls=["net.core.x"],
        runtimeClass={"allowedRuntimeClassNames": ["a", "a"], "defaultRuntimeClassName": "b"},
    )
    details = refusal(cluster, body).details or {}
    causes = [(each["field"], each["message"].split(":")[0]) for each in details["causes"]]
    assert causes == [
        ("spec.runAsGroup.ranges", "Invalid value"),
        ("spec.seLinux.rule", "Unsupported value"),
        ("spec.volumes", "Unsupported value"),
        ("defaultAddCapabilities", "Invalid value"),
        ("spec.allowedHostPaths[0]", "Invalid value"),
        ("spec.forbiddenSysctls[0]", "Invalid value"),
        ("spec.runtimeClass.allowedRuntimeClassNames[1]", "Duplicate value"),
        ("spec.runtimeClass.allowedRuntimeClassNames", "Required value"),
    ]
    made = cluster.create(policy("fine", privileged=False, allowedHostPaths=[{"pathPrefix": "/a", "readOnly": False}]))
    assert made["spec"] == {
        **policy("fine")["spec"],
        "allowedHostPaths": [{"pathPrefix": "/a"}],
        "allowPrivilegeEscalation": True,
    }


def test_policies_in_tables() -> None:
    """The columns of kubectl get psp."""
    cluster = simkit.Cluster("1.24", seed=1)
    cluster.create(policy("fine", allowedCapabilities=["KILL", "CHOWN"]))
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    answer = cluster.perform(Request.of("GET", "/apis/policy/v1beta1/podsecuritypolicies", headers=accept))
    table = json.loads(answer.body)
    assert [column["name"] for column in table["columnDefinitions"]][:3] == ["Name", "Priv", "Caps"]
    cells = ["fine", "false", "KILL,CHOWN", "RunAsAny", "RunAsAny", "RunAsAny", "RunAsAny", False, "*"]
    assert table["rows"][0]["cells"] == cells
