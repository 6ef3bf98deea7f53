"""What a plan says of access, pods and the next release."""

from __future__ import annotations

import pytest

import simkit
from simkit import Cluster
from simkit.analysis.manifest_plan.planning import plan
from simkit.analysis.manifest_plan.result import ManifestPlan, Section
from simkit.meta.identity import Identity
from tests.analysis.manifest_plan.test_objects import cluster, deployment
from tests.analysis.worlds import binding, role, rule

__all__ = ["cluster"]


def lines(found: ManifestPlan, section: Section) -> list[tuple[str, str]]:
    """The change and the subject of each line of a section."""
    return [(row.change, row.what) for row in found.of(section)]


def test_a_quota(cluster: Cluster) -> None:
    """Pods that a quota refuses are found, in the words of kube-apiserver."""
    found = plan(cluster, deployment(replicas=5))
    (row,) = found.of("pods")
    assert row.what.startswith("Deployment shop/web")
    assert "exceeded quota: few" in row.detail


def test_the_pods_that_a_quota_refuses_are_counted(cluster: Cluster) -> None:
    """Also of so many pods that the Event about the refused ones is dropped, as kube-controller-manager drops it."""
    fork = cluster.fork()
    fork.delete("resourcequota", "few", "shop")
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: many, namespace: shop}, spec: {hard: {pods: '40'}}}"
    fork.apply(quota)
    (row,) = plan(fork, deployment(replicas=60)).of("pods")
    assert row.what == "Deployment shop/web: 20 pods"
    assert "exceeded quota: many" in row.detail


def test_pods_of_refused_workloads_are_not_told(cluster: Cluster) -> None:
    """Nothing becomes of what the user may not make."""
    found = plan(cluster, deployment(replicas=50), identity=Identity("nobody", ("system:authenticated",)))
    assert [one.action for one in found.objects] == ["refused"]
    assert found.of("pods") == ()


def test_a_quota_that_the_change_deletes(cluster: Cluster) -> None:
    """Pods that only the deleted quota refused are not told; the deletion has the place of the earlier manifest."""
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: shop}, spec: {hard: {pods: '3'}}}"
    found = plan(cluster, deployment(replicas=5), configured=[deployment(replicas=1), quota])
    assert found.of("pods") == ()
    (row,) = [row for row in found.of("objects") if row.change == "delete"]
    assert (row.what, row.line) == ("ResourceQuota shop/few", 1)


def test_a_pod_security_level(cluster: Cluster) -> None:
    """A deployment is admitted, and its pods are not."""
    found = plan(cluster, deployment(namespace="strict"))
    assert [one.action for one in found.objects] == ["create"]
    assert 'violates PodSecurity "restricted:latest"' in found.of("pods")[0].detail


_POD = "metadata: {labels: {a: b}}, spec: {serviceAccountName: absent, containers: [{name: a, image: b}]}"
_SELECTED = f"selector: {{matchLabels: {{a: b}}}}, template: {{{_POD}}}"
_WORKLOADS = {
    "Deployment": f"apiVersion: apps/v1, spec: {{{_SELECTED}}}",
    "StatefulSet": f"apiVersion: apps/v1, spec: {{serviceName: a, {_SELECTED}}}",
    "DaemonSet": f"apiVersion: apps/v1, spec: {{{_SELECTED}}}",
    "ReplicaSet": f"apiVersion: apps/v1, spec: {{{_SELECTED}}}",
    "Job": f"apiVersion: batch/v1, spec: {{template: {{{_POD.replace('spec: {', 'spec: {restartPolicy: Never, ')}}}}}",
}


