"""Claims and the volumes that they get."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit.client.lister import Lister
from simkit.client.resources import VOLUMES
from simkit.engine.controllers.persistent_volumes import PersistentVolumeController
from simkit.logic.workloads.volumes import ClaimIndex, VolumeIndex, best
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import Key, Revision
from simkit.meta.objects import Object
from simkit.seams import Change, Entry
from simkit.snapshot.memory import MemorySnapshot
from tests.engine.controllers.worlds import names, obj, patch, told, volume, wish

MODES = st.sampled_from([["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"]])
LABELS = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]), max_size=2)
KEPT = {"namespace": "default", "name": "c0"}


def phases(cluster: simkit.Cluster, word: str) -> dict[str, str]:
    """The phase of each claim or volume."""
    return {each["metadata"]["name"]: each["status"]["phase"] for each in cluster.list(word)}


def test_a_claim_gets_the_smallest_volume_that_will_do(cluster: simkit.Cluster) -> None:
    """Size, modes, class and labels count."""
    cluster.create(volume("large", "10Gi"))
    cluster.create(volume("small", "1Gi"))
    cluster.create(volume("fitting", "5Gi"))
    cluster.create(volume("classy", "2Gi", storageClassName="fast"))
    cluster.settle()
    assert set(phases(cluster, "pv").values()) == {"Available"}
    cluster.create(wish("c", "2Gi"))
    cluster.settle()
    claim, bound = cluster.get("pvc", "c"), cluster.get("pv", "fitting")
    assert claim["spec"]["volumeName"] == "fitting"
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}}
    assert bound["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert phases(cluster, "pv") == {
        "classy": "Available",
        "fitting": "Bound",
        "large": "Available",
        "small": "Available",
    }


def test_a_volume_is_released_and_a_claim_lost(cluster: simkit.Cluster) -> None:
    """The remaining object reports that the other one is gone."""
    for name in ("a", "b"):
        cluster.create(volume(name))
        cluster.create(wish(name, volumeName=name))
    cluster.settle()
    assert set(phases(cluster, "pvc").values()) == {"Bound"}
    cluster.delete("pvc", "a")
    patch(cluster, "/api/v1/persistentvolumes/b", {"metadata": {"finalizers": None}})
    cluster.delete("pv", "b")
    cluster.settle()
    assert phases(cluster, "pv") == {"a": "Released"}
    assert phases(cluster, "pvc") == {"b": "Lost"}
    assert told(cluster, "b")[-1][1] == "ClaimLost"


def test_a_volume_kept_for_a_claim(cluster: simkit.Cluster) -> None:
    """A reserved volume waits for its claim, and no other claim gets it."""
    cluster.create(volume("kept", "1Gi", claimRef={"namespace": "default", "name": "mine"}))
    cluster.create(wish("other"))
    cluster.settle()
    assert phases(cluster, "pvc") == {"other": "Pending"}
    cluster.create(wish("mine"))
    cluster.settle()
    assert phases(cluster, "pvc") == {"other": "Pending", "mine": "Bound"}
    assert "pv.kubernetes.io/bound-by-controller" not in cluster.get("pv", "kept")["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("storage", "reason", "message"),
    [
        (None, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found'),
        (
            {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding",
        ),
        (
            {"provisioner": "csi.example.com"},
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external provisioner 'csi.example.com' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered.",
        ),
    ],
)
def test_reasons_for_a_pending_claim(
    cluster: simkit.Cluster, storage: dict[str, str] | None, reason: str, message: str
) -> None:
    """The class says who is to make a volume, and when."""
    if storage is not None:
        cluster.create(obj("storage.k8s.io/v1", "StorageClass", "fast", **storage))
    cluster.create(wish("c", storageClassName="fast"))
    cluster.settle()
    assert told(cluster, "c")[0][1:3] == (reason, message)
    assert phases(cluster, "pvc") == {"c": "Pending"}


def test_a_volume_that_lives_with_its_pod(cluster: simkit.Cluster) -> None:
    """Its claim is made for it; one of somebody else is not taken."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    scratch = {
        "name": "scratch",
        "ephemeral": {"volumeClaimTemplate": {**template, "metadata": {"labels": {"a": "b"}}}},
    }
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [scratch]}
    cluster.create(wish("q-scratch"))
    for name in ("p", "q"):
        cluster.create(obj("v1", "Pod", name, spec=spec))
    cluster.settle()
    claim = cluster.get("pvc", "p-scratch")["metadata"]
    assert (claim["labels"], claim["ownerReferences"][0]["name"]) == ({"a": "b"}, "p")
    [(_, reason, message, _)] = told(cluster, "q")
    assert reason == "FailedBinding"
    assert 'PVC "default/q-scratch" was not created for pod "default/q" (pod is not owner)' in message
    cluster.delete("pod", "p")
    cluster.settle()
    assert names(cluster, "pvc") == ["q-scratch"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"storageClassName": "fast"}, "storageClassName does not match"),
        ({"capacity": {"storage": "1Mi"}}, "requested PV is too small"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
    ],
)
def test_a_volume_that_is_asked_for_by_name_has_to_fit(cluster: simkit.Cluster, spec: dict[str, Any], why: str) -> None:
    """It is not taken otherwise, and an event says why."""
    cluster.create(volume("v", **spec))
    cluster.create(wish("c", volumeName="v"))
    cluster.settle()
    assert (phases(cluster, "pvc"), phases(cluster, "pv")) == ({"c": "Pending"}, {"v": "Available"})
    text = f'Cannot bind to requested volume "v": {why}'
    assert [each[:3] for each in told(cluster, "c")] == [("Warning", "VolumeMismatch", text)]


