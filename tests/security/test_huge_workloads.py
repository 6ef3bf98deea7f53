"""Workloads of two thousand million pods are worked on in portions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.engine.admission import webhook_index
from simkit.engine.admission.candidates import LiveClusterReader
from simkit.engine.controllers import daemon_set
from simkit.engine.controllers.endpoints import Group, SliceReconciler
from simkit.engine.controllers.ownership import MOST_AT_ONCE
from simkit.logic.policy import binding, policy
from simkit.logic.workloads.indexes import Indexes, parse, write
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object, name_of
from simkit.schema.catalogue import Resource
from simkit.seams import ABSENT
from tests.engine.controllers.test_aggregation import Recording
from tests.engine.controllers.worlds import job, names, obj, patch, volume, wish, workload
from tests.security.prices import LINEAR, growth

MOST = 2**31 - 1


PORTION = 20


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> simkit.Cluster:
    """A cluster whose controllers work in small portions, and rest after some writes."""
    made = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    for controller in ("job", "deployment", "stateful_set"):
        monkeypatch.setattr(f"simkit.engine.controllers.{controller}.MOST_AT_ONCE", PORTION)
    monkeypatch.setattr("simkit.engine.controllers.controller_manager._MOST_WRITES", 10)
    return made


def test_portions_are_those_of_the_real_controllers() -> None:
    """BurstReplicas and MaxPodCreateDeletePerSync."""
    assert (MOST_AT_ONCE, daemon_set._MOST_AT_ONCE) == (500, 250)


@pytest.mark.parametrize(
    "wanted",
    [
        job("j", parallelism=MOST),
        job("j", parallelism=100_000, completions=MOST, completionMode="Indexed"),
        workload("ReplicaSet", "r", replicas=MOST),
        workload("Deployment", "d", replicas=MOST),
        workload("StatefulSet", "s", replicas=MOST, serviceName="x", podManagementPolicy="Parallel"),
    ],
    ids=lambda obj: str(obj["kind"]),
)
def test_pods_are_made_in_portions(cluster: simkit.Cluster, wanted: Object) -> None:
    """As BurstReplicas and MaxPodCreateDeletePerSync say; who settles is told that there is more to do."""
    cluster.create(wanted)
    with pytest.raises(SimkitError, match="settle again"):
        cluster.settle()
    assert len(names(cluster, "pods")) == PORTION


def test_leases_are_no_sign_of_too_much_work(cluster: simkit.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many nodes renew theirs while a long work goes on."""
    monkeypatch.setattr("simkit.simulation.kubelet.simulated_node.REPORT_EVERY", 1e9)
    cluster.add_nodes(30)
    for _ in range(20):
        with suppress(SimkitError):
            cluster.settle()
    before = renewed(cluster)
    cluster.advance(minutes=20)
    assert len(renewed(cluster) - before) == 30


def renewed(cluster: simkit.Cluster) -> set[str]:
    """The times at which the leases of nodes were renewed, with their names."""
    return {f"{name_of(each)} {each['spec']['renewTime']}" for each in cluster.list("leases", "kube-node-lease")}


def test_index_ranges_cost_their_text() -> None:
    """A status that says that two thousand million indexes are done is read as one span."""
    found = parse(f"0-{MOST},{'9' * 5000}-{'9' * 5001},²-3", below=MOST)
    assert (len(found), write(found), found.end_of_span(7)) == (MOST, f"0-{MOST - 1}", MOST)
    assert Indexes([(3, 5), (1, 2), (2, 3), (9, 9)]) == parse("1-4", below=9)


def test_a_status_full_of_indexes_is_no_burden(cluster: simkit.Cluster) -> None:
    """The next free index behind a wide span is found at once."""
    cluster.create(job("j", parallelism=1, completions=MOST, completionMode="Indexed", suspend=True))
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    patch(cluster, f"{path}/status", {"status": {"completedIndexes": f"0-{MOST - 3},{MOST - 1}"}})
    patch(cluster, path, {"spec": {"suspend": False}})
    cluster.settle()
    [pod] = cluster.list("pods", "default")
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == str(MOST - 2)


