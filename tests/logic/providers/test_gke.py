"""What IAM grants on GKE: role by role by the published table, and random worlds beside a naive model."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.analysis.access.can import can
from simkit.analysis.access.who_can import who_can
from simkit.analysis.findings.survey import survey_of
from simkit.analysis.rbac.index import index_of, members_in
from simkit.cli import main
from simkit.cluster.control_plane import ControlPlane
from simkit.logic.rbac.question import Question
from simkit.meta import datasets
from simkit.meta.attributes import Attributes, Verdict
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.snapshot.cloud.exports import with_cloud
from simkit.snapshot.load import load
from tests.logic.providers.naive_gke import (
    CLUSTER_WIDE,
    NAMESPACES,
    PEOPLE,
    PERMISSIONS,
    PROJECT,
    TABLE,
    answer,
    permissions,
    world,
)

POOL = f"{PROJECT}.svc.id.goog"
GOOGLE_ACCOUNT = f"deploy@{PROJECT}.iam.gserviceaccount.com"
POOLS = "iam.googleapis.com/projects/1/locations/global/workloadIdentityPools"
NEEDED = {
    **{(verb, ""): verb for verb in ("get", "list", "create", "update", "delete", "bind", "escalate", "use")},
    **{(verb, "status"): f"{verb}Status" for verb in ("get", "update")},
    **{(verb, "scale"): f"{verb}Scale" for verb in ("get", "update")},
    **{("create", sub): sub for sub in ("exec", "attach", "proxy")},
    ("watch", ""): "list",
    ("patch", ""): "update",
    ("deletecollection", ""): "delete",
    ("patch", "status"): "updateStatus",
    ("create", "portforward"): "portForward",
    ("create", "token"): "createToken",
    ("create", "eviction"): "evict",
    ("get", "log"): "getLogs",
    ("update", "finalize"): "finalize",
    ("update", "approval"): "approve",
}
"""The last part of the permission that a verb on a subresource needs."""
POD = f"serviceAccount:{POOL}[ci/deploy]"


def export(*bindings: tuple[str, str], extra: tuple[Any, ...] = (), **cluster: Any) -> list[Any]:
    """A complete export: the bindings, as role and member, are those of the project."""
    listed = [{"role": role, "members": [member]} for role, member in bindings]
    link = f"https://container.googleapis.com/v1/projects/{PROJECT}/locations/eu/clusters/c"
    described: dict[str, Any] = {"name": "c", "selfLink": link, "currentMasterVersion": "1.30.5-gke.1014000"}
    described |= {"workloadIdentityConfig": {"workloadPool": POOL}, **cluster}
    return [described, [{"id": PROJECT, "type": "project", "policy": {"bindings": listed, "version": 1}}], *extra]


def dump(outputs: Any, *objects: Any) -> simkit.Cluster:
    """A cluster with these objects and an export."""
    return simkit.load(objects or [{"apiVersion": "v1", "kind": "List", "items": []}], captured=["*"], cloud=outputs)


def caveats(cluster: simkit.Cluster) -> str:
    """What the answers about a cluster leave open."""
    return " ".join(one.text for one in cluster.snapshot().authorization.caveats)


@pytest.mark.parametrize("role", sorted({*TABLE["roles"], *TABLE["same"]}))
def test_a_role_allows_what_its_permissions_name_and_nothing_else(role: str) -> None:
    """Each resource with each verb and subresource, both ways, beside the permissions of the table."""
    index = index_of(dump(export((role, "user:ann@acme.example"))).snapshot())
    held, ann = permissions(role), Identity("ann@acme.example", ())
    is_administrator = held >= permissions("roles/container.admin")
    for (name, resources), (verb, needed) in itertools.product(TABLE["resources"].items(), NEEDED.items()):
        for plural, _, group in (one.partition(".") for one in resources.split()):
            asked = Attributes(ann, verb[0], group, "v1", plural, verb[1])
            wanted = is_administrator or f"container.{name}.{needed}" in held
            assert (index.authorize(asked).verdict is Verdict.ALLOW) == wanted, (role, asked)


@pytest.mark.parametrize("part", range(4))
def test_random_worlds_are_answered_as_by_the_naive_model(part: int) -> None:
    """Levels, nested groups, domains, conditions, a custom role and bindings beside a model from the documentation."""
    seen = set()
    for seed in range(part, 120, 4):
        outputs, objects = world(seed)
        snapshot = with_cloud(load(objects, captured=["*"], authorization_mode=["RBAC"]), outputs).snapshot()
        for person, asked, namespace in itertools.product(PEOPLE, PERMISSIONS, ("", *NAMESPACES)):
            verb, group, resource, subresource = asked
            if resource in CLUSTER_WIDE and namespace:
                continue
            wanted = answer(outputs, objects, person, asked, namespace)
            what = f"{resource}/{subresource}" if subresource else resource
            found = can(snapshot, f"user:{person}", verb, what, namespace=namespace or "*", api_group=group)
            assert found.answer == wanted, (seed, person, asked, namespace, found.why)
            assert found.allowed == (wanted == "yes")
            seen.add(wanted)
            if not namespace:
                listed = who_can(snapshot, verb, what, namespace="*", api_group=group)
                by_iam = listed[listed["binding_kind"] == "IAM binding"]
                assert wanted != "no" or f"user:{person}" not in set(by_iam["subject"]), (seed, person, asked)
    assert seen == {"yes", "no", "unknown"}


def test_the_member_of_a_policy_is_the_user_that_bindings_name() -> None:
    """One person has what IAM and what RBAC grant; requests to the engine with her address have it, too."""
    role: dict[str, Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    role |= {"metadata": {"name": "s"}}
    role |= {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]}
    bound: dict[str, Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    bound |= {"metadata": {"name": "s"}}
    bound |= {
        "roleRef": {"kind": "ClusterRole", "name": "s"},
        "subjects": [{"kind": "User", "name": "ann@acme.example"}],
    }
    cluster = dump(export(("roles/container.viewer", "user:ann@acme.example")), role, bound)
    for who in ("user:ann@acme.example", "gcp:user:ann@acme.example"):
        assert cluster.can(who, "get", "secrets")
        assert cluster.can(who, "get", "pods")
    ann = Identity("ann@acme.example", ("system:authenticated",))
    assert cluster.perform(Request.of("GET", "/api/v1/pods"), identity=ann).status == 200
    assert cluster.perform(Request.of("DELETE", "/api/v1/pods"), identity=ann).status == 403
    listed = set(cluster.who_can("get", "pods")["binding"])
    assert "user:ann@acme.example (roles/container.viewer) in projects/acme" in listed


def test_conditions_and_roles_that_are_not_known_are_told() -> None:
    """They count neither as yes nor, in words, as no; a known role without permissions for clusters is silent."""
    outputs = export(
        ("roles/nobody.knows", "user:a@acme.example"),
        (f"projects/{PROJECT}/roles/own", "user:b@acme.example"),
        ("roles/storage.admin", "user:c@acme.example"),
        ("roles/container.admin", "user:d@acme.example"),
    )
    outputs[1][0]["policy"]["bindings"][3]["condition"] = {"title": "one day", "expression": "x"}
    cluster = dump(outputs)
    told = caveats(cluster)
    assert "roles/nobody.knows of user:a@acme.example" in told
    assert "roles/own of user:b@acme.example" in told
    assert "roles/container.admin of user:d@acme.example (on the condition 'one day': x)" in told
    assert "storage" not in told
    for person in "abd":
        found = cluster.can(f"user:{person}@acme.example", "get", "pods")
        assert (found.allowed, found.answer) == (False, "unknown")
        assert found.why.startswith("not known whether this counts: IAM binding user:")
    assert cluster.can("user:c@acme.example", "get", "pods").answer == "no"
    listed = cluster.who_can("get", "pods")
    assert "a@acme.example" not in str(listed["subject"].tolist())
    assert any("these may be allowed it, too: user:a@acme.example by IAM" in one for one in listed.attrs["caveats"])
    assert cluster.never("get pods", except_=["group:system:*", "sa:*", "system:*"]).verdict == "UNKNOWN"
    outputs[1][0]["policy"]["bindings"][3]["condition"] = {}
    assert "on the condition 'without a title'" in caveats(dump(outputs))


def test_a_permission_that_the_table_lacks_is_told() -> None:
    """A custom role with one permission that is newer than the table keeps the others."""
    name = f"projects/{PROJECT}/roles/own"
    role = {"name": name, "includedPermissions": ["container.pods.get", "container.new.get"]}
    cluster = dump(export((name, "user:ann@acme.example"), extra=(role,)))
    assert cluster.can("user:ann@acme.example", "get", "pods")
    assert "container.new.get" in caveats(cluster)


def test_a_list_of_roles_does_not_tell_their_permissions() -> None:
    """``gcloud iam roles list`` names roles only: a custom one stays unknown, a predefined one as published."""
    own = f"projects/{PROJECT}/roles/own"
    listed = [{"name": name, "title": "x", "stage": "GA", "etag": "x"} for name in (own, "roles/container.viewer")]
    bound = ((own, "user:ann@acme.example"), ("roles/container.viewer", "user:bob@acme.example"))
    cluster = dump(export(*bound, extra=(listed,)))
    assert "roles/own of user:ann@acme.example" in caveats(cluster)
    assert cluster.can("user:bob@acme.example", "get", "pods")


@pytest.mark.parametrize("state", [{"deleted": True}, {"stage": "DISABLED"}])
def test_a_deleted_or_disabled_role_grants_nothing(state: dict[str, Any]) -> None:
    """Bindings of it stay in policies, without effect."""
    role = {"name": f"projects/{PROJECT}/roles/own", "includedPermissions": ["container.pods.get"], **state}
    cluster = dump(export((f"projects/{PROJECT}/roles/own", "user:ann@acme.example"), extra=(role,)))
    assert not cluster.can("user:ann@acme.example", "get", "pods")
    assert caveats(cluster) == ""


@pytest.mark.parametrize(
    ("member", "inside", "outside"),
    [
        ("domain:acme.example", "zoe@acme.example", "zoe@evil-acme.example"),
        ("allAuthenticatedUsers", "any@body.example", "system:serviceaccount:ci:deploy"),
        (f"principal://{POOLS}/{POOL}/subject/ns/ci/sa/deploy", POD, f"serviceAccount:{POOL}[ci/other]"),
        (f"principalSet://{POOLS}/{POOL}/namespace/ci", POD, f"serviceAccount:{POOL}[prod/deploy]"),
        (f"principalSet://{POOLS}/{POOL}/*", POD, "serviceAccount:other.svc.id.goog[ci/deploy]"),
        (
            f"principalSet://{POOLS}/{POOL}/kubernetes.cluster/https://container.googleapis.com/v1/projects/{PROJECT}"
            "/locations/eu/clusters/c",
            POD,
            "system:serviceaccount:ci:deploy",
        ),
        (POD, POD, f"serviceAccount:{POOL}[ci/deploy2]"),
        ("user:ann@acme.example", "ann@acme.example", "Ann@acme.example"),
    ],
)
def test_members_of_each_kind_are_the_users_that_they_name(member: str, inside: str, outside: str) -> None:
    """Domains and pools by their names, and nobody besides."""
    snapshot = dump(export(("roles/container.viewer", member))).snapshot()
    for user, wanted in ((inside, True), (outside, False)):
        assert can(snapshot, Identity(user, ("system:authenticated",)), "get", "pods").allowed == wanted, user


def test_pods_of_another_cluster_are_not_those_of_this_one() -> None:
    """A set of principals that names another cluster of the project, and one that was deleted."""
    other = (
        f"principalSet://{POOLS}/{POOL}/kubernetes.cluster/https://container.googleapis.com/v1/projects/x/clusters/d"
    )
    cluster = dump(
        export(("roles/container.viewer", other), ("roles/container.viewer", "deleted:user:a@b.example?uid=1"))
    )
    access = cluster.snapshot().authorization.access
    assert access is not None
    assert not access.entries


def workload(annotated: bool = True) -> list[Any]:
    """A pod whose service account may have a cloud identity, and a user who runs commands in it."""
    annotations = {"iam.gke.io/gcp-service-account": GOOGLE_ACCOUNT} if annotated else {}
    spec: dict[str, Any] = {"serviceAccountName": "deploy", "automountServiceAccountToken": False}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    place = {"name": "exec", "namespace": "ci"}
    spec |= {"containers": [{"name": "c", "image": "i"}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "deploy", "namespace": "ci", "annotations": annotations},
        },
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ci"}, "spec": spec},
        {
            **rbac,
            "kind": "Role",
            "metadata": place,
            "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"]}],
        },
        {
            **rbac,
            "kind": "RoleBinding",
            "metadata": place,
            "roleRef": {"kind": "Role", "name": "exec", "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
        },
    ]


def of_account(role: str = "roles/iam.workloadIdentityUser", member: str = POD) -> dict[str, Any]:
    """The policy of a service account of Google Cloud, as Cloud Asset Inventory writes it."""
    resource = f"//iam.googleapis.com/projects/{PROJECT}/serviceAccounts/{GOOGLE_ACCOUNT}"
    return {"resource": resource, "policy": {"bindings": [{"role": role, "members": [member]}]}}


@pytest.mark.parametrize(
    ("annotated", "policy", "paths", "told"),
    [
        (True, of_account(), 1, ""),
        (False, of_account(), 0, ""),
        (True, of_account(role="roles/iam.serviceAccountViewer"), 0, ""),
        (True, of_account(member=f"serviceAccount:{POOL}[ci/other]"), 0, ""),
        (True, of_account(member=f"principalSet://{POOLS}/{POOL}/namespace/ci"), 1, ""),
        (True, None, 0, f"whether sa:ci/deploy can become {GOOGLE_ACCOUNT}"),
    ],
)
def test_a_pod_becomes_the_account_of_its_annotation_if_the_policy_lets_it(
    annotated: bool, policy: Any, paths: int, told: str
) -> None:
    """Workload Identity needs both; where the policy is not known, the caveat says it."""
    outputs = export(("roles/container.admin", f"serviceAccount:{GOOGLE_ACCOUNT}"), extra=(policy,) if policy else ())
    cluster = simkit.load(workload(annotated), manifests=True, cloud=outputs)
    found = cluster.escalations("user:ann", goal="cluster-admin")
    assert [path.primitives[-2:] for path in found] == [("K19", "A1")] * paths
    assert told in caveats(cluster)
    if paths:
        (proof,) = found.prove()
        assert proof.verdict.startswith("proven"), proof
        assert set(cluster.findings(checks=["cloud-admin"])["subjects"]) == {("sa:ci/deploy",)}


def test_a_pod_with_a_role_of_its_own_needs_no_annotation() -> None:
    """A policy can name the service account of the cluster directly."""
    member = f"principal://{POOLS}/{POOL}/subject/ns/ci/sa/deploy"
    cluster = simkit.load(workload(False), manifests=True, cloud=export(("roles/owner", member)))
    (path,) = cluster.escalations("user:ann", goal="cluster-admin")
    assert path.primitives[-2:] == ("K19", "A1")


@pytest.mark.parametrize("enabled", [True, False])
def test_groups_count_in_rbac_only_with_google_groups_for_rbac(enabled: bool) -> None:
    """IAM grants to the members of a group either way."""
    group = {"name": "groups/1", "groupKey": {"id": "devs@acme.example"}}
    member = {"name": "groups/1/memberships/1", "preferredMemberKey": {"id": "ann@acme.example"}}
    outputs = export(
        ("roles/container.viewer", "group:devs@acme.example"),
        extra=(group, member),
        authenticatorGroupsConfig={"enabled": enabled},
    )
    cluster = dump(outputs)
    assert cluster.can("user:ann@acme.example", "get", "pods")
    assert ("devs@acme.example" in members_in(cluster.snapshot(), None)) == enabled


def test_a_nested_group_that_the_export_lacks_is_told() -> None:
    """It is no user, and its members are not known."""
    group = {"name": "groups/1", "groupKey": {"id": "devs@acme.example"}}
    member = {"name": "groups/1/memberships/1", "preferredMemberKey": {"id": "all@acme.example"}, "type": "GROUP"}
    cluster = dump(export(("roles/container.viewer", "group:devs@acme.example"), extra=(group, member)))
    assert "the members of group:all@acme.example, which is in group:devs@acme.example" in caveats(cluster)
    assert "user:all@acme.example" not in set(cluster.who_can("get", "pods")["subject"])


def test_lists_and_paths_are_without_what_is_denied() -> None:
    """Of a role with rules of its own; the role in the rows says so, for a member of a group as well."""
    rule = {"deniedPrincipals": ["principal://goog/subject/Ann@acme.example"]}
    rule |= {"deniedPermissions": ["container.googleapis.com/pods.*", "container.googleapis.com/secrets.*"]}
    denial = {"name": "policies/x%2Fprojects%2Facme/denypolicies/d", "kind": "DenyPolicy"}
    group = {"name": "groups/1", "groupKey": {"id": "devs@acme.example"}}
    member = {"name": "groups/1/memberships/1", "preferredMemberKey": {"id": "ann@acme.example"}, "type": "USER"}
    outputs = export(
        ("roles/container.developer", "group:devs@acme.example"),
        extra=(group, member, {**denial, "rules": [{"denyRule": rule}]}),
        authenticatorGroupsConfig={"enabled": True},
    )
    for holder, outputs_ in (
        ("via a group", outputs),
        (
            "itself",
            export(
                ("roles/container.developer", "user:ann@acme.example"),
                extra=({**denial, "rules": [{"denyRule": rule}]},),
            ),
        ),
    ):
        cluster = dump(outputs_)
        rows = cluster.permissions("user:ann@acme.example")
        resources = {one for some in rows["resources"] for one in some}
        assert "configmaps" in resources, holder
        assert not {"pods", "secrets"} & resources, holder
        assert "roles/container.developer without what the deny policy d in projects/acme denies" in set(rows["role"])
        assert cluster.can("user:ann@acme.example", "get", "configmaps")
        assert not cluster.can("user:ann@acme.example", "get", "pods")
    assert not cluster.escalations("user:ann@acme.example", goal="all secrets")


def test_what_a_deny_policy_takes_away_is_in_no_list() -> None:
    """Neither who-can nor an audit tells of a grant that is certainly denied."""
    outputs = export(("roles/container.admin", "user:ann@acme.example"))
    rule = {
        "deniedPrincipals": ["principal://goog/subject/ann@acme.example"],
        "deniedPermissions": [f"container.googleapis.com/secrets.{verb}" for verb in ("get", "list")],
    }
    denial = {
        "name": "policies/x%2Fprojects%2Facme/denypolicies/d",
        "kind": "DenyPolicy",
        "rules": [{"denyRule": rule}],
    }
    asked = Question("list", "", "secrets", namespace=None)
    for cluster, holds in ((dump(outputs), True), (dump([*outputs, denial]), False)):
        assert ("user:ann@acme.example" in set(cluster.who_can("list", "secrets")["subject"])) == holds
        subjects = {one.grant.subject.name for one in survey_of(cluster.snapshot()).who(asked)}
        assert ("ann@acme.example" in subjects) == holds


def test_long_chains_of_groups_cost_no_time() -> None:
    """Twenty thousand groups, each in the next one, and in a circle."""
    groups = [{"name": f"groups/{one}", "groupKey": {"id": f"g{one}@acme.example"}} for one in range(20_000)]
    members = [
        {"name": f"groups/{one}/memberships/1", "preferredMemberKey": {"id": f"g{(one + 1) % 20_000}@acme.example"}}
        for one in range(20_000)
    ]
    members.append({"name": "groups/7/memberships/2", "preferredMemberKey": {"id": "ann@acme.example"}})
    cluster = dump(export(("roles/container.viewer", "group:g8@acme.example"), extra=(*groups, *members)))
    assert cluster.can("user:ann@acme.example", "get", "pods")


def test_remedies_name_the_command_of_gcloud() -> None:
    """What a policy grants is taken away at its level; no kubectl command claims to do it."""
    outputs = export()
    for kind, at in (("project", PROJECT), ("folder", "12"), ("organization", "34")):
        binding = {"role": "roles/owner", "members": [f"user:{kind}@acme.example"]}
        outputs.append({"id": at, "type": kind, "policy": {"bindings": [binding]}})
    found = [cause.remedy for cause in dump(outputs).causes() if "IAM binding" in str(cause)]
    assert len(found) == 3
    assert not any(remedy.commands() for remedy in found)
    told = " ".join(remedy.text for remedy in found)
    words = "remove-iam-policy-binding"
    assert f"gcloud projects {words} acme --member user:project@acme.example --role roles/owner" in told
    assert f"gcloud resource-manager folders {words} 12" in told
    assert f"gcloud organizations {words} 34" in told


def test_the_demo_export_is_complete() -> None:
    """Only its condition stays open, and what denies."""
    path = datasets.path("clusters/pellowick-gke.json")
    cluster = simkit.load(datasets.path(datasets.DEMO), authorization_mode=["RBAC"], cloud=path)
    caveat, denials = cluster.snapshot().authorization.caveats
    assert denials.id == "unread-denials"
    assert "migration weekend" in caveat.text
    assert set(cluster.findings(checks=["cloud-admin"])["subjects"]) == {("sa:ci/shiftwork",)}


def test_a_server_allows_what_the_export_grants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``simkit serve --cloud`` decides as the analyses do."""
    made: list[ControlPlane] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simkit.cli.serve.start_nodes", lambda control, _: made.append(control))
    monkeypatch.setattr("simkit.engine.http.server.Server.run", lambda *_: None)
    export_of_demo = str(datasets.path("clusters/pellowick-gke.json"))
    ports = ("--insecure-port", "0", "--authorization-mode", "RBAC")
    assert main(["serve", "--demo", "--cloud", export_of_demo, *ports]) == 0
    auditor = Identity("auditor@pellowick.example", ("system:authenticated",))
    for resource, wanted in (("pods", Verdict.ALLOW), ("secrets", Verdict.NO_OPINION)):
        asked = Attributes(auditor, "list", "", "v1", resource, namespace="tracking")
        assert made[0].authorizer.authorize(asked).verdict is wanted


