"""What later comparisons with kube-apiserver 1.30 and 1.36 showed: revisions, owners, orders of causes."""

from __future__ import annotations

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from tests.kinds.comparison import MERGE, cluster_of, told


def revisions(cluster: Cluster, requests: list[Request]) -> list[str]:
    """The revision of the object in each answer."""
    return [cluster.perform(request).object["metadata"]["resourceVersion"] for request in requests]


def test_a_job_without_labels_is_stored_by_every_write_that_brings_none() -> None:
    """Its labels are a default that reads add, so that the object never equals what is stored."""
    cluster = cluster_of("1.30")
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec}
    path = "/apis/batch/v1/namespaces/default/jobs/j/status"
    cluster.create(job)
    put, patch = Request.of("PUT", path, job), Request.of("PATCH", path, {"status": {}}, headers=MERGE)
    first, second, third, fourth, fifth = revisions(cluster, [put, put, patch, patch, patch])
    assert first != second != third == fourth == fifth


def test_a_job_with_labels_is_stored_once() -> None:
    """Writes of an equal object change nothing."""
    cluster = cluster_of("1.30")
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec = {"template": {"metadata": {"labels": {"q": "r"}}, "spec": pod}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec}
    made = cluster.create(job)
    patch = Request.of("PATCH", "/apis/batch/v1/namespaces/default/jobs/j", {"metadata": {}}, headers=MERGE)
    assert revisions(cluster, [patch]) == [made["metadata"]["resourceVersion"]]


def test_finalizers_of_a_namespace_are_owned_by_whoever_writes_them() -> None:
    """They do not change that way; the entry is a change all the same."""
    cluster = cluster_of("1.36")
    made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    body = {"spec": {"finalizers": ["a/b"]}}
    changed = cluster.perform(Request.of("PATCH", "/api/v1/namespaces/n", body, headers=MERGE)).object
    assert changed["spec"] == made["spec"]
    records = changed["metadata"]["managedFields"]
    owned = [record["fieldsV1"].get("f:spec") for record in records]
    assert {"f:finalizers": {}} in owned
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_handlers_of_a_node_are_dropped_by_the_node_itself() -> None:
    """Writes of the status keep a field whose feature is off, and others take it away."""
    cluster = cluster_of("1.30")
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    handlers = {"status": {"runtimeHandlers": [{"name": "a"}]}}
    kept = cluster.perform(Request.of("PATCH", "/api/v1/nodes/n/status", handlers, headers=MERGE)).object
    assert kept["status"]["runtimeHandlers"] == [{"name": "a"}]
    labels = {"metadata": {"labels": {"a": "b"}}}
    left = cluster.perform(Request.of("PATCH", "/api/v1/nodes/n", labels, headers=MERGE)).object
    assert "runtimeHandlers" not in left["status"]


