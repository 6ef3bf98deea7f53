"""The audit: what it finds, what it leaves alone, what it says that it could not look at."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from simkit.analysis.findings import (
    CHECKS,
    Audit,
    Finding,
    Severity,
    audit,
    exposure,
    findings,
    reach,
    risky_permission_table,
)
from simkit.analysis.findings.holders import holders
from simkit.analysis.findings.survey import Survey
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.defaults import default_objects
from simkit.meta import datasets
from simkit.meta.attributes import Attributes
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.seams.authorization import stated
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.escalation import scenes
from tests.analysis.worlds import account, binding, clusters, namespace, role, rule, world
from tests.shared import SHARED, needs_shared

RBAC = "rbac.authorization.k8s.io"
CERTIFICATES = "certificates.k8s.io"
ADMISSION = "admissionregistration.k8s.io"


def ids(found: Audit) -> dict[str, str]:
    """The checks that found something, with the severity of the worst finding."""
    worst: dict[str, Severity] = {}
    for finding in found.findings:
        worst[finding.check] = max(worst.get(finding.check, Severity.INFO), finding.severity)
    return {check: severity.word for check, severity in worst.items()}


def held(*rules: dict[str, Any], where: str = "") -> dict[str, str]:
    """The findings in a cluster in which a user has these rules, in a namespace or everywhere."""
    return ids(audit(world(role("r", *rules), binding("b", "r", "user:ann", namespace=where))))


@pytest.mark.parametrize(
    ("check", "rules"),
    [
        ("rbac-escalate", [rule("escalate,update", "clusterroles", groups=RBAC)]),
        ("rbac-bind", [rule("bind", "clusterroles", groups=RBAC), rule("create", "rolebindings", groups=RBAC)]),
        ("rbac-write", [rule("create", "rolebindings", groups=RBAC)]),
        ("impersonate", [rule("impersonate", "groups")]),
        ("impersonate-accounts", [rule("impersonate", "serviceaccounts")]),
        ("token-create", [rule("create", "serviceaccounts/token")]),
        ("token-create", [rule("create", "*/token")]),
        ("secrets-list", [rule("watch", "secrets")]),
        ("secrets-get", [rule("get", "secrets")]),
        ("secrets-mint", [rule("create,get", "secrets")]),
        ("pod-create", [rule("create", "pods")]),
        ("workload-write", [rule("patch", "daemonsets", groups="apps")]),
        ("workload-write", [rule("create", "cronjobs", groups="batch")]),
        ("pod-exec", [rule("create", "pods/exec")]),
        ("pod-exec", [rule("get", "pods/attach")]),
        ("pod-debug", [rule("patch", "pods/ephemeralcontainers")]),
        ("pod-change", [rule("update", "pods")]),
        ("node-proxy", [rule("get", "nodes/proxy")]),
        ("node-write", [rule("patch", "nodes/status")]),
        (
            "certificate-approve",
            [
                rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
                rule("approve", "signers", groups=CERTIFICATES, names="kubernetes.io/kube-apiserver-client"),
            ],
        ),
        ("webhook-write", [rule("update", "mutatingwebhookconfigurations", groups=ADMISSION)]),
        ("admission-disarm", [rule("delete", "validatingadmissionpolicybindings", groups=ADMISSION)]),
        ("apiservice-write", [rule("create", "apiservices", groups="apiregistration.k8s.io")]),
        ("definition-write", [rule("patch", "customresourcedefinitions", groups="apiextensions.k8s.io")]),
        ("volume-create", [rule("create", "persistentvolumes")]),
        ("namespace-label", [rule("patch", "namespaces")]),
    ],
)
def test_risky_permissions_are_found(check: str, rules: list[dict[str, Any]]) -> None:
    """Each power is found where a rule gives it, in whatever form."""
    assert check in held(*rules)


@pytest.mark.parametrize(
    ("check", "rules", "where"),
    [
        (
            "rbac-bind",
            [rule("bind", "clusterrolebindings", groups=RBAC), rule("create", "rolebindings", groups=RBAC)],
            "",
        ),
        ("rbac-bind", [rule("create", "clusterrolebindings", groups=RBAC)], ""),
        ("certificate-approve", [rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES)], ""),
        ("secrets-mint", [rule("create", "secrets")], ""),
        ("secrets-get", [rule("get", "secrets", groups="example.com")], ""),
        ("secrets-get", [rule("get", "secrets/*")], ""),
        ("pod-create", [rule("create", "pods", names="web")], ""),
        ("node-proxy", [rule("get", "nodes/proxy")], "dev"),
        ("webhook-write", [rule("create", "mutatingwebhookconfigurations", groups=ADMISSION)], "dev"),
        ("impersonate", [rule("impersonate", "users")], "dev"),
    ],
)
def test_harmless_permissions_are_not_risky(check: str, rules: list[dict[str, Any]], where: str) -> None:
    """Look-alikes are left alone: wrong resource, half of the rights, a name on create, a RoleBinding on nodes."""
    assert check not in held(*rules, where=where)


def test_rights_of_a_subject_add_up() -> None:
    """Two halves of a power in two bindings, one of them of a group, make the power; in two namespaces they do not."""
    halves = (
        role("binder", rule("bind", "clusterroles", groups=RBAC)),
        role("writer", rule("create", "rolebindings", groups=RBAC)),
        binding("b1", "binder", "group:system:serviceaccounts"),
    )
    joined = audit(world(*halves, binding("b2", "writer", "sa:dev/app")))
    found = next(finding for finding in joined.findings if finding.check == "rbac-bind")
    assert [subject.name for subject in found.subjects] == ["app"]
    assert "ClusterRoleBinding b1" in found.message
    assert "ClusterRoleBinding b2" in found.message
    apart = world(
        *halves[:2],
        binding("b1", "binder", "user:ann", namespace="dev"),
        binding("b2", "writer", "user:ann", namespace="ops"),
    )
    assert "rbac-bind" not in ids(audit(apart))


def test_severity_depends_on_the_place_and_the_names() -> None:
    """The whole cluster is worse than a namespace, the system's own namespace worse than others, names are milder."""
    reading = rule("list,get", "secrets")
    assert held(reading)["secrets-list"] == "high"
    assert held(reading, where="dev")["secrets-list"] == "medium"
    assert held(reading, where="kube-system")["secrets-list"] == "high"
    assert held(rule("get", "secrets", names="db"))["secrets-get"] == "low"


