"""Jobs, workloads with replicas, and revisions: what is told of their changes and of their status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.kinds.parts.go_printing.structures import structure
from simkit.meta.message import Request, Response
from simkit.schema.behaviour import default_behaviour
from tests.kinds.comparison import MERGE, cluster_of, sent, told

JOBS = "/apis/batch/v1/namespaces/default/jobs"


CONTAINER = {"name": "c", "image": "i"}


TIME = "2020-01-01T00:00:0{}Z"


PLAIN: Mapping[str, Any] = {"containers": [{"name": "c", "image": "i"}]}


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


def job_after(cluster: simkit.Cluster, *statuses: Mapping[str, Any]) -> Response:
    """The answer to the last of some changes of a job_after's status."""
    sent(cluster, "POST", JOBS, named({"template": {"spec": {**PLAIN, "restartPolicy": "Never"}}}))
    return [sent(cluster, "PATCH", f"{JOBS}/x/status", {"status": each}) for each in statuses][-1]


APPS = "/apis/apps/v1/namespaces/default"


TEMPLATE: Mapping[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": PLAIN}


def revisions(cluster: Cluster, requests: list[Request]) -> list[str]:
    """The revision of the object in each answer."""
    return [cluster.perform(request).object["metadata"]["resourceVersion"] for request in requests]


OWN_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(("release", "generation"), [("1.21", None), ("1.23", 1)])
def test_jobs_have_generations(release: str, generation: int | None) -> None:
    """Jobs count their changes, and whoever deletes one is told of its pods, from 1.23 on."""
    cluster = simkit.Cluster(release=release)
    body = {
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}},
    }
    assert sent(cluster, "POST", JOBS, body).object["metadata"].get("generation") == generation
    warned = "warning" in {name.lower() for name, _ in sent(cluster, "DELETE", f"{JOBS}/j").headers}
    assert warned == (generation is not None)


@pytest.mark.parametrize(
    ("release", "shown"),
    [("1.30", '"null"'), ("1.32", "runtime.RawExtension{Raw:[]uint8(nil), Object:runtime.Object(nil)}")],
)
def test_a_revision_that_loses_its_data(release: str, shown: str) -> None:
    """The error shows what takes the place of the data."""
    cluster = simkit.Cluster(release=release)
    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    sent(cluster, "POST", revisions, {"metadata": {"name": "r"}, "data": {"a": 1}, "revision": 3})
    refused = sent(cluster, "PATCH", f"{revisions}/r", {"data": None}).object
    assert refused["details"]["causes"][-1]["message"] == f"Invalid value: {shown}: field is immutable"


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
    refused = job_after(simkit.Cluster(release=release), {**DONE, "completionTime": TIME.format(0)})
    assert [text for field, text in causes(refused) if field == "status.completionTime" and word in text]


@pytest.mark.parametrize(("release", "word"), [("1.35", "Required value: startTime"), ("1.36", "immutable")])
def test_the_start_of_a_job_that_runs(release: str, word: str) -> None:
    """It may not change."""
    refused = job_after(simkit.Cluster(release=release), {"startTime": TIME.format(1)}, {"startTime": TIME.format(2)})
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
    printed = structure("core.Capabilities", {"add": ["A"]}).told(default_behaviour("1.30"))
    assert printed == 'core.Capabilities{Add:[]core.Capability{"A"}, Drop:[]core.Capability(nil)}'


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


@pytest.mark.parametrize(("release", "listed"), [("1.27", 3), ("1.28", 4)])
def test_actions_of_failure_policies(release: str, listed: int) -> None:
    """The action FailIndex came with 1.28."""
    cluster = simkit.Cluster(release=release)
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    rules = [{"action": "Other", "onExitCodes": {"operator": "In", "values": [1]}}]
    body = {"metadata": {"name": "x"}, "spec": {"template": pods, "podFailurePolicy": {"rules": rules}}}
    refused = sent(cluster, "POST", "/apis/batch/v1/namespaces/default/jobs", body)
    assert refused.object["message"].count('", "') == listed - 1


def test_a_scaled_version_needs_a_group() -> None:
    """A slash alone does not make one."""
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "/abs", "kind": "Deployment", "name": "d"}},
    }
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert told(cluster_of("1.36"), "POST", path, scaler) == [
        'spec.scaleTargetRef.apiVersion: Invalid value: "/abs": apiVersion must specify API group'
    ]


def test_a_deletion_of_all_jobs_warns_of_orphans() -> None:
    """Even if there are none."""
    answer = cluster_of("1.30").perform(Request.of("DELETE", "/apis/batch/v1/namespaces/default/jobs"))
    assert "child pods are preserved by default" in dict(answer.headers)["Warning"]


@pytest.mark.parametrize(("release", "checked"), [("1.30", True), ("1.36", False)])
def test_a_prefix_of_a_replication_controllers_name(release: str, checked: bool) -> None:
    """Later releases look at the name alone."""
    body = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "x", "generateName": ".."}}
    causes = told(cluster_of(release), "POST", "/api/v1/namespaces/default/replicationcontrollers", body)
    assert any("metadata.generateName" in cause for cause in causes) is checked


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_terminating_replicas_are_not_negative(kind: str) -> None:
    """The count of the status that came with 1.33 is checked as the others are."""
    cluster = cluster_of("1.36")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    cluster.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec})
    path = f"/apis/apps/v1/namespaces/default/{kind.lower()}s/x/status"
    causes = told(cluster, "PATCH", path, {"status": {"terminatingReplicas": -1}})
    assert causes == ["status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0"]


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
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": OWN_TEMPLATE}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    cluster.create(made)
    head = {"name": "x", "labels": {"a": "b c"}, "generateName": "Not_Valid!"}
    odd = {**made, "metadata": head, "spec": {**spec, "minReadySeconds": -1}}
    causes = told(cluster, "PUT", f"/apis/apps/v1/namespaces/default/{kind.lower()}s/x", odd)
    letters = {"metadata.labels": "l", "metadata.generateName": "g", "spec.minReadySeconds": "s"}
    whole = "".join(letters[cause.partition(":")[0]] for cause in causes)
    assert whole == f"l{'' if expected == 'lglsls' else 'l'}{expected}"


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