def test_mounts_of_a_container_are_dropped_by_the_pod_itself() -> None:
    """As the handlers of a node."""
    cluster = cluster_of("1.30")
    containers = [{"name": "c", "image": "i"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    mounts = [{"name": "a", "mountPath": "/x"}]
    state = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "volumeMounts": mounts}
    path = "/api/v1/namespaces/default/pods/p"
    body = {"status": {"containerStatuses": [state]}}
    kept = cluster.perform(Request.of("PATCH", f"{path}/status", body, headers=MERGE)).object
    assert kept["status"]["containerStatuses"][0]["volumeMounts"] == mounts
    labels = {"metadata": {"labels": {"a": "b"}}}
    left = cluster.perform(Request.of("PATCH", path, labels, headers=MERGE)).object
    assert "volumeMounts" not in left["status"]["containerStatuses"][0]


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("release", "kind", "expected"),
    [
        ("1.30", "ReplicaSet", "lglsls"),
        ("1.30", "DaemonSet", "lglsls"),
        ("1.36", "DaemonSet", "ls"),
        ("1.36", "ReplicaSet", "ls"),
    ],
)
def test_a_changed_workload_is_checked_as_a_whole_and_then_as_a_change(release: str, kind: str, expected: str) -> None:
    """Up to some release; each check looks at the labels of the object, and then at its spec."""
    cluster = cluster_of(release)
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    cluster.create(made)
    head = {"name": "x", "labels": {"a": "b c"}, "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {**spec, "minReadySeconds": -1}}
    causes = told(cluster, "PUT", f"/apis/apps/v1/namespaces/default/{kind.lower()}s/x", odd)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.minReadySeconds": "s"}
    whole = "".join(letters[cause.partition(":")[0]] for cause in causes)
    assert whole == f"l{'' if expected == 'lglsls' else 'l'}{expected}"


@pytest.mark.parametrize(("release", "expected"), [("1.30", "llglsls"), ("1.36", "llls")])
def test_a_changed_network_policy_is_checked_twice(release: str, expected: str) -> None:
    """Up to the release that checks it once."""
    cluster = cluster_of(release)
    made = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "x"}}
    cluster.create({**made, "spec": {"podSelector": {}}})
    head = {"name": "x", "labels": {"a": "b c"}, "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {"podSelector": {}, "policyTypes": ["x"]}}
    causes = told(cluster, "PUT", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/x", odd)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.policyTypes[0]": "s"}
    assert "".join(letters[cause.partition(":")[0]] for cause in causes) == expected


def test_addresses_of_a_changed_service_stand_before_its_metadata() -> None:
    """What may not change is told first."""
    cluster = cluster_of("1.30")
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}
    cluster.create(made)
    head = {"name": "x", "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {"ports": [{"port": 0}], "clusterIP": "None"}}
    fields = [cause.partition(":")[0] for cause in told(cluster, "PUT", "/api/v1/namespaces/default/services/x", odd)]
    assert fields == ["spec.clusterIPs[0]", "metadata.generateName", "spec.ports[0].port", "spec.ports[0].targetPort"]


def test_a_service_that_a_write_of_its_status_creates_warns() -> None:
    """As any other new service."""
    spec = {"ports": [{"port": 80}], "externalIPs": ["1.2.3.4"]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": spec}
    answer = cluster_of("1.36").perform(Request.of("PUT", "/api/v1/namespaces/default/services/s/status", body))
    assert answer.status == 201
    assert "spec.externalIPs is deprecated" in dict(answer.headers)["Warning"]


def test_an_object_with_elements_without_their_keys_has_no_managers() -> None:
    """It cannot be compared, and so nothing can be applied to it."""
    cluster = cluster_of("1.36")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}
    cluster.create(account)
    path = "/api/v1/namespaces/default/serviceaccounts/x"
    made = cluster.perform(Request.of("PATCH", path, {"secrets": [{}]}, headers=MERGE)).object
    assert "managedFields" not in made["metadata"]
    headers = {"content-type": "application/apply-patch+yaml"}
    answer = cluster.perform(Request.of("PATCH", f"{path}?fieldManager=one", account, headers=headers))
    assert answer.status == 500
    assert answer.object["message"].startswith(
        "failed to create manager for existing fields: failed to convert new object (default/x; /v1, "
        "Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list with keys has an element"
    )


def test_fields_of_features_that_are_off_are_owned() -> None:
    """They are dropped after the managed fields are known."""
    spec = {"strategy": "OldestEmulationVersion", "holderIdentity": "b"}
    made = cluster_of("1.36").create(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}, "spec": spec}
    )
    assert made["spec"] == {"holderIdentity": "b"}
    owned: dict[str, dict[str, object]] = {"f:spec": {"f:holderIdentity": {}, "f:strategy": {}}}
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == owned


def test_the_manager_of_an_old_job_may_not_change_even_if_the_feature_is_off() -> None:
    """Only new jobs lose the field."""
    cluster = cluster_of("1.30")
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {**spec, "managedBy": "a/b"}}
    assert "managedBy" not in cluster.create(job)["spec"]
    body = {"spec": {"managedBy": "a/b"}}
    assert told(cluster, "PATCH", "/apis/batch/v1/namespaces/default/jobs/j", body) == [
        'spec.managedBy: Invalid value: "a/b": field is immutable'
    ]


def test_slices_of_devices_are_selected_by_node_and_driver() -> None:
    """In every version that has them."""
    cluster = cluster_of("1.36")
    path = "/apis/resource.k8s.io/v1/resourceslices?fieldSelector="
    assert cluster.perform(Request.of("GET", f"{path}spec.nodeName%3Da,spec.driver%3Db")).object["items"] == []
    answer = cluster.perform(Request.of("GET", f"{path}spec.nothing%3Dx")).object
    assert answer["message"] == "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.nothing"


def test_the_moment_of_an_event_has_no_zeros_at_its_end() -> None:
    """Go prints them so."""
    cluster = cluster_of("1.30")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "a.b/c",
        "reportingInstance": "x",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "regarding": {"namespace": "default"},
    }
    cluster.create(event)
    path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
    moment = {"eventTime": "2021-01-01T00:00:00.500000Z"}
    assert "eventTime: Invalid value: 2021-01-01 00:00:00.5 +0000 UTC: field is immutable" in told(
        cluster, "PATCH", path, moment
    )