def test_who_may_set_iam_policies_may_administer_the_cluster() -> None:
    """By a role that the export describes, or one that is known; a condition, or a deny policy, leaves it open."""
    own: Any = {
        "name": f"projects/{PROJECT}/roles/own",
        "includedPermissions": ["resourcemanager.projects.setIamPolicy"],
    }
    outputs = export(
        ("roles/owner", "user:owner@acme.example"),
        (own["name"], "serviceAccount:" + GOOGLE_ACCOUNT),
        ("roles/resourcemanager.projectIamAdmin", "user:limited@acme.example"),
        ("roles/editor", "user:editor@acme.example"),
        extra=(own,),
    )
    outputs[1][0]["policy"]["bindings"][2]["condition"] = {"title": "some roles", "expression": "api.getAttribute('x')"}
    cluster = dump(outputs)
    told = [str(one) for one in cluster.findings(checks=["cloud-changes"])["message"]]
    assert sorted(told) == [
        "Whether user:limited@acme.example may make itself an administrator by an IAM binding is not known.",
        f"user:{GOOGLE_ACCOUNT} may make itself an administrator by an IAM binding.",
        "user:owner@acme.example may make itself an administrator by an IAM binding.",
    ]
    (path,) = cluster.escalations(f"user:{GOOGLE_ACCOUNT}", goal="cluster-admin")
    assert path.primitives == ("K20",)
    assert not cluster.escalations("user:limited@acme.example", goal="cluster-admin")
    denial = {"name": "policies/x%2Fprojects%2Facme/denypolicies/d", "kind": "DenyPolicy", "rules": []}
    open_ = dump([*outputs, denial]).findings(checks=["cloud-changes"])["message"]
    assert all(str(one).startswith("Whether") for one in open_)


