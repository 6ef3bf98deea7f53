"""What Azure grants on AKS: role by role by the published table, and random worlds beside a naive model."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.analysis.access.can import can
from simkit.analysis.rbac.index import index_of
from simkit.meta import datasets
from simkit.meta.attributes import Attributes, Verdict
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.cloud.exports import with_cloud
from simkit.snapshot.load import load
from simkit.snapshot.sources import Piece
from tests.logic.providers.naive_aks import (
    ACTIONS,
    CLUSTER,
    CLUSTER_WIDE,
    CONTRIBUTOR,
    CUSTOM,
    DELEGATION,
    EVERYBODY,
    GROUP,
    NAMESPACES,
    OWNER,
    PEOPLE,
    PREFIX,
    QUESTIONS,
    SUBSCRIPTION,
    TABLE,
    answer,
    assignment,
    cluster,
    data_action,
    name_of,
    object_id,
    world,
)

CLUSTER_ADMIN, ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b", "3498e952-d568-435e-9b2c-8d77e338d7f7"
READER, WRITER = "7f6c6a51-bcf8-42ba-9220-52d62157d7db", "a7ffa36f-339b-4b5c-8bdf-e2c188b2c0eb"
READER_OF_SUBSCRIPTION = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
CLUSTER_USER = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "carts.shop.example.com"},
    "spec": {
        "group": "shop.example.com",
        "names": {"plural": "carts", "kind": "Cart"},
        "scope": "Namespaced",
        "versions": [],
    },
}
SPACES = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]


def export(*assignments: dict[str, Any], **fields: Any) -> list[Any]:
    """A complete export with some role assignments."""
    return [cluster(**fields), [assignment(READER_OF_SUBSCRIPTION, 3, SUBSCRIPTION), *assignments]]


def dump(outputs: Any, *objects: Any) -> simkit.Cluster:
    """A cluster with these objects and an export."""
    return simkit.load([*SPACES, *objects], captured=["*"], cloud=outputs)


def caveats(cluster: simkit.Cluster) -> str:
    """What the answers about a cluster leave open."""
    return " ".join(one.text for one in cluster.snapshot().authorization.caveats)


@pytest.mark.parametrize("role", sorted(TABLE))
def test_a_role_allows_what_its_data_actions_name_and_nothing_else(role: str) -> None:
    """Every verb on every resource and subresource, both ways, beside the published patterns."""
    outputs = export(assignment(role, 0, CLUSTER))
    index, user = index_of(dump(outputs).snapshot()), Identity("ann@acme.example", ())
    for resource, verb in itertools.product(Catalogue.for_release("1.30").resources(), tuple(ACTIONS)[:8]):
        for subresource in ("", *resource.subresources):
            asked = (verb, resource.group, resource.resource, subresource)
            found = index.authorize(Attributes(user, verb, resource.group, "v1", resource.resource, subresource))
            assert (found.verdict is Verdict.ALLOW) == (answer(outputs, 0, asked, "") == "yes"), (
                TABLE[role]["name"],
                asked,
            )


@pytest.mark.parametrize("part", range(4))
def test_random_worlds_are_answered_as_by_the_naive_model(part: int) -> None:
    """Scopes, wildcards, what is not allowed, conditions, credentials of administrators beside a model."""
    seen = set()
    for seed in range(part, 140, 4):
        outputs = world(seed)
        read = with_cloud(load([*SPACES, DEFINITION], captured=["*"], authorization_mode=["RBAC"]), outputs)
        snapshot = read.snapshot()
        for number, asked, namespace in itertools.product(range(len(PEOPLE)), QUESTIONS, ("", *NAMESPACES)):
            verb, group, resource, subresource = asked
            if resource in CLUSTER_WIDE and namespace:
                continue
            wanted = answer(outputs, number, asked, namespace)
            what = f"{resource}/{subresource}" if subresource else resource
            found = can(snapshot, name_of(number), verb, what, namespace=namespace or "*", api_group=group)
            assert found.answer == wanted, (seed, name_of(number), asked, namespace, data_action(asked), found.why)
            seen.add(wanted)
    assert seen == {"yes", "no", "unknown"}


def test_the_principal_of_an_assignment_is_the_user_that_bindings_name() -> None:
    """Members by their name, guests and applications by their object id; the engine decides the same."""
    cluster = dump(export(*(assignment(READER, number, CLUSTER) for number in range(4))))
    listed = set(cluster.who_can("get", "pods")["subject"])
    assert {"user:ann@acme.example", f"group:{object_id(1)}", f"user:{object_id(2)}", f"user:{object_id(3)}"} <= listed
    for identity in (
        Identity("ann@acme.example", ("system:authenticated",)),
        Identity("x@acme.example", (object_id(1), "system:authenticated")),
    ):
        assert cluster.perform(Request.of("GET", "/api/v1/pods"), identity=identity).status == 200
        assert cluster.perform(Request.of("GET", "/api/v1/secrets"), identity=identity).status == 403


def test_a_user_without_a_name_is_told() -> None:
    """The Azure CLI leaves names out where it may not read the directory."""
    given = {**assignment(READER, 0, CLUSTER), "principalName": ""}
    found = dump(export(given))
    assert f"the name of the user {object_id(0)} is not in it" in caveats(found)
    assert f"user:azure:{object_id(0)}" in set(found.who_can("get", "pods")["subject"])


def test_conditions_and_roles_that_are_not_known_are_told() -> None:
    """They count neither as yes nor, in words, as no; a known role without anything for clusters is silent."""
    strange = assignment("ffffffff-0000-4000-8000-000000000000", 0, GROUP)
    found = dump(export(strange, assignment(WRITER, 2, CLUSTER, "@Resource"), disableLocalAccounts=False))
    told = caveats(found)
    assert "ffffffff-0000-4000-8000-000000000000 of ann@acme.example" in told
    assert f"Azure Kubernetes Service RBAC Writer of {object_id(2)} (on the condition @Resource)" in told
    assert "Reader" not in told
    assert found.can(f"user:{object_id(2)}", "get", "pods").answer == "unknown"
    assert found.can(f"user:{object_id(2)}", "impersonate", "users").answer == "no"
    assert found.can("user:ann@acme.example", "impersonate", "users").answer == "unknown"


@pytest.mark.parametrize(
    ("role", "fields", "administers"),
    [
        (OWNER, {"disableLocalAccounts": False}, True),
        (CONTRIBUTOR, {"disableLocalAccounts": False}, True),
        (CONTRIBUTOR, {}, False),
        (CLUSTER_USER, {"disableLocalAccounts": False}, False),
        (CLUSTER_USER, {"disableLocalAccounts": False, "aadProfile": None}, True),
        (READER_OF_SUBSCRIPTION, {"disableLocalAccounts": False, "aadProfile": None}, False),
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_who_may_list_the_credential_of_an_administrator_is_one(
    role: str, fields: dict[str, Any], administers: bool, number: int
) -> None:
    """While local accounts are on; without Microsoft Entra ID the credential of a user is one, too. Groups as people."""
    found = dump(export(assignment(role, number, GROUP), **fields))
    assert bool(found.can(name_of(number), "delete", "nodes")) == administers
    assert len(found.findings(checks=["cloud-masters"])) == administers
    masters = found.who_can("delete", "nodes", expand_groups=True)
    assert (name_of(number) in set(masters["subject"])) == administers
    direct = Identity("ann@acme.example", ("system:authenticated",))
    assert found.perform(Request.of("DELETE", "/api/v1/nodes/x"), identity=direct).status == 403


def test_a_cluster_without_rbac_restricts_nobody() -> None:
    """``enableRbac: false`` is AlwaysAllow."""
    assert "Everyone can do anything" in caveats(dump(export(enableRbac=False)))


@pytest.mark.parametrize("bound", [True, False])
def test_the_groups_of_administrators_are_administrators(bound: bool) -> None:
    """AKS binds them in the cluster, which a dump may not show."""
    entra = {"enableAzureRbac": False, "adminGroupObjectIDs": [object_id(7)] if bound else None}
    found = dump(export(aadProfile=entra))
    assert bool(found.can(f"group:{object_id(7)}", "delete", "nodes")) == bound


ISSUER = "https://westeurope.oic.prod-aks.azure.com/t/i/"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/deploy"


@pytest.mark.parametrize(
    ("subject", "issuer", "enabled", "paths"),
    [
        ("system:serviceaccount:ci:deploy", ISSUER, True, 1),
        ("system:serviceaccount:ci:other", ISSUER, True, 0),
        ("system:serviceaccount:ci:deploy", "https://other.example/", True, 0),
        ("system:serviceaccount:ci:deploy", ISSUER, False, 0),
    ],
)
def test_a_pod_becomes_the_identity_that_trusts_its_service_account(
    subject: str, issuer: str, enabled: bool, paths: int
) -> None:
    """By a federated credential for the issuer of the cluster, and back into the cluster by a role assignment."""
    profile = {"workloadIdentity": {"enabled": enabled}}
    outputs = export(
        assignment(CLUSTER_ADMIN, 2, CLUSTER),
        securityProfile=profile,
        oidcIssuerProfile={"enabled": True, "issuerUrl": ISSUER},
    )
    outputs.append({"id": IDENTITY, "clientId": object_id(20), "principalId": object_id(2)})
    credential = f"{IDENTITY}/federatedIdentityCredentials/a"
    outputs.append({"id": credential, "issuer": issuer, "subject": subject, "audiences": []})
    spec = {"serviceAccountName": "deploy", "automountServiceAccountToken": False}
    rbac = "rbac.authorization.k8s.io/v1"
    place = {"name": "exec", "namespace": "ci"}
    rules = [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"]}]
    ann = {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "exec", "apiGroup": "rbac.authorization.k8s.io"}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deploy", "namespace": "ci"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ci"}}
        | {"spec": spec | {"containers": [{"name": "c", "image": "i"}]}},
        {"apiVersion": rbac, "kind": "Role", "metadata": place, "rules": rules},
        {"apiVersion": rbac, "kind": "RoleBinding", "metadata": place, "roleRef": reference, "subjects": [ann]},
    ]
    found = simkit.load(objects, manifests=True, cloud=outputs)
    path = found.escalations("user:ann", goal="cluster-admin")
    assert [one.primitives[-2:] for one in path] == [("K19", "A1")] * paths
    assert len(found.findings(checks=["cloud-admin"])) == paths


def member(number: int, kind: str, name: str | None = None) -> dict[str, Any]:
    """A member of a group as ``az ad group member list`` has it."""
    return {"@odata.type": f"#microsoft.graph.{kind}", "id": object_id(number), "userPrincipalName": name}


def test_members_of_groups_are_read_by_the_name_of_their_file(tmp_path: Path) -> None:
    """Also of groups in groups, also administrators; devices send no requests, and a group without a file is told."""
    outer, inner = object_id(1), object_id(11)
    files: dict[str, Any] = {
        "export": export(assignment(WRITER, 1, CLUSTER), assignment(OWNER, 1, GROUP), disableLocalAccounts=False),
        outer: [member(11, "group"), member(12, "device"), member(13, "group")],
        inner: [
            member(20, "user", "zoe@acme.example"),
            member(21, "servicePrincipal"),
            member(22, "user", "x#EXT#@acme"),
        ],
    }
    for name, outputs in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(outputs, indent=1))
    found = dump(str(tmp_path))
    for who in ("user:zoe@acme.example", f"user:{object_id(21)}", f"user:{object_id(22)}"):
        assert found.can(who, "create", "pods"), who
        assert found.can(who, "delete", "nodes"), who
    rows = found.who_can("create", "pods", expand_groups=True)
    assert set(rows[rows["via_group"] == f"group:{outer}"]["subject"]) >= {"user:zoe@acme.example"}
    assert f"the members of group:{object_id(13)}, which is in group:{outer}" in caveats(found)
    assert object_id(12) not in str(found.snapshot().authorization)


def test_remedies_name_the_command_of_azure() -> None:
    """What an assignment grants is taken away at its scope; no kubectl command claims to do it."""
    found = dump(export(assignment(CLUSTER_ADMIN, 0, GROUP)))
    (remedy,) = [cause.remedy for cause in found.causes() if "Azure role assignment" in str(cause)]
    told = (
        f"az role assignment delete --assignee ann@acme.example --role '{TABLE[CLUSTER_ADMIN]['name']}' --scope {GROUP}"
    )
    assert told in remedy.text
    assert not remedy.commands()


def test_the_demo_export_is_complete() -> None:
    """Only its condition stays open, and what denies."""
    path = datasets.path("clusters/pellowick-aks.json")
    found = simkit.load(datasets.path(datasets.DEMO), authorization_mode=["RBAC"], cloud=path)
    caveat, denials = found.snapshot().authorization.caveats
    assert denials.id == "unread-denials"
    assert "Azure Kubernetes Service RBAC Admin of otto@pellowick.example (on the condition @Resource" in caveat.text
    assert set(found.findings(checks=["cloud-admin"])["subjects"]) == {("sa:ci/shiftwork",)}
    assert set(found.findings(checks=["cloud-masters"])["subjects"]) == {("user:platform-admin@pellowick.example",)}


def test_who_may_write_role_assignments_or_the_cluster_may_administer_it() -> None:
    """Owners, contributors and administrators of access; a condition leaves it open, and readers may not."""
    administrator = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
    for role, condition, wanted in (
        (OWNER, None, 1),
        (CONTRIBUTOR, None, 1),
        (administrator, None, 1),
        (administrator, "@Request[a:b] StringEquals 'c'", 0),
        (READER_OF_SUBSCRIPTION, None, None),
        (WRITER, None, None),
    ):
        found = dump(export(assignment(role, 0, GROUP, condition)))
        told = [str(one) for one in found.findings(checks=["cloud-changes"])["message"]]
        assert len(told) == (wanted is not None), (role, told)
        paths = found.escalations("user:ann@acme.example", goal="cluster-admin")
        assert [path.primitives for path in paths] == [("K20",)] * (wanted or 0), (role, condition)


def test_each_block_of_a_deny_assignment_has_its_own_condition() -> None:
    """One whose condition is false took the other blocks of the assignment with it."""
    never = {"dataActions": [f"{PREFIX}/pods/*"], "condition": "ActionMatches{'Microsoft.Storage/*'}"}
    denial = {"denyAssignmentName": "d", "scope": CLUSTER, "principals": [{"id": EVERYBODY}]}
    denial["permissions"] = [never, {"dataActions": [f"{PREFIX}/secrets/*"]}]
    found = dump([*export(assignment(CLUSTER_ADMIN, 0, CLUSTER)), denial])
    answers = [bool(found.can("user:ann@acme.example", "get", what)) for what in ("pods", "secrets")]
    assert answers == [True, False]


def test_each_block_of_a_role_has_its_own_condition() -> None:
    """What it allows on a condition that is false it does not allow, and on one that is not known is open."""
    blocks = [
        {"dataActions": [f"{PREFIX}/pods/*"]},
        {"dataActions": [f"{PREFIX}/services/*"], "condition": DELEGATION},
        {"dataActions": [f"{PREFIX}/secrets/*"], "condition": "ActionMatches{'Microsoft.Storage/*'}"},
        {"dataActions": [f"{PREFIX}/configmaps/*"], "condition": "@Resource[a:b] StringEquals 'c'"},
    ]
    role = {"name": CUSTOM, "roleName": "own", "permissions": blocks}
    found = dump([*export(assignment(CUSTOM, 0, CLUSTER)), role])
    snapshot = found.snapshot()
    asked = ("pods", "services", "secrets", "configmaps")
    answers = [can(snapshot, "user:ann@acme.example", "get", what).answer for what in asked]
    assert answers == ["yes", "yes", "no", "unknown"]
    assert "own (on @Resource[a:b] StringEquals 'c')" in caveats(found)


def test_a_condition_of_a_role_limits_what_it_gives_away() -> None:
    """Who may write role assignments on a condition may or may not become an administrator."""
    block = {"actions": ["Microsoft.Authorization/roleAssignments/write"], "condition": DELEGATION}
    role = {"name": CUSTOM, "roleName": "own", "permissions": [block]}
    (told,) = dump([*export(assignment(CUSTOM, 0, GROUP)), role]).findings(checks=["cloud-changes"])["message"]
    assert "is not known" in told


def test_a_user_has_one_name_whatever_outputs_write() -> None:
    """An assignment without the name, or in other letters, is of the same user as the member of a group."""
    member = {"@odata.type": "#microsoft.graph.user", "id": object_id(0), "userPrincipalName": "ann@Acme.example"}
    listed = Piece(f"{object_id(1)}.json", json.dumps([member]))
    for name in ("", "Ann@acme.example"):
        cluster = dump([*export({**assignment(READER, 0, CLUSTER), "principalName": name}), listed])
        entries = cluster.snapshot().authorization.access
        assert entries is not None
        assert len({entry.name for entry in entries.entries if entry.name.lower() == "ann@acme.example"}) == 1
        assert "the name of the user" not in caveats(cluster)
