"""Rules that changed between 1.20 and 1.30: what the releases before and after a change say of the same object."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest

import simkit
from simkit.meta.message import Request
from simkit.meta.objects import at

_POD: Final = {"containers": [{"name": "c", "image": "i"}]}
_JOB: Final = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
_MERGE: Final = "application/merge-patch+json"


@cache
def _cluster(release: str) -> simkit.Cluster:
    return simkit.Cluster(release=release, seed=1)


def _pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**_POD, **spec}}


def _container(**more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **more}


def _service(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], **spec}}


def _claim(**spec: Any) -> dict[str, Any]:
    size = {"requests": {"storage": "1Gi"}}
    whole = {"accessModes": ["ReadWriteOnce"], "resources": size, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"}, "spec": whole}


def _ingress(name: str) -> dict[str, Any]:
    metadata = {"name": "i", "annotations": {"kubernetes.io/ingress.class": name}}
    spec = {"ingressClassName": "a", "defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def _policy(*ranges: str) -> dict[str, Any]:
    first, *others = ranges
    block = {"cidr": first, "except": others}
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}]}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"}, "spec": spec}


def _owned() -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
    owners = [{**owner, "name": "a"}, {**owner, "name": "b"}]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "ownerReferences": owners}}


def _wide() -> dict[str, Any]:
    """A pod on the network of its host, with a port that has another number there."""
    ports = [{"containerPort": 80, "hostPort": 81}]
    return _pod(hostNetwork=True, containers=[_container(ports=ports)])


def _causes(release: str, obj: dict[str, Any]) -> list[str]:
    """What a release says against a new object."""
    version, kind = obj["apiVersion"], obj["kind"].lower()
    prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
    plural = f"{kind}es" if kind.endswith("ss") else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    path = f"{prefix}/namespaces/default/{plural}?dryRun=All"
    answer = _cluster(release).perform(Request.of("POST", path, obj))
    assert answer.status in (201, 422), answer.object
    return [f"{one['field']}: {one['message']}" for one in answer.object.get("details", {}).get("causes", ())]


@pytest.mark.parametrize(
    ("last", "obj", "before", "after"),
    [
        (
            27,
            _pod(initContainers=[{"name": "d", "image": "i", "livenessProbe": {"exec": {"command": ["a"]}}}]),
            "may not be set for init containers",
            "may not be set for init containers without restartPolicy=Always",
        ),
        (
            26,
            _pod(containers=[_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]),
            "must be less than or equal to cpu limit",
            "must be less than or equal to cpu limit of 1",
        ),
        (
            27,
            _wide(),
            "containers[0].ports[0].containerPort: Invalid value: 80: must match `hostPort` when `hostNetwork` is true",
            "containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
        ),
        (
            25,
            _pod(dnsConfig={"searches": list("abcdefg")}),
            "must not have more than 6 search paths",
            "",
        ),
        (
            28,
            _pod(hostNetwork=True, securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}),
            "",
            "may not be specified when 'hostNetwork' is true",
        ),
        (
            29,
            _pod(hostAliases=[{"ip": "x", "hostnames": ["a"]}]),
            'spec.hostAliases.ip: Invalid value: "x": must be valid IP address',
            'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        (
            29,
            _pod(dnsConfig={"nameservers": ["x"]}),
            "must be valid IP address",
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (29, _policy("x"), "not a valid CIDR", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        (
            25,
            _claim(dataSourceRef={"kind": "ConfigMap", "name": "a"}),
            'spec.dataSourceRef: Invalid value: "ConfigMap"',
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ),
        (
            26,
            _claim(accessModes=["Other"]),
            'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
            'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        ),
        (
            28,
            _service(externalTrafficPolicy="Local"),
            "may only be set when `type` is 'NodePort' or 'LoadBalancer'",
            "may only be set for externally-accessible services",
        ),
        (26, _ingress("a"), "can not be set when the class field is also set", ""),
        (
            26,
            _ingress("b"),
            "can not be set when the class field is also set",
            "must match `ingressClassName` when both are specified",
        ),
        (25, _owned(), 'Found "true" in references for a and b', 'Found "true" in references for Pod/a and Pod/b'),
    ],
)
def test_rules_of_new_objects(last: int, obj: dict[str, Any], before: str, after: str) -> None:
    """Up to the last release before a change the one is said, then the other; nothing is said where it is empty."""
    for release, words in ((f"1.{last}", before), (f"1.{last + 1}", after)):
        causes = _causes(release, obj)
        assert bool(causes) == bool(words), (release, causes)
        assert not words or any(cause.endswith(words) for cause in causes), (release, causes)


def test_exceptions_end_at_the_first_that_is_no_range() -> None:
    """Up to 1.29 the others of an address block are not looked at any more."""
    policy = _policy("10.0.0.0/8", "x", "y")
    assert [len(_causes(release, policy)) for release in ("1.29", "1.30")] == [1, 2]


def test_pods_of_jobs_get_labels_with_a_prefix_since_1_27() -> None:
    """The job selects its pods by what it gave them."""
    for release, labels in (("1.26", 2), ("1.27", 4)):
        obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": _JOB}
        made = _cluster(release).perform(Request.of("POST", "/apis/batch/v1/namespaces/default/jobs?dryRun=All", obj))
        assert made.status == 201, made.object
        own = at(made.object, "spec", "template", "metadata", "labels")
        assert len(own) == labels
        chosen = at(made.object, "spec", "selector", "matchLabels")
        assert [own[key] for key in chosen] == [own["controller-uid"]]
        assert [*chosen] == ["controller-uid" if labels == 2 else "batch.kubernetes.io/controller-uid"]


def test_what_may_change_about_a_pod_is_listed_as_the_release_lists_it() -> None:
    """1.21 has no mended grace periods; up to 1.26 the last of the fields comes after an ``or``."""
    ends = {
        "1.21": "`spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)",
        "1.26": ") or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        "1.27": "),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    }
    for release, end in ends.items():
        cluster = _cluster(release)
        cluster.perform(Request.of("POST", "/api/v1/namespaces/default/pods", _pod()))
        patch = Request.of(
            "PATCH", "/api/v1/namespaces/default/pods/p", {"spec": {"subdomain": "s"}}, content_type=_MERGE
        )
        message = cluster.perform(patch).object["details"]["causes"][0]["message"]
        assert message.partition("\n")[0].endswith(end), (release, message)


def test_gates_are_those_of_the_registries() -> None:
    """Tracking of jobs with finalizers was off again at 1.24; server-side apply could be switched off up to 1.25."""
    from simkit.schema.feature_gates import is_enabled, parse_feature_gates

    states = [
        is_enabled("JobTrackingWithFinalizers", release, parse_feature_gates({}, release).values)
        for release in ("1.22", "1.23", "1.24", "1.25")
    ]
    assert states == [False, True, False, True]
    assert not is_enabled("ServerSideApply", "1.25", parse_feature_gates({"ServerSideApply": False}, "1.25").values)


def test_flow_control_of_fresh_servers() -> None:
    """Leaders elected by endpoints have flow schemas up to 1.33, nodes' heartbeats since 1.22."""
    from simkit.kinds.parts.flowcontrol.suggested import flow_objects

    names = {minor: {each["metadata"]["name"] for each in flow_objects(minor)} for minor in (21, 23, 24, 33, 34)}
    assert names[23] - names[21] == {"probes", "system-node-high", "node-high"}
    assert names[24] - names[23] == {"endpoint-controller"}
    assert names[33] - names[34] == {"endpoint-controller", "workload-leader-election"}
    exempt = [_cluster(release).get("prioritylevelconfiguration", "exempt")["spec"] for release in ("1.27", "1.28")]
    assert [*exempt[0]] == ["type"]
    assert exempt[1]["exempt"]["nominalConcurrencyShares"] == 0
    limited = [
        _cluster(each).get("prioritylevelconfiguration", "system")["spec"]["limited"] for each in ("1.25", "1.26")
    ]
    assert ["lendablePercent" in each for each in limited] == [False, True]
    rules = _cluster("1.23").get("flowschema", "system-leader-election")["spec"]["rules"][0]["resourceRules"]
    assert [rule["resources"] for rule in rules] == [["endpoints", "configmaps"], ["leases"]]