def test_a_wrong_prefix_of_a_registration_stands_before_its_metadata() -> None:
    """A prefix is held against the version and the group as a name is."""
    cluster = cluster_of("1.36")
    spec = {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    head = {"name": "v1.a.example.com"}
    made = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": head, "spec": spec}
    cluster.create(made)
    body = {"metadata": {"generateName": "x-", "labels": {"a": "b c"}}, "spec": {"versionPriority": -1}}
    causes = told(cluster, "PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/v1.a.example.com", body)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.versionPriority": "s"}
    assert "".join(letters[cause.partition(":")[0]] for cause in causes) == "lllgls"


def test_conditions_of_registrations_are_those_of_the_server() -> None:
    """The manager is kube-apiserver."""
    cluster = simkit.Cluster(release="1.36")
    service = {"namespace": "default", "name": "none"}
    spec = {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    whole = {**spec, "service": service, "insecureSkipTLSVerify": True}
    head = {"name": "v1.a.example.com"}
    cluster.create({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": head, "spec": whole})
    cluster.settle()
    found = cluster.perform(Request.of("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.a.example.com")).object
    managers = {record["manager"] for record in found["metadata"]["managedFields"] if "subresource" in record}
    assert managers == {"kube-apiserver"}


def test_a_code_of_an_attacher_is_not_negative() -> None:
    """From the release on that has it."""
    cluster = cluster_of("1.36")
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    cluster.create(
        {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": spec}
    )
    body = {"status": {"attachError": {"errorCode": -1}}}
    assert told(cluster, "PATCH", "/apis/storage.k8s.io/v1/volumeattachments/a/status", body) == [
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"
    ]


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_endpoints_stay_as_they_are_written(release: str) -> None:
    """The same address twice, and equal subsets."""
    subset = {"addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.1"}]}
    written = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "x"}, "subsets": [subset, subset]}
    assert cluster_of(release).create(written)["subsets"] == [subset, subset]


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_a_headless_service_keeps_its_families(release: str) -> None:
    """A patch that takes its selector and its families away leaves it with those that it had."""
    cluster = cluster_of(release)
    spec = {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": spec})
    path = "/api/v1/namespaces/default/services/x"
    left = cluster.perform(Request.of("PATCH", path, {"spec": None}, headers=MERGE)).object["spec"]
    assert (left["ipFamilies"], left["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")


def test_a_traffic_policy_of_no_letters_is_refused() -> None:
    """It is not one that is missing."""
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"internalTrafficPolicy": ""}}
    assert told(cluster_of("1.36"), "POST", "/api/v1/namespaces/default/services", body) == [
        "spec.ports: Required value",
        'spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
    ]


def test_a_terminating_namespace_with_finalizers_stays_as_it_is() -> None:
    """A second deletion with another policy changes nothing."""
    cluster = cluster_of("1.36")
    finalizers = {"metadata": {"finalizers": ["a.example.com/b"]}}
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", **finalizers["metadata"]}})
    first = cluster.perform(Request.of("DELETE", "/api/v1/namespaces/n")).object
    second = cluster.perform(Request.of("DELETE", "/api/v1/namespaces/n", {"propagationPolicy": "Foreground"})).object
    assert second["metadata"]["finalizers"] == first["metadata"]["finalizers"]


def test_sources_of_a_claim_that_differ_are_told_with_a_path() -> None:
    """As Go prints the struct of the path."""
    cluster = cluster_of("1.30")
    source = {"kind": "PersistentVolumeClaim", "name": "o"}
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "dataSource": source}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": spec}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    odd = {**claim, "spec": {**spec, "dataSourceRef": {**source, "name": "p"}}}
    (cause,) = told(cluster, "POST", path, odd)
    assert cause.startswith('spec: Invalid value: field.Path{name:"dataSource", index:"", parent:(*field.Path)(0x')
    assert cause.endswith(")}: must match dataSourceRef")


def test_a_table_of_slices_shows_their_nodes_only() -> None:
    """Devices of all nodes have an empty cell."""
    cluster = cluster_of("1.36")
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "allNodes": True, "pool": pool}
    cluster.create(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": spec}
    )
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    request = Request.of("GET", "/apis/resource.k8s.io/v1/resourceslices", headers=headers)
    assert cluster.perform(request).object["rows"][0]["cells"][:3] == ["x", "", "a.example.com"]


def with_widgets(release: str) -> Cluster:
    """A server with a custom resource that has a status and a scale, and one object of it."""
    cluster = cluster_of(release)
    integer = {"type": "integer"}
    fields = {
        "spec": {"type": "object", "properties": {"replicas": {**integer, "minimum": 0}, "color": {"type": "string"}}},
        "status": {"type": "object", "properties": {"replicas": integer}},
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": paths},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": fields}},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"name": "widgets.example.com"}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": head}
    cluster.create({**kind, "spec": spec})
    cluster.settle()
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}}
    cluster.create(widget)
    return cluster


