"""Answers of releases before 1.30 that differ from those of 1.30."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.message import Request, Response

PODS = "/api/v1/namespaces/default/pods"
ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
SECCOMP = "seccomp.security.alpha.kubernetes.io"


@cache
def cluster_at(release: str) -> simkit.Cluster:
    """A cluster in which pods need no account."""
    return simkit.Cluster(options=Options(release=release, seed=1, disable_admission_plugins=("ServiceAccount",)))


def created(
    release: str, path: str, version: str, kind: str, notes: dict[str, str] | None = None, **parts: Any
) -> Response:
    """The answer to the creation of an object, as a dry run."""
    metadata = {"name": "x", **({"annotations": notes} if notes else {})}
    body = {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}
    return cluster_at(release).perform(Request.of("POST", f"{path}?dryRun=All", body))


def pod(
    release: str, notes: dict[str, str] | None = None, container: dict[str, Any] | None = None, **spec: Any
) -> Response:
    whole = {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}
    return created(release, PODS, "v1", "Pod", notes, spec=whole)


def warned(response: Response) -> list[str]:
    assert response.status == 201, response.body
    return [value.removeprefix("299 - ") for name, value in response.headers if name.lower() == "warning"]


@pytest.mark.parametrize(
    ("volume", "texts"),
    [
        (
            "glusterfs",
            {
                "1.24": "",
                "1.26": "deprecated in v1.25, this feature will be removed soon after in a subsequent release",
                "1.27": "deprecated in v1.25, non-functional in v1.26+",
            },
        ),
        ("cephfs", {"1.27": "", "1.28": "deprecated in v1.28, non-functional in v1.31+"}),
        (
            "quobyte",
            {
                "1.21": "",
                "1.26": "deprecated in v1.22, support removal is planned in v1.26",
                "1.27": "deprecated in v1.22, non-functional in v1.25+",
            },
        ),
    ],
)
def test_warnings_of_volumes(volume: str, texts: dict[str, str]) -> None:
    """What is said of removed types of volumes changed with the plans."""
    sources: dict[str, dict[str, Any]] = {
        "glusterfs": {"endpoints": "e", "path": "p"},
        "cephfs": {"monitors": ["m"]},
        "quobyte": {"registry": "r:1", "volume": "v"},
    }
    for release, text in texts.items():
        answer = pod(release, volumes=[{"name": "v", volume: sources[volume]}])
        assert warned(answer) == ([f'"spec.volumes[0].{volume}: {text}"'] if text else []), release


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.21", ""),
        ("1.23", 'spec.containers[0].env[1].name: duplicate name \\"A\\"'),
        ("1.28", 'spec.containers[0].env[1]: hides previous definition of \\"A\\"'),
        (
            "1.30",
            'spec.containers[0].env[1]: hides previous definition of \\"A\\", which may be dropped when using apply',
        ),
    ],
)
def test_repeated_variables(release: str, text: str) -> None:
    """Repeated variables were warned of as such before it counted whether they hide others."""
    values = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    assert warned(pod(release, container={"env": values})) == ([f'"{text}"'] if text else [])


@pytest.mark.parametrize("release", ["1.18", "1.24", "1.26", "1.27"])
def test_seccomp_in_both_forms(release: str) -> None:
    """From 1.19, which has the field, to 1.26 the field is made from the annotation, and up to 1.24 the reverse too."""
    both = release in ("1.24", "1.26")
    answer = pod(release, {f"{SECCOMP}/pod": "runtime/default"})
    made = json.loads(answer.body)
    expected = {"seccompProfile": {"type": "RuntimeDefault"}} if both else {}
    assert made["spec"]["securityContext"] == expected
    ends = {"1.24": "deprecated since v1.19, non-functional in v1.25+", "1.27": "non-functional in v1.27+"}
    ends["1.26"] = "deprecated since v1.19, non-functional in a future release"
    words = [text for text in warned(answer) if ends.get(release, "nothing") in text]
    assert len(words) == (0 if release == "1.18" or both else 1)
    context = {"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}}
    notes = json.loads(pod(release, container=context).body)["metadata"].get("annotations", {})
    noted = {"container.seccomp.security.alpha.kubernetes.io/c": "localhost/a.json"} if release == "1.24" else {}
    assert notes == noted


def test_app_armor_before_fields() -> None:
    """Annotations stay what they are, and nobody is warned."""
    answer = pod("1.29", {ARMOR: "runtime/default"})
    assert warned(answer) == []
    assert "securityContext" not in json.loads(answer.body)["spec"]["containers"][0]
    assert "securityContext" in json.loads(pod("1.30", {ARMOR: "runtime/default"}).body)["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.21", "'replicas', 'template', and 'updateStrategy' are"),
        ("1.25", "'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and"),
        ("1.26", "'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and"),
    ],
)
def test_what_may_change_about_stateful_sets(release: str, told: str) -> None:
    """The error lists what the release knows."""
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "serviceName": "s", "template": template}
    cluster, path = simkit.Cluster(release, seed=1), "/apis/apps/v1/namespaces/default/statefulsets"
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"}, "spec": spec}
    assert cluster.perform(Request.of("POST", path, body)).status == 201
    patch = Request.of(
        "PATCH", f"{path}/x", {"spec": {"serviceName": "t"}}, content_type="application/merge-patch+json"
    )
    assert told in cluster.perform(patch).body.decode()


@pytest.mark.parametrize(("release", "listed"), [("1.24", False), ("1.25", True)])
def test_media_types_that_a_path_does_not_have(release: str, listed: bool) -> None:
    """The refusal names those that it has since 1.25."""
    request = Request.of("GET", PODS, headers={"Accept": "text/html"})
    message = json.loads(cluster_at(release).perform(request).body)["message"]
    assert message.startswith("406: Not Acceptable")
    assert ("Available representations" in message) == listed


@pytest.mark.parametrize(("release", "checked"), [("1.25", False), ("1.26", True)])
def test_values_of_selectors(release: str, checked: bool) -> None:
    """Whether labels could have the values of an expression was not asked before."""
    expressions = [{"key": "a", "operator": "In", "values": ["a/b"]}]
    rule = {"clusterRoleSelectors": [{"matchExpressions": expressions}]}
    path, version = "/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1"
    answer = created(release, path, version, "ClusterRole", aggregationRule=rule)
    fields = [each["field"] for each in json.loads(answer.body)["details"]["causes"]]
    where = "aggregationRule.clusterRoleSelectors[0]"
    assert (f"{where}.matchExpressions[0].values[0]" in fields) == checked
    assert where in fields


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.29", 'Invalid value: []string{"..", "10.0.0.0/24"}: must be valid CIDR'),
        ("1.30", 'Invalid value: "..": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
    ],
)
def test_ranges_of_nodes(release: str, message: str) -> None:
    """All ranges were shown for each that is wrong."""
    answer = created(release, "/api/v1/nodes", "v1", "Node", spec={"podCIDR": "..", "podCIDRs": ["..", "10.0.0.0/24"]})
    assert json.loads(answer.body)["details"]["causes"][0] == {
        "reason": "FieldValueInvalid",
        "message": message,
        "field": "spec.podCIDRs[0]",
    }


@pytest.mark.parametrize(
    ("release", "path", "listed"),
    [("1.23", "/openapi/v2", False), ("1.24", "/openapi/v2", True), ("1.24", "/openapi/v3/api/v1", True)],
)
def test_enumerations_in_documents(release: str, path: str, listed: bool) -> None:
    """Documents list the values of enumerations since 1.24, whichever release was asked before."""
    document = json.loads(cluster_at(release).perform(Request.of("GET", path)).body)
    found = document.get("definitions") or document["components"]["schemas"]
    field = found["io.k8s.api.core.v1.PodSpec"]["properties"]["dnsPolicy"]
    assert ("enum" in field) == listed