def test_slices_of_many_groups_cost_their_number() -> None:
    """Endpoints mirrored from thousands of subsets, each with ports of its own: each slice is looked at once."""

    def groups(count: int) -> tuple[dict[Group, list[dict[str, Any]]], list[Object]]:
        ends = [{"addresses": ["10.0.0.1"]}]
        wanted: dict[Group, list[dict[str, Any]]] = {("IPv4", ((("port", port),),)): ends for port in range(count)}
        labels = {"name": "s"}
        present = [
            {"metadata": {"name": f"s-{port}", "labels": labels}, "addressType": "IPv4", "ports": [{"port": port}]}
            for port in range(count)
        ]
        return wanted, [{**each, "endpoints": ends} for each in present]

    def reconcile(given: tuple[dict[Group, list[dict[str, Any]]], list[Object]]) -> None:
        SliceReconciler(Recording(), "default", "s", {"name": "s"}, {}, {}, 100).reconcile(*given)

    assert growth(reconcile, groups, 60) < LINEAR


@pytest.mark.slow
def test_claims_and_volumes_cost_their_number() -> None:
    """None looks at all of the others: those that fit, and those that ask for too much, other modes or other labels."""

    def both(count: int) -> simkit.Cluster:
        made = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock(), audit_policy=None))
        for number in range(count):
            made.create(volume(f"v{number}"))
            made.create(wish(f"c{number}"))
            made.create(wish(f"large-{number}", "9Gi"))
            made.create(wish(f"labelled-{number}", selector={"matchLabels": {"number": str(number)}}))
            made.create(wish(f"shared-{number}", accessModes=["ReadWriteMany"]))
        return made

    assert growth(lambda made: made.settle(), both, 8) < LINEAR


def _definition(plural: str, kind: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {"group": "attack.example", "scope": "Cluster", "names": {"plural": plural, "kind": kind}}
    return obj(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"{plural}.attack.example",
        spec={**spec, "versions": versions},
    )


def _empty(count: int) -> tuple[simkit.Cluster, int]:
    """A new cluster, and how many objects it will get."""
    return simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock(), audit_policy=None)), count


def test_definitions_cost_their_number() -> None:
    """Those of one group do not compare their names with each other after each write."""

    def write(given: tuple[simkit.Cluster, int]) -> None:
        made, count = given
        for number in range(count):
            made.create(_definition(f"things{number}", f"Thing{number}"))
            made.create(_definition(f"same{number}", "Same"))

    assert growth(write, _empty, 6) < LINEAR


def test_flow_schemas_cost_their_number() -> None:
    """Each with a priority level of its own: a write leaves the conditions of the others alone."""
    group = "flowcontrol.apiserver.k8s.io/v1"

    def write(given: tuple[simkit.Cluster, int]) -> None:
        made, count = given
        for number in range(count):
            limited = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
            level = {"type": "Limited", "limited": limited}
            made.create(obj(group, "PriorityLevelConfiguration", f"l{number}", spec=level))
            named = {"priorityLevelConfiguration": {"name": f"l{number + 1}"}, "matchingPrecedence": 5}
            made.create(obj(group, "FlowSchema", f"s{number}", spec=named))
        for number, wanted in ((0, "False"), (count - 1, "True")):
            [dangling] = made.get("flowschema", f"s{number}")["status"]["conditions"]
            assert (dangling["type"], dangling["status"]) == ("Dangling", wanted)

    assert growth(write, _empty, 6) < LINEAR