def test_an_unknown_answer_is_written_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    """On the command line, in each form; beside the list of who-can; the exit code is that of no certain yes."""
    source = ["--demo", "--cloud", str(datasets.path("clusters/pellowick-gke.json"))]
    asked = ["can-i", "delete", "nodes", "--as", "user:otto@pellowick.example", *source]
    assert main(asked) == 1
    out = capsys.readouterr().out
    assert out.startswith("unknown  user:otto@pellowick.example: delete nodes\n")
    assert "migration weekend" in out
    for form in ("json", "yaml", "csv", "markdown"):
        assert main([*asked, "-o", form]) == 1
        assert "unknown" in capsys.readouterr().out, form
    main(["who-can", "delete", "nodes", *source, "-o", "json"])
    assert "Unknown: these may be allowed it, too: user:otto@pellowick.example" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("project", "known", "allowed"), [(PROJECT, False, True), ("123", True, True), ("9", True, False)]
)
def test_a_cluster_as_a_principal_may_name_its_project_by_the_number(project: str, known: bool, allowed: bool) -> None:
    """Where the number is known; where it is not, answers say so."""
    link = f"https://container.googleapis.com/v1/projects/{project}/locations/eu/clusters/c"
    pool = f"principalSet://iam.googleapis.com/projects/123/locations/global/workloadIdentityPools/{POOL}"
    extra = ({"projectId": PROJECT, "projectNumber": "123"},) if known else ()
    outputs = export(("roles/container.viewer", f"{pool}/kubernetes.cluster/{link}"), extra=extra)
    found = dump(outputs, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "b"}})
    access = found.snapshot().authorization.access
    assert access is not None
    assert bool(access.entries) == allowed
    assert "whether the cluster of" not in caveats(found)
    if known:
        assert ("whether the cluster of" in caveats(dump(outputs[:-1]))) == project.isdigit()
