"""A cluster as its users hold it."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock, timestamp
from simkit.meta.errors import IncompleteSnapshot, SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A fresh cluster whose uids repeat."""
    return simkit.Cluster(seed=1)


@pytest.mark.slow
def test_the_import_loads_no_heavy_library() -> None:
    """``import simkit`` and a first cluster import neither tables nor graphs, plots, widgets or celpy."""
    code = (
        "import sys, simkit; simkit.Cluster; "
        "print([name for name in ('pandas', 'networkx', 'matplotlib', 'ipywidgets', 'celpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_privileged_containers_are_a_setting() -> None:
    """They are refused by default, and stored where the setting allows them, which forks keep.

    A cluster with simulated nodes allows them as one of kubeadm does, unless it is told not to.
    """
    container = {"name": "a", "image": "b", "securityContext": {"privileged": True}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    with pytest.raises(StatusError, match="disallowed by cluster policy"):
        simkit.Cluster(seed=1).create(pod)
    allowed = simkit.Cluster(options=Options(seed=1, allow_privileged=True))
    assert allowed.fork().create(pod)["spec"]["containers"][0]["securityContext"] == {"privileged": True}
    simulated = simkit.Cluster(seed=1)
    simulated.add_nodes(1)
    assert simulated.fork().create(pod)["spec"]["containers"][0]["securityContext"] == {"privileged": True}
    strict = simkit.Cluster(options=Options(seed=1, allow_privileged=False))
    strict.add_nodes(1)
    with pytest.raises(StatusError, match="disallowed by cluster policy"):
        strict.create(pod)


def test_create_get_apply_delete(cluster: simkit.Cluster) -> None:
    """An object is made, read, changed and removed through the facade."""
    made = cluster.create(CONFIG)
    assert cluster.get("cm", "a")["metadata"]["uid"] == made["metadata"]["uid"]
    (changed,) = cluster.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}")
    assert changed["data"] == {"k": "w"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    cluster.delete("configmap", "a")
    with pytest.raises(StatusError, match="not found"):
        cluster.get("cm", "a")


POD_SPEC = {"containers": [{"name": "a", "image": "b"}], "restartPolicy": "Never"}
CLAIM_SPEC = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "fast",
}


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("v1", "Pod", POD_SPEC),
        ("batch/v1", "Job", {"template": {"spec": POD_SPEC}}),
        ("v1", "PersistentVolumeClaim", CLAIM_SPEC),
        ("v1", "Service", {"ports": [{"port": 80}]}),
    ],
)
def test_applying_twice(version: str, kind: str, spec: dict[str, Any]) -> None:
    """What the server chose in between, such as a node, a volume or a selector, stays."""
    cluster = simkit.Cluster(seed=1)
    cluster.add_nodes(1)
    meta = {"name": "a", "namespace": "default"}
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    obj = {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
    cluster.apply([{**storage, "provisioner": "example.com/fast"}, obj])
    cluster.settle()
    before = cluster.get(kind, "a")["spec"]
    cluster.apply([{**obj, "metadata": {**meta, "labels": {"x": "y"}}}])
    assert cluster.get(kind, "a")["spec"] == before
    assert cluster.get(kind, "a")["metadata"]["labels"]["x"] == "y"


def test_objects_of_a_dump_have_their_defaults_in_writes() -> None:
    """A dump may lack defaults that kube-apiserver sets when it reads an object; they are no change of a claim.

    A privileged container of a dump may stay when its Job is changed.
    """
    meta = {"name": "a", "namespace": "default"}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": CLAIM_SPEC}
    privileged = {"name": "a", "image": "b", "securityContext": {"privileged": True}}
    chosen = {"selector": {"matchLabels": {"x": "y"}}, "manualSelector": True}
    template = {
        "metadata": {"labels": {"x": "y"}},
        "spec": {"containers": [privileged], "restartPolicy": "Never"},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {**chosen, "template": template}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    cluster = simkit.load([namespace, claim, job])
    for path in ("/api/v1/namespaces/default/persistentvolumeclaims/a", "/apis/batch/v1/namespaces/default/jobs/a"):
        change = {"metadata": {"labels": {"z": "1"}}}
        answer = cluster.fork().perform(Request.of("PATCH", path, change, content_type="application/merge-patch+json"))
        assert answer.status == 200, answer.object["message"]


def test_answers_are_copies(cluster: simkit.Cluster) -> None:
    """Answers of the facade can be changed without changing the cluster."""
    made = dict(cluster.create(CONFIG))
    made["data"]["k"] = "changed"
    assert cluster.get("cm", "a")["data"] == {"k": "v"}


def test_the_same_seed_gives_the_same_bytes() -> None:
    """With a seed and a simulated clock two clusters are alike to the uid."""
    from simkit.cluster.options import Options

    first, second = (
        simkit.Cluster(options=Options(seed=7, clock=simkit.SimulatedClock())).create(CONFIG) for _ in range(2)
    )
    assert first == second


def test_forks_are_apart(cluster: simkit.Cluster) -> None:
    """Neither side of a fork sees what the other does, roles included."""
    fork = cluster.fork()
    fork.create(CONFIG)
    fork.delete("clusterrolebinding", "system:discovery")
    with pytest.raises(StatusError):
        cluster.get("cm", "a")
    ann = Identity("ann", ("system:authenticated",))
    assert cluster.perform(Request.of("GET", "/api"), identity=ann).status == 200
    assert fork.perform(Request.of("GET", "/api"), identity=ann).status == 403


def test_access_follows_bindings(cluster: simkit.Cluster) -> None:
    """A role and a binding made through the handler chain change the next decision."""
    ann = Identity("ann", ("system:authenticated",))
    ask = Request.of("GET", "/api/v1/namespaces/default/configmaps")
    refused = cluster.perform(ask, identity=ann)
    assert refused.status == 403
    assert 'User "ann" cannot list resource "configmaps"' in refused.object["message"]
    cluster.apply(
        """
        {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r},
         rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]}
---
        {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b},
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r},
         subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]}
        """
    )
    assert cluster.perform(ask, identity=ann).status == 200


def test_default_roles_are_filled(cluster: simkit.Cluster) -> None:
    """Aggregated roles hold rules once a cluster is made."""
    rules = cluster.get("clusterrole", "view")["rules"]
    assert any("configmaps" in rule.get("resources", ()) for rule in rules)


def test_loading_seeds(cluster: simkit.Cluster) -> None:
    """A loaded object keeps its uid and version; nothing else is there; what was not captured is told."""
    dump = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{**CONFIG, "metadata": {"name": "a", "uid": "u", "resourceVersion": "9"}}],
    }
    loaded = simkit.load(dump)
    assert loaded.get("cm", "a")["metadata"]["uid"] == "u"
    assert loaded.get("cm", "a")["metadata"]["resourceVersion"] == "9"
    with pytest.raises(IncompleteSnapshot, match="simkit dump"):
        loaded.who_can("get", "secrets")