def test_a_volume_of_somebody_else(cluster: simkit.Cluster) -> None:
    """The second claim that asks for it waits."""
    cluster.create(volume("v"))
    for name in ("c", "d"):
        cluster.create(wish(name, volumeName="v"))
        cluster.settle()
    assert phases(cluster, "pvc") == {"c": "Bound", "d": "Pending"}
    text = 'volume "v" already bound to a different claim.'
    assert [each[:3] for each in told(cluster, "d")] == [("Warning", "FailedBinding", text)]


@pytest.mark.parametrize(
    ("source", "meta", "message"),
    [
        ({"hostPath": {"path": "/x"}}, {}, "host_path deleter only supports /tmp/.+ but received provided /x"),
        (
            {"hostPath": None, "nfs": {"server": "s", "path": "/x"}},
            {},
            'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
        ),
        (
            {"hostPath": None, "csi": {"driver": "d.test", "volumeHandle": "h"}},
            {},
            'error getting deleter volume plugin for volume "v": no volume plugin matched',
        ),
        (
            {"hostPath": None, "csi": {"driver": "d.test", "volumeHandle": "h"}},
            {"annotations": {"pv.kubernetes.io/provisioned-by": "d.test"}},
            None,
        ),
        ({"hostPath": {"path": "/tmp/x"}}, {}, ""),
    ],
)
def test_volumes_that_go_with_their_claim(
    cluster: simkit.Cluster, source: dict[str, Any], meta: dict[str, Any], message: str | None
) -> None:
    """In-tree deleters delete; external drivers do it themselves; for other volumes it is reported that nobody can."""
    made = volume("v", persistentVolumeReclaimPolicy="Delete", **source)
    made["metadata"] |= meta
    made["spec"] = {name: value for name, value in made["spec"].items() if value is not None}
    cluster.create(made)
    cluster.create(wish("c"))
    cluster.settle()
    cluster.delete("pvc", "c", "default")
    cluster.settle()
    if message == "":
        assert names(cluster, "pv", "") == []
        return
    status = cluster.get("pv", "v")["status"]
    assert (status["phase"], status.get("message")) == ("Released" if message is None else "Failed", message)
    events = [("Warning", "VolumeFailedDelete", message)] if message else []
    assert [each[:3] for each in told(cluster, "v")] == events


def test_a_volume_concerns_the_claims_that_could_have_it() -> None:
    """Each claim that waits would else look at all volumes whenever one of them changes."""
    waiting = [wish(name, **spec) for name, spec in (("fits", {}), ("other", {"storageClassName": "fast"}))]
    modes = {**wish("modes"), "spec": {**wish("modes")["spec"], "accessModes": ["ReadWriteMany"]}}
    named = wish("named", volumeName="v")
    claims = MemorySnapshot([*waiting, modes, named], captured=["*"])
    change = Change("ADDED", Entry(Key(VOLUMES, "", "v"), Revision(1), volume("v")), None)
    found = PersistentVolumeController(SimulatedClock()).keys_affected(change, Lister(claims))
    assert [key.name for key in found] == ["v", "named", "fits"]


def test_claims_made_together_get_volumes_of_their_own(cluster: simkit.Cluster) -> None:
    """Each takes the smallest that is left for it, whatever the others ask for."""
    for number in range(6):
        cluster.create(volume(f"v{number}", f"{number + 1}Gi"))
    for number in range(6):
        cluster.create(wish(f"c{number}", f"{6 - number}Gi"))
    cluster.create(wish("labelled", selector={"matchLabels": {"tier": "gold"}}))
    cluster.settle()
    found = {claim["metadata"]["name"]: claim["spec"].get("volumeName") for claim in cluster.list("pvc")}
    assert found == {**{f"c{number}": f"v{5 - number}" for number in range(6)}, "labelled": None}
    cluster.create({**volume("gold", "9Gi"), "metadata": {"name": "gold", "labels": {"tier": "gold"}}})
    cluster.settle()
    assert cluster.get("pvc", "labelled")["spec"]["volumeName"] == "gold"


@given(
    volumes=st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(["", "a"]), MODES, LABELS, st.booleans()), max_size=8
    ),
    claims=st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["", "a"]), MODES, LABELS), max_size=8),
)
def test_the_index_chooses_as_a_look_at_all_volumes_does(volumes: list[Any], claims: list[Any]) -> None:
    """For claims one after the other, each without what the ones before have taken."""
    made = [
        {
            **volume(
                f"v{n}", f"{size}Gi", storageClassName=name, accessModes=modes, **({"claimRef": KEPT} if kept else {})
            ),
            "metadata": {"name": f"v{n}", "labels": labels},
        }
        for n, (size, name, modes, labels, kept) in enumerate(volumes)
    ]
    index = VolumeIndex(made)
    left: list[Object] = list(made)
    for n, (size, name, modes, labels) in enumerate(claims):
        selector = {"selector": {"matchLabels": labels}} if labels else {}
        claim = wish(f"c{n}", f"{size}Gi", storageClassName=name, accessModes=modes, **selector)
        claim["metadata"]["namespace"] = "default"
        found = index.best(claim)
        assert found == best(claim, left)
        reserved = n == 0 and any("claimRef" in each["spec"] for each in made)
        hears = reserved or any(best(claim, (each,)) for each in made)
        heard = {obj["metadata"]["name"] for each in made for obj in ClaimIndex([claim]).concerned(each)}
        assert heard == ({f"c{n}"} if hears else set())
        if found is not None and "claimRef" not in found["spec"]:
            index.take(found)
            left.remove(found)
