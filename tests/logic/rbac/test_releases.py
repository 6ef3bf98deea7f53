"""The default roles of every release."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.logic.rbac.defaults import assumed, changes, default_objects, in_form
from simkit.meta import datasets
from simkit.schema.feature_gates import parse_feature_gates
from simkit.schema.releases import RELEASES

POLICY_1_20 = Path(__file__).resolve().parents[3] / "tools" / "releases" / "roles-1.20.json"
"""What the bootstrap policy of 1.20 grants, role by role, distilled from its own test data."""
NODE: Mapping[str, Any] = {
    "kind": "ClusterRole",
    "metadata": {"name": "system:node-proxier"},
    "rules": [
        {"apiGroups": [""], "resources": ["endpoints", "services"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["servicecidrs"], "verbs": ["list", "watch"]},
    ],
}
Permission = tuple[str, str, str, str]


def permissions(rules: list[Mapping[str, Any]] | None) -> Iterator[Permission]:
    """Every single permission: group, resource or path, name, verb."""
    for rule in rules or ():
        for verb in rule["verbs"]:
            yield from (("", url, "", verb) for url in rule.get("nonResourceURLs", ()))
            for group in rule.get("apiGroups", ()):
                for resource in rule.get("resources", ()):
                    yield from ((group, resource, name, verb) for name in rule.get("resourceNames", ("",)))


def told(text: str) -> Iterator[Permission]:
    """The permissions in one line of the table: ``apps: deployments,pods[name] get/list``."""
    group, _, rest = text.partition(": ")
    what, _, verbs = rest.rpartition(" ")
    resources, bracket, name = what.partition("[")
    named = name.removesuffix("]") if bracket else ""
    for verb in verbs.split("/"):
        for resource in resources.split(","):
            yield ("" if group in ("core", "URL") else group, resource, named, verb)


def granted(release: str, role: str, **gates: bool) -> set[Permission]:
    values = parse_feature_gates(gates, release).values
    found = [obj for obj in default_objects(release, values) if obj["kind"] == "ClusterRole"]
    return {each for obj in found if obj["metadata"]["name"] == role for each in permissions(obj.get("rules"))}


def test_permissions_that_came_and_went_after_1_30() -> None:
    """The roles of controllers and nodes at later releases, as their policies have them."""
    events = ("events.k8s.io", "events", "", "create")
    assert events not in granted("1.34", "system:node")
    assert events in granted("1.35", "system:node")
    assert ("", "secrets", "", "get") in granted("1.31", "system:controller:persistent-volume-binder")
    assert ("", "secrets", "", "get") not in granted("1.32", "system:controller:persistent-volume-binder")
    assert ("", "services", "", "get") in granted("1.35", "system:controller:expand-controller")
    assert ("", "services", "", "get") not in granted("1.36", "system:controller:expand-controller")
    assert ("", "pods/finalizers", "", "update") in granted("1.36", "system:kube-scheduler")
    assert ("", "pods/finalizers", "", "get") not in granted("1.36", "system:kube-scheduler")


@pytest.mark.parametrize(("release", "leases", "maps"), [("1.30", 0, 3), ("1.31", 10, 3), ("1.35", 10, 0)])
def test_roles_in_namespaces_follow_the_release(release: str, leases: int, maps: int) -> None:
    """Locks of leaders moved from config maps to leases, for one more account."""
    found = {(each["kind"], each["metadata"]["name"]): each for each in default_objects(release)}
    name = "system::leader-locking-kube-controller-manager"
    groups = [group for group, *_ in permissions(found["Role", name]["rules"])]
    assert (groups.count("coordination.k8s.io"), groups.count("")) == (leases, maps)
    subjects = [each["name"] for each in found["RoleBinding", name]["subjects"]]
    assert ("leader-election-controller" in subjects) == (leases > 0)


def test_roles_are_written_as_the_release_writes_them() -> None:
    """The same permissions in other rules: their number and order is that of the release, unless a gate changes them."""
    later, usual = in_form(NODE, "1.33"), in_form(NODE, "1.30")
    assert usual is NODE
    assert later["rules"] != NODE["rules"]
    assert set(permissions(later["rules"])) == set(permissions(NODE["rules"]))
    fewer = {**NODE, "rules": NODE["rules"][1:]}
    assert in_form(fewer, "1.33") is fewer


def test_each_form_counts_somewhere() -> None:
    """No form is left over: each grants what the role of its first release does."""
    for name, forms in datasets.load("rbac/forms.json").items():
        for form in forms:
            written = [obj for obj in default_objects(form["since"]) if obj["metadata"]["name"] == name]
            assert form["rules"] in [obj.get("rules") for obj in written], f"{name} at {form['since']}"


def test_the_roles_of_1_20_are_those_of_its_policy() -> None:
    """Made of 1.30's by the table of changes, and equal permission by permission, binding by binding."""
    wanted = json.loads(POLICY_1_20.read_text())
    found: dict[str, set[Any]] = {}
    for obj in default_objects("1.20"):
        metadata = obj["metadata"]
        name = "/".join(filter(None, (obj["kind"], metadata.get("namespace", ""), metadata["name"])))
        if "subjects" in obj:
            found[name] = {"/".join(filter(None, (s["kind"], s.get("namespace"), s["name"]))) for s in obj["subjects"]}
        else:
            found[name] = set(permissions(obj.get("rules")))
    assert found.keys() == wanted.keys()
    for name, lines in wanted.items():
        is_binding = name.partition("/")[0].endswith("Binding")
        assert found[name] == (set(lines) if is_binding else {each for line in lines for each in told(line)}), name