@pytest.mark.parametrize("kind", _WORKLOADS)
def test_pods_that_are_not_admitted(cluster: Cluster, kind: str) -> None:
    """Workloads of each kind whose pods kube-apiserver refuses are found, in dumps without Events too."""
    manifest = f"{{kind: {kind}, metadata: {{name: a, namespace: strict}}, {_WORKLOADS[kind]}}}"
    now = cluster.snapshot()
    held = [resource for resource in now.captured() if resource.resource != "events"]
    dumped = simkit.load([obj for resource in held for obj in now.scan(resource)])
    for asked in (cluster, dumped):
        asked.snapshot()
        (row,) = plan(asked, manifest).of("pods")
        assert row.what.startswith(f"{kind} strict/a")
        assert "is forbidden" in row.detail or "absent" in row.detail


def test_a_missing_config_map(cluster: Cluster) -> None:
    """Pods that cannot start are found."""
    found = plan(cluster, deployment(more="envFrom: [{configMapRef: {name: absent}}]"))
    assert [row.detail for row in found.of("pods")] == ['configmap "absent" not found']


def test_too_large_for_the_nodes(cluster: Cluster) -> None:
    """Pods that fit on no node are found, with the scheduler's words and the line of the manifest."""
    found = plan(cluster, deployment(more="resources: {requests: {cpu: '100'}}"))
    (row,) = found.of("pods")
    assert "Insufficient cpu" in row.detail
    assert row.line == 2


def test_a_privileged_container(cluster: Cluster) -> None:
    """What a pod does beyond the level baseline is found where it is new, with its line."""
    privileged = deployment(more="securityContext: {privileged: true}")
    (row,) = plan(cluster, privileged).of("pod security")
    assert (row.what, row.detail) == (
        "Deployment shop/web",
        'privileged (container "web" must not set securityContext.privileged=true)',
    )
    assert row.line == 2
    fork = cluster.fork()
    fork.apply(privileged)
    assert not plan(fork, deployment(more="securityContext: {privileged: true}", tag="2")).of("pod security")


def test_a_budget_without_room(cluster: Cluster) -> None:
    """A disruption budget that allows no eviction is found."""
    spec = "{minAvailable: 2, selector: {matchLabels: {app: web}}}"
    budget = (
        f"{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b, namespace: shop}}, spec: {spec}}}"
    )
    found = plan(cluster, budget)
    assert lines(found, "budgets") == [("blocks", "PodDisruptionBudget shop/b")]


def test_what_bindings_name_and_is_missing(cluster: Cluster) -> None:
    """A role or a service account that does not exist, also since the change deletes it; what was missing is no news."""
    writers = role("writers", rule("update", "pods"))
    cluster.apply([writers, binding("old", "gone", "user:ann"), binding("used", "writers", "user:ann")])
    made = binding("typo", "edti", "sa:shop/absent", namespace="shop")
    rows = [row for row in plan(cluster, [made]).of("access") if row.change == "missing"]
    assert {(row.what, row.file) for row in rows} == {("RoleBinding shop/typo", "the given object")}
    assert {row.detail.partition(" does")[0] for row in rows} == {"ClusterRole edti", "ServiceAccount shop/absent"}
    (row,) = [row for row in plan(cluster, [], configured=[writers]).of("access") if row.change == "missing"]
    assert row.what == "ClusterRoleBinding used"


def test_access_and_paths(cluster: Cluster) -> None:
    """A binding that makes somebody an administrator: the access, and the path, executed, with its line."""
    found = plan(cluster, [binding("all", "cluster-admin", "user:eve")])
    assert lines(found, "access") == [("gained", "user:eve everywhere")]
    opened = [row for row in found.of("paths") if row.change == "opened"]
    assert {row.what for row in opened} == {
        f"user:eve to {goal}" for goal in ("cluster-admin", "all secrets", "a node")
    }
    assert all("proven" in row.detail and "not proven" not in row.detail for row in opened)
    assert all(row.file for row in (*opened, *found.of("access")))


