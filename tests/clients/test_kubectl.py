"""kubectl, as a new user would type it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")

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
        self._kubeconfig, self.folder = kubeconfig, folder

    def __call__(self, *arguments: str, code: int = 0) -> str:
        command = ["kubectl", "--kubeconfig", str(self._kubeconfig), "--cache-dir", str(self.folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
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
    assert "simkit-admin" in kubectl("auth", "whoami")
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
    """What is served is listed, and fields are known."""
    assert "deployments" in kubectl("api-resources")
    assert "rbac.authorization.k8s.io/v1" in kubectl("api-versions")
    assert "verbs" in kubectl("explain", "role.rules")
    assert "v1.30" in kubectl("version")
