"""Workloads: errors as stories, observed defaults, statuses, tables; defaulting twice changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.meta.objects import Object, at, copied
from simkit.meta.wording import told
from simkit.schema.table_columns import columns_of
from tests.kinds.made import BASES, CATALOGUE, changed, errors, made, strategy, with_status, written
from tests.releases import BASE
from tools.facts import read

STORIES = yaml.safe_load((Path(__file__).parent / "workload_errors.yaml").read_text())
KINDS = sorted(BASES)
STORED = [kind for kind in KINDS if kind != "v1/Binding"]


def about(story: Object) -> str:
    return str(story["about"])


@pytest.mark.parametrize("story", STORIES, ids=about)
def test_validation_errors(story: Object) -> None:
    """Every error is told at once, of a new object or of a change; templates, which are printed whole, in short."""
    obj = made(written(story["kind"], story.get("change")))
    if "then" in story:
        assert errors(obj) == []
        found = errors(changed(obj, story["then"]), obj)
    else:
        found = errors(obj)
    assert [_TEMPLATE.sub("core.PodTemplateSpec{...}: ", error) for error in found] == story.get("errors", [])


_TEMPLATE = re.compile(r"core\.PodTemplateSpec{.*}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_object_is_well(kind: str) -> None:
    """The smallest object is valid, and can be written again."""
    obj = made(written(kind))
    assert errors(obj) == []
    assert errors(changed(obj, {}), obj) == []


@pytest.mark.parametrize("kind", STORED)
def test_rows_fit_their_columns(kind: str) -> None:
    """Every column has its cell, of the column's type."""
    api_version, _, name = kind.rpartition("/")
    resource = next(one for one in CATALOGUE.resources() if (one.api_version, one.kind) == (api_version, name))
    row = strategy(kind).print_row
    assert row is not None
    cells, columns = row(BASE, made(written(kind)), 0), columns_of(resource.gvr)
    assert len(cells) == len(columns)
    assert all(isinstance(cell, int) for cell, column in zip(cells, columns, strict=True) if column.type == "integer")


def test_cells() -> None:
    """Counts, containers and selectors of a deployment."""
    change = {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["c", "b"]}]}}}
    obj = made(written("apps/v1/Deployment", change))
    obj["status"] = {"readyReplicas": 1, "updatedReplicas": 2}
    row = strategy("apps/v1/Deployment").print_row
    assert row is not None
    assert row(BASE, obj, 0)[1:4] == ["1/1", 2, 0]
    assert row(BASE, obj, 0)[5:] == ["c", "registry.test/app:1", "a in (b,c),app=x"]


