"""What pod security policies set in pods, and what they have against them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.logic.podsecuritypolicy.evaluate import defaulted, is_usable, problems
from simkit.schema.behaviour import default_behaviour

ANY = {"rule": "RunAsAny"}
SECCOMP = "seccomp.security.alpha.kubernetes.io"
ARMOR = "apparmor.security.beta.kubernetes.io"


def policy(notes: dict[str, str] | None = None, **rules: Any) -> dict[str, Any]:
    """A policy that allows all volumes and users; ``rules`` say more."""
    spec = {"seLinux": ANY, "runAsUser": ANY, "fsGroup": ANY, "supplementalGroups": ANY, "volumes": ["*"], **rules}
    return {"metadata": {"name": "p", "annotations": notes or {}}, "spec": spec}


def pod(context: dict[str, Any] | None = None, notes: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod with one container, whose security context is given."""
    container = {"name": "c", "image": "i", **({"securityContext": context} if context is not None else {})}
    metadata = {"name": "pod", **({"annotations": notes} if notes else {})}
    return {"metadata": metadata, "spec": {"securityContext": {}, "containers": [container], **spec}}


def texts(rules: Mapping[str, Any], made: Mapping[str, Any], release: str = "1.24") -> list[str]:
    return [error.told(default_behaviour(release)) for error in problems(default_behaviour(release), rules, made)]


def ranges(rule: str, *pairs: tuple[int, int]) -> dict[str, Any]:
    return {"rule": rule, "ranges": [{"min": low, "max": high} for low, high in pairs]}


def test_an_open_policy_changes_nothing() -> None:
    """The pod comes back as it is, so that it can be told from a changed one."""
    made = pod()
    assert defaulted(policy(), made) is made
    assert texts(policy(), made) == []


def test_ids_and_labels_are_set() -> None:
    """The first id of the first range; the pod's SELinux labels are not repeated in containers."""
    labels = {"level": "s0:c1,c2"}
    rules = policy(
        runAsUser=ranges("MustRunAs", (5, 9), (20, 20)),
        runAsGroup=ranges("MustRunAs", (6, 6)),
        fsGroup=ranges("MustRunAs", (7, 7)),
        supplementalGroups=ranges("MustRunAs", (8, 8)),
        seLinux={"rule": "MustRunAs", "seLinuxOptions": labels},
    )
    made = defaulted(rules, pod())
    assert made["spec"]["securityContext"] == {"fsGroup": 7, "supplementalGroups": [8], "seLinuxOptions": labels}
    assert made["spec"]["containers"][0]["securityContext"] == {"runAsUser": 5, "runAsGroup": 6}
    assert texts(rules, made) == []


def test_what_the_pod_says_for_its_containers_stays() -> None:
    """A user of the pod is no reason to set one in containers, and MayRunAs sets nothing."""
    rules = policy(runAsUser=ranges("MustRunAs", (5, 9)), fsGroup=ranges("MayRunAs", (1, 2)))
    made = pod(securityContext={"runAsUser": 7})
    assert defaulted(rules, made) is made


def test_capabilities_and_flags_are_set() -> None:
    """Required drops and default additions, sorted; what the container drops is not added."""
    rules = policy(
        requiredDropCapabilities=["NET_RAW", "ALL"],
        defaultAddCapabilities=["CHOWN", "KILL"],
        readOnlyRootFilesystem=True,
        allowPrivilegeEscalation=False,
        runAsUser={"rule": "MustRunAsNonRoot"},
    )
    made = defaulted(rules, pod({"capabilities": {"drop": ["KILL"]}}))
    assert made["spec"]["containers"][0]["securityContext"] == {
        "capabilities": {"add": ["CHOWN"], "drop": ["ALL", "KILL", "NET_RAW"]},
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
    }


def test_profiles_and_class_are_set() -> None:
    """AppArmor for each container, seccomp for the pod, both in annotations."""
    notes = {f"{ARMOR}/defaultProfileName": "runtime/default", f"{SECCOMP}/defaultProfileName": "docker/default"}
    made = defaulted(policy(notes, runtimeClass={"defaultRuntimeClassName": "kata"}), pod())
    assert made["spec"]["runtimeClassName"] == "kata"
    assert made["metadata"]["annotations"] == {
        f"{SECCOMP}/pod": "docker/default",
        f"container.{ARMOR}/c": "runtime/default",
    }