def test_administrators_have_one_finding() -> None:
    """A subject with all permissions has one finding, not one for every risky permission."""
    found = held(rule("*", "*", groups="*"))
    assert found == {"cluster-admin": "critical"}
    edit = world(role("edit", rule("*", "secrets,pods")), binding("b", "edit", "group:devs", namespace="dev"))
    assert ids(audit(edit, checks=["namespace-admin", "secrets-get", "pod-create"])) == {"namespace-admin": "low"}


def test_grants_to_everybody() -> None:
    """Anything for the nameless is critical, writing for all accounts high, reading medium, URLs less."""

    def everybody(subject: str, granted: dict[str, Any]) -> str:
        snapshot = world(role("r", granted), binding("b", "r", subject))
        return ids(audit(snapshot, checks=["everybody"])).get("everybody", "nothing")

    assert everybody("group:system:unauthenticated", rule("get", "pods")) == "critical"
    assert everybody("group:system:unauthenticated", rule("get", "configmaps", names="cluster-info")) == "medium"
    assert everybody("user:system:anonymous", rule("get", urls="/metrics")) == "medium"
    assert everybody("group:system:authenticated", rule("create", "pods")) == "high"
    assert everybody("group:system:serviceaccounts:dev", rule("get", "pods")) == "medium"
    assert everybody("group:system:nodes", rule("get", "pods")) == "nothing"


def test_loose_ends() -> None:
    """Missing roles, accounts and namespaces, empty, double and unused things are found with their repair."""
    snapshot = world(
        *(namespace("dev"), account("dev", "app"), role("r", rule("get", "pods")), role("idle", rule("get", "pods"))),
        binding("b1", "gone", "user:ann"),
        binding("b2", "r", "sa:dev/ghost", "sa:dev/app"),
        binding("b3", "r", "sa:nowhere/app", namespace="dev"),
        binding("b4", "r", namespace="dev"),
        binding("b5", "r", "user:ann"),
        binding("b6", "r", "user:ann"),
        binding("b7", "r", "sa:dev/default", namespace="dev"),
    )
    found = audit(snapshot)
    expected = {"missing-role", "missing-account", "missing-namespace", "empty-binding", "duplicate-binding"}
    assert expected | {"unused-role", "default-account"} <= set(ids(found))
    by_check = {finding.check: finding for finding in found.findings}
    assert by_check["missing-role"].command == "kubectl delete clusterrolebinding b1"
    assert by_check["missing-namespace"].command == "kubectl delete rolebinding b3 --namespace dev"
    ghost = next(
        each for each in found.findings if each.check == "missing-account" and each.subjects[0].name == "ghost"
    )
    assert ghost.manifest is not None
    assert [entry["name"] for entry in ghost.manifest["subjects"]] == ["app"]
    assert by_check["unused-role"].role is not None
    assert by_check["unused-role"].role.name == "idle"


