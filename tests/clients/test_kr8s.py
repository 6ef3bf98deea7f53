"""kr8s: a small client with objects that know their cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

kr8s = pytest.importorskip("kr8s", reason="kr8s is a development dependency")


def test_objects(kubeconfig: Path) -> None:
    """Create, patch, label, scale, wait for, list and delete through kr8s."""
    from kr8s.objects import ConfigMap, Deployment, Pod

    api = kr8s.api(kubeconfig=str(kubeconfig))
    made = ConfigMap({"metadata": {"name": "kr8s", "namespace": "default"}, "data": {"k": "v"}}, api=api)
    made.create()
    assert made.exists()
    made.patch({"data": {"k": "w"}})
    made.label({"team": "a"})
    assert (made.raw["data"], dict(made.labels)) == ({"k": "w"}, {"team": "a"})
    found = list(api.get("configmaps", namespace="default", label_selector={"team": "a"}))
    assert [each.name for each in found] == ["kr8s"]
    containers = [{"name": "c", "image": "nginx"}]
    template = {"metadata": {"labels": {"app": "k"}}, "spec": {"containers": containers}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "k"}}, "template": template}
    deployment = Deployment({"metadata": {"name": "kr8s", "namespace": "default"}, "spec": spec}, api=api)
    deployment.create()
    deployment.scale(2)
    deployment.wait("jsonpath='{.spec.replicas}'=2", timeout=20)
    for _, seen in api.watch("deployments", namespace="default"):
        if seen.status.get("replicas") == 2:
            break
    assert len(list(api.get(Pod, namespace="default", label_selector="app=k"))) == 2
    for each in (deployment, made):
        each.delete()
    with pytest.raises(kr8s.NotFoundError):
        ConfigMap.get("kr8s", namespace="default", api=api)


def test_watch(kubeconfig: Path) -> None:
    """A watch tells what there is, then what comes."""
    from kr8s.objects import Secret

    api = kr8s.api(kubeconfig=str(kubeconfig))
    told = []
    for name in ("kr8s-0", "kr8s-1"):
        Secret({"metadata": {"name": name, "namespace": "default"}}, api=api).create()
    for event, secret in api.watch("secrets", namespace="default"):
        told.append((event, secret.name))
        if secret.name == "kr8s-1":
            break
    assert told[-2:] == [("ADDED", "kr8s-0"), ("ADDED", "kr8s-1")]
    assert api.whoami() == "kubernetes-admin"
    assert "configmaps" in {resource["name"] for resource in api.api_resources()}
