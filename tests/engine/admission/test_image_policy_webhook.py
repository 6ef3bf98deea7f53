"""Pods whose images a service outside judges, and volumes whose cloud is not there to be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.engine.admission.images import ImagePolicy, ImagePolicyWebhook
from simkit.engine.egress.call import CallFailed
from simkit.meta.errors import SimkitError, StatusError
from simkit.schema.behaviour import default_behaviour
from tests.engine.admission.objects import container, obj, pod, refusal
from tests.engine.egress.service import Service, serving

Making = Callable[..., simkit.Cluster]
_KEY = "who.image-policy.k8s.io/asked"


def judged(path: str, review: Any) -> tuple[int, Any]:
    """Images called ``bad`` are refused; a reason is given for those that are ``worse``."""
    images = [each["image"] for each in review["spec"]["containers"]]
    status: dict[str, Any] = {"allowed": not any(image.startswith(("bad", "worse")) for image in images)}
    if "worse" in images:
        status["reason"] = "it is worse"
    return 200, {**review, "status": {**status, "auditAnnotations": {"images": str(len(images))}}}


def settings(folder: Path, service: Service, **more: Any) -> Path:
    """The file of settings that names the service."""
    service.kubeconfig(folder / "images.kubeconfig", route="/images")
    policy = {"imagePolicy": {"kubeConfigFile": "images.kubeconfig", **more}}
    document = {"plugins": [{"name": "ImagePolicyWebhook", "configuration": policy}]}
    path = folder / "admission.json"
    path.write_text(json.dumps(document))
    return path


def test_a_service_judges_images(making: Making, tmp_path: Path) -> None:
    """All images of a pod are sent at once, with the annotations that are meant for it; answers are remembered."""
    with serving(tmp_path, judged) as service:
        cluster = making("ImagePolicyWebhook", settings=settings(tmp_path, service))
        first = container(name="first")
        spec = {"initContainers": [first], "containers": [container(image="good")]}
        cluster.create(pod("a", annotations={_KEY: "yes", "other": "no"}, **spec))
        path, _, review = service.requests[-1]
        assert path == "/images"
        assert (review["apiVersion"], review["kind"]) == ("imagepolicy.k8s.io/v1alpha1", "ImageReview")
        assert review["spec"] == {
            "containers": [{"image": "i"}, {"image": "good"}],
            "annotations": {_KEY: "yes"},
            "namespace": "default",
        }
        cluster.create(pod("b", annotations={_KEY: "yes"}, **spec))
        assert len(service.requests) == 1
        refused = refusal(cluster, pod("c", containers=[container(image="bad")]))
        assert refused.message == 'pods "c" is forbidden: one or more images rejected by webhook backend'
        refused = refusal(cluster, pod("d", containers=[container(image="worse")]))
        assert refused.message.endswith("image policy webhook backend denied one or more images: it is worse")
        assert cluster.engine.inner_parts_leave_process
        assert "no connections to the outside" in refusal(cluster.fork(), pod("e")).message


def test_a_service_that_is_not_there(making: Making, tmp_path: Path) -> None:
    """Pods are refused, unless the settings say that they pass."""
    with serving(tmp_path, lambda path, review: (404, {})) as service:
        closed = making("ImagePolicyWebhook", settings=settings(tmp_path, service))
        assert "the answer has status 404" in refusal(closed, pod()).message
        opened = making("ImagePolicyWebhook", settings=settings(tmp_path, service, defaultAllow=True))
        assert opened.create(pod())["metadata"]["name"] == "p"


def test_a_service_has_to_be_named(making: Making) -> None:
    """Without settings the plugin cannot be switched on."""
    with pytest.raises(SimkitError, match=r"imagePolicy\.kubeConfigFile"):
        making("ImagePolicyWebhook")


class _Busy:
    """A service that is busy at first."""

    def __init__(self, times: int) -> None:
        self.times = times

    def post(self, body: bytes) -> bytes:
        self.times -= 1
        if self.times >= 0:
            raise CallFailed("busy", 503)
        return json.dumps({"kind": "ImageReview", "status": {"allowed": True}}).encode()


def test_a_busy_service_is_asked_again(cluster: simkit.Cluster) -> None:
    """With longer and longer waits, up to five times."""
    waits: list[float] = []
    clock = simkit.SimulatedClock()
    plugin = ImagePolicyWebhook(_Busy(2), ImagePolicy(), clock, sleep=waits.append)
    plugin.validate(_review())
    assert waits == [0.5, 0.75]
    plugin = ImagePolicyWebhook(_Busy(9), ImagePolicy(), clock, sleep=waits.append)
    with pytest.raises(StatusError, match="busy"):
        plugin.validate(_review())


def _review() -> Any:
    from simkit.meta.identity import administrator
    from simkit.meta.names import GroupResource, GroupVersionKind
    from simkit.seams import Review

    kind = GroupVersionKind("", "v1", "Pod")
    pods = GroupResource("", "pods")
    return Review(
        default_behaviour("1.30"), administrator(), "CREATE", pods, "v1", "", kind, "default", "p", pod(), None
    )


def test_volumes_of_clouds_that_are_not_there(making: Making) -> None:
    """They cannot be labelled, so they are refused; those that bring their labels, and all others, pass."""
    cluster = making("PersistentVolumeLabel")
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    disk = {**spec, "gcePersistentDisk": {"pdName": "d"}}
    refused = refusal(cluster, obj("v1", "PersistentVolume", "v", spec=disk)).message
    assert refused.endswith("error querying GCE PD volume d: unable to build GCE cloud provider for PD")
    labels = {"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "b"}
    meta = {"labels": labels, "annotations": {"pv.kubernetes.io/provisioned-by": "somebody"}}
    cluster.create(obj("v1", "PersistentVolume", "v", meta=meta, spec=disk))
    cluster.create(obj("v1", "PersistentVolume", "w", spec={**spec, "hostPath": {"path": "/x"}}))
