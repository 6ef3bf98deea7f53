"""Rules that changed between 1.20 and 1.30: what the releases before and after a change say of the same object."""

from __future__ import annotations

from typing import Any, Final

import pytest

from simkit.meta.message import Request
from simkit.meta.objects import at
from tests.kinds.older_releases import (
    JOB,
    POD,
    causes_at,
    claim_with,
    cluster_at,
    container_with,
    ingress_of_class,
    owned,
    pod_with,
    policy_about,
    service_with,
    wide,
)

_MERGE: Final = "application/merge-patch+json"


@pytest.mark.parametrize(
    ("last", "obj", "before", "after"),
    [
        (
            27,
            pod_with(initContainers=[{"name": "d", "image": "i", "livenessProbe": {"exec": {"command": ["a"]}}}]),
            "may not be set for init containers",
            "may not be set for init containers without restartPolicy=Always",
        ),
        (
            26,
            pod_with(containers=[container_with(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]),
            "must be less than or equal to cpu limit",
            "must be less than or equal to cpu limit of 1",
        ),
        (
            27,
            wide(),
            "containers[0].ports[0].containerPort: Invalid value: 80: must match `hostPort` when `hostNetwork` is true",
            "containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
        ),
        (
            25,
            pod_with(dnsConfig={"searches": list("abcdefg")}),
            "must not have more than 6 search paths",
            "",
        ),
        (
            28,
            pod_with(hostNetwork=True, securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}),
            "",
            "may not be specified when 'hostNetwork' is true",
        ),
        (
            29,
            pod_with(hostAliases=[{"ip": "x", "hostnames": ["a"]}]),
            'spec.hostAliases.ip: Invalid value: "x": must be valid IP address',
            'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        (
            29,
            pod_with(dnsConfig={"nameservers": ["x"]}),
            "must be valid IP address",
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (29, policy_about("x"), "not a valid CIDR", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        (
            25,
            claim_with(dataSourceRef={"kind": "ConfigMap", "name": "a"}),
            'spec.dataSourceRef: Invalid value: "ConfigMap"',
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ),
        (
            26,
            claim_with(accessModes=["Other"]),
            'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
            'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        ),
        (
            28,
            service_with(externalTrafficPolicy="Local"),
            "may only be set when `type` is 'NodePort' or 'LoadBalancer'",
            "may only be set for externally-accessible services",
        ),
        (26, ingress_of_class("a"), "can not be set when the class field is also set", ""),
        (
            26,
            ingress_of_class("b"),
            "can not be set when the class field is also set",
            "must match `ingressClassName` when both are specified",
        ),
        (25, owned(), 'Found "true" in references for a and b', 'Found "true" in references for Pod/a and Pod/b'),
    ],
)
def test_rules_of_new_objects(last: int, obj: dict[str, Any], before: str, after: str) -> None:
    """Up to the last release before a change the one is said, then the other; nothing is said where it is empty."""
    for release, words in ((f"1.{last}", before), (f"1.{last + 1}", after)):
        causes = causes_at(release, obj)
        assert bool(causes) == bool(words), (release, causes)
        assert not words or any(cause.endswith(words) for cause in causes), (release, causes)


def test_exceptions_end_at_the_first_that_is_no_range() -> None:
    """Up to 1.29 the others of an address block are not looked at any more."""
    policy = policy_about("10.0.0.0/8", "x", "y")
    assert [len(causes_at(release, policy)) for release in ("1.29", "1.30")] == [1, 2]


def test_pods_of_jobs_get_labels_with_a_prefix_since_1_27() -> None:
    """The job selects its pods by what it gave them."""
    for release, labels in (("1.26", 2), ("1.27", 4)):
        obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": JOB}
        made = cluster_at(release).perform(Request.of("POST", "/apis/batch/v1/namespaces/default/jobs?dryRun=All", obj))
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
        cluster = cluster_at(release)
        cluster.perform(Request.of("POST", "/api/v1/namespaces/default/pods", pod_with()))
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
    from simkit.kinds.flowcontrol import flow_objects

    names = {minor: {each["metadata"]["name"] for each in flow_objects(minor)} for minor in (21, 23, 24, 33, 34)}
    assert names[23] - names[21] == {"probes", "system-node-high", "node-high"}
    assert names[24] - names[23] == {"endpoint-controller"}
    assert names[33] - names[34] == {"endpoint-controller", "workload-leader-election"}
    exempt = [cluster_at(release).get("prioritylevelconfiguration", "exempt")["spec"] for release in ("1.27", "1.28")]
    assert [*exempt[0]] == ["type"]
    assert exempt[1]["exempt"]["nominalConcurrencyShares"] == 0
    limited = [
        cluster_at(each).get("prioritylevelconfiguration", "system")["spec"]["limited"] for each in ("1.25", "1.26")
    ]
    assert ["lendablePercent" in each for each in limited] == [False, True]
    rules = cluster_at("1.23").get("flowschema", "system-leader-election")["spec"]["rules"][0]["resourceRules"]
    assert [rule["resources"] for rule in rules] == [["endpoints", "configmaps"], ["leases"]]


def test_mandatory_levels_are_those_of_the_release() -> None:
    """At 1.27 the exempt level without shares of its own is accepted as it was made."""
    cluster = cluster_at("1.27")
    made = cluster.get("prioritylevelconfiguration", "exempt")
    path = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations/exempt"
    assert cluster.perform(Request.of("PUT", path, dict(made))).status == 200


def test_use_of_legacy_tokens_is_tracked_since_1_27() -> None:
    """The config map of the first day is made by servers that track."""
    name = "kube-apiserver-legacy-service-account-token-tracking"
    found = [
        name in {each["metadata"]["name"] for each in cluster_at(release).list("configmap", "kube-system")}
        for release in ("1.26", "1.27")
    ]
    assert found == [False, True]


def test_tables_of_scales_and_nodes() -> None:
    """A Scale shows its numbers since 1.24, the kernel of a node its architecture since 1.36."""
    media = "application/json;as=Table;v=v1;g=meta.k8s.io"
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    for release, columns in (("1.23", ["Name", "Created At"]), ("1.24", ["Name", "Desired", "Available", "Age"])):
        cluster_at(release).perform(Request.of("POST", path, deployment))
        table = cluster_at(release).perform(Request.of("GET", f"{path}/d/scale", headers={"Accept": media})).object
        assert [column["name"] for column in table["columnDefinitions"]] == columns
        assert len(table["rows"][0]["cells"]) == len(columns)
    info = {"kernelVersion": "6", "architecture": "amd64"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"nodeInfo": info}}
    for release, kernel in (("1.35", "6"), ("1.36", "6 (amd64)")):
        cluster_at(release).perform(Request.of("POST", "/api/v1/nodes", node))
        table = cluster_at(release).perform(Request.of("GET", "/api/v1/nodes/n", headers={"Accept": media})).object
        assert kernel in table["rows"][0]["cells"]


def test_versions_say_what_they_emulate_since_1_33() -> None:
    """The page names the release that is emulated and the one before."""
    found = [cluster_at(release).perform(Request.of("GET", "/version")).object for release in ("1.32", "1.33")]
    assert "emulationMinor" not in found[0]
    assert (found[1]["emulationMinor"], found[1]["minCompatibilityMinor"]) == ("33", "32")


@pytest.mark.parametrize(
    ("last", "obj", "before", "after"),
    [
        (
            29,
            service_with(type="LoadBalancer", loadBalancerSourceRanges=["x", "10.0.0.0/8"]),
            'spec.LoadBalancerSourceRanges: Invalid value: "[x 10.0.0.0/8]": must be a list of IP ranges. '
            "For example, 10.240.0.0/24,10.250.0.0/24 ",
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ),
        (
            21,
            service_with(externalIPs=["127.0.0.1"]),
            "may not be in the loopback range (127.0.0.0/8)",
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            24,
            pod_with(containers=[container_with(terminationMessagePolicy="Other")]),
            "must be 'File' or 'FallbackToLogsOnError'",
            'Unsupported value: "Other": supported values: "File", "FallbackToLogsOnError"',
        ),
    ],
)
def test_more_rules_of_new_objects(last: int, obj: dict[str, Any], before: str, after: str) -> None:
    """One cause each, in the words of the release."""
    for release, words in ((f"1.{last}", before), (f"1.{last + 1}", after)):
        causes = causes_at(release, obj)
        assert len(causes) == 1
        assert causes[0].endswith(words), causes
