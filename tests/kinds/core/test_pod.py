"""Pods: what is refused, what may change, what their status is at first, how long they take to go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from simkit.kinds.core.pod import STRATEGY, grace_seconds
from simkit.kinds.parts.pod.qos import qos_class
from simkit.meta.objects import Object
from tests.kinds.made import changed, errors, made, strategy, with_status, written
from tests.releases import BASE

HERE = Path(__file__).parent
ERRORS = yaml.safe_load((HERE / "pod_errors.yaml").read_text())
CHANGES = yaml.safe_load((HERE / "pod_changes.yaml").read_text())


def about(story: Object) -> str:
    return str(story["about"])


def pod(**spec: Any) -> dict[str, Any]:
    return made(written("v1/Pod", {"spec": spec}))


@pytest.mark.parametrize("story", ERRORS, ids=about)
def test_validation_errors(story: Object) -> None:
    """Every error is told at once, in kube-apiserver's order and words."""
    assert errors(made(written("v1/Pod", story["change"]))) == story["errors"]


@pytest.mark.parametrize("story", CHANGES, ids=about)
def test_mutable_fields(story: Object) -> None:
    """Little may change in a pod that exists."""
    live = made(written("v1/Pod", story.get("make")))
    found = errors(changed(live, story["change"]), live)
    assert [text.partition("\n")[0] for text in found] == story.get("errors", [])


def test_the_refusal_shows_the_difference() -> None:
    """The refusal shows the changed fields with their neighbours."""
    live = pod()
    (text,) = errors(changed(live, {"spec": {"hostname": "other"}}), live)
    assert text.endswith(
        "\n  core.PodSpec{\n  \t... // 12 identical fields\n  \tSecurityContext:   &{},\n  \tImagePullSecrets:  nil,\n"
        '- \tHostname:          "",\n+ \tHostname:          "other",\n  \tSubdomain:         "",\n'
        "  \tSetHostnameAsFQDN: nil,\n  \t... // 16 identical fields\n  }\n"
    )


def test_first_status() -> None:
    """A new pod is pending, whatever the client says, and gated where gates stand in its way."""
    assert made({**written("v1/Pod"), "status": {"phase": "Running"}})["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
    }
    gated = pod(schedulingGates=[{"name": "a"}])["status"]["conditions"]
    assert [(one["type"], one["reason"]) for one in gated] == [("PodScheduled", "SchedulingGated")]


AMOUNTS = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"requests": {"ephemeral-storage": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": AMOUNTS, "limits": AMOUNTS}, "Guaranteed"),
        ({"requests": AMOUNTS, "limits": {**AMOUNTS, "cpu": "2"}}, "Burstable"),
    ],
)
def test_quality_of_service(resources: Object, expected: str) -> None:
    """Only pods that get exactly what they ask for are guaranteed."""
    assert qos_class(BASE, {"containers": [{"resources": resources}]}) == expected


@pytest.mark.parametrize(
    ("spec", "status", "asked", "seconds"),
    [
        ({"nodeName": "n"}, {}, None, 30),
        ({"nodeName": "n"}, {}, 5, 5),
        ({"nodeName": "n"}, {}, -1, 1),
        ({"nodeName": "n"}, {"phase": "Failed"}, None, 0),
        ({}, {}, 5, 0),
    ],
)
def test_time_to_end(spec: Object, status: Object, asked: int | None, seconds: int) -> None:
    """Only a pod that runs somewhere needs time to end."""
    obj = {"spec": {"terminationGracePeriodSeconds": 30, **spec}, "status": status}
    assert grace_seconds(obj, asked) == seconds


def test_status_errors() -> None:
    """A container that ended and is not restarted stays ended; addresses are of one family each."""
    live = pod(restartPolicy="Never")
    ended = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
    live["status"] = {**live["status"], "containerStatuses": [ended]}
    status = {
        "conditions": [{"type": "bad type", "status": "True"}],
        "containerStatuses": [{"name": "c", "state": {"running": {}}}],
        "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}],
    }
    found = [text.partition(":")[0] for text in errors(with_status(live, status), live, "status")]
    assert found == ["metadata.conditions[0].Type", "status.containerStatuses[0].state", "status.podIPs"]


def test_addresses_come_once() -> None:
    """A repeated address is told as kube-apiserver prints it; of hosts before the families, of pods after them."""
    live = pod()
    twice = [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]
    found = errors(with_status(live, {"podIPs": twice, "hostIP": "10.0.0.1", "hostIPs": twice}), live, "status")
    families = "may specify no more than one IP for each IP family"
    pods, hosts = ('core.PodIP{IP:"10.0.0.1"}', 'core.HostIP{IP:"10.0.0.1"}')
    assert found == [
        f"status.podIPs: Invalid value: []core.PodIP{{{pods}, {pods}}}: {families}",
        f"status.podIPs[1]: Duplicate value: {pods}",
        f"status.hostIPs[1]: Duplicate value: {hosts}",
        f"status.hostIPs: Invalid value: []core.HostIP{{{hosts}, {hosts}}}: {families}",
    ]