def test_policies_cost_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A written policy or binding is read by itself; 1,600 of them were put together anew for each."""
    compiled, together = list[str](), list[int]()
    made = _cluster()
    group = "admissionregistration.k8s.io/v1"
    read, bind = policy.Policy.__init__, binding.bind_policies

    def reads(self: policy.Policy, given: Object, behaviour: ServedBehaviour) -> None:
        compiled.append(name_of(given))
        read(self, given, behaviour)

    def binds(policies: Iterable[Any], bindings: Iterable[Any]) -> Any:
        together.append(1)
        return bind(policies, bindings)

    monkeypatch.setattr(policy.Policy, "__init__", reads)
    monkeypatch.setattr(binding, "bind_policies", binds)
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    for number in range(20):
        refuse = {"validations": [{"expression": f"object.metadata.name != 'm{number}'"}]}
        spec = {"matchConstraints": {"resourceRules": rules}, **refuse}
        made.create(obj(group, "ValidatingAdmissionPolicy", f"p{number}", spec=spec))
        bound = {"policyName": f"p{number}", "validationActions": ["Deny"]}
        made.create(obj(group, "ValidatingAdmissionPolicyBinding", f"p{number}", spec=bound))
    assert not together
    for name in ("a", "b", "m7"):
        with suppress(simkit.StatusError):
            made.create(obj("v1", "ConfigMap", name))
    assert "m7" not in names(made, "configmaps")
    assert (len(together), sorted(compiled)) == (1, sorted(f"p{number}" for number in range(20)))
    made.delete("validatingadmissionpolicybinding", "p7")
    made.create(obj("v1", "ConfigMap", "m7"))


def test_a_refusal_does_not_tell_of_thousands_of_roles() -> None:
    """Each question of somebody who is bound to roles that are not there was answered, and remembered, with all names."""
    made = _cluster()
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]
    for number in range(150):
        reference = {**role, "name": f"r{number:03}"}
        bound = obj(
            "rbac.authorization.k8s.io/v1", "RoleBinding", f"b{number:03}", roleRef=reference, subjects=subjects
        )
        made.create(bound)
    refused = made.perform(Request.of("GET", "/api/v1/namespaces/default/pods/a"), identity=simkit.Identity("ann"))
    told = refused.object["message"]
    assert (refused.status, told.count("not found"), told.endswith(" and 50 more")) == (403, 100, True)


def _cluster() -> simkit.Cluster:
    return simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock(), audit_policy=None))


def _running(number: int, address: int) -> Object:
    """A pod that is ready, behind a service of its own."""
    conditions = [{"type": "Ready", "status": "True"}]
    ip = f"10.1.{address // 250}.{address % 250 + 1}"
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    meta = {"namespace": "default", "labels": {"app": f"a{number}", "all": "yes"}, "uid": f"u{number}"}
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    return obj("v1", "Pod", f"p{number}", meta=meta, spec=spec, status=status)


def _service(number: int) -> Object:
    return obj("v1", "Service", f"s{number}", spec={"selector": {"app": f"a{number}"}, "ports": [{"port": 80}]})


def _budget(number: int) -> Object:
    selector = {"matchLabels": {"app": f"a{number}", "all": "yes"}}
    return obj("policy/v1", "PodDisruptionBudget", f"b{number}", spec={"selector": selector, "minAvailable": 1})


def _quota(number: int) -> Object:
    return obj("v1", "ResourceQuota", f"q{number}", spec={"hard": {"pods": "9k", "count/services": "9k"}})


@pytest.mark.slow
@pytest.mark.parametrize("make", [_service, _budget, _quota], ids=["services", "budgets", "quotas"])
def test_what_counts_pods_costs_the_number_of_objects(make: Callable[[int], Object]) -> None:
    """Services, disruption budgets and quotas find their pods, and pods them, by labels or in one count: of 400 each
    looked at all of the 400 others."""

    def both(count: int) -> simkit.Cluster:
        made = _cluster()
        made.create(obj("v1", "Node", "n"))
        for number in range(count):
            made.create(make(number))
        made.settle()
        for number in range(count):
            pod = _running(number, number)
            made.engine.store.put(
                Key(GroupResource("", "pods"), "default", pod["metadata"]["name"]), pod, expect=ABSENT
            )
        return made

    assert growth(lambda made: made.settle(), both, 15) < LINEAR


def _webhooks(number: int) -> Object:
    rules = [{"apiGroups": ["other.example"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["things"]}]
    called = {"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": rules}
    webhooks = [{**called, "clientConfig": {"url": "https://127.0.0.1:1/x"}}]
    group = "admissionregistration.k8s.io/v1"
    return obj(group, "ValidatingWebhookConfiguration", f"w{number}", webhooks=webhooks)


def test_webhooks_cost_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request after a change asks whom it concerns: only what changed is read again (500 configurations, one
    after the other, kept the loop for up to 0.2 s each)."""
    read = list[str]()
    accessors = webhook_index.webhook_accessors

    def counted(configuration: Object, behaviour: ServedBehaviour) -> Sequence[webhook_index.WebhookAccessor]:
        read.append(configuration["metadata"]["name"])
        return accessors(configuration, behaviour)

    monkeypatch.setattr(webhook_index, "webhook_accessors", counted)
    made = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock(), audit_policy=None))
    webhooks = made._control_plane.extensions.webhooks
    reader = LiveClusterReader(made.engine.store, made.engine.authorizer, lambda: made.engine.catalogue, unchanged)
    for number in range(30):
        made.create(_webhooks(number))
        assert not webhooks.concerns(reader, GroupVersionResource("", "v1", "configmaps"), "")
    assert webhooks.concerns(reader, GroupVersionResource("other.example", "v1", "things"), "status") is False
    assert webhooks.concerns(reader, GroupVersionResource("other.example", "v1", "things"), "") is True
    assert read == [f"w{number}" for number in range(30)]


def unchanged(given: Object, _: Resource) -> Object:
    """No other version is there to convert to."""
    return given
