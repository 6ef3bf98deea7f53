"""Answers that changed between 1.20 and 1.36, other than errors of new objects."""

from __future__ import annotations

import simkit
from simkit.meta.message import Request
from tests.kinds.older_releases import (
    JOB,
    NAMESPACE,
    POD,
    answer_at,
    causes_at,
    claim_with,
    cron_job_with,
    ingress_of_class,
    pod_with,
    policy_about,
)


def test_errors_of_ingresses_name_the_group_extensions_up_to_1_28() -> None:
    """Their Go types belong to two groups, and the first one is told."""
    path, bad = "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {**ingress_of_class("a"), "spec": {}}
    groups = [answer_at(release, "POST", path, bad)["details"]["group"] for release in ("1.28", "1.29")]
    assert groups == ["extensions", "networking.k8s.io"]


def test_network_policies_have_an_empty_status_from_1_24_to_1_27() -> None:
    """It was taken away before anything filled it."""
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies?dryRun=All"
    found = [
        "status" in answer_at(release, "POST", path, policy_about("10.0.0.0/8")) for release in ("1.23", "1.25", "1.28")
    ]
    assert found == [False, True, False]


def test_revisions_of_deleted_objects() -> None:
    """Since 1.26 the answer to a deletion has a revision of its own."""
    for release, same in (("1.25", True), ("1.26", False)):
        kept = answer_at(release, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
        after = answer_at(release, "DELETE", "/api/v1/namespaces/default/serviceaccounts/a")
        assert (kept["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]) is same


def test_initial_events_are_an_unknown_option_up_to_1_26() -> None:
    """Unknown options change nothing."""
    path = f"{NAMESPACE}/configmaps?sendInitialEvents=true"
    assert [answer_at(release, "GET", path)["kind"] for release in ("1.26", "1.27")] == ["ConfigMapList", "Status"]


def test_seccomp_fields_are_noted_up_to_1_24() -> None:
    """Annotations become fields up to 1.26."""
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    path = f"{NAMESPACE}/pods?dryRun=All"
    noted = [
        "annotations" in answer_at(release, "POST", path, pod_with(securityContext=profile))["metadata"]
        for release in ("1.24", "1.25")
    ]
    assert noted == [True, False]


def test_new_jobs_at_1_25() -> None:
    """They are marked as tracked, and do not say that their selector is made."""
    path = "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
    obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": JOB}
    made = {release: answer_at(release, "POST", path, obj) for release in ("1.24", "1.25", "1.28", "1.29")}
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
        answer_at(release, "POST", path, scaler)
        assert answer_at(release, "GET", f"{path}/h", Accept=media)["rows"][0]["cells"][2] == target
        path = "/apis/batch/v1/namespaces/default/cronjobs"
        answer_at(release, "POST", path, cron_job_with())
        table = answer_at(release, "GET", f"{path}/c", Accept=media)
        assert (len(table["columnDefinitions"]), len(table["rows"][0]["cells"])) == (columns, columns)


def test_new_storage_capacities_are_checked_twice_up_to_1_27() -> None:
    """Each cause is told twice."""
    path = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"
    told = [answer_at(release, "POST", path, {"metadata": {"name": "c"}}) for release in ("1.27", "1.28")]
    assert [len(each["details"]["causes"]) for each in told] == [2, 1]


def test_dots_in_labels() -> None:
    """Since 1.27 the error of a label that would be a subdomain says so."""
    spec = {"ports": [{"port": 1, "name": "a.b"}]}
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    assert ["must not contain dots" in causes_at(release, obj)[0] for release in ("1.26", "1.27")] == [False, True]


def test_printed_structures_have_the_fields_of_the_release() -> None:
    """What errors show of Go values grows with the releases."""
    from simkit.kinds.parts.go_printing.structures import fields_of

    found = {
        f"1.{minor}": {
            kind: {each.name for each in fields_of(minor, kind)} for kind in ("core.Container", "v1.ObjectMeta")
        }
        for minor in range(23, 29)
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
        answer = cluster.perform(Request.of("POST", f"{NAMESPACE}/persistentvolumeclaims", claim_with()))
        assert answer.status == status
        assert status == 201 or "2 default StorageClasses were found" in answer.object["message"]


def test_names_of_resources_in_errors() -> None:
    """Up to 1.28 they are texts in quotes."""
    obj = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"a": "1"}}}
    told = [causes_at(release, obj)[0] for release in ("1.28", "1.29")]
    assert ['"a"' in text for text in told] == [True, False]


def test_columns_and_preconditions() -> None:
    """Classes of attributes have a column since 1.29; preconditions name the group extensions as other errors do."""
    media = "application/json;as=Table;v=v1;g=meta.k8s.io"
    path = f"{NAMESPACE}/persistentvolumeclaims"
    found = [
        [column["name"] for column in answer_at(release, "GET", path, Accept=media)["columnDefinitions"]]
        for release in ("1.28", "1.29")
    ]
    assert ["VolumeAttributesClass" in names for names in found] == [False, True]
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    answer_at("1.25", "POST", path, policy_about("10.0.0.0/8"))
    told = answer_at("1.25", "DELETE", f"{path}/n", {"preconditions": {"uid": "other"}})
    assert told["message"].startswith('Operation cannot be fulfilled on NetworkPolicy.extensions "n"')


def test_surges_of_daemon_sets_at_1_21() -> None:
    """Where the gate is off the size of a surge is written as 0."""
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}
    obj = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec}
    made = answer_at("1.21", "POST", "/apis/apps/v1/namespaces/default/daemonsets?dryRun=All", obj)
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