def test_1_30_is_left_as_it_is() -> None:
    """The table says nothing against the release that it starts from."""
    assert default_objects("1.30") == default_objects("1.30", parse_feature_gates({}).values)
    names = [obj["metadata"]["name"] for obj in default_objects("1.30") if obj["kind"] == "ClusterRole"]
    assert len(names) == 64


def test_every_binding_refers_to_a_role_that_is_there() -> None:
    """At every release."""
    for release in RELEASES:
        objects = default_objects(release)
        roles = {(obj["kind"], obj["metadata"]["name"]) for obj in objects if "roleRef" not in obj}
        bound = {(obj["roleRef"]["kind"], obj["roleRef"]["name"]) for obj in objects if "roleRef" in obj}
        assert bound <= roles, release


@pytest.mark.parametrize(
    ("role", "permission", "first", "last"),
    [
        ("system:aggregate-to-edit", ("", "endpoints", "", "update"), "1.16", "1.21"),
        ("system:aggregate-to-edit", ("", "events", "", "create"), "1.22", "1.37"),
        ("system:aggregate-to-edit", ("coordination.k8s.io", "leases", "", "create"), "1.24", "1.37"),
        ("system:aggregate-to-view", ("discovery.k8s.io", "endpointslices", "", "get"), "1.22", "1.37"),
        ("system:basic-user", ("authentication.k8s.io", "selfsubjectreviews", "", "create"), "1.27", "1.37"),
        ("system:node-proxier", ("discovery.k8s.io", "endpointslices", "", "watch"), "1.18", "1.37"),
        ("system:kube-scheduler", ("storage.k8s.io", "volumeattachments", "", "list"), "1.32", "1.37"),
        ("system:controller:ttl-after-finished-controller", ("batch", "jobs", "", "delete"), "1.21", "1.37"),
        (
            "system:controller:service-cidrs-controller",
            ("networking.k8s.io", "servicecidrs", "", "get"),
            "1.33",
            "1.37",
        ),
        ("system:csi-external-provisioner", ("", "persistentvolumes", "", "create"), "1.16", "1.16"),
        ("system:aggregate-to-edit", ("", "pods/eviction", "", "create"), "1.24", "1.37"),
        ("system:aggregate-to-edit", ("", "serviceaccounts/token", "", "create"), "1.24", "1.37"),
        ("system:aggregate-to-edit", ("resource.k8s.io", "resourceclaims", "", "create"), "1.34", "1.37"),
        ("system:aggregate-to-view", ("resource.k8s.io", "resourceclaims/status", "", "get"), "1.34", "1.37"),
        ("system:kubelet-api-admin", ("", "nodes/spec", "", "*"), "1.16", "1.26"),
        ("system:kube-scheduler", ("", "endpoints", "kube-scheduler", "update"), "1.16", "1.27"),
        ("system:kube-scheduler", ("", "endpoints", "kube-scheduler", "delete"), "1.16", "1.16"),
        ("system:kube-scheduler", ("coordination.k8s.io", "leases", "kube-scheduler", "update"), "1.17", "1.37"),
        ("system:kube-scheduler", ("coordination.k8s.io", "leasecandidates", "", "create"), "1.31", "1.37"),
        ("system:kube-scheduler", ("resource.k8s.io", "resourceclaims", "", "update"), "1.34", "1.37"),
        ("system:kube-controller-manager", ("", "endpoints", "", "create"), "1.16", "1.27"),
        ("system:monitoring", ("", "/livez/*", "", "get"), "1.20", "1.37"),
        ("system:monitoring", ("", "nodes/metrics", "", "get"), "1.34", "1.37"),
        ("system:node", ("resource.k8s.io", "resourceslices", "", "deletecollection"), "1.34", "1.37"),
        ("system:node-proxier", ("networking.k8s.io", "servicecidrs", "", "watch"), "1.33", "1.37"),
        ("system:service-account-issuer-discovery", ("", "/openid/v1/jwks/", "", "get"), "1.28", "1.37"),
        (
            "system:controller:horizontal-pod-autoscaler",
            ("", "services/proxy", "https:heapster:", "get"),
            "1.16",
            "1.26",
        ),
        ("system:controller:horizontal-pod-autoscaler", ("external.metrics.k8s.io", "*", "", "get"), "1.24", "1.37"),
        ("system:controller:horizontal-pod-autoscaler", ("", "pods", "", "watch"), "1.32", "1.37"),
        ("system:controller:namespace-controller", ("*", "*", "", "watch"), "1.32", "1.37"),
        ("system:controller:statefulset-controller", ("", "pods/finalizers", "", "update"), "1.28", "1.37"),
        ("system:controller:statefulset-controller", ("", "persistentvolumeclaims", "", "delete"), "1.27", "1.37"),
        ("system:controller:statefulset-controller", ("", "persistentvolumeclaims", "", "list"), "1.28", "1.37"),
        ("system:controller:selinux-warning-controller", ("", "pods", "", "watch"), "1.33", "1.37"),
        ("system:controller:device-taint-eviction-controller", ("", "pods", "", "delete"), "1.36", "1.37"),
    ],
)
def test_default_permissions_by_release(role: str, permission: Permission, first: str, last: str) -> None:
    """From its first release to its last, and at no other."""
    there = [release for release in RELEASES if permission in granted(release, role)]
    assert there == list(RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1])


