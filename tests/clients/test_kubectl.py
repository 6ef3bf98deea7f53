"""kubectl, as a new user would type it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine"),
    pytest.mark.slow,
]

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, namespace: shop}
data: {k: v}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]
"""


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> _Kubectl:
    """The command against the served cluster."""
    return _Kubectl(kubeconfig, tmp_path)


class _Kubectl:
    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.folder, self.namespace = folder, ""
        self._base = ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", str(folder / "cache")]

    @property
    def command(self) -> list[str]:
        """The command so far, with the namespace that is worked in."""
        return [*self._base, *(["-n", self.namespace] if self.namespace else [])]

    def manifest(self, **values: object) -> None:
        """Write the manifest of a deployment."""
        (self.folder / "web.yaml").write_text(DEPLOYMENT % values)

    def __call__(self, *arguments: str, code: int = 0, editor: str = "") -> str:
        environment = {**os.environ, "KUBE_EDITOR": editor} if editor else None
        command = [*self.command, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


def test_a_first_hour(kubectl: _Kubectl) -> None:
    """Namespaces, manifests, patches, access questions and deletion, with the words that kubectl prints."""
    kubectl("create", "namespace", "shop")
    manifest = kubectl.folder / "m.yaml"
    manifest.write_text(MANIFEST)
    assert "configmap/applied created" in kubectl("apply", "-f", str(manifest))
    assert "configmap/applied unchanged" in kubectl("apply", "-f", str(manifest))
    assert "patched" in kubectl("-n", "shop", "patch", "cm", "applied", "-p", '{"data": {"k": "w"}}')
    assert "-  k: w" in kubectl("diff", "-f", str(manifest), code=1)
    kubectl("-n", "shop", "label", "cm", "applied", "team=a")
    kubectl("-n", "shop", "annotate", "cm", "applied", "note=x")
    found = json.loads(kubectl("-n", "shop", "get", "cm", "applied", "-o", "json"))
    assert (found["data"], found["metadata"]["labels"]) == ({"k": "w"}, {"team": "a"})
    kubectl("-n", "shop", "create", "rolebinding", "b", "--role", "reader", "--user", "ann")
    assert kubectl("auth", "can-i", "list", "cm", "-n", "shop", "--as", "ann").startswith("yes")
    assert kubectl("auth", "can-i", "delete", "cm", "-n", "shop", "--as", "ann", code=1).startswith("no")
    assert "configmaps" in kubectl("auth", "can-i", "--list", "-n", "shop", "--as", "ann")
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert "deleted" in kubectl("delete", "-f", str(manifest))


def test_a_list_is_checked_and_applied(kubectl: _Kubectl) -> None:
    """kubectl checks a List itself, by the binary form of the API's description: a wrong field is found before."""
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "listed"}, "data": {"k": "v"}}
    manifest = kubectl.folder / "list.json"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}))
    assert "configmap/listed serverside-applied" in kubectl("apply", "--server-side", "-f", str(manifest))
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**item, "datum": {}}]}))
    assert 'unknown field "datum"' in kubectl("apply", "-f", str(manifest), code=1)


def test_server_side_apply_conflicts(kubectl: _Kubectl) -> None:
    """Two managers want different values: the second is refused, and may force."""
    manifest = kubectl.folder / "c.yaml"
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {k: '%s'}\n"
    manifest.write_text(body % 1)
    apply = ("apply", "--server-side", "-f", str(manifest), "--field-manager")
    kubectl(*apply, "one")
    manifest.write_text(body % 2)
    assert "conflict with" in kubectl(*apply, "two", code=1)
    kubectl(*apply, "two", "--force-conflicts")


def test_discovery_and_explain(kubectl: _Kubectl) -> None:
    """Served resources are listed, and their fields are known."""
    assert "deployments" in kubectl("api-resources")
    assert "rbac.authorization.k8s.io/v1" in kubectl("api-versions")
    assert "verbs" in kubectl("explain", "role.rules")
    assert "v1.30" in kubectl("version")


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %(namespace)s, labels: {app: web}}
spec:
  replicas: %(replicas)d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, ports: [{containerPort: 80}]}]}
