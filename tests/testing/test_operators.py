"""Small operators, each written with another library, and tested in about ten lines: docs/testing.md shows them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.testing import clients

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {status: {}}
"""
SITE = {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "blog"}, "spec": {"replicas": 2}}


def workload(name: str, replicas: int) -> dict[str, Any]:
    """The deployment of a site."""
    labels = {"site": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def reconcile_sites(api: Any) -> None:
    """An operator with the official client: each site gets a deployment of its size, tried again after a conflict."""
    client: Any = import_module("kubernetes.client")
    apps, custom = client.AppsV1Api(api), client.CustomObjectsApi(api)
    for site in custom.list_namespaced_custom_object("example.com", "v1", "default", "sites")["items"]:
        name, wanted = site["metadata"]["name"], site["spec"]["replicas"]
        try:
            apps.create_namespaced_deployment("default", workload(name, wanted))
        except client.ApiException as error:
            if error.status != 409:
                raise
            for _ in range(3):
                try:
                    apps.patch_namespaced_deployment(name, "default", {"spec": {"replicas": wanted}})
                    break
                except client.ApiException as again:
                    if again.status != 409:
                        raise


def eventually(what: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def sites(cluster: simkit.Cluster) -> simkit.Cluster:
    """A cluster that knows sites, and has one."""
    cluster.apply(CRD)
    cluster.settle()
    cluster.create(SITE)
    return cluster


@pytest.mark.simkit(nodes=1)
def test_the_official_client(sites: simkit.Cluster) -> None:
    """Its pods run; a conflict is met by trying again; what it needs is a role."""
    api = clients.kubernetes_client(sites)
    reconcile_sites(api)
    assert sites.get("deployment", "blog")["status"]["readyReplicas"] == 2
    sites.apply({**SITE, "spec": {"replicas": 3}})
    with sites.faults("conflict", verbs=["patch"], resources=["deployments"], times=2):
        reconcile_sites(api)
    assert sites.get("deployment", "blog")["status"]["readyReplicas"] == 3
    sites.requests.assert_only(verbs=["list", "create", "patch"], resources=["sites", "deployments"])
    (role,) = sites.requests.roles("site-operator")
    assert {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create", "patch"]} in role["rules"]


KOPF = """
import kopf

@kopf.on.create("example.com", "v1", "sites")
def created(spec, name, patch, **_):
    patch.status["url"] = f"https://{name}.example.com"
"""


@pytest.mark.slow
def test_kopf(sites: simkit.Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """An operator in kopf runs against the served cluster, and its handler is called for the site that is there."""
    (tmp_path / "operator_of_sites.py").write_text(KOPF)
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", "default", "operator_of_sites.py"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL) as operator:
        try:
            eventually(lambda: "url" in (sites.get("sites", "blog").get("status") or {}))
        finally:
            operator.terminate()
    sites.requests.assert_made("patch", "sites", "blog")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_kopf_in_a_thread(sites: simkit.Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """The same in this process: it finds the cluster by the variable ``KUBECONFIG``."""
    from kopf.testing import KopfRunner

    assert kubeconfig.exists()
    operator = tmp_path / "operator_of_sites.py"
    operator.write_text(KOPF)
    with KopfRunner(["run", "--standalone", "--namespace", "default", str(operator)], timeout=30) as runner:
        eventually(lambda: "url" in (sites.get("sites", "blog").get("status") or {}))
    assert runner.exit_code == 0
    gc.collect()  # kopf leaves its sockets to the garbage collector
