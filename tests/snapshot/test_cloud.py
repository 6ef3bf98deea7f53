"""Exports of EKS: what is complete, what is missing, old, mixed or foreign, and that no gap goes without a caveat."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import simkit
from simkit.logic.providers.access_entries import disassociation
from simkit.logic.rbac.binding import ACCESS_ENTRIES
from simkit.meta import datasets
from simkit.meta.errors import UnknownSubject
from simkit.meta.names import Key
from simkit.snapshot.cloud.exports import with_cloud
from simkit.snapshot.cloud.gke_conditions import decide
from simkit.snapshot.load import load

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"eks.amazonaws.com/nodegroup": "a"}}}
OUTPUTS = json.loads(datasets.path("clusters/pellowick-eks.json").read_text())


def caveats(outputs: Any, *objects: Any) -> str:
    """The caveats of a dump of EKS with an export."""
    return " ".join(
        one.text for one in with_cloud(load([NODE, *objects], captured=["*"]), outputs).authorization.caveats
    )


def without(name: str) -> list[Any]:
    """The export without the first output that has a field."""
    found: list[Any] = copy.deepcopy(OUTPUTS)
    found.remove(next(one for one in found if name in one))
    return found


def test_a_complete_export_takes_the_caveat_away() -> None:
    """A dump of EKS says what it did not read, until its export tells it."""
    assert "were not read" in " ".join(one.text for one in load([NODE], captured=["*"]).authorization.caveats)
    assert caveats(OUTPUTS) == ""


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("cluster", "authentication mode of the cluster is not in it"),
        ("accessEntries", "the list of access entries is missing"),
        ("accessEntry", "is not described"),
        ("associatedAccessPolicies", "are not listed"),
    ],
)
def test_an_export_without_one_output_stays_a_lower_bound(field: str, told: str) -> None:
    """Whichever output is missing, the caveat names it."""
    found = caveats(without(field))
    assert found.startswith("Lower bound: the EKS export is incomplete")
    assert told in found


def test_pages_that_are_missing_are_told() -> None:
    """A list that the AWS CLI cut off is not taken for the whole."""
    outputs = copy.deepcopy(OUTPUTS)
    next(one for one in outputs if "accessEntries" in one)["nextToken"] = "more"
    assert "further pages" in caveats(outputs)


def test_an_old_description_without_a_mode_is_told() -> None:
    """Before access entries existed, describe-cluster had no accessConfig."""
    outputs = copy.deepcopy(OUTPUTS)
    del outputs[0]["cluster"]["accessConfig"]
    assert "authentication mode of the cluster is not in it" in caveats(outputs)


def test_the_mode_config_map_leaves_the_creator_open() -> None:
    """Entries do not count in this mode, and the creator of the cluster is named nowhere."""
    outputs = copy.deepcopy(OUTPUTS)
    outputs[0]["cluster"]["accessConfig"]["authenticationMode"] = "CONFIG_MAP"
    cluster = simkit.load([NODE], captured=["*"], cloud=outputs)
    assert "the creator of the cluster is an administrator" in caveats(outputs)
    with pytest.warns(UnknownSubject, match="to no user of the cluster"):
        assert not cluster.can("aws:arn:aws:iam::111122223333:role/platform-admin", "get", "secrets")


def test_aws_auth_that_is_not_in_the_dump_is_told() -> None:
    """Where the mode counts the config map, a dump without config maps leaves it open."""
    outputs = copy.deepcopy(OUTPUTS)
    outputs[0]["cluster"]["accessConfig"]["authenticationMode"] = "API_AND_CONFIG_MAP"
    read = load([NODE], captured=["nodes", "clusterroles"])
    told = " ".join(one.text for one in with_cloud(read, outputs).authorization.caveats)
    assert "the config map aws-auth is not in the dump" in told


@pytest.mark.parametrize("text", ["{a: [", "- 7", "x: y", '"text"', "- rolearn: [1]\n  groups: a"])
def test_a_broken_aws_auth_is_told(text: str) -> None:
    """Mappings that cannot be read are a gap, not nobody."""
    outputs = copy.deepcopy(OUTPUTS)
    outputs[0]["cluster"]["accessConfig"]["authenticationMode"] = "API_AND_CONFIG_MAP"
    mapped = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aws-auth", "namespace": "kube-system"}}
    assert "Lower bound" in caveats(outputs, {**mapped, "data": {"mapRoles": text}})


def test_outputs_that_somebody_put_together_are_read() -> None:
    """The fields of several outputs in one object count each; a shape of another tool is told."""
    entry, policies = OUTPUTS[2], OUTPUTS[3]
    principal = entry["accessEntry"]["principalArn"]
    whole = {**OUTPUTS[0], "accessEntries": [principal], **entry, **policies}
    assert caveats([whole]) == ""
    assert "could not be read" in caveats([{**whole, "accessEntries": [entry]}])


def test_files_of_several_clusters_are_refused() -> None:
    """Outputs about two clusters are no export of one."""
    outputs = copy.deepcopy(OUTPUTS)
    next(one for one in outputs if "accessEntry" in one)["accessEntry"]["clusterName"] = "other"
    with pytest.raises(simkit.SimkitError, match="several clusters"):
        caveats(outputs)


def test_foreign_files_are_refused_or_reported() -> None:
    """Kubernetes objects are no export; beside one they are reported, and leave it as complete as it was."""
    with pytest.raises(simkit.SimkitError, match="simkit dump --cloud PROVIDER"):
        caveats([NODE])
    read = with_cloud(load([NODE], captured=["*"]), [*OUTPUTS, NODE, {"Role": {}}])
    assert ["belongs into the dump" in one.what for one in read.problems] == [True, False]
    gke = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"cloud.google.com/gke-x": "a"}}}
    with pytest.raises(simkit.SimkitError, match="cluster on GKE"):
        with_cloud(load([gke], captured=["*"]), OUTPUTS)


@pytest.mark.parametrize(
    "change",
    [
        {"accessEntry": 7},
        {"accessEntry": {"principalArn": "arn:aws:iam::1:role/x", "username": "u"}},
        {"accessEntry": {"principalArn": "arn:aws:iam::111122223333:role/x", "username": "\x1b[2J"}},
        {"accessEntry": {"principalArn": "arn:aws:iam::111122223333:role/x", "username": "u", "kubernetesGroups": "g"}},
        {"accessEntry": {"principalArn": "arn:aws:iam::111122223333:role/x", "username": "{{SessionName}}a" * 40}},
        {"accessEntries": ["arn:aws:iam::111122223333:role/x\n"]},
        {"accessEntries": {"a": 1}},
        {"principalArn": "arn:aws:iam::111122223333:role/x", "associatedAccessPolicies": [{"policyArn": "x"}]},
        {"cluster": {"name": "pellowick", "accessConfig": {"authenticationMode": "NEW"}}},
        {"cluster": []},
    ],
)
def test_an_output_that_is_not_as_documented_leaves_a_caveat(change: Any) -> None:
    """Wrong types and names with control characters are not guessed at, and the answer says so."""
    read = with_cloud(load([NODE], captured=["*"]), [*OUTPUTS, change])
    assert "\x1b" not in str(read.lost[0])
    told = " ".join(one.text for one in read.authorization.caveats)
    assert "could not be read" in told
    assert "\x1b" not in told


def test_a_file_that_breaks_off_leaves_a_caveat(tmp_path: Path) -> None:
    """Half of a file is not the whole export."""
    text = "\n".join(map(json.dumps, OUTPUTS))
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.json").write_text('{"accessEntry": {"principalArn"')
    assert "could not be read" in caveats(str(tmp_path))


def test_an_entry_overrides_the_config_map_even_with_a_path() -> None:
    """ARNs in aws-auth have no path; the access entry of the same role has one."""
    role = "arn:aws:iam::111122223333:role/teams/ops"
    mapped = "- {rolearn: 'arn:aws:iam::111122223333:role/ops', username: old, groups: ['system:masters']}"
    auth = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "aws-auth", "namespace": "kube-system"},
        "data": {"mapRoles": mapped},
    }
    outputs = [
        {"cluster": {"name": "c", "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"}}},
        {"accessEntries": [role]},
        {"accessEntry": {"principalArn": role, "username": "new", "kubernetesGroups": []}},
        {"principalArn": role, "associatedAccessPolicies": []},
    ]
    access = with_cloud(load([auth], captured=["*"]), outputs).authorization.access
    assert access is not None
    assert [entry.user for entry in access.entries] == ["new"]


GKE_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"cloud.google.com/gke-x": "a"}}}
OF_GKE = json.loads(datasets.path("clusters/pellowick-gke.json").read_text())


def caveats_of_gke(outputs: Any, *objects: Any) -> str:
    """The caveats of a dump of GKE with an export, without that about the condition of the demo."""
    read = with_cloud(load([GKE_NODE, *objects], captured=["*"]), outputs)
    known = (
        "roles/container.admin of user:otto@pellowick.example (on the condition 'migration weekend': "
        'request.time < timestamp("2026-04-01T00:00:00Z")).'
    )
    return " ".join(one.text for one in read.authorization.caveats if not one.text.endswith(f"not known: {known}"))


DENIALS_OF_GKE = (
    "Upper bound: IAM deny policies and principal access boundaries were not read, and may deny what IAM roles allow."
)
DENIALS_OF_AKS = "Upper bound: Azure deny assignments were not read, and may deny what Azure roles allow."


def test_a_complete_export_of_gke_takes_the_caveat_away() -> None:
    """The same as for EKS, whatever the order of the outputs and their files; what denies is in no export."""
    assert "were not read" in " ".join(one.text for one in load([GKE_NODE], captured=["*"]).authorization.caveats)
    assert caveats_of_gke(OF_GKE) == DENIALS_OF_GKE
    assert caveats_of_gke([json.dumps(one) for one in reversed(OF_GKE)]) == DENIALS_OF_GKE
    assert caveats_of_gke("\n".join(json.dumps(one, indent=1) for one in OF_GKE)) == DENIALS_OF_GKE


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("currentMasterVersion", None, "the description of the cluster is not in it"),
        ("type", "project", "no policy is marked as that of the project"),
        ("type", "organization", "the policy of the organization is not in it"),
        ("includedPermissions", None, "projects/pellowick-prod/roles/podDebugger of group:on-call@pellowick.example"),
    ],
)
def test_an_export_of_gke_without_one_output_stays_a_lower_bound(field: str, value: Any, told: str) -> None:
    """Whichever output is missing, the caveat names it."""
    kept = [one for one in OF_GKE if field not in one or (value is not None and one[field] != value)]
    assert len(kept) < len(OF_GKE)
    assert told in caveats_of_gke(kept)


def test_a_policy_without_its_place_counts_and_is_told(tmp_path: Path) -> None:
    """``gcloud projects get-iam-policy`` does not name the project; the name of a file tells a service account."""
    account = "shiftwork@pellowick-prod.iam.gserviceaccount.com"
    annotated = {"name": "shiftwork", "namespace": "ci", "annotations": {"iam.gke.io/gcp-service-account": account}}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": annotated},
    ]
    member = "serviceAccount:pellowick-prod.svc.id.goog[ci/shiftwork]"
    granted = {"bindings": [{"role": "roles/iam.workloadIdentityUser", "members": [member]}], "etag": "x"}
    policy = {"bindings": [{"role": "roles/owner", "members": ["user:ann@acme.example"]}], "etag": "x", "version": 1}
    (tmp_path / "cluster.json").write_text(json.dumps(OF_GKE[0]))
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    (tmp_path / f"{account}.json").write_text(json.dumps(granted))
    cluster = simkit.load([GKE_NODE, *objects], captured=["*"], cloud=str(tmp_path))
    access = cluster.snapshot().authorization.access
    assert access is not None
    assert access.pod_roles == (("ci", "shiftwork", account),)
    assert cluster.can("user:ann@acme.example", "delete", "nodes")
    assert "no policy is marked as that of the project" in " ".join(map(str, cluster.snapshot().authorization.caveats))


def test_outputs_that_do_not_belong_together_are_refused() -> None:
    """Two providers, two clusters, and a cluster of another project than the policies."""
    with pytest.raises(simkit.SimkitError, match="mixes outputs of EKS and GKE"):
        caveats_of_gke([*OUTPUTS, *OF_GKE])
    other = {**OF_GKE[0], "selfLink": OF_GKE[0]["selfLink"].replace("pellowick-prod", "elsewhere")}
    with pytest.raises(simkit.SimkitError, match="several clusters"):
        caveats_of_gke([*OF_GKE, other])
    with pytest.raises(simkit.SimkitError, match="in the project elsewhere, but the policies are those of pellowick"):
        caveats_of_gke([other, *OF_GKE[1:]])
    with pytest.raises(simkit.SimkitError, match="cluster on EKS"):
        with_cloud(load([NODE], captured=["*"]), OF_GKE)


@pytest.mark.parametrize(
    "change",
    [
        {"bindings": 7},
        {"bindings": [{"role": "roles/owner", "members": "user:a@b.example"}]},
        {"bindings": [{"role": "roles/owner\x1b[2J", "members": []}]},
        {"bindings": [{"role": "roles/owner", "members": ["user:a@b.example"], "condition": []}]},
        {"bindings": [{"role": "roles/owner", "members": ["user:a@b.example\x1b[2J"]}]},
        {"id": "x", "type": "planet", "policy": {}},
        {"name": "roles/x", "includedPermissions": {}},
        {"name": "../../roles/x", "includedPermissions": []},
        {"name": "groups/1", "groupKey": "x"},
        {"name": "groups/1/memberships/2", "preferredMemberKey": {}},
        {"currentMasterVersion": "1.30"},
    ],
)
def test_an_output_of_gke_that_is_not_as_documented_leaves_a_caveat(change: Any) -> None:
    """Wrong types and names with control characters are not guessed at, and the answer says so."""
    told = caveats_of_gke([*OF_GKE, change])
    assert "could not be read" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("member", ["projectOwner:acme", "user:", "user:a b@c", "robot:x@y.example", "domain:", "x"])
def test_a_member_that_is_not_known_is_told(member: str) -> None:
    """Members of a kind that the documentation does not have for projects leave the answer a lower bound."""
    binding = {"role": "roles/owner", "members": [member]}
    policy = {"id": "pellowick-prod", "type": "project", "policy": {"bindings": [binding]}}
    assert "is no member that is known" in caveats_of_gke([OF_GKE[0], policy])


def test_legacy_authorization_is_told() -> None:
    """With it, the rules of ABAC allow more than anybody can see."""
    assert "ABAC are not known" in caveats_of_gke([{**OF_GKE[0], "legacyAbac": {"enabled": True}}, *OF_GKE[1:]])


AKS_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.azure.com/x": "a"}}}
OF_AKS = json.loads(datasets.path("clusters/pellowick-aks.json").read_text())
ASSIGNMENTS = OF_AKS[1]


def caveats_of_aks(outputs: Any, *objects: Any) -> str:
    """The caveats of a dump of AKS with an export, without that about the condition of the demo."""
    read = with_cloud(load([AKS_NODE, *objects], captured=["*"]), outputs)
    known = (
        "Azure Kubernetes Service RBAC Admin of otto@pellowick.example (on the condition "
        "@Resource[Microsoft.ContainerService/managedClusters] StringEquals 'x')."
    )
    return " ".join(one.text for one in read.authorization.caveats if not one.text.endswith(f"not known: {known}"))


def test_a_complete_export_of_aks_takes_the_caveat_away() -> None:
    """The same as for EKS, whatever the order of the outputs and their files; the shapes of the REST API count, too."""
    assert "were not read" in " ".join(one.text for one in load([AKS_NODE], captured=["*"]).authorization.caveats)
    assert caveats_of_aks(OF_AKS) == DENIALS_OF_AKS
    assert caveats_of_aks([json.dumps(one) for one in reversed(OF_AKS)]) == DENIALS_OF_AKS
    assert caveats_of_aks("\n".join(json.dumps(one, indent=1) for one in OF_AKS)) == DENIALS_OF_AKS
    outer = ("id", "name", "type")
    rest = [
        {**{name: one[name] for name in outer}, "properties": {k: v for k, v in one.items() if k not in outer}}
        for one in (OF_AKS[0], *ASSIGNMENTS, OF_AKS[2])
    ]
    assert caveats_of_aks(rest) == DENIALS_OF_AKS


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (OF_AKS[1:], "the description of the cluster is not in it"),
        ([OF_AKS[0], *OF_AKS[2:]], "no role assignment above the cluster is in it"),
        ([OF_AKS[0], [one for one in ASSIGNMENTS if "/managedClusters/" in one["scope"]]], "no role assignment above"),
        (OF_AKS[:2], "Pod debugger of 00000005-aaaa-4bbb-8ccc-dddd00000000"),
    ],
)
def test_an_export_of_aks_without_one_output_stays_a_lower_bound(kept: Any, told: str) -> None:
    """Whichever output is missing, the caveat names it."""
    assert told in caveats_of_aks(kept)


@pytest.mark.parametrize(
    "change",
    [
        {"nodeResourceGroup": "x"},
        {"nodeResourceGroup": "x", "id": "\x1b[2J"},
        {**ASSIGNMENTS[0], "principalId": 7},
        {**ASSIGNMENTS[0], "principalId": "nobody"},
        {**ASSIGNMENTS[0], "roleDefinitionId": "Owner"},
        {**ASSIGNMENTS[0], "principalName": "a\x1b[2J@b.example"},
        {**ASSIGNMENTS[0], "scope": None},
        {"roleName": "x", "permissions": 7},
        {"roleName": "x", "permissions": [], "name": "x"},
        {**OF_AKS[2], "permissions": [{"dataActions": "*"}]},
        {"clientId": "x", "principalId": "y"},
        {"issuer": "x", "subject": [], "id": "x"},
    ],
)
def test_an_output_of_aks_that_is_not_as_documented_leaves_a_caveat(change: Any) -> None:
    """Wrong types and names with control characters are not guessed at, and the answer says so."""
    told = caveats_of_aks([*OF_AKS, change])
    assert "could not be read" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(("kind", "name"), [("Device", "x"), (None, "devs"), (None, "")])
def test_a_principal_of_a_type_that_is_not_known_is_told(kind: str | None, name: str) -> None:
    """Old outputs have no types: without an address as its name, a principal may be a group or an application."""
    scope = ASSIGNMENTS[0]["scope"]
    given = {**ASSIGNMENTS[2], "principalType": kind, "principalName": name, "scope": scope}
    given["principalId"] = "0000ffff-aaaa-4bbb-8ccc-dddd00000000"
    assert "is in the cluster is not in it" in caveats_of_aks([*OF_AKS, given])


def test_an_identity_that_the_export_lacks_is_told() -> None:
    """A service account names a client id that is none of the exported identities."""
    annotations = {"azure.workload.identity/client-id": "0000ffff-aaaa-4bbb-8ccc-dddd00000000"}
    account = {"name": "robot", "namespace": "ci", "annotations": annotations}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
    ]
    assert "whether sa:ci/robot can become the identity with the client id 0000ffff" in caveats_of_aks(OF_AKS, *objects)


JUNK: tuple[Any, ...] = (None, 7, "", "x", "\x1b[2J", [], {}, [None], {"a": 1}, True, "{{a}}{{b}}{{c}}", "*", "-" * 300)


def damaged(value: Any, dice: random.Random, rate: float) -> Any:
    """A decoded output in which some values are others, some fields are missing, and some entries are there twice."""
    if dice.random() < rate:
        return dice.choice(JUNK)
    if isinstance(value, dict):
        return {name: damaged(one, dice, rate) for name, one in value.items() if dice.random() > rate}
    if isinstance(value, list):
        kept = [damaged(one, dice, rate) for one in value if dice.random() > rate]
        return kept + kept[: dice.randrange(2)]
    return value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outputs", [OUTPUTS, OF_GKE, OF_AKS], ids=["eks", "gke", "aks"])
def test_damaged_exports_end_in_answers_or_errors(outputs: Any) -> None:
    """Sixty exports with junk in random places: no error but ours, no letters for terminals, and mostly a caveat."""
    answered = 0
    for seed in range(60):
        dice = random.Random(seed)
        account = {"name": "shiftwork", "namespace": "ci", "annotations": {"iam.gke.io/gcp-service-account": "a@b"}}
        objects = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}]
        found = damaged(outputs, dice, 0.01 if seed % 2 else 0.1)
        try:
            cluster = simkit.load(objects, captured=["*"], cloud=json.dumps([found]))
        except simkit.SimkitError:
            continue
        told = " ".join(map(str, cluster.snapshot().authorization.caveats))
        rows = cluster.who_can("get", "secrets", expand_groups=True)
        assert "\x1b" not in f"{told}{rows.to_dict()}"
        answered += bool(told)
    assert answered > 20


@pytest.mark.parametrize(
    "expression",
    [
        "resource.name.startsWith('projects/123456789012/')",
        "!resource.name.startsWith('projects/123456789012/')",
        "resource.name == 'projects/123456789012/locations/europe-west1/clusters/pellowick'",
        "resource.name in ['projects/123456789012/locations/europe-west1/clusters/pellowick']",
        "resource.name.matches('projects/1234.*')",
        "resource.name.matches('projects/12345678901[0-9]/.*')",
        "resource.name == 'projects/1234' + '56789012/locations/europe-west1/clusters/pellowick'",
    ],
)
def test_a_condition_on_the_number_of_the_project_is_not_decided(expression: str) -> None:
    """The name of a cluster may have the number of its project, or the id."""
    binding: dict[str, Any] = {"role": "roles/owner", "members": ["user:zed@pellowick.example"]}
    binding |= {"condition": {"title": "c", "expression": expression}}
    policy = {"id": "pellowick-prod", "type": "project", "policy": {"bindings": [binding]}}
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=[*OF_GKE, policy])
    assert cluster.can("user:zed@pellowick.example", "get", "secrets").answer == "unknown"


@pytest.mark.parametrize(
    "change",
    [
        {"deniedPermissions": 5},
        {"deniedPermissions": {"k": []}},
        {"exceptionPermissions": {"id": []}},
        {"deniedPrincipals": "x"},
        {"deniedPrincipals": ["x\x1b[2J"]},
        {"exceptionPrincipals": {"k": []}},
        {"denialCondition": {"title": {"k": []}, "expression": "true"}},
        {"denialCondition": 5},
        None,
        "rules",
        "nothing",
        "two",
    ],
)
def test_a_deny_policy_that_cannot_be_read_may_deny_everything(change: Any) -> None:
    """It is neither a fault nor ignored: what roles of IAM grant is then not known."""
    rule: Any = {"deniedPrincipals": ["principal://goog/subject/a@b.example"]}
    rule |= {"deniedPermissions": ["container.googleapis.com/secrets.get"]}
    policy: dict[str, Any] = {"name": "policies/x%2Fprojects%2Fpellowick-prod/denypolicies/d", "kind": "DenyPolicy"}
    policies = [policy | {"rules": [{"denyRule": rule | change if isinstance(change, dict) else None}]}]
    if change == "rules":
        policies = [policy | {"rules": 5}]
    elif change == "nothing":
        policies = [policy]
    elif change == "two":
        policies = [policy | {"rules": []}, policy | {"rules": [{"denyRule": rule}]}]
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=[*OF_GKE, *policies])
    assert cluster.can("user:platform-admin@pellowick.example", "get", "secrets").answer == "unknown"
    told = caveats_of_gke([*OF_GKE, *policies])
    assert "the deny policy d in projects/pellowick-prod, which could not be read" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ((), "the members of group:a@b.example are not in it"),
        (({"id": "b@b.example"},), "whether b@b.example in group:a@b.example is a user or a group is not in it"),
    ],
)
def test_members_that_are_not_told_leave_denials_to_a_group_open(members: tuple[Any, ...], told: str) -> None:
    """A group without memberships is not empty, and a member without its type may be a group."""
    rule = {"deniedPrincipals": ["principalSet://goog/group/a@b.example"]}
    rule |= {"deniedPermissions": ["container.googleapis.com/secrets.get"]}
    extra: list[Any] = [{"name": "groups/A", "groupKey": {"id": "a@b.example"}}]
    extra += ({"name": f"groups/A/memberships/{one['id']}", "preferredMemberKey": one} for one in members)
    name = "policies/x%2Fprojects%2Fpellowick-prod/denypolicies/d"
    extra.append({"name": name, "kind": "DenyPolicy", "rules": [{"denyRule": rule}]})
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=[*OF_GKE, *extra])
    assert cluster.can("user:platform-admin@pellowick.example", "get", "secrets").answer == "unknown"
    assert told in caveats_of_gke([*OF_GKE, *extra])


SERVICE_AGENT = "serviceAccount:service-123456789012@container-engine-robot.iam.gserviceaccount.com"
OTHER_PROJECT = "the policy of projects/{}, another project than that of the cluster, counts for nothing"


@pytest.mark.parametrize(
    ("project", "learned", "answer", "told"),
    [
        ("other", "", "no", OTHER_PROJECT.format("other")),
        ("999999999999", "", "unknown", "if projects/999999999999 is the project of the cluster"),
        ("999999999999", "agent", "no", OTHER_PROJECT.format("999999999999")),
        ("123456789012", "agent", "yes", ""),
        ("123456789012", "projects describe", "yes", ""),
        ("123456789012", "search-all-iam-policies", "yes", ""),
        ("pellowick-prod", "", "yes", ""),
    ],
)
def test_the_policy_of_another_project_grants_and_denies_nothing(
    project: str, learned: str, answer: str, told: str
) -> None:
    """Outputs may tell the number of the project of the cluster, whose description has its name."""
    binding = {"role": "roles/owner", "members": ["user:Zed@pellowick.example"]}
    outputs = (
        OF_GKE if learned == "agent" else json.loads(json.dumps(OF_GKE).replace(SERVICE_AGENT, "user:x@y.example"))
    )
    place = {"resource": "//cloudresourcemanager.googleapis.com/projects/pellowick-prod", "policy": {"bindings": []}}
    outputs_by_name: dict[str, list[Any]] = {
        "projects describe": [{"projectId": "pellowick-prod", "projectNumber": "123456789012"}],
        "search-all-iam-policies": [{**place, "project": "projects/123456789012"}],
    }
    outputs = [
        *outputs,
        *outputs_by_name.get(learned, []),
        {"id": project, "type": "project", "policy": {"bindings": [binding]}},
    ]
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=outputs)
    assert cluster.can("user:zed@pellowick.example", "get", "secrets").answer == answer
    assert told in caveats_of_gke(outputs)
    rule = {"deniedPrincipals": ["principalSet://goog/public:all"]}
    rule |= {"deniedPermissions": ["container.googleapis.com/secrets.get"]}
    policy = {"name": f"policies/x%2Fprojects%2F{project}/denypolicies/d", "kind": "DenyPolicy"}
    denied = simkit.load([GKE_NODE], captured=["*"], cloud=[*outputs[:-1], {**policy, "rules": [{"denyRule": rule}]}])
    of_another = {"yes": "no", "no": "yes"}.get(answer, answer)
    assert denied.can("user:platform-admin@pellowick.example", "get", "secrets").answer == of_another


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("resource.name.startsWith('projects/999999999999/')", "no"),
        ("resource.name.matches('projects/9[0-9]+/.*')", "no"),
        ("resource.name.matches('projects/12345678901[0-9]/.*')", "unknown"),
        ("resource.name.matches('projects/(pellowick|1234).*')", "yes"),
    ],
)
def test_a_condition_on_the_name_is_decided_where_the_number_is_known(expression: str, answer: str) -> None:
    """It counts where the id and the number of the project lead to the same answer."""
    binding: dict[str, Any] = {"role": "roles/owner", "members": ["user:zed@pellowick.example"]}
    binding |= {"condition": {"title": "c", "expression": expression}}
    policy = {"id": "pellowick-prod", "type": "project", "policy": {"bindings": [binding]}}
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=[*OF_GKE, policy])
    assert cluster.can("user:zed@pellowick.example", "get", "secrets").answer == answer


def test_a_pattern_that_fits_numbers_of_one_length_is_not_decided() -> None:
    """A dot fits a digit: fourteen fit the name of the project, and a number that is long enough."""
    dots = "." * len("pellowick-prod")
    expression = f"resource.name.matches('projects/{dots}/.*')"
    assert decide(expression, "pellowick-prod/locations/eu/clusters/c", 0) is None
    assert decide(expression, "pellowick-prod/locations/eu/clusters/c", 0, "12345678901234") is True


def test_a_member_of_a_group_without_its_type_may_be_a_group() -> None:
    """What is granted by the group says so, and the command that takes it away leaves that out."""
    policy = {"bindings": [{"role": "roles/container.viewer", "members": ["group:Devs@pellowick.example"]}]}
    described = {**OF_GKE[0], "authenticatorGroupsConfig": {"enabled": False}}
    outputs = [described, *OF_GKE[1:], {"id": "pellowick-prod", "type": "project", "policy": policy}]
    outputs += [{"name": "groups/d", "groupKey": {"id": "devs@pellowick.example"}}]
    outputs += [{"name": "groups/d/memberships/1", "preferredMemberKey": {"id": "all@pellowick.example"}}]
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=outputs)
    rows = cluster.who_can("get", "pods").set_index("subject")["binding"]
    assert "by group:devs@pellowick.example, if all@pellowick.example is a user" in rows["user:all@pellowick.example"]
    bindings = next(resource for resource, provider in ACCESS_ENTRIES.items() if provider == "GKE")
    command = disassociation(Key(bindings, "", rows["user:all@pellowick.example"]), "c")
    assert "--member group:devs@pellowick.example --role" in command


def test_descriptions_of_a_role_that_differ_leave_it_open() -> None:
    """Whatever their order."""
    name = "projects/pellowick-prod/roles/own"
    policy = {"bindings": [{"role": name, "members": ["user:zed@pellowick.example"]}]}
    bound = {"id": "pellowick-prod", "type": "project", "policy": policy}
    roles: list[dict[str, Any]] = [
        {"name": name, "includedPermissions": ["container.pods.get"]},
        {"name": name, "includedPermissions": ["container.pods.get", "container.secrets.get"]},
    ]
    for described in (roles, roles[::-1]):
        cluster = simkit.load([GKE_NODE], captured=["*"], cloud=[*OF_GKE, bound, *described])
        answers = {cluster.can("user:zed@pellowick.example", "get", what).answer for what in ("pods", "secrets")}
        assert answers == {"unknown"}
        assert f"which of the descriptions of {name} holds" in caveats_of_gke([*OF_GKE, bound, *described])
    cluster = simkit.load([GKE_NODE], captured=["*"], cloud=[*OF_GKE, bound, *roles, {"name": name, "deleted": True}])
    assert cluster.can("user:zed@pellowick.example", "get", "pods").answer == "unknown"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("main.tf", 'resource "aws_eks_access_entry" "ops" {\n}\n', "a configuration of Terraform"),
        ("plan.json", '{"format_version": "1.2", "terraform_version": "1.9.0"}', "a state or plan of Terraform"),
        ("page.json", "<html>Sign in", "not an output about a managed cluster"),
        ("empty.json", "", "nothing is in it"),
        ("names.json", '{"clusters": ["prod"]}', "says nothing about access to the cluster"),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\n", "an object of Kubernetes, which belongs into the dump"),
    ],
)
def test_a_file_that_is_no_export_is_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    """One sentence says which file it is, what it is, and what is expected."""
    (tmp_path / name).write_text(text)
    with pytest.raises(simkit.SimkitError, match="no output about a managed cluster was found") as raised:
        simkit.load([NODE], captured=["*"], cloud=tmp_path / name)
    assert f"{name}: " in str(raised.value)
    assert told in str(raised.value)
    assert "simkit dump --cloud PROVIDER" in str(raised.value)


def test_one_role_that_cannot_be_read_loses_no_other() -> None:
    """Each item of a list counts for itself, and policies may be texts, as the API of IAM has them."""
    account = "arn:aws:iam::111122223333"
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "x"}, "Action": "sts:AssumeRole"}]}
    may = {"Statement": {"Effect": "Allow", "Action": "eks:*", "Resource": "*"}}
    roles: list[dict[str, Any]] = [
        {"Arn": "arn:aws:iam::1:role/redacted", "RoleName": "redacted", "AssumeRolePolicyDocument": trust},
        {"Arn": f"{account}:role/odd", "RoleName": "odd", "AssumeRolePolicyDocument": quote(json.dumps(trust))},
        {"Arn": f"{account}:role/ops", "RoleName": "ops", "AssumeRolePolicyDocument": json.dumps(trust)},
    ]
    inline = [{"Effect": "allow"}, may["Statement"]]
    for role, statements in zip(roles, ([], inline[:1], inline[1:]), strict=True):
        role["RolePolicyList"] = [{"PolicyName": "p", "PolicyDocument": quote(json.dumps({"Statement": statements}))}]
        role["AttachedManagedPolicies"] = []
    read = with_cloud(load([NODE], captured=["*"]), [*OUTPUTS, {"RoleDetailList": roles, "IsTruncated": True}])
    assert read.authorization.access is not None
    assert [name for name, _ in read.authorization.access.changers] == [f"aws:{account}:role/ops"]
    told = " ".join(one.text for one in read.authorization.caveats)
    assert f"{account}:role/odd: the Effect of a statement is neither Allow nor Deny" in told
    assert "arn:aws:iam::1:role/redacted" in told
    assert "a list has further pages" in told


def test_pages_of_the_providers_apis_are_read() -> None:
    """Lists as REST answers them count as what is in them; what another page has is told."""
    described = [one for one in OF_GKE if "bindings" not in one.get("policy", {})]
    placed = [one for one in OF_GKE if "bindings" in one.get("policy", {})]
    clusters = [one for one in described if "currentMasterVersion" in one]
    others = [one for one in described if one not in clusters]
    nothing: list[Any] = [{}, {"nodePools": [{"name": "a"}]}, {"kind": "storage#policy", "bindings": []}]
    assert caveats_of_gke([{"clusters": clusters}, *placed, *others, *nothing]) == caveats_of_gke(OF_GKE)
    assert "a list has further pages" in caveats_of_gke([*OF_GKE, {"roles": [], "nextPageToken": "more"}])


def test_outputs_of_other_tools_are_read_as_those_of_the_command_lines() -> None:
    """Descriptions without their field, Cloud Asset Inventory, Azure Resource Graph, and the SDK of Azure for Python."""
    bare = [one[field] for one in OUTPUTS for field in ("cluster", "accessEntry", "association") if field in one]
    whole = [one for one in OUTPUTS if not {"cluster", "accessEntry", "association"} & one.keys()]
    for one in bare:
        mark = "resourcesVpcConfig" if "version" in one else "associationId" if "roleArn" in one else "accessEntryArn"
        one.setdefault(mark, {})
        one |= {"disableSessionTags": False} if mark == "associationId" else {}
    assert caveats([*whole, bare]) == ""

    def asset(one: Any) -> Any:
        kind = one.get("type")
        if kind in ("project", "folder", "organization"):
            place = f"//cloudresourcemanager.googleapis.com/{kind}s/{one['id']}"
            if kind == "project":
                return {"name": place, "iamPolicy": one["policy"], "ancestors": ["projects/123456789012"]}
            return {"policyResults": [{"fullResourceName": "x", "policies": [{"attachedResource": place, **one}]}]}
        return {"resource": {"data": one}} if "currentMasterVersion" in one or "includedPermissions" in one else one

    assert caveats_of_gke([{"assets": list(map(asset, OF_GKE))}]) == DENIALS_OF_GKE

    def in_snake_case(value: Any) -> Any:
        if isinstance(value, dict):
            return {re.sub("([a-z])([A-Z])", r"\1_\2", one).lower(): in_snake_case(of) for one, of in value.items()}
        return [in_snake_case(one) for one in value] if isinstance(value, list) else value

    assert caveats_of_aks({"data": OF_AKS, "count": 9, "skip_token": None}) == caveats_of_aks(OF_AKS)
    kept = [one for one in OF_AKS if not (isinstance(one, list) and "@odata.type" in str(one))]
    assert caveats_of_aks(in_snake_case(kept)) == caveats_of_aks(kept)


@pytest.mark.parametrize("start", ['{"principalId": ', '{"value": ', '{"AssumeRolePolicyDocument": ', '{"bindings": '])
def test_outputs_that_nest_deeply_end_in_an_error_of_ours(start: str) -> None:
    """Up to the depth that the reader of JSON takes."""
    for opened, closed in (("[", "]"), ('{"a_b": ', "}")):
        deep = f"{start}{opened * 900}1{closed * 900}}}"
        for outputs in (deep, [*map(json.dumps, OF_AKS), deep]):
            try:
                simkit.load([], captured=["*"], cloud=outputs)
            except simkit.SimkitError:
                continue
