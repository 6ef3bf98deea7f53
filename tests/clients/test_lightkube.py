"""lightkube: a client with models of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

lightkube = pytest.importorskip("lightkube", reason="lightkube is a development dependency")


def test_objects(kubeconfig: Path) -> None:
    """Create, apply, list and delete through lightkube."""
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import ConfigMap, Namespace

    found: Any = lightkube.Client(KubeConfig.from_file(kubeconfig), field_manager="lightkube")
    found.create(Namespace(metadata=ObjectMeta(name="light")))
    made = found.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="light"), data={"k": "v"}))
    assert made.metadata.uid
    applied = ConfigMap(metadata=ObjectMeta(name="b", namespace="light"), data={"x": "y"})
    assert found.apply(applied).data == {"x": "y"}
    listed = [item.metadata.name for item in found.list(ConfigMap, namespace="light")]
    assert listed[:2] == ["a", "b"]  # a controller adds another one
    found.delete(ConfigMap, "a", namespace="light")
    with pytest.raises(lightkube.ApiError) as caught:
        found.get(ConfigMap, "a", namespace="light")
    assert caught.value.status.code == 404
    found.close()


def test_watch_and_patches(kubeconfig: Path) -> None:
    """Patches of all kinds, status and scale, a watch, field selectors and a deletion in the foreground."""
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.models.autoscaling_v1 import ScaleSpec
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.apps_v1 import Deployment
    from lightkube.resources.core_v1 import Secret
    from lightkube.types import PatchType

    found: Any = lightkube.Client(KubeConfig.from_file(kubeconfig), field_manager="one", namespace="default")
    spec = {"selector": {"matchLabels": {"app": "l"}}, "template": {"metadata": {"labels": {"app": "l"}}}}
    spec["template"]["spec"] = {"containers": [{"name": "c", "image": "i"}]}  # type: ignore[index]
    found.create(Deployment.from_dict({"metadata": {"name": "l"}, "spec": {**spec, "replicas": 0}}))
    found.patch(Deployment, "l", {"spec": {"paused": True}}, patch_type=PatchType.MERGE)
    found.patch(Deployment, "l", [{"op": "remove", "path": "/spec/paused"}], patch_type=PatchType.JSON)
    scaled = found.replace(Deployment.Scale(metadata=ObjectMeta(name="l", namespace="default"), spec=ScaleSpec(1)), "l")
    assert scaled.spec.replicas == 1
    first = found.create(Secret(metadata=ObjectMeta(name="w")))
    for event, secret in found.watch(Secret, fields={"metadata.name": "w"}):
        assert (event, secret.metadata.uid) == ("ADDED", first.metadata.uid)
        break
    other: Any = lightkube.Client(KubeConfig.from_file(kubeconfig), field_manager="two", namespace="default")
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "l"}, "spec": {"replicas": 3}}
    with pytest.raises(lightkube.ApiError, match="conflict"):
        other.patch(Deployment, "l", body, patch_type=PatchType.APPLY)
    other.patch(Deployment, "l", body, patch_type=PatchType.APPLY, force=True)
    assert found.get(Deployment, "l").spec.replicas == 3
    found.delete(Deployment, "l", grace_period=0)
    found.close()
    other.close()