@pytest.mark.parametrize(
    ("rules", "made", "expected"),
    [
        (
            {"runAsUser": ranges("MustRunAs", (5, 9), (20, 20))},
            pod({"runAsUser": 3}),
            "spec.containers[0].securityContext.runAsUser: Invalid value: 3: must be in the ranges: [{5 9} {20 20}]",
        ),
        (
            {"runAsUser": {"rule": "MustRunAsNonRoot"}},
            pod({"runAsUser": 0}),
            "spec.containers[0].securityContext.runAsUser: Invalid value: 0: running with the root UID is forbidden",
        ),
        (
            {"runAsUser": {"rule": "MustRunAsNonRoot"}},
            pod(),
            "spec.containers[0].securityContext.runAsNonRoot: Required value: must be true",
        ),
        (
            {"fsGroup": ranges("MustRunAs", (5, 9))},
            pod(securityContext={"fsGroup": 3}),
            "spec.securityContext.fsGroup: Invalid value: []int64{3}: group 3 must be in the ranges: [{5 9}]",
        ),
        (
            {"seLinux": {"rule": "MustRunAs", "seLinuxOptions": {"level": "s0:c1,c2"}}},
            pod(securityContext={"seLinuxOptions": {"level": "s1:c1,c2"}}),
            'spec.securityContext.seLinuxOptions.level: Invalid value: "s1:c1,c2": must be s0:c1,c2',
        ),
        (
            {},
            pod(hostNetwork=True),
            "spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used",
        ),
        (
            {"forbiddenSysctls": ["net.*"]},
            pod(securityContext={"sysctls": [{"name": "net.core.somaxconn"}]}),
            'pod.spec.securityContext.sysctls[0]: Forbidden: sysctl "net.core.somaxconn" is not allowed',
        ),
        (
            {},
            pod(securityContext={"sysctls": [{"name": "net.core.somaxconn"}]}),
            'pod.spec.securityContext.sysctls[0]: Forbidden: unsafe sysctl "net.core.somaxconn" is not allowed',
        ),
        (
            {"volumes": ["secret"]},
            pod(volumes=[{"name": "v", "hostPath": {"path": "/a"}}]),
            'spec.volumes[0]: Invalid value: "hostPath": hostPath volumes are not allowed to be used',
        ),
        (
            {"allowedHostPaths": [{"pathPrefix": "/foo"}]},
            pod(volumes=[{"name": "v", "hostPath": {"path": "/foobar"}}]),
            'spec.volumes[0].hostPath.pathPrefix: Invalid value: "/foobar": is not allowed to be used',
        ),
        (
            {"allowedFlexVolumes": [{"driver": "a/b"}]},
            pod(volumes=[{"name": "v", "flexVolume": {"driver": "c/d"}}]),
            'spec.volumes[0].driver: Invalid value: "c/d": Flexvolume driver is not allowed to be used',
        ),
        (
            {"runtimeClass": {"allowedRuntimeClassNames": ["a"]}},
            pod(runtimeClassName="b"),
            'spec.runtimeClassName: Invalid value: "b"',
        ),
        (
            {},
            pod({"privileged": True}),
            "spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed",
        ),
        (
            {},
            pod({"procMount": "Unmasked"}),
            'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": ProcMountType is not allowed',
        ),
        (
            {"allowedCapabilities": ["CHOWN"]},
            pod({"capabilities": {"add": ["CHOWN", "KILL"]}}),
            'spec.containers[0].securityContext.capabilities.add: Invalid value: "KILL": capability may not be added',
        ),
        (
            {"requiredDropCapabilities": ["KILL"]},
            pod({"capabilities": {"drop": ["CHOWN"]}}),
            'spec.containers[0].securityContext.capabilities.drop: Invalid value: []core.Capability{"CHOWN"}: '
            "KILL is required to be dropped but was not found",
        ),
        (
            {"requiredDropCapabilities": ["KILL"]},
            pod(),
            'spec.containers[0].securityContext.capabilities: Invalid value: "null": required capabilities are not set '
            "on the securityContext",
        ),
        (
            {"allowPrivilegeEscalation": False},
            pod(),
            'spec.containers[0].securityContext.allowPrivilegeEscalation: Invalid value: "null": Allowing privilege '
            "escalation for containers is not allowed",
        ),
        (
            {"readOnlyRootFilesystem": True},
            pod({"readOnlyRootFilesystem": False}),
            "spec.containers[0].securityContext.readOnlyRootFilesystem: Invalid value: false: ReadOnlyRootFilesystem "
            "must be set to true",
        ),
    ],
)
def test_errors(rules: dict[str, Any], made: dict[str, Any], expected: str) -> None:
    """Each rule in the words of kube-apiserver."""
    assert texts(policy(**rules), made)[0] == expected


