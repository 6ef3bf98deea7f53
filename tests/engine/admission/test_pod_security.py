"""Pod security at work: refusals, warnings, notes, exemptions and changed labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from tests.engine.admission.objects import change, obj, pod, refusal

PREFIX = "pod-security.kubernetes.io/"


def labelled(cluster: simkit.Cluster, name: str, **labels: str) -> None:
    """A namespace with labels, and the account that pods need."""
    wanted = {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}
    cluster.create(obj("v1", "Namespace", name, meta={"labels": wanted}))
    cluster.create(obj("v1", "ServiceAccount", "default", meta={"namespace": name}))


def inside(namespace: str, made: dict[str, Any]) -> dict[str, Any]:
    return {**made, "metadata": {**made["metadata"], "namespace": namespace}}


def warnings(response: Response) -> list[str]:
    return [value for name, value in response.headers if name == "Warning"]


def test_a_refused_pod_is_not_warned_of(cluster: simkit.Cluster) -> None:
    """A refusal carries no warnings."""
    labelled(cluster, "x", enforce="baseline", warn="restricted")
    body = inside("x", pod(hostNetwork=True))
    response = cluster.perform(Request.of("POST", "/api/v1/namespaces/x/pods", body))
    assert (response.status, warnings(response)) == (403, [])


def test_workloads_are_warned_of_but_not_refused(cluster: simkit.Cluster) -> None:
    """A template that violates what is enforced is still written; its pods will not be."""
    labelled(cluster, "x", enforce="restricted", warn="restricted")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = obj("apps/v1", "Deployment", "d", spec=spec)
    response = cluster.perform(Request.of("POST", "/apis/apps/v1/namespaces/x/deployments", body))
    assert response.status == 201
    assert 'would violate PodSecurity \\"restricted:latest\\"' in warnings(response)[0]


def test_wrong_labels_are_refused_once(cluster: simkit.Cluster) -> None:
    """New wrong labels are refused; old ones do not stand in the way of other changes."""
    error = refusal(cluster, obj("v1", "Namespace", "x", meta={"labels": {PREFIX + "enforce": "loose"}}))
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == (
        f'Namespace "x" is invalid: metadata.labels[{PREFIX}enforce]: Invalid value: "loose": '
        "must be one of privileged, baseline, restricted"
    )


def test_stricter_labels_tell_of_pods_that_are_there(cluster: simkit.Cluster) -> None:
    """Pods that would not be let in any more are warned of, alike ones together."""
    labelled(cluster, "x")
    for name in ("b", "a", "c"):
        cluster.create(inside("x", pod(name, hostPID=True)))
    cluster.create(inside("x", pod("quiet")))
    response = change(cluster, "/api/v1/namespaces/x", {"metadata": {"labels": {PREFIX + "enforce": "baseline"}}})
    assert response.status == 200
    assert [text[7:-1] for text in warnings(response)] == [
        'existing pods in namespace \\"x\\" violate the new PodSecurity enforce level \\"baseline:latest\\"',
        "a (and 2 other pods): host namespaces",
    ]
    relaxed = change(cluster, "/api/v1/namespaces/x", {"metadata": {"labels": {PREFIX + "enforce": "privileged"}}})
    assert warnings(relaxed) == []


def test_an_update_is_looked_at_when_it_matters(cluster: simkit.Cluster) -> None:
    """A pod that was let in may be labelled; another image is measured by the level of today."""
    labelled(cluster, "x")
    cluster.create(inside("x", pod(hostPID=True)))
    change(cluster, "/api/v1/namespaces/x", {"metadata": {"labels": {PREFIX + "enforce": "baseline"}}})
    path = "/api/v1/namespaces/x/pods/p"
    assert change(cluster, path, {"metadata": {"labels": {"a": "b"}}}).status == 200
    patch = [{"op": "replace", "path": "/spec/containers/0/image", "value": "j"}]
    request = Request.of("PATCH", path, patch, content_type="application/json-patch+json")
    assert cluster.perform(request).status == 403


SETTINGS = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    defaults: {enforce: baseline}
    exemptions: {namespaces: [trusted], usernames: [root], runtimeClasses: [kata]}
"""


@pytest.mark.parametrize(
    ("plugins", "place"),
    [
        ("5", "plugins: "),
        ("[5]", "plugins[0]: "),
        ("[{name: 5}]", "plugins[0].name: "),
        ("[{name: PodSecurity, path: 5}]", "plugins[0].path: "),
        ("[{name: PodSecurity, configuration: 5}]", "plugins[0].configuration: "),
        ("[{name: PodSecurity, configuration: {defaults: 5}}]", "defaults: "),
        ("[{name: PodSecurity, configuration: {exemptions: {namespaces: 5}}}]", "exemptions.namespaces: "),
        ("[{name: ResourceQuota, configuration: {limitedResources: [5]}}]", "limitedResources[0]: "),
        ("[{name: PodNodeSelector, configuration: {podNodeSelectorPluginConfig: [a]}}]", "podNodeSelectorPluginConfig"),
        ("[{name: PodTolerationRestriction, configuration: {default: {a: b}}}]", "default: "),
        ("[{name: Other, configuration: 5}]", "plugins[0].configuration: "),
    ],
)
def test_settings_of_wrong_types_are_told_at_their_place(plugins: str, place: str, tmp_path: Path) -> None:
    """No fault of the server's own, and no settings that are silently not there."""
    path = tmp_path / "admission.yaml"
    path.write_text(f"{{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: {plugins}}}")
    with pytest.raises(SimkitError, match=re.escape(place)):
        simkit.Cluster(options=Options(admission_control_config_file=path))


def test_exemptions_and_defaults_come_from_a_file(making: Any, tmp_path: Path) -> None:
    """A file sets what namespaces without labels demand, and whose pods are not looked at."""
    path = tmp_path / "admission.yaml"
    path.write_text(SETTINGS)
    cluster = making(settings=path)
    assert 'violates PodSecurity "baseline:latest"' in refusal(cluster, pod(hostPID=True)).message
    labelled(cluster, "trusted", enforce="privileged")
    assert cluster.create(inside("trusted", pod(hostPID=True)))
    assert cluster.create(pod(hostPID=True), identity=Identity("root", ("system:masters",)))
    cluster.create(obj("node.k8s.io/v1", "RuntimeClass", "kata", handler="kata"))
    assert cluster.create(pod("q", hostPID=True, runtimeClassName="kata"))
    response = change(
        cluster, "/api/v1/namespaces/trusted", {"metadata": {"labels": {PREFIX + "enforce": "restricted"}}}
    )
    assert warnings(response) == [
        '299 - "namespace \\"trusted\\" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored"'
    ]