def test_mandatory_levels_are_those_of_the_release() -> None:
    """At 1.27 the exempt level without shares of its own is accepted as it was made."""
    cluster = _cluster("1.27")
    made = cluster.get("prioritylevelconfiguration", "exempt")
    path = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations/exempt"
    assert cluster.perform(Request.of("PUT", path, dict(made))).status == 200


def test_use_of_legacy_tokens_is_tracked_since_1_27() -> None:
    """The config map of the first day is made by servers that track."""
    name = "kube-apiserver-legacy-service-account-token-tracking"
    found = [
        name in {each["metadata"]["name"] for each in _cluster(release).list("configmap", "kube-system")}
        for release in ("1.26", "1.27")
    ]
    assert found == [False, True]


def test_tables_of_scales_and_nodes() -> None:
    """A Scale shows its numbers since 1.24, the kernel of a node its architecture since 1.36."""
    media = "application/json;as=Table;v=v1;g=meta.k8s.io"
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": _POD}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    for release, columns in (("1.23", ["Name", "Created At"]), ("1.24", ["Name", "Desired", "Available", "Age"])):
        _cluster(release).perform(Request.of("POST", path, deployment))
        table = _cluster(release).perform(Request.of("GET", f"{path}/d/scale", headers={"Accept": media})).object
        assert [column["name"] for column in table["columnDefinitions"]] == columns
        assert len(table["rows"][0]["cells"]) == len(columns)
    info = {"kernelVersion": "6", "architecture": "amd64"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"nodeInfo": info}}
    for release, kernel in (("1.35", "6"), ("1.36", "6 (amd64)")):
        _cluster(release).perform(Request.of("POST", "/api/v1/nodes", node))
        table = _cluster(release).perform(Request.of("GET", "/api/v1/nodes/n", headers={"Accept": media})).object
        assert kernel in table["rows"][0]["cells"]