def test_a_trial_compares_access(cluster: simkit.Cluster) -> None:
    """A trial tells who loses what, and leaves the cluster alone."""
    with cluster.what_if() as trial:
        trial.delete("clusterrolebinding", "system:monitoring")
        lost = trial.compare()
    assert "system:monitoring" in lost.to_string()
    assert cluster.get("clusterrolebinding", "system:monitoring")


def test_concurrent_writers_lose_nothing(cluster: simkit.Cluster) -> None:
    """Merge patches of many threads all take effect."""
    cluster.create(CONFIG)
    path = "/api/v1/namespaces/default/configmaps/a"

    def write(number: int) -> None:
        for step in range(20):
            patch = {"data": {f"k{number}-{step}": "x"}}
            answer = cluster.perform(Request.of("PATCH", path, patch, content_type="application/merge-patch+json"))
            assert answer.status == 200

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cluster.get("cm", "a")["data"]) == 121


def test_wrong_use_is_told(cluster: simkit.Cluster) -> None:
    """A misspelt resource and an unknown kind are named, with what may have been meant."""
    with pytest.raises(SimkitError, match="deployments"):
        cluster.get("deploymnets", "x")
    with pytest.raises(SimkitError, match="Gadget"):
        cluster.create({"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "g"}})
    text: Any = "kind: ConfigMap"
    with pytest.raises(SimkitError, match="a mapping with apiVersion and kind, not of type str"):
        cluster.create(text)


def test_options_in_the_place_of_the_release_are_told() -> None:
    """Options given as the first argument are told how they are given."""
    options: Any = Options(release="1.33")
    with pytest.raises(SimkitError, match=r"Cluster\(options=\.\.\.\)"):
        simkit.Cluster(options)


def test_watch_in_process(cluster: simkit.Cluster) -> None:
    """A watch tells of what comes after it; closing ends it."""
    answer = cluster.perform(
        Request.of("GET", "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Da")
    )
    assert answer.stream.poll() == []
    cluster.create(CONFIG)
    (frame,) = answer.stream.poll()
    assert frame.startswith(b'{"type":"ADDED"')
    answer.stream.close()
    assert answer.stream.poll() == []


def test_a_fork_has_a_clock_of_its_own() -> None:
    """Turning the clock of a fork leaves its origin's time as it was, and the other way round."""
    clock = SimulatedClock()
    cluster = simkit.Cluster(options=Options(clock=clock))
    before = clock.now()
    fork = cluster.fork()
    assert isinstance(fork.clock, SimulatedClock)
    fork.clock.advance(hours=2)
    assert clock.now() == cluster.engine.clock.now() == before
    clock.advance(minutes=1)
    assert fork.engine.clock.now() == before + 7200
    assert fork.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})["metadata"][
        "creationTimestamp"
    ] == timestamp(before + 7200)


def test_an_identity_that_is_a_text() -> None:
    """It is told, with what to write."""
    with pytest.raises(SimkitError, match="is no identity; write identity="):
        simkit.Cluster(seed=1).create({"apiVersion": "v1", "kind": "Namespace"}, identity="user:bob")  # type: ignore[arg-type]
