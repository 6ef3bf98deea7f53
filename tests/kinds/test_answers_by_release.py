"""Answers about kinds that were found to differ from those of kube-apiserver 1.36, and where 1.30 answers otherwise."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FORMATS = {
    "i": {"type": "integer", "format": "int32"},
    "f": {"type": "number", "format": "float"},
    "k": {"type": "integer", "maximum": 1.5},
    "s": {"type": "string", "format": "k8s-short-name"},
    "b": {"type": "boolean", "format": "date"},
}


@pytest.fixture(scope="module")
def clusters() -> dict[str, simkit.Cluster]:
    """A cluster of each release that is asked, with a definition that has formats."""
    made = {release: simkit.Cluster(release=release, seed=1) for release in ("1.30", "1.33", "1.35", "1.36")}
    for cluster in made.values():
        assert cluster.perform(Request.of("POST", CRDS, definition(FORMATS))).status == 201
    return made


def definition(fields: dict[str, Any]) -> dict[str, Any]:
    """A definition of widgets whose spec has some fields."""
    spec = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": spec}}
    names = {"plural": "widgets", "kind": "Widget"}
    body = {"group": "x.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "widgets.x.example.com"}, "spec": body}


def created(cluster: simkit.Cluster, path: str, version: str, kind: str, **parts: Any) -> Response:
    """The answer to the creation of an object named x, as a dry run."""
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **parts}
    return cluster.perform(Request.of("POST", f"{path}?dryRun=All", obj))


@pytest.mark.parametrize(
    ("spec", "before", "after"),
    [
        ({"i": 2**31}, "", "Checked value must be of type integer with format int32 in spec.i"),
        ({"i": 1.5}, 'spec.i in body must be of type integer: "number"', 'spec.i in body must be of type int32: "float64"'),
        ({"f": 1e39}, "", "Checked value must be of type number with format float in spec.f"),
        ({"k": 1}, "", "Maximum boundary value must be of type integer (default format) in spec.k"),
        ({"s": "Not"}, "", 'spec.s in body must be of type k8s-short-name: "Not"'),
        ({"b": "x"}, 'spec.b in body must be of type date: "x"', 'spec.b in body must be of type boolean: "string"'),
        ({"i": 1, "f": 1.5, "s": "not", "b": True}, "", ""),
    ],
)  # fmt: skip
def test_formats(clusters: dict[str, simkit.Cluster], spec: dict[str, Any], before: str, after: str) -> None:
    """Formats of numbers count since 1.36, those of names since 1.35."""
    path = "/apis/x.example.com/v1/namespaces/default/widgets"
    for release, told in (("1.33", before), ("1.36", after)):
        answer = created(clusters[release], path, "x.example.com/v1", "Widget", spec=spec)
        assert answer.status == (422 if told else 201)
        assert told in answer.object.get("message", "")


def test_warnings_of_formats(clusters: dict[str, simkit.Cluster]) -> None:
    """Formats that nothing checks are warned about, up to 1.35 those of texts only; an update tells of new ones."""
    fields = {**FORMATS, "t": {"type": "string", "format": "unheard-of"}, "u": {"type": "integer", "format": "uint8"}}
    found = {}
    for release, cluster in clusters.items():
        answer = cluster.perform(Request.of("PATCH", f"{CRDS}/widgets.x.example.com?dryRun=All",
            {"spec": {"versions": definition(fields)["spec"]["versions"]}},
            headers={"content-type": "application/merge-patch+json"}))  # fmt: skip
        assert answer.status == 200
        found[release] = [value.split('"')[2].strip("\\") for name, value in answer.headers if name == "Warning"]
    assert found == {"1.30": [], "1.33": [], "1.35": ["unheard-of"], "1.36": ["unheard-of", "uint8"]}


@pytest.mark.parametrize(
    ("place", "parts", "releases"),
    [
        (
            ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", "networking.k8s.io/v1", "Ingress"),
            {"spec": {"defaultBackend": {"service": {"name": "9a", "port": {"number": 1}}}}},
            {"1.35": "a DNS-1035 label", "1.36": ""},
        ),
        (
            ("/apis/networking.k8s.io/v1/ingressclasses", "networking.k8s.io/v1", "IngressClass"),
            {"spec": {"controller": "a.b/c", "parameters": {"kind": "k"}}},
            {"1.33": "name: Required value: name is required", "1.36": "name: Required value"},
        ),
        (
            ("/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1", "CSINode"),
            {"spec": {"drivers": [{"name": "", "nodeID": "n"}]}},
            {"1.33": "a lowercase RFC 1123", "1.35": "CSINode.storage.k8s.io \"x\" is invalid: spec.drivers[0].name: Required value"},
        ),
        (
            ("/api/v1/namespaces/default/services", "v1", "Service"),
            {"spec": {"ports": [{"port": 1}], "trafficDistribution": "PreferSameNode"}},
            {"1.30": "", "1.33": 'spec.trafficDistribution: Unsupported value: "PreferSameNode"', "1.36": ""},
        ),
        (
            ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "discovery.k8s.io/v1", "EndpointSlice"),
            {"addressType": "IPv4", "endpoints": [{"addresses": ["2001:db8::1"]}], "ports": []},
            {"1.30": "must be a valid IPv4 address", "1.36": "must be an IPv4 address"},
        ),
        (
            ("/api/v1/namespaces/default/persistentvolumeclaims", "v1", "PersistentVolumeClaim"),
            {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}, "volumeAttributesClassName": "a/b"}},
            {"1.33": "", "1.36": "spec.volumeAttributesClassName: Invalid value"},
        ),
        (
            ("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"),
            {"spec": {"matchResources": {"resourceRules": [{"operations": ["DELETE"]}]}}},
            {"1.36": 'Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"'},
        ),
    ],
)  # fmt: skip
def test_refusals(
    clusters: dict[str, simkit.Cluster], place: tuple[str, str, str], parts: dict[str, Any], releases: dict[str, str]
) -> None:
    """A new object is refused with the words of the release, or taken."""
    for release, told in releases.items():
        answer = created(clusters[release], *place, **parts)
        assert answer.status == (422 if told else 201), (release, answer.object)
        assert told in answer.object.get("message", "")


def test_tolerations_of_requests_for_devices(clusters: dict[str, simkit.Cluster]) -> None:
    """An operator that is not given is Equal."""
    exactly = {"deviceClassName": "k", "tolerations": [{"key": "a"}]}
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    parts = {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
    made = created(clusters["1.36"], path, "resource.k8s.io/v1", "ResourceClaim", **parts)
    assert made.object["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] == [
        {"key": "a", "operator": "Equal"}
    ]


def test_token_requests_of_drivers(clusters: dict[str, simkit.Cluster]) -> None:
    """Drivers that do not say where they want tokens are warned about since 1.35."""
    found = {}
    for release in ("1.33", "1.36"):
        parts = {"spec": {"tokenRequests": [{"audience": "a"}]}}
        answer = created(
            clusters[release], "/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1", "CSIDriver", **parts
        )
        found[release] = [name for name, _ in answer.headers if name == "Warning"]
    assert found == {"1.33": [], "1.36": ["Warning"]}


def test_a_deletion_of_a_definition_sets_no_finalizers_of_the_collector(clusters: dict[str, simkit.Cluster]) -> None:
    """The first request to delete adds the finalizer for the cleanup, whatever its propagation policy is."""
    with clusters["1.36"].what_if() as trial:
        body = {"propagationPolicy": "Orphan"}
        answer = trial.perform(Request.of("DELETE", f"{CRDS}/widgets.x.example.com", body))
    assert answer.object["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]


def test_nobody_owns_what_the_server_wipes(clusters: dict[str, simkit.Cluster]) -> None:
    """Fields of the metadata that only the server writes leave no trace in the managed fields of a new object."""
    metadata = {"name": "y", "deletionGracePeriodSeconds": 5, "uid": "u", "selfLink": "/x"}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    made = clusters["1.36"].perform(Request.of("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", obj))
    assert made.status == 201
    assert "managedFields" not in made.object["metadata"]


def test_services_with_wrong_prefixes(clusters: dict[str, simkit.Cluster]) -> None:
    """An update of a service looks at generateName up to 1.33."""
    found = {}
    for release in ("1.33", "1.36"):
        with clusters[release].what_if() as trial:
            obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 1}]}}
            path = "/api/v1/namespaces/default/services"
            made = trial.perform(Request.of("POST", path, obj)).object
            changed = {**made, "metadata": {**made["metadata"], "generateName": "Not_Valid!"}}
            found[release] = trial.perform(Request.of("PUT", f"{path}/x", changed)).status
    assert found == {"1.33": 422, "1.36": 200}


def test_answers_without_a_handler_do_not_warn(clusters: dict[str, simkit.Cluster]) -> None:
    """A path that has none of the media types asked for answers before anything warns of a deprecated version."""
    found = []
    for accept in ("text/plain", "application/json"):
        answer = clusters["1.36"].perform(
            Request.of("GET", "/api/v1/namespaces/default/endpoints", headers={"accept": accept})
        )
        found.append((answer.status, [name for name, _ in answer.headers if name == "Warning"]))
    assert found == [(406, []), (200, ["Warning"])]


def test_dry_runs_name_the_key_below_the_prefix(clusters: dict[str, simkit.Cluster]) -> None:
    """A wrong uid is told with the key in the storage, for a dry run without its prefix."""
    path, found = "/api/v1/namespaces/default", []
    for options in ("", "?dryRun=All"):
        obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "uid": "u"}}
        clusters["1.36"].perform(Request.of("POST", f"{path}/serviceaccounts", obj))
        answer = clusters["1.36"].perform(Request.of("PUT", f"{path}/serviceaccounts/default{options}", obj))
        found.append(answer.object["message"].partition("Key: ")[2].partition(",")[0])
    assert found == ["/registry/serviceaccounts/default/default", "/serviceaccounts/default/default"]


def test_warnings_of_network_policies(clusters: dict[str, simkit.Cluster]) -> None:
    """Ranges with bits beyond their length are warned about at 1.33."""
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}
    found = {}
    for release in ("1.30", "1.33"):
        answer = created(clusters[release], path, "networking.k8s.io/v1", "NetworkPolicy", spec=spec)
        found[release] = [name for name, _ in answer.headers if name == "Warning"]
    assert found == {"1.30": [], "1.33": ["Warning"]}


def test_defaults_that_are_stored_late(clusters: dict[str, simkit.Cluster]) -> None:
    """The first update of a claim stores its phase, and so a new revision; the next one finds nothing to do."""
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "late"}, "spec": spec}
    with clusters["1.36"].what_if() as trial:
        seen = [trial.perform(Request.of("POST", path, claim)).object["metadata"]["resourceVersion"]]
        for _ in range(2):
            patch = Request.of("PATCH", f"{path}/late", {}, headers={"content-type": "application/merge-patch+json"})
            seen.append(trial.perform(patch).object["metadata"]["resourceVersion"])
    assert seen[0] != seen[1] == seen[2]


def test_events_of_both_groups(clusters: dict[str, simkit.Cluster]) -> None:
    """Errors name the group that was asked; the metadata of new core Events are checked if nothing else is wrong."""
    cluster = clusters["1.30"]
    group = "/apis/events.k8s.io/v1/namespaces/default/events"
    gone = cluster.perform(Request.of("DELETE", f"{group}/none"))
    assert gone.object["message"] == 'events.events.k8s.io "none" not found'
    core = "/api/v1/namespaces/default/events"
    wrong = {"metadata": {"name": "x", "ownerReferences": [{"name": "o"}]}, "involvedObject": {"namespace": "other"}}
    told = created(cluster, core, "v1", "Event", **wrong).object["details"]["causes"]
    assert [one["field"] for one in told] == ["involvedObject.namespace"]
    told = created(cluster, core, "v1", "Event", metadata=wrong["metadata"], involvedObject={}).object["details"][
        "causes"
    ]
    assert {one["field"].partition(".")[0] for one in told} == {"metadata"}


def test_columns_of_priority_classes(clusters: dict[str, simkit.Cluster]) -> None:
    """The table has the preemption policy since 1.32."""
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    found = {}
    for release in ("1.30", "1.33"):
        request = Request.of("GET", "/apis/scheduling.k8s.io/v1/priorityclasses", headers=accept)
        table = clusters[release].perform(request).object
        found[release] = [len(table["columnDefinitions"]), *table["rows"][0]["cells"][4:]]
    assert found == {"1.30": [4], "1.33": [5, "PreemptLowerPriority"]}


def test_paths_of_wrong_types(clusters: dict[str, simkit.Cluster]) -> None:
    """Errors of decoding name embedded structs since 1.35."""
    told = {}
    for release in ("1.33", "1.35"):
        spec = {"volumes": [{"name": "v", "emptyDir": 5}]}
        message = created(clusters[release], "/api/v1/namespaces/default/pods", "v1", "Pod", spec=spec).object[
            "message"
        ]
        told[release] = message.partition("struct field ")[2].partition(" ")[0]
    assert told == {"1.33": "Volume.spec.volumes.emptyDir", "1.35": "Volume.spec.volumes.VolumeSource.emptyDir"}


def test_applied_numbers_overflow(clusters: dict[str, simkit.Cluster]) -> None:
    """An applied number of more than 32 bits is wrapped, as a conversion in Go does it."""
    metadata = {"name": "x"}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {
        "replicas": 2**32 + 3, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}  # fmt: skip
    path = "/apis/apps/v1/namespaces/default/deployments/x?fieldManager=m&dryRun=All"
    applied = Request.of("PATCH", path, body, headers={"content-type": "application/apply-patch+yaml"})
    assert clusters["1.30"].perform(applied).object["spec"]["replicas"] == 3


def test_a_changed_service_with_one_number_twice(clusters: dict[str, simkit.Cluster]) -> None:
    """The allocator of node ports meets a number that a protocol has twice before validation does."""
    path = "/api/v1/namespaces/default/services"
    ports = [{"name": "a", "port": 1, "nodePort": 30100}, {"name": "b", "port": 2, "nodePort": 30100}]
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"type": "NodePort"}}
    with clusters["1.30"].what_if() as trial:
        first = {**obj, "spec": {"type": "NodePort", "ports": ports[:1]}}
        trial.perform(Request.of("POST", path, first))
        patch = {"spec": {"ports": ports}}
        merge = {"content-type": "application/merge-patch+json"}
        answer = trial.perform(Request.of("PATCH", f"{path}/x", patch, headers=merge))
    assert (answer.status, answer.object["message"]) == (500, "duplicate nodePort: {TCP 30100}")