def test_gates_bring_their_roles() -> None:
    """An alpha of 1.30 that is switched on, and a beta that is switched off."""
    name = "system:controller:service-cidrs-controller"
    assert not granted("1.30", name)
    assert granted("1.30", name, MultiCIDRServiceAllocator=True)
    assert granted("1.32", "system:monitoring", ComponentStatusz=True) >= {("", "/statusz", "", "get")}
    pods = ("", "pods/status", "", "patch")
    assert pods in granted("1.30", "system:controller:disruption-controller")
    assert pods not in granted("1.30", "system:controller:disruption-controller", PodDisruptionConditions=False)


def test_changes_that_are_guessed_say_so() -> None:
    """Every change names its basis; one whose release is not known for sure is marked."""
    for change in changes():
        assert change["basis"]
        assert {"since", "last", "gates"} & change.keys()
        assert not change["basis"].startswith(("between", "before")), "which release brought it?"
    doubtful = {release: len(set(assumed(release))) for release in RELEASES}
    assert max(doubtful.values()) <= 2


def test_servers_hold_the_roles_of_their_release() -> None:
    """As objects, and with the flag."""
    old, new = Cluster("1.20", seed=1), Cluster("1.30", seed=1)
    name = "system:controller:ttl-after-finished-controller"
    assert name not in {role["metadata"]["name"] for role in old.list("clusterroles")}
    assert new.get("clusterrole", name)["rules"]
    gated = Cluster(options=Options(seed=1, feature_gates={"MultiCIDRServiceAllocator": True}))
    assert gated.get("clusterrolebinding", "system:controller:service-cidrs-controller")["subjects"]
    for cluster, may in ((old, True), (new, False)):
        cluster.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "e", "namespace": "default"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
            }
        )
        assert bool(cluster.can("ann", "update", "endpoints", namespace="default")) is may