def test_rules_without_effect() -> None:
    """Subresource stars, names on create, nodes in a RoleBinding and unknown resources are told."""
    found = audit(
        world(
            role(
                "r",
                rule("get", "pods/*"),
                rule("create", "pods", names="web"),
                rule("get", "nodes"),
                rule("get", "podz"),
            ),
            binding("b", "r", "user:ann", namespace="dev"),
        ),
        checks=["dead-rule", "unknown-resource"],
    )
    assert sorted((finding.check, finding.rules) for finding in found.findings) == [
        ("dead-rule", (0,)),
        ("dead-rule", (1,)),
        ("dead-rule", (2,)),
        ("unknown-resource", (3,)),
    ]


def test_create_with_names_is_for_applies() -> None:
    """The server checks an apply that creates for create with the name; with patch beside it, the rule is no leftover."""
    named = rule("create", "configmaps", names="web")
    objects = [
        namespace("dev"),
        role("r", named, rule("patch", "configmaps", names="web")),
        role("idle", named),
        *(binding("b", "r", "user:ann", namespace="dev"), binding("c", "idle", "user:bob", namespace="dev")),
    ]
    found = audit(world(*objects), checks=["dead-rule"])
    assert [finding.role.name for finding in found.findings if finding.role] == ["idle"]
    cluster = scenes.served(*objects)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "dev"}}
    for name, code in (("ann", 201), ("bob", 403)):
        path = "/api/v1/namespaces/dev/configmaps/web?fieldManager=test"
        request = Request.of("PATCH", path, applied, content_type="application/apply-patch+yaml")
        assert cluster.fork().perform(request, identity=Identity(name, ("system:authenticated",))).status == code


def test_additions_to_the_servers_roles() -> None:
    """A label that makes everybody with view a reader of secrets is found; one that adds a custom kind is not."""
    to_view = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    snapshot = world(
        role("bad", rule("get", "secrets"), labels=to_view),
        role("good", rule("get", "widgets", groups="example.com"), labels=to_view),
    )
    found = audit(snapshot, checks=["aggregation"]).findings
    assert [finding.role.name for finding in found if finding.role] == ["bad"]


def test_the_servers_own_objects_are_set_aside_while_unchanged() -> None:
    """A fresh server has no findings; with its defaults included, or one of them changed, it has."""
    defaults = list(default_objects("1.30"))
    assert [finding.message for finding in audit(world(*defaults)).findings] == []
    assert audit(world(*defaults), include_defaults=True).filter(severity="critical")
    changed = binding("system:node-proxier", "cluster-admin", "user:system:kube-proxy")
    assert ids(audit(world(*defaults, changed)))["cluster-admin"] == "critical"


def test_checks_without_their_data_are_skipped_with_a_reason() -> None:
    """Without service accounts and namespaces in the dump, only the checks that need them are skipped."""
    snapshot = MemorySnapshot([], captured=["roles", "clusterroles", "rolebindings", "clusterrolebindings"])
    found = audit(snapshot)
    assert {one.check for one in found.skipped} == {
        "admin-pods",
        "power-pods",
        "unused-account",
        "needless-token",
        "missing-account",
        "missing-namespace",
        "unknown-resource",
        "pod-security",
        "network-policy",
    }
    assert "serviceaccounts" in next(one.reason for one in found.skipped if one.check == "missing-account")
    with pytest.raises(IncompleteSnapshot):
        audit(MemorySnapshot([], captured=["pods"]))


def test_tables_of_an_audit() -> None:
    """The frame has a row per finding, worst first; wrong words are refused."""
    snapshot = world(role("r", rule("*", "*", groups="*")), binding("b", "r", "user:ann"))
    found = audit(snapshot)
    assert found.counts()["critical"] == 1
    assert repr(found) == "<Audit: 1 critical. Skipped 0 unmodified default roles and bindings.>"
    assert "</b><br>critical" in found._repr_html_()
    assert "cluster-admin" in set(found.summary()["check"])
    assert findings(snapshot).equals(found.to_frame())
    assert list(found.summary()["check"]) == ["cluster-admin"]
    with pytest.raises(SimkitError, match="no severity 'bad'"):
        found.filter(severity="bad")
    with pytest.raises(SimkitError, match="no check 'bad'"):
        audit(snapshot, checks=["bad"])