def test_access_that_a_role_adds() -> None:
    """A role that is aggregated into one that is bound already: the line is the role's."""
    made = Cluster(seed=1)
    made.apply([binding("editors", "edit", "group:devs", namespace="default")])
    made.settle()
    label = "rbac.authorization.k8s.io/aggregate-to-edit"
    added = role("more", rule("create", "pods/ephemeralcontainers"), labels={label: "true"})
    (row,) = plan(made, [added]).of("access")
    assert row.what == "group:devs in default"
    assert "create pods/ephemeralcontainers" in row.detail
    assert row.file


def test_access_that_all_users_have_already() -> None:
    """Somebody who is bound for the first time, and could do all of it before as any user can, has no new path."""
    made = Cluster(seed=1)
    made.apply([binding("wide", "cluster-admin", "group:system:authenticated")])
    found = plan(made, [binding("all", "view", "user:eve")])
    assert not found.of("paths")
    assert made.compare_paths(before=made.snapshot()).empty


def test_expectations(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An expectation that the change breaks is a line."""
    file = tmp_path_factory.mktemp("suite") / "expectations.yaml"
    file.write_text(
        "expectations:\n- {name: no secrets, never: {verb: list, resource: secrets, namespace: shop, except: ['sa:kube-system/*', 'group:system:masters']}}\n"
    )
    readers = [role("readers", rule("list", "secrets")), binding("r", "readers", "user:eve", namespace="shop")]
    assert not plan(cluster, deployment(tag="2"), expectations=file).of("expectations")
    found = plan(cluster, readers, expectations=file)
    assert lines(found, "expectations") == [("broken", "no secrets")]


def test_versions() -> None:
    """A version that the next release removes is a line; one that the release does not serve is refused too."""
    made = Cluster("1.31", seed=1)
    spec = "{priorityLevelConfiguration: {name: exempt}}"
    schema = (
        f"{{apiVersion: flowcontrol.apiserver.k8s.io/v1beta3, kind: FlowSchema, metadata: {{name: a}}, spec: {spec}}}"
    )
    found = plan(made, schema)
    assert [row.detail for row in found.of("versions")] == [
        "flowcontrol.apiserver.k8s.io/v1beta3 is removed in 1.32. Use flowcontrol.apiserver.k8s.io/v1 FlowSchema."
    ]
    assert "is deprecated" in found.of("warnings")[0].detail


def test_an_unknown_earlier_configuration() -> None:
    """A note says that fields stay which the manifest no longer names, where nobody knows what it named before."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    dumped = simkit.load([{**config, "data": {"x": "1"}}])
    found = plan(dumped, [{**config, "data": {"y": "2"}}])
    assert any("earlier configuration of 1 object is not known" in note for note in found.notes)


def test_new_service_accounts(cluster: Cluster) -> None:
    """A service account that the manifests create is nothing to warn of."""
    account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: fresh, namespace: shop}}"
    made = plan(cluster, [account, binding("b", "cluster-admin", "sa:shop/fresh")])
    assert ("opened", "sa:shop/fresh to cluster-admin") in lines(made, "paths")


def test_dumps_without_what_a_plan_needs() -> None:
    """Where roles, bindings or definitions were not captured, the plan says so, and takes nothing for harmless."""
    dumped = simkit.load("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}")
    custom = "{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: default}}"
    old = "{apiVersion: policy/v1beta1, kind: PodSecurityPolicy, metadata: {name: old}}"
    made = plan(dumped, [binding("b", "cluster-admin", "user:eve"), custom, old])
    assert [one.action for one in made.objects] == ["create", "not tried", "refused"]
    assert any("paths were not judged" in note for note in made.notes)


def test_a_dump_without_default_roles() -> None:
    """The scheduler of a plan works though the dump lacks the roles with which every server starts."""
    meta = {"name": "n"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "1"}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "shop"}}
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "5"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    found = simkit.load([node, place, account], captured=["*"]).plan(pod, namespace="shop")
    assert [row.what for row in found.of("pods")] == ["Pod shop/a: 1 pod"]
