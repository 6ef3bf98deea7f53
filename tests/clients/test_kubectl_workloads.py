"""kubectl with workloads: rollouts, sizes, nodes, what describe tells, and how things go away."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine"),
    pytest.mark.slow,
]
Kubectl = Callable[..., str]

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "registry.test/agent:1"}]}
"""


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> Kubectl:
    """The command against the served cluster; gives back what it prints."""

    def run(*arguments: str, code: int = 0) -> str:
        command = ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", str(tmp_path / "cache"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


def seen(kubectl: Kubectl, name: str, path: str, value: str) -> None:
    """Wait until a field has a value: controllers work beside the client."""
    kubectl("wait", name, f"--for=jsonpath={{{path}}}={value}", "--timeout=20s")


def test_a_rollout(kubectl: Kubectl) -> None:
    """Made, changed, told of, taken back, paused, sized and scaled by itself; its sets and pods follow."""
    kubectl("create", "deployment", "web", "--image=registry.test/web:1", "--replicas=2")
    seen(kubectl, "deployment/web", ".status.updatedReplicas", "2")
    kubectl("set", "image", "deployment/web", "web=registry.test/web:2")
    kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=second")
    seen(kubectl, "deployment/web", ".metadata.annotations.deployment\\.kubernetes\\.io/revision", "2")
    assert "2         second" in kubectl("rollout", "history", "deployment/web")
    assert "Image:\tregistry.test/web:2" in kubectl("rollout", "history", "deployment/web", "--revision=2")
    kubectl("rollout", "undo", "deployment/web")
    seen(kubectl, "deployment/web", ".metadata.annotations.deployment\\.kubernetes\\.io/revision", "3")
    assert "paused" in kubectl("rollout", "pause", "deployment/web")
    assert "already paused" in kubectl("rollout", "pause", "deployment/web", code=1)
    kubectl("rollout", "resume", "deployment/web")
    kubectl("scale", "deployment/web", "--replicas=1")
    assert "Expected replicas to be 9" in kubectl(
        "scale", "deployment/web", "--current-replicas=9", "--replicas=2", code=1
    )
    kubectl("expose", "deployment/web", "--port=80")
    kubectl("autoscale", "deployment/web", "--min=2", "--max=3", "--cpu-percent=80")
    told = kubectl("describe", "deployment/web")
    assert "ScalingReplicaSet" in told
    assert "Scaled up replica set web-" in told
    assert "AutoscalingNotSimulated" in kubectl("describe", "hpa/web")
    kubectl("delete", "deployment/web", "--cascade=orphan")
    assert kubectl("get", "rs", "-l", "app=web", "-o", "name").count("replicaset.apps/web-") == 2
    kubectl("delete", "rs", "-l", "app=web", "--cascade=foreground", "--timeout=20s")
    assert "No resources found" in kubectl("get", "pods", "-l", "app=web")


def test_a_node(kubectl: Kubectl, tmp_path: Path) -> None:
    """Tainted, cordoned and drained; the pods of a daemon come back, and its history is told."""
    manifest = tmp_path / "node.yaml"
    manifest.write_text(NODE)
    kubectl("apply", "-f", str(manifest))
    seen(kubectl, "ds/agent", ".status.currentNumberScheduled", "1")
    kubectl("taint", "nodes", "n1", "dedicated=db:NoSchedule")
    assert "already has" in kubectl("taint", "nodes", "n1", "dedicated=db:NoSchedule", code=1)
    assert "untainted" in kubectl("taint", "nodes", "n1", "dedicated-")
    kubectl("cordon", "n1")
    assert "SchedulingDisabled" in kubectl("get", "node", "n1")
    assert "node.kubernetes.io/unschedulable:NoSchedule" in kubectl("describe", "node", "n1")
    kubectl("uncordon", "n1")
    assert "drained" in kubectl("drain", "n1", "--ignore-daemonsets", "--force", "--timeout=20s")
    kubectl("set", "image", "ds/agent", "c=registry.test/agent:2")
    seen(kubectl, "ds/agent", ".status.observedGeneration", "2")
    history = kubectl("rollout", "history", "ds/agent")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]


def test_objects_from_the_command_line(kubectl: Kubectl) -> None:
    """Objects made by ``kubectl create`` and ``kubectl run``, shown by ``get`` and ``describe``."""
    kubectl("create", "namespace", "line")
    in_line = ("-n", "line")
    kubectl("create", "job", "once", "--image=i", *in_line, "--", "date")
    kubectl("create", "cronjob", "often", "--image=i", "--schedule=*/5 * * * *", *in_line, "--", "date")
    kubectl("create", "job", "now", "--from=cronjob/often", *in_line)
    kubectl("create", "quota", "q", "--hard=pods=5", *in_line)
    kubectl("create", "pdb", "p", "--selector=app=x", "--min-available=1", *in_line)
    kubectl("create", "ingress", "i", "--rule=foo.example/bar=svc:80", *in_line)
    kubectl("run", "one", "--image=i", "--port=80", *in_line)
    kubectl("label", "pod", "one", "a=b", *in_line)
    assert "already has a value" in kubectl("label", "pod", "one", "a=c", *in_line, code=1)
    kubectl("wait", "job/once", "--for=jsonpath={.status.active}=1", "--timeout=20s", *in_line)
    assert "SuccessfulCreate" in kubectl("describe", "job/once", *in_line)
    for kind in ("job", "cronjob", "quota", "pdb", "ingress", "pod", "sa", "cm", "events"):
        assert "NAME" in kubectl("get", kind, "-o", "wide", *in_line) or kind == "events"
        kubectl("describe", kind, *in_line)
    kubectl("delete", "namespace", "line", "--timeout=30s")
