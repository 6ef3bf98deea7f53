"""What an analysis says of a release is what the engine of that release does."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simkit
from simkit.analysis.escalation.cut.policies import EnforceLevel, Level
from simkit.kinds.conversions import convert
from simkit.meta.message import Request
from simkit.schema.behaviour import default_behaviour

RELEASES: Final = ("1.24", "1.30", "1.33", "1.36", "1.37")
WITH_POLICIES: Final = RELEASES[1:]
GROUP: Final = "admissionregistration.k8s.io"
NAMES: Final = ("a", "ab", "abc")
QUIET: Final = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def server(release: str) -> simkit.Cluster:
    """A server of a release, of which every example takes a fork."""
    return simkit.Cluster(release, seed=1)


numbers = st.integers(0, 4)
texts = st.sampled_from(["", "a", "abcabc"])
lists = st.lists(numbers, max_size=3).map(str)
NUMBERS: Final = st.one_of(
    st.builds("{}.first().orValue({})".format, lists, numbers),
    st.builds("{}.last().orValue({})".format, lists, numbers),
    st.builds("'{}'.indexOf('{}', {})".format, texts, st.sampled_from("abx"), st.integers(0, 9)),
    st.builds("'{}'.lastIndexOf('{}', {})".format, texts, st.sampled_from("abx"), st.integers(0, 9)),
    st.builds("size('%e'.format([{}.0]))".format, numbers),
)
"""Expressions about which releases differ: functions of lists, searches behind the end, and exponents."""
conditions = st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["==", "<", ">="]), numbers)


def policy(expression: str, resource: str, group: str = "") -> list[dict[str, Any]]:
    """A policy that denies writes of a resource for which an expression is not true."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    head = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": "p.example.com"}}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    binding = {"policyName": "p.example.com", "validationActions": ["Deny"]}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def refusal(cluster: simkit.Cluster, obj: dict[str, Any]) -> str:
    """The message of the error of creating an object; empty if it is created."""
    try:
        cluster.create(obj)
    except simkit.StatusError as error:
        return error.message
    return ""


@pytest.mark.parametrize("release", WITH_POLICIES)
@QUIET
@given(expression=conditions)
def test_an_expression(release: str, expression: str) -> None:
    """It has the value, or the error, that decides about a write there."""
    ours, fork = simkit.cel(expression, release=release), server(release).fork()
    described, bound = policy(expression, "configmaps")
    refused = refusal(fork, described)
    if not refused:
        refused = refusal(fork, bound) or refusal(
            fork, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        )
    assert (ours.value is True) == (not refused), (ours, refused)


@pytest.mark.parametrize("release", WITH_POLICIES)
@QUIET
@given(expression=NUMBERS)
def test_the_effect_of_a_policy(release: str, expression: str) -> None:
    """Writes that it would deny are those that are denied where the policy is in force."""
    fork = server(release).fork()
    for name in NAMES:
        fork.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    manifests = policy(
        f"size(object.metadata.name) > {expression} || object.metadata.namespace != 'default'", "configmaps"
    )
    if any(refusal(fork, each) for each in manifests):
        return
    told = set(fork.policy_effect().denied["name"]) & set(NAMES)
    denied = set[str]()
    for name in NAMES:
        live = fork.get("configmap", name, "default")
        path = f"/api/v1/namespaces/default/configmaps/{name}"
        if fork.perform(Request.of("PUT", path, {**live, "data": {"k": "v"}})).status != 200:
            denied.add(name)
    assert told == denied


containers = st.fixed_dictionaries(
    {"name": st.just("c"), "image": st.just("i")},
    optional={
        "livenessProbe": st.sampled_from([{"tcpSocket": {"port": 1, "host": host}} for host in ("", "h", "127.0.0.1")]),
        "securityContext": st.fixed_dictionaries(
            {},
            optional={
                "procMount": st.sampled_from(["Default", "Unmasked"]),
                "seLinuxOptions": st.just({"type": "container_engine_t"}),
                "runAsNonRoot": st.booleans(),
                "allowPrivilegeEscalation": st.booleans(),
                "capabilities": st.just({"drop": ["ALL"]}),
                "seccompProfile": st.just({"type": "RuntimeDefault"}),
            },
        ),
    },
)
sysctls = st.sampled_from(
    ["net.ipv4.tcp_rmem", "net.ipv4.tcp_keepalive_time", "kernel.shm_rmid_forced", "vm.swappiness"]
)
pods = st.fixed_dictionaries(
    {"containers": st.lists(containers, min_size=1, max_size=1)},
    optional={
        "hostUsers": st.booleans(),
        "securityContext": sysctls.map(lambda name: {"sysctls": [{"name": name, "value": "1"}]}),
        "volumes": st.just([{"name": "v", "image": {"reference": "r"}}]),
    },
)


@pytest.mark.parametrize("release", RELEASES)
@QUIET
@given(specs=st.lists(pods, min_size=1, max_size=4), level=st.sampled_from(["baseline", "restricted"]))
def test_pods_that_a_level_refuses(release: str, specs: list[dict[str, Any]], level: Level) -> None:
    """They are those that cannot be made again where the level is enforced."""
    fork = server(release).fork()
    for number, spec in enumerate(specs):
        refusal(fork, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec})
    told = EnforceLevel("default", level).refused(fork.snapshot())
    made = list(fork.list("pods", "default"))
    labels = {"kubernetes.io/metadata.name": "default", "pod-security.kubernetes.io/enforce": level}
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}
    assert fork.perform(Request.of("PUT", "/api/v1/namespaces/default", named)).status == 200
    again = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"again-{pod['metadata']['name']}"},
            "spec": pod["spec"],
        }
        for pod in made
    ]
    refused = [each["metadata"]["name"] for each in again if "violates PodSecurity" in refusal(fork, each)]
    assert [f"again-{name}" for name in told] == refused


@pytest.mark.parametrize(
    ("release", "older", "newer"),
    [
        ("1.24", "v1beta1", "v1beta2"),
        ("1.26", "v1beta2", "v1beta3"),
        ("1.28", "v1beta2", "v1beta3"),
        ("1.30", "v1beta3", "v1"),
    ],
)
@pytest.mark.parametrize("seats", [None, 0, 5])
def test_a_conversion(release: str, older: str, newer: str, seats: int | None) -> None:
    """An object in another version is what a server of the release gives in that version."""
    group, fork = "flowcontrol.apiserver.k8s.io", server(release).fork()
    limited: dict[str, Any] = {"limitResponse": {"type": "Reject"}}
    if seats is not None:
        limited["nominalConcurrencyShares" if older == "v1beta3" else "assuredConcurrencyShares"] = seats or 7
    obj = {
        "apiVersion": f"{group}/{older}",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "mine"},
        "spec": {"type": "Limited", "limited": limited},
    }
    ours = convert(obj, f"{group}/{newer}", default_behaviour(release), defaults=True)
    made = fork.perform(Request.of("POST", f"/apis/{group}/{older}/prioritylevelconfigurations", obj))
    theirs = fork.perform(Request.of("GET", f"/apis/{group}/{newer}/prioritylevelconfigurations/mine"))
    assert (made.status, theirs.status) == (201, 200)
    assert ours["spec"] == theirs.object["spec"]