def test_versions_say_what_they_emulate_since_1_33() -> None:
    """The page names the release that is emulated and the one before."""
    found = [_cluster(release).perform(Request.of("GET", "/version")).object for release in ("1.32", "1.33")]
    assert "emulationMinor" not in found[0]
    assert (found[1]["emulationMinor"], found[1]["minCompatibilityMinor"]) == ("33", "32")


def _warnings(release: str, path: str, obj: dict[str, Any]) -> list[str]:
    """The warnings of a release about a new object."""
    answer = _cluster(release).perform(Request.of("POST", f"{path}?dryRun=All", obj))
    assert answer.status == 201, (release, answer.object)
    return [text for name, text in answer.headers if name.lower() == "warning"]


_NAMESPACE: Final = "/api/v1/namespaces/default"
_OLD_CLASS: Final = {"volume.beta.kubernetes.io/storage-class": "c"}


def _cron_job(**spec: Any) -> dict[str, Any]:
    whole = {"schedule": "@hourly", "jobTemplate": {"spec": _JOB}, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": whole}


def _volume(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "v", "annotations": _OLD_CLASS}
    whole = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/p"}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": whole}


_TOPOLOGY: Final = [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os", "values": ["linux"]}]}]
_KEY_PAIR: Final = {"tls.crt": "", "tls.key": ""}


@pytest.mark.parametrize(
    ("first", "path", "obj"),
    [
        (27, "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {**_ingress("a"), "spec": {"rules": [{}]}}),
        (
            27,
            f"{_NAMESPACE}/secrets",
            {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": _KEY_PAIR},
        ),
        (27, f"{_NAMESPACE}/services", _service(type="LoadBalancer", loadBalancerIP="010.0.0.1")),
        (28, f"{_NAMESPACE}/services", _service(externalName="a.example")),
        (26, f"{_NAMESPACE}/persistentvolumeclaims", _claim(resources={"requests": {"storage": "1500m"}})),
        (28, "/api/v1/persistentvolumes", _volume()),
        (
            25,
            "/apis/storage.k8s.io/v1/storageclasses",
            {"metadata": {"name": "c"}, "provisioner": "p", "allowedTopologies": _TOPOLOGY},
        ),
        (
            25,
            "/apis/node.k8s.io/v1/runtimeclasses",
            {"metadata": {"name": "c"}, "handler": "h", "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "a"}}},
        ),
        (27, "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"externalID": "e"}}),
    ],
)
def test_warnings_begin_with_a_release(first: int, path: str, obj: dict[str, Any]) -> None:
    """The release before does not warn of the same object."""
    assert _warnings(f"1.{first - 1}", path, obj) == []
    assert len(_warnings(f"1.{first}", path, obj)) == 1


def test_an_ingress_that_names_its_class_twice_is_not_warned_of() -> None:
    """Only who does not know the field is told about it."""
    assert _warnings("1.30", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", _ingress("a")) == []


def test_volumes_that_are_recycled_are_warned_of_since_1_30() -> None:
    """Beside the warning of the annotation."""
    volume = _volume(persistentVolumeReclaimPolicy="Recycle")
    assert [len(_warnings(release, "/api/v1/persistentvolumes", volume)) for release in ("1.29", "1.30")] == [1, 2]


def test_zones_in_schedules() -> None:
    """Up to 1.28 a zone in a schedule is warned of, afterwards it is refused."""
    path = "/apis/batch/v1/namespaces/default/cronjobs"
    told = _warnings("1.28", path, _cron_job(schedule="TZ=UTC 0 * * * *"))
    assert "not officially supported" in told[0]
    refused = _cluster("1.29").perform(Request.of("POST", path, _cron_job(schedule="TZ=UTC 0 * * * *")))
    assert refused.status == 422


def _answer(release: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    return _cluster(release).perform(Request.of(method, path, body, headers=headers)).object


def test_errors_of_ingresses_name_the_group_extensions_up_to_1_28() -> None:
    """Their Go types belong to two groups, and the first one is told."""
    path, bad = "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {**_ingress("a"), "spec": {}}
    groups = [_answer(release, "POST", path, bad)["details"]["group"] for release in ("1.28", "1.29")]
    assert groups == ["extensions", "networking.k8s.io"]


def test_network_policies_have_an_empty_status_from_1_24_to_1_27() -> None:
    """It was taken away before anything filled it."""
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies?dryRun=All"
    found = ["status" in _answer(release, "POST", path, _policy("10.0.0.0/8")) for release in ("1.23", "1.25", "1.28")]
    assert found == [False, True, False]


def test_revisions_of_deleted_objects() -> None:
    """Since 1.26 the answer to a deletion has a revision of its own."""
    for release, same in (("1.25", True), ("1.26", False)):
        kept = _answer(release, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
        after = _answer(release, "DELETE", "/api/v1/namespaces/default/serviceaccounts/a")
        assert (kept["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]) is same


def test_initial_events_are_an_unknown_option_up_to_1_26() -> None:
    """Unknown options change nothing."""
    path = f"{_NAMESPACE}/configmaps?sendInitialEvents=true"
    assert [_answer(release, "GET", path)["kind"] for release in ("1.26", "1.27")] == ["ConfigMapList", "Status"]


def test_seccomp_fields_are_noted_up_to_1_24() -> None:
    """Annotations become fields up to 1.26."""
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    path = f"{_NAMESPACE}/pods?dryRun=All"
    noted = [
        "annotations" in _answer(release, "POST", path, _pod(securityContext=profile))["metadata"]
        for release in ("1.24", "1.25")
    ]
    assert noted == [True, False]


def test_new_jobs_at_1_25() -> None:
    """They are marked as tracked, and do not say that their selector is made."""
    path = "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
    obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": _JOB}
    made = {release: _answer(release, "POST", path, obj) for release in ("1.24", "1.25", "1.28", "1.29")}
    assert ["annotations" in each["metadata"] for each in made.values()] == [False, True, False, False]
    assert ["manualSelector" in each["spec"] for each in made.values()] == [False, False, False, True]


def test_tables_of_autoscalers_and_cron_jobs() -> None:
    """Since 1.30 they show the resource of a target, and time zones."""
    media = "application/json;as=Table;v=v1;g=meta.k8s.io"
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 2}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": spec,
    }
    for release, target, columns in (("1.29", "<unknown>/80%", 9), ("1.30", "cpu: <unknown>/80%", 10)):
        path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
        _answer(release, "POST", path, scaler)
        assert _answer(release, "GET", f"{path}/h", Accept=media)["rows"][0]["cells"][2] == target
        path = "/apis/batch/v1/namespaces/default/cronjobs"
        _answer(release, "POST", path, _cron_job())
        table = _answer(release, "GET", f"{path}/c", Accept=media)
        assert (len(table["columnDefinitions"]), len(table["rows"][0]["cells"])) == (columns, columns)


def test_new_storage_capacities_are_checked_twice_up_to_1_27() -> None:
    """Each cause is told twice."""
    path = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"
    told = [_answer(release, "POST", path, {"metadata": {"name": "c"}}) for release in ("1.27", "1.28")]
    assert [len(each["details"]["causes"]) for each in told] == [2, 1]


def test_dots_in_labels() -> None:
    """Since 1.27 the error of a label that would be a subdomain says so."""
    spec = {"ports": [{"port": 1, "name": "a.b"}]}
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    assert ["must not contain dots" in _causes(release, obj)[0] for release in ("1.26", "1.27")] == [False, True]


def test_printed_structures_have_the_fields_of_the_release() -> None:
    """What errors show of Go values grows with the releases."""
    from simkit.kinds.parts.go_printing.types import fields_of
    from simkit.meta.behaviour import serving
    from simkit.schema.behaviour import default_behaviour

    found = {}
    for release in ("1.23", "1.24", "1.25", "1.26", "1.27", "1.28"):
        with serving(default_behaviour(release)):
            found[release] = {
                kind: {each.name for each in fields_of(kind)} for kind in ("core.Container", "v1.ObjectMeta")
            }
    assert [len(found[release]["core.Container"]) for release in ("1.26", "1.27", "1.28")] == [22, 23, 24]
    names = ("ClusterName", "ZZZ_DeprecatedClusterName")
    assert [[name in found[each]["v1.ObjectMeta"] for name in names] for each in ("1.23", "1.24", "1.25")] == [
        [True, False],
        [False, True],
        [False, False],
    ]


def test_several_default_storage_classes() -> None:
    """Up to 1.25 a claim that names none is refused, afterwards it gets the newest."""
    noted = {"storageclass.kubernetes.io/is-default-class": "true"}
    for release, status in (("1.25", 403), ("1.26", 201)):
        cluster = simkit.Cluster(release=release, seed=1)
        for name in ("a", "b"):
            obj = {"metadata": {"name": name, "annotations": noted}, "provisioner": "p"}
            cluster.perform(Request.of("POST", "/apis/storage.k8s.io/v1/storageclasses", obj))
        answer = cluster.perform(Request.of("POST", f"{_NAMESPACE}/persistentvolumeclaims", _claim()))
        assert answer.status == status
        assert status == 201 or "2 default StorageClasses were found" in answer.object["message"]


def test_names_of_resources_in_errors() -> None:
    """Up to 1.28 they are texts in quotes."""
    obj = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"a": "1"}}}
    told = [_causes(release, obj)[0] for release in ("1.28", "1.29")]
    assert ['"a"' in text for text in told] == [True, False]


def test_columns_and_preconditions() -> None:
    """Classes of attributes have a column since 1.29; preconditions name the group extensions as other errors do."""
    media = "application/json;as=Table;v=v1;g=meta.k8s.io"
    path = f"{_NAMESPACE}/persistentvolumeclaims"
    found = [
        [column["name"] for column in _answer(release, "GET", path, Accept=media)["columnDefinitions"]]
        for release in ("1.28", "1.29")
    ]
    assert ["VolumeAttributesClass" in names for names in found] == [False, True]
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    _answer("1.25", "POST", path, _policy("10.0.0.0/8"))
    told = _answer("1.25", "DELETE", f"{path}/n", {"preconditions": {"uid": "other"}})
    assert told["message"].startswith('Operation cannot be fulfilled on NetworkPolicy.extensions "n"')


@pytest.mark.parametrize(
    ("last", "obj", "before", "after"),
    [
        (
            29,
            _service(type="LoadBalancer", loadBalancerSourceRanges=["x", "10.0.0.0/8"]),
            'spec.LoadBalancerSourceRanges: Invalid value: "[x 10.0.0.0/8]": must be a list of IP ranges. '
            "For example, 10.240.0.0/24,10.250.0.0/24 ",
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ),
        (
            21,
            _service(externalIPs=["127.0.0.1"]),
            "may not be in the loopback range (127.0.0.0/8)",
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            24,
            _pod(containers=[_container(terminationMessagePolicy="Other")]),
            "must be 'File' or 'FallbackToLogsOnError'",
            'Unsupported value: "Other": supported values: "File", "FallbackToLogsOnError"',
        ),
    ],
)
def test_more_rules_of_new_objects(last: int, obj: dict[str, Any], before: str, after: str) -> None:
    """One cause each, in the words of the release."""
    for release, words in ((f"1.{last}", before), (f"1.{last + 1}", after)):
        causes = _causes(release, obj)
        assert len(causes) == 1
        assert causes[0].endswith(words), causes


def test_surges_of_daemon_sets_at_1_21() -> None:
    """Where the gate is off the size of a surge is written as 0."""
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": _POD}}
    obj = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec}
    made = _answer("1.21", "POST", "/apis/apps/v1/namespaces/default/daemonsets?dryRun=All", obj)
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
