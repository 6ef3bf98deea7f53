"""What comparisons with kube-apiserver 1.32 to 1.35 found, besides what their recordings repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.kinds.parts.go_printing.structures import structure
from simkit.meta.message import Request, Response

CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
DEVICES = "/apis/resource.k8s.io/v1"
TIME = "2020-01-01T00:00:0{}Z"
PLAIN: Mapping[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE: Mapping[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": PLAIN}


def sent(cluster: simkit.Cluster, method: str, path: str, body: Mapping[str, Any] | None = None) -> Response:
    """The answer to a request with an object or a merge patch."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return cluster.perform(Request.of(method, path, body, headers={"content-type": kind}))


def causes(response: Response) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    return [(each["field"], each["message"]) for each in response.object["details"]["causes"]]


def named(spec: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """An object called ``x``."""
    return {"metadata": {"name": "x"}, **({} if spec is None else {"spec": spec}), **fields}


def job(cluster: simkit.Cluster, *statuses: Mapping[str, Any]) -> Response:
    """The answer to the last of some changes of a job's status."""
    sent(cluster, "POST", JOBS, named({"template": {"spec": {**PLAIN, "restartPolicy": "Never"}}}))
    return [sent(cluster, "PATCH", f"{JOBS}/x/status", {"status": each}) for each in statuses][-1]


def true(name: str) -> dict[str, Any]:
    """A condition that holds."""
    return {"type": name, "status": "True", "lastTransitionTime": TIME.format(1)}


DONE = {"conditions": [true("SuccessCriteriaMet"), true("Complete")], "startTime": TIME.format(1)}


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.33", 'batch.UncountedTerminatedPods{Succeeded:[]types.UID{"a"}, Failed:[]types.UID(nil)}: uncounted'),
        ("1.34", '{"Succeeded":["a"],"Failed":null}: must be empty for finished job'),
    ],
)
def test_a_finished_job_with_uncounted_pods(release: str, told: str) -> None:
    """It is refused, with the pods."""
    status = {**DONE, "completionTime": TIME.format(2), "uncountedTerminatedPods": {"succeeded": ["a"]}}
    assert [each for each in causes(job(simkit.Cluster(release=release), status)) if told in each[1]]


@pytest.mark.parametrize(
    ("release", "word"), [("1.33", "cannot be set before startTime"), ("1.34", "equal to or after")]
)
def test_the_words_for_times_of_jobs(release: str, word: str) -> None:
    """They changed with 1.34."""
    refused = job(simkit.Cluster(release=release), {**DONE, "completionTime": TIME.format(0)})
    assert [text for field, text in causes(refused) if field == "status.completionTime" and word in text]


@pytest.mark.parametrize(("release", "word"), [("1.35", "Required value: startTime"), ("1.36", "immutable")])
def test_the_start_of_a_job_that_runs(release: str, word: str) -> None:
    """It may not change."""
    refused = job(simkit.Cluster(release=release), {"startTime": TIME.format(1)}, {"startTime": TIME.format(2)})
    assert word in causes(refused)[0][1]


@pytest.mark.parametrize(("release", "word"), [("1.31", "longer than 63"), ("1.32", "more than 63 bytes")])
def test_a_long_manager_of_a_job(release: str, word: str) -> None:
    """The words changed with 1.32."""
    gates = {"JobManagedBy": True}
    cluster = simkit.Cluster(options=Options(release=release, feature_gates=gates))
    spec = {"template": {"spec": {**PLAIN, "restartPolicy": "Never"}}, "managedBy": f"a.example.com/{'a' * 63}"}
    assert word in causes(sent(cluster, "POST", JOBS, named(spec)))[-1][1]


def test_lists_of_words_in_printed_structures() -> None:
    """A list of texts that have a type of their own is printed with it."""
    printed = structure("core.Capabilities", {"add": ["A"]}).text
    assert printed == 'core.Capabilities{Add:[]core.Capability{"A"}, Drop:[]core.Capability(nil)}'