"""


@pytest.fixture
def deployed(kubectl: _Kubectl) -> Iterator[_Kubectl]:
    """The command with a namespace of its own, in which a deployment of two replicas runs."""
    name = f"test-{kubectl.folder.name.lower().replace('_', '-')}"[:60]
    kubectl("create", "namespace", name)
    kubectl.namespace = name
    kubectl.manifest(namespace=name, replicas=2)
    kubectl("apply", "-f", str(kubectl.folder / "web.yaml"))
    yield kubectl
    kubectl.namespace = ""
    kubectl("delete", "namespace", name)


def test_every_way_to_change(deployed: _Kubectl) -> None:
    """Patches of all types, of subresources too, scale, set image, edit, replace and its forced form."""
    kubectl = deployed
    kubectl("patch", "deploy", "web", "--type=json", "-p", '[{"op": "replace", "path": "/spec/replicas", "value": 3}]')
    kubectl("patch", "deploy", "web", "--type=merge", "-p", '{"spec": {"paused": true}}')
    containers = '{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}}'
    kubectl("patch", "deploy", "web", "-p", containers)
    found = json.loads(kubectl("get", "deploy", "web", "-o", "json"))["spec"]
    container = found["template"]["spec"]["containers"][0]
    assert (found["replicas"], found["paused"], container["image"]) == (3, True, "nginx:2")
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    kubectl("scale", "deploy/web", "--replicas=4")
    assert "replicas: 4" in kubectl("get", "deploy", "web", "--subresource=scale", "-o", "yaml")
    kubectl("set", "image", "deploy/web", "c=nginx:3")
    edited = kubectl("edit", "deploy", "web", editor="sed -i s/image:.nginx:3/image:\\ nginx:4/")
    assert "deployment.apps/web edited" in edited
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={..image}") == "nginx:4"
    refused = kubectl("edit", "deploy", "web", code=1, editor="sed -i s/nginx:4/\\ /")
    assert "web" in refused
    assert "is invalid" in refused
    manifest = str(kubectl.folder / "web.yaml")
    assert "web replaced" in kubectl("replace", "-f", manifest)
    uid = kubectl("get", "deploy", "web", "-o", "jsonpath={.metadata.uid}")
    assert "web replaced" in kubectl("replace", "--force", "-f", manifest)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.metadata.uid}") != uid


def test_dry_runs_and_differences(deployed: _Kubectl) -> None:
    """apply, create and diff report what the server would do, and nothing is stored."""
    kubectl = deployed
    kubectl.manifest(namespace=kubectl.namespace, replicas=5)
    manifest = str(kubectl.folder / "web.yaml")
    assert "configured (server dry run)" in kubectl("apply", "-f", manifest, "--dry-run=server")
    assert "+  replicas: 5" in kubectl("diff", "-f", manifest, code=1)
    assert "AlreadyExists" in kubectl("create", "-f", manifest, "--dry-run=server", code=1)
    made = kubectl("create", "configmap", "c", "--from-literal=a=b", "--dry-run=server", "-o", "name")
    assert made == "configmap/c\n"
    assert "NotFound" in kubectl("get", "configmap", "c", code=1)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "2"


WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.kubectl.example.com"},
    "spec": {
        "group": "kubectl.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def test_custom_resources_are_applied_again(kubectl: _Kubectl) -> None:
    """kubectl learns from the description of the API that custom kinds take no strategic merge, and sends others."""
    manifest = kubectl.folder / "m.json"
    manifest.write_text(json.dumps(WIDGETS))
    kubectl("apply", "-f", str(manifest))
    kubectl("wait", "--for=condition=Established", "crd/widgets.kubectl.example.com", "--timeout=10s")
    widget = {"apiVersion": "kubectl.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    manifest.write_text(json.dumps(widget))
    assert "w created" in kubectl("apply", "-f", str(manifest))
    manifest.write_text(json.dumps({**widget, "spec": {"size": 2}}))
    assert "+  size: 2" in kubectl("diff", "-f", str(manifest), code=1)
    assert "w configured" in kubectl("apply", "-f", str(manifest))
    assert "w unchanged" in kubectl("apply", "-f", str(manifest))
    assert "w serverside-applied" in kubectl("apply", "--server-side", "--force-conflicts", "-f", str(manifest))
    ready = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    kubectl("patch", "widget", "w", "--subresource=status", "--type=merge", "-p", ready)
    assert "condition met" in kubectl("wait", "--for=condition=Ready", "widget/w", "--timeout=10s")
    assert "size\t<integer>" in kubectl("explain", "widget.spec")
    listed = {**widget, "status": {"anything": [1]}}
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [listed]}))
    assert "w configured" in kubectl("apply", "-f", str(manifest))
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**listed, "spec": {"seize": 1}}]}))
    assert 'unknown field "seize"' in kubectl("apply", "-f", str(manifest), code=1)


def test_server_side_apply_takes_over(deployed: _Kubectl) -> None:
    """Ownership moves from client-side apply to server-side apply; another manager meets a conflict."""
    kubectl = deployed
    manifest = str(kubectl.folder / "web.yaml")
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", manifest)
    managers = json.loads(kubectl("get", "deploy", "web", "-o", "json", "--show-managed-fields"))["metadata"]
    owners = {(entry["manager"], entry["operation"]) for entry in managers["managedFields"]}
    assert ("kubectl", "Apply") in owners
    assert ("kubectl-client-side-apply", "Update") not in owners
    kubectl.manifest(namespace=kubectl.namespace, replicas=7)
    conflict = kubectl("apply", "--server-side", "--field-manager=other", "-f", manifest, code=1)
    assert 'conflict with "kubectl": .spec.replicas' in conflict
    kubectl("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", manifest)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "7"


def test_lists_and_waits(deployed: _Kubectl) -> None:
    """Selectors, chunks, tables, waits and watches."""
    kubectl = deployed
    kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deploy/web", "--timeout=20s")
    whole = kubectl("get", "pods", "-l", "app=web", "-o", "name", "--chunk-size=1").split()
    assert len(whole) == 2
    assert len(kubectl("get", "pods", "--field-selector=status.phase=Pending", "--no-headers").splitlines()) == 2
    assert "field label not supported: no" in kubectl("get", "pods", "--field-selector=no=thing", code=1)
    assert "AVAILABLE" in kubectl("get", "deploy", "-o", "wide")
    assert "timed out" in kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=1s", code=1)
    watched = subprocess.Popen([*kubectl.command, "get", "cm", "-w", "-o", "name"], stdout=subprocess.PIPE, text=True)
    with watched:
        assert watched.stdout is not None
        assert watched.stdout.readline() == "configmap/kube-root-ca.crt\n"
        kubectl("create", "configmap", "late")
        assert watched.stdout.readline() == "configmap/late\n"
        watched.terminate()


def test_deletion_with_and_without_dependents(deployed: _Kubectl) -> None:
    """Dependents stay when orphaned, and go first in the foreground."""
    kubectl = deployed
    kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deploy/web", "--timeout=20s")
    kubectl("delete", "deploy", "web", "--cascade=orphan")
    (left,) = kubectl("get", "rs", "-o", "name").split()
    kubectl("delete", left, "--cascade=foreground")
    assert "No resources found" in kubectl("get", "rs,pods")


def test_limits_of_a_server_without_nodes(deployed: _Kubectl) -> None:
    """Connections to pods and measurements are refused in the words of kube-apiserver."""
    kubectl = deployed
    kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deploy/web", "--timeout=20s")
    pod = kubectl("get", "pods", "-o", "name").split()[0]
    assert kubectl("logs", pod) == ""
    assert "container x is not valid for pod" in kubectl("logs", pod, "-c", "x", code=1)
    assert "does not have a host assigned" in kubectl("exec", pod, "--", "ls", code=1)
    assert "pod is not running" in kubectl("port-forward", pod, "8080:80", code=1)
    assert "Metrics API not available" in kubectl("top", "pods", code=1)
    described = kubectl("describe", "deploy", "web")
    assert "2 desired | 2 updated | 2 total | 0 available | 2 unavailable" in described
    assert "ScalingReplicaSet" in described