def test_exposure_and_reach_count_the_same() -> None:
    """Per namespace and per subject the same risky permissions are counted, administrators with all of them."""
    snapshot = world(
        role("admin-all", rule("*", "*", groups="*")),
        role("r", rule("get,list", "secrets")),
        binding("b1", "admin-all", "user:root"),
        binding("b2", "r", "user:ann", "user:bob", namespace="dev"),
    )
    matrix, table = exposure(snapshot), reach(snapshot).set_index("subject")
    assert list(matrix.index) == ["*", "dev"]
    assert matrix.loc["dev", "secrets-list"] == 2
    assert (matrix.loc["*"] == 1).all()
    assert table.loc["user:root", "cluster_wide"] == len(risky_permission_table().permissions)
    assert tuple(table.loc["user:ann"][["cluster_wide", "in_namespaces", "namespaces"]]) == (0, 2, 1)


@pytest.mark.slow
@settings(max_examples=60)
@given(snapshot=clusters())
def test_holders_of_risky_permissions_are_allowed_what_it_takes(snapshot: MemorySnapshot) -> None:
    """On random clusters whoever is said to hold a power without limits may do all that it takes, there."""
    index, survey = index_of(snapshot), Survey(snapshot)
    for permission in risky_permission_table().permissions:
        for (subject, place), holding in holders(survey, permission, administrators=True).items():
            for requirement in holding.requirements if not holding.names else ():
                asks = [
                    Attributes(
                        *(identity_of(subject), one.permission.verb, one.permission.group, ""),
                        *(*_halves(one.permission.resource), "" if one.cluster else place),
                    )
                    for one in requirement.any_of
                ]
                assert any(index.authorize(ask).allowed for ask in asks), (permission.id, subject, place)


def _halves(resource: str) -> tuple[str, str]:
    plural, _, subresource = resource.partition("/")
    return plural, subresource


def test_check_ids_are_unique() -> None:
    """No two checks share an id, and each says why and what to do."""
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.why.endswith(".") and check.fix.endswith(".") for check in CHECKS)


def planted(kind: str) -> list[dict[str, Any]]:
    """The objects that were planted in the demo cluster: ``mistakes`` or ``innocent``."""
    listed: list[dict[str, Any]] = datasets.load("clusters/pellowick-mistakes.json")[kind]
    return listed


@pytest.fixture(scope="module")
def bundled() -> Audit:
    """The audit of the cluster that comes along."""
    return audit(load(datasets.path("clusters/pellowick.json.gz")).snapshot())


def about(finding: Finding, planted_objects: list[dict[str, str]]) -> bool:
    """True if a finding's evidence is one of the planted objects."""
    keys = {(one["namespace"], one["name"]) for one in planted_objects if one["kind"].endswith(("Role", "Binding"))}
    return any(key is not None and (key.namespace, key.name) in keys for key in (finding.binding, finding.role))


@pytest.mark.slow
@pytest.mark.parametrize("mistake", planted("mistakes"), ids=lambda mistake: mistake["name"])
def test_every_planted_mistake_is_found(mistake: dict[str, Any], bundled: Audit) -> None:
    """Each mistake has a finding of each check that must see it, with the planted objects as evidence."""
    found = {finding.check for finding in bundled.findings if about(finding, mistake["objects"])}
    assert set(mistake["checks"]) <= found


@pytest.mark.parametrize("innocent", planted("innocent"), ids=lambda innocent: innocent["name"])
def test_innocent_objects_have_no_bad_findings(innocent: dict[str, Any], bundled: Audit) -> None:
    """The objects planted as innocent have no high or critical finding."""
    assert not [finding for finding in bundled.filter(severity="high") if about(finding, innocent["objects"])]