def test_a_service_that_no_longer_balances_load() -> None:
    """It loses the addresses of its balancer with its type."""
    cluster, path = simkit.Cluster(), f"{CORE}/services"
    sent(cluster, "POST", path, named({"type": "LoadBalancer", "ports": [{"port": 80}]}))
    sent(cluster, "PATCH", f"{path}/x/status", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    changed = sent(cluster, "PATCH", f"{path}/x", {"spec": {"type": "ClusterIP"}})
    assert changed.object["status"] == {"loadBalancer": {}}
    refused = sent(cluster, "PATCH", f"{path}/x/status", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    assert refused.status == 422


def test_two_families_need_a_policy_that_allows_them() -> None:
    """A service without a policy has one family."""
    refused = sent(
        simkit.Cluster(), "POST", f"{CORE}/services", named({"ports": [{"port": 80}], "ipFamilies": ["IPv4", "IPv6"]})
    )
    told = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
    assert causes(refused) == [("spec.ipFamilyPolicy", f'Invalid value: "SingleStack": {told}')]


def test_amounts_of_a_daemon_set_that_is_updated_by_deletion() -> None:
    """An amount that is not given is zero."""
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    spec["updateStrategy"] = {"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}
    made = sent(simkit.Cluster(), "POST", f"{APPS}/daemonsets", named(spec))
    assert made.object["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


@pytest.mark.parametrize(("release", "count"), [("1.32", 0), ("1.33", 1)])
def test_stateful_sets_that_keep_all_revisions(release: str, count: int) -> None:
    """Since 1.33 a negative number of revisions is warned of."""
    spec = {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    made = sent(
        simkit.Cluster(release=release), "POST", f"{APPS}/statefulsets", named({**spec, "revisionHistoryLimit": -1})
    )
    assert made.status == 201
    assert sum("retains all" in value for _, value in made.headers) == count


@pytest.mark.parametrize(("release", "checks"), [("1.34", 2), ("1.35", 1)])
def test_a_changed_class_of_devices_is_checked(release: str, checks: int) -> None:
    """Up to 1.34 twice."""
    cluster, path = simkit.Cluster(release=release), f"{DEVICES}/deviceclasses"
    sent(cluster, "POST", path, named({}))
    told = causes(sent(cluster, "PATCH", f"{path}/x", {"spec": {"config": [{"opaque": {"driver": "D_"}}]}}))
    assert [field for field, _ in told].count("spec.config[0].opaque.driver") == checks


@pytest.mark.parametrize(("release", "times"), [("1.34", 2), ("1.35", 0)])
def test_a_changed_claim_of_devices_is_checked(release: str, times: int) -> None:
    """Up to 1.34 twice; since then only that it is the same."""
    cluster, path = simkit.Cluster(release=release), f"{DEVICES}/namespaces/default/resourceclaims"
    sent(cluster, "POST", path, named({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}))
    fields = [
        field for field, _ in causes(sent(cluster, "PATCH", f"{path}/x", {"spec": {"devices": {"config": [{}]}}}))
    ]
    assert fields.count("spec.devices.config[0].opaque") == times
    assert fields.count("spec") == 1


@pytest.mark.parametrize(("release", "count"), [("1.34", 2), ("1.35", 1)])
def test_a_request_for_devices_in_two_forms(release: str, count: int) -> None:
    """Up to 1.34 both are checked."""
    path = f"{DEVICES}/namespaces/default/resourceclaims"
    asked = {"name": "r", "exactly": {}, "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}
    refused = sent(simkit.Cluster(release=release), "POST", path, named({"devices": {"requests": [asked]}}))
    assert len(causes(refused)) == count


def test_fields_that_are_dropped_count_as_a_change_of_a_slice() -> None:
    """The generation is raised before they go."""
    cluster, path = simkit.Cluster(release="1.34"), f"{DEVICES}/resourceslices"
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    sent(cluster, "POST", path, named({"driver": "a.example.com", "allNodes": True, "pool": pool}))
    counters = [{"name": "c", "counters": {"m": {"value": "1"}}}]
    changed = sent(cluster, "PATCH", f"{path}/x", {"spec": {"sharedCounters": counters}})
    assert changed.object["metadata"]["generation"] == 2
    assert "sharedCounters" not in changed.object["spec"]


@pytest.mark.parametrize(("release", "status"), [("1.33", 422), ("1.34", 201), ("1.35", 201)])
def test_restart_policies_of_single_containers(release: str, status: int) -> None:
    """Unknown up to 1.33, dropped at 1.34 where they are off, kept since 1.35."""
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]
    container = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": rules}
    init = {"name": "d", "image": "i", "restartPolicy": "Always"}
    spec = {"containers": [container], "initContainers": [init]}
    made = sent(simkit.Cluster(release=release), "POST", f"{CORE}/pods", named(spec))
    assert made.status == status
    if status == 201:
        assert ("restartPolicy" in made.object["spec"]["containers"][0]) is (release == "1.35")
        assert made.object["spec"]["initContainers"][0]["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    ("release", "told"),
    [("1.30", "runtime.Unknown{"), ("1.33", "runtime.RawExtension{Raw:[]uint8{0x7b"), ("1.34", "{")],
)
def test_the_changed_data_of_a_revision(release: str, told: str) -> None:
    """Errors show it as the type that the release keeps it in."""
    cluster, path = simkit.Cluster(release=release), f"{APPS}/controllerrevisions"
    sent(cluster, "POST", path, named(data={"a": 1}, revision=1))
    refused = sent(cluster, "PATCH", f"{path}/x", {"data": {"a": 2}})
    assert causes(refused)[0][1].startswith(f"Invalid value: {told}")


def test_changes_of_pods_warn_of_nothing() -> None:
    """Only new pods do."""
    cluster, path = simkit.Cluster(), f"{CORE}/pods"
    twice = {"env": [{"name": "E", "value": "1"}, {"name": "E", "value": "2"}]}
    made = sent(cluster, "POST", path, named({"containers": [{"name": "c", "image": "i", **twice}]}))
    changed = sent(cluster, "PATCH", f"{path}/x", {"metadata": {"labels": {"a": "b"}}})
    warned = [any(name.lower() == "warning" for name, _ in each.headers) for each in (made, changed)]
    assert warned == [True, False]


@pytest.mark.parametrize(("release", "word"), [("1.35", "Too long: may not be more than 20"), ("1.36", "Too many: 21")])
def test_many_restart_rules(release: str, word: str) -> None:
    """They are counted since 1.36."""
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
    container = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule] * 21}
    refused = sent(simkit.Cluster(release=release), "POST", f"{CORE}/pods", named({"containers": [container]}))
    assert causes(refused)[0][1].startswith(word)


def test_an_empty_restart_policy_of_an_ephemeral_container() -> None:
    """It is a restart policy all the same."""
    spec = {**PLAIN, "ephemeralContainers": [{"name": "e", "image": "i", "restartPolicy": ""}]}
    body = named({"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}})
    refused = sent(simkit.Cluster(release="1.36"), "POST", f"{CORE}/replicationcontrollers", body)
    fields = [field.removeprefix("spec.template.spec.ephemeralContainers") for field, _ in causes(refused)]
    assert fields == ["[0].restartPolicy", ""]


@pytest.mark.parametrize(("release", "status"), [("1.34", 500), ("1.35", 400)])
def test_a_group_without_a_user(release: str, status: int) -> None:
    """Nobody can be it."""
    headers = {"impersonate-group": "g"}
    assert simkit.Cluster(release=release).perform(Request.of("GET", "/version", headers=headers)).status == status


@pytest.mark.parametrize(("release", "word"), [("1.34", "cannot be resized"), ("1.35", "feature gate is disabled")])
def test_pods_with_resources_of_their_own_are_not_resized(release: str, word: str) -> None:
    """The refusal names the feature since 1.35."""
    cluster, whole = simkit.Cluster(release=release), {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    sent(cluster, "POST", f"{CORE}/pods", named({**PLAIN, "resources": whole}))
    assert causes(sent(cluster, "PATCH", f"{CORE}/pods/x/resize", {"spec": {}}))[0][1].endswith(word)


@pytest.mark.parametrize(
    ("release", "source", "told"),
    [
        ("1.32", "self.`a`", "token recognition error at: '`'"),
        ("1.33", "self.`a`", "unsupported syntax: '`'"),
        ("1.32", "Foo{", "expecting {'}', ',', '?', IDENTIFIER}"),
        ("1.33", "Foo{", "expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"),
        ("1.33", "self.`a", "token recognition error at: '`a'"),
    ],
)
def test_names_in_backquotes(release: str, source: str, told: str) -> None:
    """The grammar has them since 1.33, but expressions may not."""
    rules = [{"rule": source}]
    schema = {"type": "object", "properties": {"s": {"type": "object", "x-kubernetes-validations": rules}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "a.b", "scope": "Cluster", "names": {"plural": "xs", "kind": "X"}, "versions": [version]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    refused = sent(simkit.Cluster(release=release), "POST", path, {"metadata": {"name": "xs.a.b"}, "spec": spec})
    assert told in causes(refused)[0][1]


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.31", []),
        ("1.33", ["allocatedResourceStatus", "allocatedResourceStatus", "allocatedResources[storage]"]),
        ("1.34", ["allocatedResourceStatuses", "allocatedResourceStatuses", "allocatedResources[storage]"]),
    ],
)
def test_what_a_claim_tells_about_its_expansion(release: str, told: list[str]) -> None:
    """It is checked where expansions can be recovered from."""
    cluster, path = simkit.Cluster(release=release), f"{CORE}/persistentvolumeclaims"
    amount = {"requests": {"storage": "1Gi"}}
    sent(cluster, "POST", path, named({"accessModes": ["ReadWriteOnce"], "resources": amount}))
    status = {"allocatedResourceStatuses": {"cpu": "Odd"}, "allocatedResources": {"storage": "-1"}}
    answer = sent(cluster, "PATCH", f"{path}/x/status", {"status": status})
    assert (
        [field for field, _ in causes(answer)] == [f"status.{each}" for each in told] if told else answer.status == 200
    )


def test_quotas_of_requests_for_huge_pages() -> None:
    """Their size is part of the name."""
    body = named({"hard": {"requests.hugepages-2Mi": "1", "hugepages-1Gi": "1"}})
    assert sent(simkit.Cluster(), "POST", f"{CORE}/resourcequotas", body).status == 201


@pytest.mark.parametrize(("release", "code"), [("1.33", None), ("1.35", 5)])
def test_codes_of_errors_of_attachments(release: str, code: int | None) -> None:
    """They are kept where counts of volumes may change."""
    cluster, path = simkit.Cluster(release=release), "/apis/storage.k8s.io/v1/volumeattachments"
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    sent(cluster, "POST", path, named(spec))
    changed = sent(cluster, "PATCH", f"{path}/x/status", {"status": {"attachError": {"message": "m", "errorCode": 5}}})
    assert changed.object["status"]["attachError"].get("errorCode") == code


@pytest.mark.parametrize(("release", "word"), [("1.33", "type must be"), ("1.34", "must be")])
def test_priority_levels_that_are_exempt(release: str, word: str) -> None:
    """There is one, and it has the name."""
    cluster, path = simkit.Cluster(release=release), "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    assert f": {word} 'Exempt'" in causes(sent(cluster, "POST", path, named({"type": "Exempt"})))[0][1]