def test_host_ports() -> None:
    """The error lists the ranges."""
    rules = policy(hostPorts=[{"min": 1, "max": 2}, {"min": 9, "max": 9}])
    made = pod()
    made["spec"]["containers"][0]["ports"] = [{"hostPort": 2}, {"hostPort": 3}, {"containerPort": 80}]
    expected = "spec.containers[0].hostPort: Invalid value: 3: Host port 3 is not allowed to be used. "
    assert texts(rules, made) == [expected + "Allowed ports: [1-2,9]"]


def test_paths_that_are_read_only() -> None:
    """Every mount of the volume must be read-only, unless another rule allows to write."""
    made = pod(volumes=[{"name": "v", "hostPath": {"path": "/foo/bar"}}])
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    rule = {"pathPrefix": "/foo/", "readOnly": True}
    where = "spec.containers[0].volumeMounts[0].readOnly"
    assert texts(policy(allowedHostPaths=[rule]), made) == [f"{where}: Invalid value: false: must be read-only"]
    assert texts(policy(allowedHostPaths=[rule, {"pathPrefix": "/foo/bar"}]), made) == []


def test_seccomp() -> None:
    """Profiles come from the container, then the pod; the two names of the runtime's are one since fields exist."""
    allowed = policy({f"{SECCOMP}/allowedProfileNames": "docker/default"})
    key = "pod.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]"
    words = "is not an allowed seccomp profile. Valid values are docker/default"
    named = pod(notes={"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"})
    assert texts(allowed, named) == []
    assert texts(allowed, named, "1.18")[0] == f"{key}: Forbidden: runtime/default {words}"
    assert texts(policy(), named)[0] == f"{key}: Forbidden: seccomp may not be set"
    assert texts(policy({f"{SECCOMP}/allowedProfileNames": "*"}), named) == []


def test_app_armor() -> None:
    """Where profiles are listed, each container needs one of them."""
    allowed = policy({f"{ARMOR}/allowedProfileNames": "localhost/a,localhost/b"})
    key = f"pod.metadata.annotations[container.{ARMOR}/c]"
    assert texts(allowed, pod()) == [f"{key}: Forbidden: AppArmor profile must be set"]
    other = pod(notes={f"container.{ARMOR}/c": "unconfined"})
    words = 'unconfined is not an allowed profile. Allowed values: "localhost/a,localhost/b"'
    assert texts(allowed, other) == [f"{key}: Forbidden: {words}"]


def test_tokens_are_like_secrets() -> None:
    """A projected volume with no more than a token volume holds is allowed with secrets, since 1.19."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    only = policy(volumes=["secret"])
    assert texts(only, pod(volumes=[{"name": "v", "projected": {"sources": sources}}])) == []
    assert texts(only, pod(volumes=[{"name": "v", "projected": {"sources": sources}}]), "1.18")
    assert texts(only, pod(volumes=[{"name": "v", "projected": {"sources": [{"configMap": {"name": "a"}}]}}]))


def test_policies_without_values_take_no_part() -> None:
    """A rule that needs ranges or labels makes a policy useless without them."""
    assert is_usable(policy())
    assert not is_usable(policy(runAsUser={"rule": "MustRunAs"}))
    assert not is_usable(policy(fsGroup={"rule": "MayRunAs"}))
    assert not is_usable(policy(seLinux={"rule": "MustRunAs"}))