@pytest.mark.parametrize(
    ("status", "state", "done", "took"),
    [
        ({}, "Running", "0/1", ""),
        ({"conditions": [{"type": "Suspended", "status": "True"}]}, "Suspended", "0/1", ""),
        (
            {
                "succeeded": 1,
                "startTime": "1970-01-01T00:00:00Z",
                "completionTime": "1970-01-01T00:01:30Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            "Complete",
            "1/1",
            "90s",
        ),
    ],
)
def test_cells_of_jobs(status: Object, state: str, done: str, took: str) -> None:
    """The cells of status, completions and duration."""
    row = strategy("batch/v1/Job").print_row
    assert row is not None
    assert row(BASE, {**made(written("batch/v1/Job")), "status": status}, 200)[1:4] == [state, done, took]


@pytest.mark.parametrize(
    ("kind", "status", "found"),
    [
        (
            "apps/v1/Deployment",
            {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3, "observedGeneration": -1},
            [
                "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
        (
            "apps/v1/ReplicaSet",
            {"fullyLabeledReplicas": 1},
            ["status.fullyLabeledReplicas: Invalid value: 1: cannot be greater than status.replicas"],
        ),
        (
            "apps/v1/StatefulSet",
            {"currentReplicas": 1},
            ["status.currentReplicas: Invalid value: 1: cannot be greater than status.replicas"],
        ),
        (
            "apps/v1/DaemonSet",
            {"numberReady": -1},
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "batch/v1/Job",
            {"active": -1, "uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}},
            [
                "status.active: Invalid value: -1: must be greater than or equal to 0",
                'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
                'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
            ],
        ),
        (
            "batch/v1/Job",
            {
                "conditions": [
                    {"type": name, "status": "True"} for name in ("SuccessCriteriaMet", "Failed", "FailureTarget")
                ]
            },
            [
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet to NonIndexed Job",
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions",
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job without SuccessPolicy",
            ],
        ),
    ],
)
def test_statuses(kind: str, status: Object, found: list[str]) -> None:
    """Counts are not negative, and no part is larger than the whole."""
    live = made(written(kind))
    assert errors(with_status(live, status), live, "status") == found


def test_collisions_are_only_counted_up() -> None:
    """A count of collisions never goes down."""
    live = {**made(written("apps/v1/Deployment")), "status": {"collisionCount": 2}}
    text = "status.collisionCount: Invalid value: 1: cannot be decremented"
    assert errors(with_status(live, {"collisionCount": 1}), live, "status") == [text]


def test_generation_of_templates() -> None:
    """A daemon set counts the changes of its template in an annotation."""
    key = "deprecated.daemonset.template.generation"
    live = made(written("apps/v1/DaemonSet"))
    other = changed(live, {"spec": {"template": {"spec": {"hostname": "a"}}}})
    same = changed(other, {"spec": {"minReadySeconds": 1}, "metadata": {"annotations": {key: "9"}}})
    assert [one["metadata"]["annotations"][key] for one in (live, other, same)] == ["1", "2", "2"]


@pytest.mark.parametrize(
    ("kind", "warned"),
    [("apps/v1/Deployment", True), ("apps/v1/DaemonSet", False), ("batch/v1/CronJob", True)],
)
def test_names_with_dots(kind: str, warned: bool) -> None:
    """Names that pods take over should be names of hosts."""
    found = list(strategy(kind).warnings(BASE, made(written(kind, {"metadata": {"name": "a.b"}})), None))
    text = (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )
    assert list(found) == ([text] if warned else [])


def test_stateful_sets_are_named_like_hosts() -> None:
    """A stateful set gives its name to hosts, so that it may have no dots; its generated name may end in a dash."""
    name = strategy("apps/v1/StatefulSet").validate_name
    assert [told(text, BASE) for text in name("a.b", False)] == ["must not contain dots"]
    assert name("a-", True) == []


@pytest.mark.parametrize("kind", ["apps/v1/Deployment", "batch/v1/Job", "batch/v1/CronJob"])
def test_warnings_come_with_changes(kind: str) -> None:
    """A template that deserves a warning is warned of again only when something of the workload has changed."""
    template: Object = {"spec": {"template": {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}}}}
    live = made(written(kind, {"spec": {"jobTemplate": template}} if kind == "batch/v1/CronJob" else template))
    live["metadata"]["generation"] = 1
    later = {**live, "metadata": {**live["metadata"], "generation": 2}}
    warnings = strategy(kind).warnings
    assert len([*warnings(BASE, live, None)]) == len([*warnings(BASE, later, live)]) == 1
    assert list(warnings(BASE, live, live)) == []


def test_jobs_of_older_servers() -> None:
    """A job whose pods have only the labels without a prefix may be written again; a new one needs all four."""
    live = made(written("batch/v1/Job"))
    old_labels = ("controller-uid", "job-name")
    uid = live["spec"]["template"]["metadata"]["labels"]["controller-uid"]
    kept = {key: text for key, text in live["spec"]["template"]["metadata"]["labels"].items() if key in old_labels}
    template = {**live["spec"]["template"], "metadata": {"labels": kept}}
    old = {**live, "spec": {**live["spec"], "template": template, "selector": {"matchLabels": {old_labels[0]: uid}}}}
    assert errors(old, old) == []
    missing = [error.partition(": ")[0] for error in errors(old) if "batch" in error]
    assert missing == [f"spec.template.metadata.labels[batch.kubernetes.io/{name}]" for name in old_labels]


def test_warnings_of_replication_controllers_come_late() -> None:
    """An update is warned of what the template said before, as on kube-apiserver."""
    kind = "v1/ReplicationController"
    live = made(written(kind, {"spec": {"template": {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}}}}))
    live["metadata"]["generation"] = 1
    well = changed(live, {"spec": {"template": {"spec": {"nodeSelector": None}}}})
    well["metadata"] = {**well["metadata"], "generation": 2}
    back = {**live, "metadata": {**live["metadata"], "generation": 3}}
    warnings = strategy(kind).warnings
    assert [len([*warnings(BASE, *pair)]) for pair in ((live, None), (well, live), (back, well))] == [1, 1, 0]


def test_annotations_of_deployments_count() -> None:
    """Annotations, which replica sets take over, raise the generation of a deployment; labels do not."""
    raises = strategy("apps/v1/Deployment").raises_generation
    live = made(written("apps/v1/Deployment"))
    assert raises is not None
    assert raises(changed(live, {"metadata": {"annotations": {"a": "b"}}}), live)
    assert not raises(changed(live, {"metadata": {"labels": {"a": "b"}}}), live)


def test_old_schedules_with_zones() -> None:
    """A zone within the schedule, which only old objects have, is warned of at every write."""
    live = made(written("batch/v1/CronJob", {"spec": {"schedule": "TZ=UTC 0 0 * * *"}}))
    assert errors(changed(live, {"metadata": {"labels": {"a": "b"}}}), live) == []
    (found,) = strategy("batch/v1/CronJob").warnings(BASE, live, live)
    assert found.startswith("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://")


def flattened(obj: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All leaves of an object with their paths; list elements as ``[]``."""
    if isinstance(obj, dict) and obj:
        for key, value in obj.items():
            yield from flattened(value, f"{path}.{key}" if path else key)
    elif isinstance(obj, list) and obj and isinstance(obj[0], dict):
        for value in obj:
            yield from flattened(value, f"{path}[]")
    else:
        yield path, obj


OBSERVED = {
    "apps/v1/Deployment": "apps/v1/Deployment",
    "apps/v1/ReplicaSet": "apps/v1/ReplicaSet",
    "apps/v1/StatefulSet": "apps/v1/StatefulSet",
    "apps/v1/DaemonSet": "apps/v1/DaemonSet",
    "v1/PodTemplate": "v1/PodTemplate",
    "v1/ReplicationController": "v1/ReplicationController",
    "batch/v1/CronJob": "batch/v1/CronJob",
    "batch/v1/Job": "batch/v1/Job",
}


@pytest.mark.parametrize("kind", sorted(OBSERVED))
def test_observed_defaults(kind: str) -> None:
    """The defaults of kube-apiserver for a small object are the same here."""
    facts = read("defaults-1.30.json")
    obj = made(written(kind))
    got = dict(flattened(obj))
    expected = dict(flattened({key: value for key, value in facts["observed"][kind].items() if _is_plain(key, value)}))
    wrong = {path: value for path, value in expected.items() if path and got.get(path, _MISSING) != value}
    assert not {path: value for path, value in wrong.items() if not _depends(path)}
    template = at(obj, "spec", "jobTemplate", "spec", "template") or at(obj, "spec", "template") or obj["template"]
    for path, value in facts["podTemplate"].items():
        if path not in ("spec.containers[].imagePullPolicy", "spec.restartPolicy"):
            assert dict(flattened(template))[path] == value, path


_MISSING = object()


def _is_plain(key: str, value: object) -> bool:
    return "podTemplate" not in str(value) and key != "metadata.generation"


def _depends(path: str) -> bool:
    """True if a value depends on the observed object."""
    return path.startswith(("metadata.labels", "spec.selector", "spec.volumeClaimTemplates")) or "labels" in path


def test_claims_of_stateful_sets() -> None:
    """Templates of claims are written as the claims that they become."""
    claim = {"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    (found,) = made(written("apps/v1/StatefulSet", {"spec": {"volumeClaimTemplates": [claim]}}))["spec"][
        "volumeClaimTemplates"
    ]
    assert (found["kind"], found["apiVersion"], found["status"]) == (
        "PersistentVolumeClaim",
        "v1",
        {"phase": "Pending"},
    )
    assert found["spec"]["volumeMode"] == "Filesystem"


NAMES = st.sampled_from(["a", "b", "Bad_", ""])
AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/x"]), st.sampled_from(["1", "2Gi", "-1"]))
CONTAINERS = st.fixed_dictionaries(
    {"name": NAMES, "image": st.sampled_from(["x", "x:1", "x@sha256:" + "0" * 64, "", " "])},
    optional={
        "ports": st.lists(st.fixed_dictionaries({"containerPort": st.integers(-1, 70000)}), max_size=2),
        "env": st.lists(st.fixed_dictionaries({"name": NAMES, "value": NAMES}), max_size=2),
        "resources": st.fixed_dictionaries({}, optional={"limits": AMOUNTS, "requests": AMOUNTS}),
        "livenessProbe": st.fixed_dictionaries(
            {}, optional={"grpc": st.just({"port": 1}), "httpGet": st.just({"port": 0})}
        ),
        "volumeMounts": st.lists(st.fixed_dictionaries({"name": NAMES, "mountPath": NAMES}), max_size=2),
        "securityContext": st.fixed_dictionaries({}, optional={"runAsUser": st.integers(-2, 2)}),
    },
)
SOURCES = st.sampled_from(
    [{}, {"secret": {"secretName": "s"}}, {"configMap": {}}, {"hostPath": {"path": "/x"}}, {"rbd": {}, "iscsi": {}}]
)
VOLUMES = st.builds(lambda name, source: {"name": name, **source}, NAMES, SOURCES)
SPECS = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINERS, max_size=2)},
    optional={
        "initContainers": st.lists(CONTAINERS, max_size=1),
        "volumes": st.lists(VOLUMES, max_size=2),
        "restartPolicy": st.sampled_from(["Always", "Never", "Sometimes"]),
        "hostNetwork": st.booleans(),
        "serviceAccount": NAMES,
        "terminationGracePeriodSeconds": st.integers(-1, 1),
    },
)


@settings(max_examples=60)
@given(SPECS, st.sampled_from(["v1/Pod", "v1/PodTemplate", "apps/v1/Deployment", "batch/v1/Job", "batch/v1/CronJob"]))
def test_defaulting_twice_is_defaulting_once(spec: dict[str, Any], kind: str) -> None:
    """A second defaulting changes nothing, nothing is changed in place, and errors stay."""
    place: Object = {"spec": spec}
    if kind == "v1/PodTemplate":
        place = {"template": {"spec": spec}}
    elif kind == "batch/v1/CronJob":
        place = {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}
    elif kind != "v1/Pod":
        place = {"spec": {"template": {"spec": spec}}}
    once = made(written(kind, place))
    kept, again = copied(once), dict(once)
    again["metadata"] = dict(again["metadata"])
    found = errors(once)
    strategy(kind).default(BASE, again)
    assert again == once == kept
    assert errors(again) == found