def test_addresses_agree() -> None:
    """The one address and the list of addresses say the same."""
    live = pod()
    assert with_status(live, {"podIP": "10.0.0.1"})["status"]["podIPs"] == [{"ip": "10.0.0.1"}]


def test_ephemeral_containers() -> None:
    """They are added through their own subresource, never changed, and nothing else changes with them."""
    part = (STRATEGY.subresources or {})["ephemeralcontainers"]
    live = pod()
    wanted = changed(live, {"spec": {"hostname": "z", "ephemeralContainers": [{"name": "e", "image": "x"}]}})
    part.merge(BASE, wanted, live)
    assert wanted["spec"].get("hostname") is None
    assert errors(wanted, live, "ephemeralcontainers") == []
    other = changed(
        wanted, {"spec": {"ephemeralContainers": [{"name": "c", "image": "x", "ports": [{"containerPort": 1}]}]}}
    )
    part.merge(BASE, other, wanted)
    assert [text.partition("\n")[0] for text in errors(other, wanted, "ephemeralcontainers")] == [
        'spec.ephemeralContainers[0].name: Duplicate value: "c"',
        "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed',
    ]


def test_app_armor_both_ways() -> None:
    """A profile that an annotation names becomes a field, and the other way round."""
    key = "container.apparmor.security.beta.kubernetes.io/c"
    noted = made(written("v1/Pod", {"metadata": {"annotations": {key: "localhost/p"}}}))
    profile = noted["spec"]["containers"][0]["securityContext"]["appArmorProfile"]
    assert profile == {"type": "Localhost", "localhostProfile": "p"}
    text = f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    assert list(STRATEGY.warnings(BASE, noted, None)) == [text]
    assert pod(securityContext={"appArmorProfile": {"type": "Unconfined"}})["metadata"]["annotations"] == {
        key: "unconfined"
    }


def test_warnings() -> None:
    """Odd things that are taken are told; a negative grace period is one second before anybody looks."""
    spec = {
        "terminationGracePeriodSeconds": -1,
        "nodeSelector": {"beta.kubernetes.io/arch": "x"},
        "imagePullSecrets": [{}, {"name": "a"}, {"name": "a"}],
        "containers": [
            {"name": "c", "image": "x", "env": [{"name": "A"}, {"name": "A", "value": "$(A)b"}, {"name": "A"}]}
        ],
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}},
    }
    created = made(written("v1/Pod", {"spec": spec}))
    assert created["spec"]["terminationGracePeriodSeconds"] == 1
    assert list(strategy("v1/Pod").warnings(BASE, created, None)) == [
        'spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
        'spec.imagePullSecrets[2].name: duplicate name "a"',
        'spec.imagePullSecrets[0].name: invalid empty name ""',
        'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: "
        "a null labelSelector results in matching no pod",
    ]


ROWS = [
    ({}, {"phase": "Pending"}, "0/1", "Pending", "0"),
    ({}, {"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted", "0"),
    (
        {},
        {
            "phase": "Running",
            "containerStatuses": [{"name": "c", "ready": True, "restartCount": 2, "state": {"running": {}}}],
        },
        "1/1",
        "Running",
        "2",
    ),
    (
        {},
        {
            "phase": "Running",
            "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
        },
        "0/1",
        "CrashLoopBackOff",
        "0",
    ),
    (
        {"initContainers": [{"name": "i"}, {"name": "j"}]},
        {
            "phase": "Pending",
            "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 0}}}, {"name": "j"}],
        },
        "0/1",
        "Init:1/2",
        "0",
    ),
    (
        {"initContainers": [{"name": "i"}]},
        {"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 3}}}]},
        "0/1",
        "Init:ExitCode:3",
        "0",
    ),
    (
        {},
        {
            "phase": "Failed",
            "containerStatuses": [
                {
                    "name": "c",
                    "restartCount": 1,
                    "state": {"terminated": {"exitCode": 1, "signal": 9}},
                    "lastState": {"terminated": {"finishedAt": "1970-01-01T00:00:00Z"}},
                }
            ],
        },
        "0/1",
        "Signal:9",
        "1 (100s ago)",
    ),
]


@pytest.mark.parametrize(("spec", "status", "ready", "shown", "restarts"), ROWS)
def test_rows(spec: Object, status: Object, ready: str, shown: str, restarts: str) -> None:
    """The table tells at a glance what a pod is waiting for."""
    obj = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}], **spec}, "status": status}
    assert STRATEGY.print_row is not None
    cells = STRATEGY.print_row(BASE, obj, 100)
    assert list(cells[1:4]) == [ready, shown, restarts]
    ended = {**obj, "metadata": {"name": "x", "deletionTimestamp": "1970-01-01T00:00:00Z"}}
    assert STRATEGY.print_row(BASE, ended, 100)[2] == "Terminating"
