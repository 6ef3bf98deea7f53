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
    assert [item.metadata.name for item in found.list(ConfigMap, namespace="light")] == ["a", "b"]
    found.delete(ConfigMap, "a", namespace="light")
    with pytest.raises(lightkube.ApiError) as caught:
        found.get(ConfigMap, "a", namespace="light")
    assert caught.value.status.code == 404
    found.close()