WIDGET = "/apis/example.com/v1/namespaces/default/widgets/w"


@pytest.mark.parametrize(("release", "place"), [("1.30", "replicas"), ("1.36", "status.replicas")])
def test_faults_of_the_status_of_a_custom_resource(release: str, place: str) -> None:
    """Their places began below the status."""
    causes = told(with_widgets(release), "PATCH", f"{WIDGET}/status", {"status": {"replicas": "x"}})
    assert causes[0] == f'{place}: Invalid value: "string": replicas in body must be of type integer: "string"'


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_a_negative_scale_of_a_custom_resource_is_a_fault_of_the_resource(release: str) -> None:
    """The Scale itself is not looked at."""
    assert told(with_widgets(release), "PATCH", f"{WIDGET}/scale", {"spec": {"replicas": -3}}) == [
        "spec.replicas: Invalid value: -3: spec.replicas in body should be greater than or equal to 0",
        ".spec.replicas: Invalid value: -3: should be a non-negative integer",
    ]


def test_a_scale_is_not_applied_to_a_custom_resource_whose_replicas_nobody_owns() -> None:
    """kube-apiserver has no way to compare them."""
    cluster = with_widgets("1.36")
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w"}, "spec": {"replicas": 4}}
    headers = {"content-type": "application/apply-patch+yaml"}
    answer = cluster.perform(Request.of("PATCH", f"{WIDGET}/scale?fieldManager=one", scale, headers=headers))
    assert answer.status == 500
    assert answer.object["message"].endswith("request to convert CR to an invalid group/version: autoscaling/v1")


@pytest.mark.parametrize(("release", "owned"), [("1.30", False), ("1.36", True)])
def test_ephemeral_containers_are_owned_by_whoever_adds_them(release: str, owned: bool) -> None:
    """Later releases record the manager, with all that it wrote."""
    cluster = cluster_of(release)
    containers = [{"name": "c", "image": "i"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    body = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}, "status": {"phase": "Running"}}
    headers = {"content-type": "application/strategic-merge-patch+json"}
    path = "/api/v1/namespaces/default/pods/p/ephemeralcontainers"
    made = cluster.perform(Request.of("PATCH", path, body, headers=headers)).object
    records = [record for record in made["metadata"]["managedFields"] if "subresource" in record]
    assert [*map(sorted, (record["fieldsV1"] for record in records))] == ([["f:spec", "f:status"]] if owned else [])


def test_what_a_resize_does_not_change_is_owned_all_the_same() -> None:
    """The image of a container in the request of somebody who resizes it."""
    cluster = cluster_of("1.36")
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    cluster.create(pod)
    body = {"spec": {"containers": [{"name": "c", "image": "z"}]}}
    headers = {"content-type": "application/strategic-merge-patch+json"}
    path = "/api/v1/namespaces/default/pods/p/resize"
    made = cluster.perform(Request.of("PATCH", path, body, headers=headers)).object
    assert made["spec"]["containers"][0]["image"] == "i"
    (record,) = [record for record in made["metadata"]["managedFields"] if record.get("subresource") == "resize"]
    assert record["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}}}


def selects(cluster: Cluster, expression: str) -> list[str]:
    """The causes why an expression does not select devices; empty if it does."""
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "d"}, "spec": spec}
    path = "/apis/resource.k8s.io/v1/deviceclasses?dryRun=All"
    answer = cluster.perform(Request.of("POST", path, made)).object
    return [cause["message"] for cause in (answer.get("details") or {}).get("causes", ())]


def test_values_in_expressions_about_devices_have_names() -> None:
    """What is named costs what its value costs."""
    cluster = cluster_of("1.36")
    assert selects(cluster, "cel.bind(d, device.attributes, d['a.example.com'].all(k, k == 'a'))") == []
    assert selects(cluster, "cel.bind(x, 1, x)") == [
        'Invalid value: "cel.bind(x, 1, x)": must evaluate to bool or the unknown type, not int'
    ]
    costly = "cel.bind(d, device.attributes, d.all(k, d.all(l, d.all(m, d.all(n, k == l)))))"
    assert selects(cluster, costly) == ["Forbidden: too complex, exceeds cost limit"]
    (cause,) = selects(cluster, "cel.bind(1, 2, true)")
    assert "cel.bind() variable names must be simple identifiers" in cause
    (cause,) = selects(cluster, "x.bind(a, 1, true)")
    assert "undeclared reference to 'x'" in cause
