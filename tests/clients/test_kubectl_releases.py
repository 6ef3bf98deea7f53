"""kubectl against servers of several releases: what they list, explain, take and warn of."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import simkit

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: x}]}
"""
OLD = {
    "1.16": ("extensions/v1beta1", "Ingress", "ingresses.v1beta1.extensions"),
    "1.21": ("policy/v1beta1", "PodDisruptionBudget", "poddisruptionbudgets.v1beta1.policy"),
    "1.25": ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "horizontalpodautoscalers.v2beta2.autoscaling"),
    "1.30": (
        "flowcontrol.apiserver.k8s.io/v1beta3",
        "FlowSchema",
        "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io",
    ),
}
"""What is deprecated or about to go in a release."""
SPECS = {
    "Ingress": {"backend": {"serviceName": "web", "servicePort": 80}},
    "PodDisruptionBudget": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    "HorizontalPodAutoscaler": {
        "minReplicas": 1,
        "maxReplicas": 2,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    },
    "FlowSchema": {"priorityLevelConfiguration": {"name": "global-default"}},
}


class Kubectl:
    """The command against a server of one release."""

    def __init__(self, release: str, folder: Path) -> None:
        self.release, self._folder = release, folder
        self._server = simkit.Cluster(release, seed=1).serve(kubeconfig=folder / "kubeconfig")

    def __call__(self, *arguments: str, given: str = "", code: int = 0) -> str:
        base = ["kubectl", "--kubeconfig", str(self._folder / "kubeconfig"), "--cache-dir", str(self._folder / "cache")]
        done = subprocess.run([*base, *arguments], input=given, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def read(self, *arguments: str) -> Any:
        """The JSON that a command prints; what it says besides is left out."""
        return json.JSONDecoder().raw_decode(self(*arguments, "-o", "json"))[0]

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture(scope="module", params=["1.16", "1.21", "1.25", "1.30", "1.32", "1.37"])
def kubectl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    command = Kubectl(request.param, tmp_path_factory.mktemp("kubectl"))
    yield command
    command.stop()


def test_it_says_its_release(kubectl: Kubectl) -> None:
    """As the server's version."""
    found = kubectl.read("version")["serverVersion"]
    assert f"{found['major']}.{found['minor'].rstrip('+')}" == kubectl.release


def test_it_lists_what_the_release_serves(kubectl: Kubectl) -> None:
    """By name and group version, as the catalogue has it."""
    listed = set(kubectl("api-resources", "-o", "name").split())
    served = simkit.Cluster(kubectl.release, seed=1).engine.catalogue.resources()
    wanted = {f"{each.resource}.{each.group}".rstrip(".") for each in served if "list" in each.verbs}
    assert wanted <= listed
    versions = set(kubectl("api-versions").split())
    assert versions == {each.api_version for each in served}
    assert ("podsecuritypolicies.policy" in listed) is (kubectl.release in ("1.16", "1.21"))


@pytest.mark.slow
def test_a_deployment_comes_changes_and_goes(kubectl: Kubectl) -> None:
    """Applied, unchanged, scaled, rolled out and deleted; the stored form is one that the release knows."""
    assert "created" in kubectl("apply", "-f", "-", given=DEPLOYMENT)
    assert "unchanged" in kubectl("apply", "-f", "-", given=DEPLOYMENT)
    assert "scaled" in kubectl("scale", "deployment", "web", "--replicas", "3")
    found = kubectl.read("get", "deployment", "web")
    assert (found["apiVersion"], found["spec"]["replicas"]) == ("apps/v1", 3)
    assert "web" in kubectl("get", "deployments")
    assert "configured" in kubectl("apply", "-f", "-", given=DEPLOYMENT.replace("image: x", "image: x:2"))
    assert "deleted" in kubectl("delete", "deployment", "web")


def test_fields_are_explained(kubectl: Kubectl) -> None:
    """Those of the release; a field that came later is not there."""
    assert "replicas" in kubectl("explain", "deployment.spec")
    there = kubectl.release not in ("1.16", "1.21")
    answer = kubectl("explain", "statefulset.spec.minReadySeconds", code=0 if there else 1)
    assert ("does not exist" in answer) is not there


def test_deprecated_versions_warn(kubectl: Kubectl) -> None:
    """On the error stream, from 1.19 on; a version that is gone is not found."""
    if kubectl.release not in OLD:
        for resource in ("cronjobs.v1beta1.batch", "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io"):
            assert "doesn't have a resource type" in kubectl("get", resource, code=1)
        return
    version, kind, resource = OLD[kubectl.release]
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "old"}, "spec": SPECS[kind]}
    answer = kubectl("apply", "-f", "-", given=json.dumps(manifest))
    assert "old created" in answer
    assert (f"{version} {kind} is deprecated" in answer) is (kubectl.release != "1.16")
    assert "old" in kubectl("get", resource)
