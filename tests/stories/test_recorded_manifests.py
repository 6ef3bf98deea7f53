"""The manifests of a recorded cluster, applied to an empty one, read back as they were recorded."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request
from tests.shared import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.slow]
Object = Mapping[str, Any]

FIRST = (
    "Namespace",
    "CustomResourceDefinition",
    "StorageClass",
    "PriorityClass",
    "IngressClass",
    "ClusterRole",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "LimitRange",
)
"""What others need: they are applied in this order, before the rest."""
LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService", "ResourceQuota")
"""What stands in the way of others, or calls services that are not there."""
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


def rank(obj: Object) -> int:
    """The position of an object in the order of creation."""
    kind = obj["kind"]
    if kind in LAST:
        return 100 + LAST.index(kind)
    return FIRST.index(kind) if kind in FIRST else len(FIRST)


@pytest.fixture(scope="module")
def recorded() -> Sequence[Object]:
    """The objects of the recorded cluster, as it gave them back."""
    with gzip.open(SHARED / "datasets" / "operators-and-teams.json.gz") as file:
        return sorted(json.load(file)["items"], key=rank)


def plain(obj: Object) -> dict[str, Any]:
    """An object without what the server sets, and without its status."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in OF_THE_SERVER}
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": metadata}


def applied(cluster: simkit.Cluster, obj: Object) -> tuple[int, Any]:
    """The answer to a server-side apply, as kubectl sends it."""
    path = f"{cluster._path(obj, obj['metadata']['name'])}?fieldManager=kubectl&force=true"
    answer = cluster.perform(Request.of("PATCH", path, plain(obj), content_type="application/apply-patch+yaml"))
    return answer.status, answer.object


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Paths at which two values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            yield from differences(ours.get(name), theirs.get(name), f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for mine, other in zip(ours, theirs, strict=True):
            yield from differences(mine, other, f"{path}[]")
    elif ours != theirs:
        yield path


OWN_WAYS = {
    # Labels and selector name the uid of the job that was recorded: kube-apiserver refuses them too.
    "Job trainer: 422",
    "Job identity-nightly-29920538: 422",
    # A node is tainted until a controller has seen that it is ready.
    "Node worker-0: .spec.taints",
    "Node worker-1: .spec.taints",
    "Node worker-2: .spec.taints",
    # The server has a slice of its own, at another address, which this one changes.
    "EndpointSlice kubernetes: .metadata.generation",
}


def test_every_recorded_object_is_taken_and_reads_back(recorded: Sequence[Object]) -> None:
    """Defaults, pruning, admission and validation leave each object as kube-apiserver has stored it."""
    cluster = simkit.Cluster(options=Options(seed=1, controllers=(), allow_privileged=True))
    found = set()
    for obj in recorded:
        status, answer = applied(cluster, obj)
        name = f"{obj['kind']} {obj['metadata']['name']}"
        if status >= 400:
            found.add(f"{name}: {status}")
        else:
            found |= {f"{name}: {path}" for path in differences(plain(answer), plain(obj))}
    assert found == OWN_WAYS


WRITTEN = ("Deployment", "StatefulSet", "DaemonSet", "PodDisruptionBudget", "HorizontalPodAutoscaler", "ConfigMap")
NEEDED = ("Namespace", "ServiceAccount", "PriorityClass", "Node", *WRITTEN)


def test_controllers_make_what_a_real_cluster_made(recorded: Sequence[Object]) -> None:
    """Replica sets and revisions get the same names and contents, budgets the same numbers, from what people wrote."""
    cluster = simkit.Cluster(options=Options(seed=1, allow_privileged=True))
    for obj in recorded:
        if obj["kind"] in NEEDED and not obj["metadata"].get("ownerReferences"):
            assert applied(cluster, obj)[0] < 400
    for node in cluster.list("nodes"):
        path = f"/api/v1/nodes/{node['metadata']['name']}/status"
        told = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        assert cluster.perform(Request.of("PATCH", path, told, content_type="application/merge-patch+json")).succeeded
    cluster.settle()
    expected = {_key(obj): obj for obj in recorded if obj["kind"] in ("ReplicaSet", "ControllerRevision")}
    made = {_key(obj): obj for word in ("replicasets", "controllerrevisions") for obj in cluster.list(word)}
    assert made.keys() == expected.keys()
    for key, obj in made.items():
        assert set(differences(plain(obj), plain(expected[key]))) <= {".metadata.ownerReferences[].uid"}
    budgets = {_key(obj): obj["status"] for obj in recorded if obj["kind"] == "PodDisruptionBudget"}
    for budget in cluster.list("pdb"):
        found = {name: value for name, value in budget["status"].items() if name != "conditions"}
        assert found == {name: value for name, value in budgets[_key(budget)].items() if name != "conditions"}


def _key(obj: Object) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kubectl_applies_the_manifests_of_a_team(tmp_path: Path) -> None:
    """Namespaces, custom resource definitions, roles and the workloads of some namespaces, as files."""
    with tarfile.open(SHARED / "datasets" / "operators-and-teams-yaml.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    cluster = tmp_path / "cluster-dump" / "cluster"
    server = simkit.Cluster(options=Options(seed=1, controllers=("serviceaccount",), allow_privileged=True)).serve()
    try:

        def apply(*folders: Path) -> str:
            command = ["kubectl", "--kubeconfig", str(server.kubeconfig), "--cache-dir", str(tmp_path / "cache")]
            command += ["apply", "--server-side", "--force-conflicts", "--recursive"]
            for folder in folders:
                command += ["-f", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            return done.stdout + done.stderr

        _without_identity(tmp_path / "cluster-dump", ("payments", "monitoring"))
        apply(*(cluster / f"{name}.yaml" for name in ("namespace", "priorityclass.scheduling.k8s.io")))
        definitions = apply(cluster / "customresourcedefinition.apiextensions.k8s.io.yaml")
        assert definitions.count("serverside-applied") == 264, definitions
        no_certificate = "Warning: tls: failed to find any PEM data in certificate input"  # of the dummy ingress-tls
        for namespace, warned in (("payments", [no_certificate]), ("monitoring", [])):
            folder = tmp_path / "cluster-dump" / "namespaces" / namespace
            apply(folder / "serviceaccount.yaml")
            told = apply(folder)
            lines = [line for line in told.splitlines() if not line.startswith("Warning: would violate")]
            assert [line for line in lines if not line.endswith(" serverside-applied")] == warned
    finally:
        server.stop()


def _without_identity(root: Path, namespaces: Sequence[str]) -> None:
    """Uids and versions are another cluster's: an apply that names them would be refused."""
    files = [*(root / "cluster").glob("*.yaml")]
    for namespace in namespaces:
        files += (root / "namespaces" / namespace).glob("*.yaml")
    for file in files:
        lines = file.read_text().splitlines()
        kept = [line for line in lines if not line.startswith(("  uid: ", "  resourceVersion: "))]
        file.write_text("\n".join(kept) + "\n")