@pytest.mark.slow
@needs_shared
def test_the_planted_mistakes_of_a_company_are_found() -> None:
    """In a cluster of 25 products and a company, each kind of mistake that was planted has its finding."""
    found = audit(load(SHARED / "datasets/operators-and-teams.json.gz").snapshot())
    pairs = {(finding.check, finding.binding.name if finding.binding else "") for finding in found.findings}
    expected = {
        ("cluster-admin", "company:tiller"),
        ("cluster-admin", "company:sandbox-default"),
        ("default-account", "company:sandbox-default"),
        ("missing-role", "company:missing-role"),
        ("missing-account", "company:missing-sa"),
        ("missing-namespace", "company:missing-sa"),
        ("empty-binding", "company:empty-binding"),
        ("everybody", "company:everyone-view"),
        ("everybody", "company:metrics-anonymous"),
        ("everybody", "everyone-admin"),
        ("impersonate", "company:portal"),
        ("token-create", "company:token-broker"),
        ("rbac-escalate", "company:role-escalator"),
        ("certificate-approve", "company:csr"),
        ("node-proxy", "company:metrics-scraper"),
        ("webhook-write", "company:mesh"),
        ("namespace-label", "company:ns-labeller"),
        ("volume-create", "company:pv"),
        ("secrets-list", "company:log-shipper"),
    }
    assert expected <= pairs, expected - pairs
    assert ("certificate-approve", "company:csr-weak") not in pairs, "it cannot approve for any signer"
    assert ("rbac-escalate", "company:role-author") not in pairs, "it cannot escalate"
    assert not found.skipped


def test_a_namespace_with_something_in_it_is_there() -> None:
    """Manifests leave namespaces out; an account or a binding in one shows that it is meant to be."""
    named = binding("b", "r", "sa:prod/web")
    for there, check in ((account("prod", "other"), "missing-account"), (account("dev", "other"), "missing-namespace")):
        found = ids(audit(world(role("r", rule("get", "pods")), named, there)))
        assert check in found
        assert len({"missing-account", "missing-namespace"} & set(found)) == 1
    assert "missing-account" not in ids(audit(world(role("r", rule("get", "pods")), named, account("prod", "web"))))


@pytest.mark.parametrize(
    ("check", "granted"),
    [
        ("secrets-write", rule("patch", "secrets")),
        ("secrets-mint", rule("create,patch", "secrets")),
        ("secrets-list", rule("deletecollection", "secrets")),
        ("pod-reach", rule("get", "*/proxy")),
        ("pod-place", rule("create", "pods/binding")),
        ("node-write", rule("create", "nodes")),
        ("certificate-node", rule("create", "certificatesigningrequests/nodeclient", groups="certificates.k8s.io")),
        ("system-config", rule("update", "configmaps", names="aws-auth,other")),
        ("storage-write", rule("create", "csidrivers", groups="storage.k8s.io")),
        ("deputy-write", rule("create", "applications", groups="argoproj.io")),
        ("deputy-write", rule("patch", "kustomizations", groups="*")),
        ("traffic-write", rule("deletecollection", "networkpolicies", groups="networking.k8s.io")),
    ],
)
def test_further_risky_permissions(check: str, granted: dict[str, Any]) -> None:
    """Rows of the escalation table that are dangerous wherever they are granted."""
    assert check in {one.check for one in audit(world(role("r", granted), binding("b", "r", "user:ann"))).findings}


def test_configuration_of_the_cluster_is_in_one_namespace() -> None:
    """A config map called aws-auth in another namespace maps nobody."""
    for place, found in (("kube-system", True), ("dev", False)):
        objects = [role("r", rule("update", "configmaps")), binding("b", "r", "user:ann", namespace=place)]
        assert ("system-config" in {one.check for one in audit(world(*objects)).findings}) is found


def test_controllers_of_the_control_plane_are_used() -> None:
    """They run in no pods; what others bind to them is no reason to call them unused."""
    objects = [
        *(account("kube-system", "horizontal-pod-autoscaler"), account("kube-system", "left-over")),
        scenes.pod("kube-system", "dns", "dns"),
        role("metrics", rule("get", "*", groups="external.metrics.k8s.io")),
        *(binding(name, "metrics", f"sa:kube-system/{name}") for name in ("horizontal-pod-autoscaler", "left-over")),
    ]
    found = [one for one in audit(world(*objects)).findings if one.check == "unused-account"]
    assert [one.subjects[0].name for one in found] == ["left-over"]


@pytest.mark.parametrize(
    ("modes", "open_to_all"),
    [(["AlwaysAllow"], True), (["Node", "RBAC", "AlwaysAllow"], True), (["AlwaysDeny", "AlwaysAllow"], False)],
)
def test_an_api_server_that_allows_everything(modes: list[str], open_to_all: bool) -> None:
    """The authorizer AlwaysAllow is critical, whatever roles and bindings there are, and every answer says so."""
    snapshot = MemorySnapshot([], captured=["*"], authorization=stated(modes))
    found = audit(snapshot, severity="critical")
    assert ("always-allow" in ids(found)) == open_to_all
    assert any("Everyone can do anything" in caveat.text for caveat in found.caveats) == open_to_all
