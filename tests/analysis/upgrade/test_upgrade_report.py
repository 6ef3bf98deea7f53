"""The breakages of an upgrade: versions, callers, rules, configuration, definitions, fields, charts."""

from __future__ import annotations

import base64
import gzip
import json
import tarfile
from pathlib import Path
from typing import Any

import orjson
import pytest

import simkit
from simkit.analysis import UpgradeReport, upgrade_report
from simkit.analysis.upgrade.items import Break, read_items
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.analysis.upgrade.upgrade_report import report_of
from simkit.meta.errors import SimkitError
from simkit.snapshot.memory import MemorySnapshot
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

BETA = "flowcontrol.apiserver.k8s.io/v1beta3"
METRICS = """\
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="flowcontrol.apiserver.k8s.io",resource="flowschemas",verb="LIST",version="v1beta3"} 12
"""


def report(source: Any, to: str, since: str = "", **more: Any) -> UpgradeReport:
    return report_of(read_items(source), ReleaseSpan.of(since, to), **more)


def rows(source: Any, to: str, since: str = "", **more: Any) -> list[Break]:
    return [row for row in report(source, to, since, **more).rows if row.breaks]


def named(kind: str, api_version: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **more}


def stored(obj: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "uid": "1", **metadata}}


def test_a_manifest_in_a_version_that_goes() -> None:
    """It breaks at the release that removes the version, and is told what to do."""
    job = named("CronJob", "batch/v1beta1", spec={})
    assert not rows(job, "1.24")
    (row,) = rows(job, "1.25")
    assert (row.release, row.severity, row.field) == ("1.25", "high", "apiVersion")
    assert row.remedy == "Use batch/v1 CronJob. Only apiVersion changes."
    assert row.source.endswith("#v1-25")
    told = report(job, "1.24").rows
    assert [(each.check, each.severity) for each in told] == [("api-version-deprecated", "info")]


def test_the_successor_is_one_that_the_target_serves() -> None:
    """A recommended replacement may be gone as well."""
    (row,) = rows(named("FlowSchema", "flowcontrol.apiserver.k8s.io/v1beta2"), "1.33")
    assert row.remedy.startswith("Use flowcontrol.apiserver.k8s.io/v1 FlowSchema.")


def test_fields_that_change_with_the_version() -> None:
    """A change of the version alone is warned of where fields change with it."""
    budget = named("PodDisruptionBudget", "policy/v1beta1", spec={"selector": {}})
    (row,) = rows(budget, "1.25")
    assert "spec.selector" in row.remedy


def test_documents_without_names_and_of_the_same_name() -> None:
    """Every document counts, whatever its name."""
    text = (
        "apiVersion: batch/v1beta1\nkind: CronJob\n---\n" * 2
        + "{apiVersion: batch/v1beta1, kind: CronJob, metadata: {name: a}}\n"
    )
    assert sorted(row.line or 0 for row in rows(text, "1.25")) == [1, 4, 7]


def test_stored_objects_count_by_their_managers() -> None:
    """An object in an old form is nothing by itself; who wrote it in that version last is."""
    ingress = stored(named("Ingress", "networking.k8s.io/v1beta1", spec={}))
    assert not rows(ingress, "1.22", "1.21")
    managed = [{"manager": "helm", "apiVersion": "networking.k8s.io/v1beta1", "operation": "Update"}]
    (row,) = rows(stored(ingress, managedFields=managed), "1.22", "1.21")
    assert (row.who, row.evidence) == ("helm", "written by helm in this version")


@pytest.mark.parametrize(
    ("since", "to", "time", "breaks"),
    [
        ("1.21", "1.22", "2021-06-01T00:00:00Z", True),  # after 1.21 came out
        ("1.21", "1.22", "2019-06-01T00:00:00Z", False),
        ("", "1.35", "2021-06-01T00:00:00Z", True),  # of an unknown release: 1.21 was the last to serve it
        ("", "1.35", "2019-06-01T00:00:00Z", False),
        ("1.31", "1.35", "2021-06-01T00:00:00Z", False),  # 1.31 does not serve the version either
    ],
)
def test_field_managers_of_the_past_break_nothing(since: str, to: str, time: str, breaks: bool) -> None:
    """Who last wrote in a version before the first release of the upgrade was out has stopped."""
    ingress = stored(named("Ingress", "networking.k8s.io/v1", spec={}))
    managed = [{"manager": "helm", "apiVersion": "networking.k8s.io/v1beta1", "operation": "Update", "time": time}]
    found = report(stored(ingress, managedFields=managed), to, since)
    assert [row.breaks for row in found.rows if row.field == "metadata.managedFields"] == [breaks]
    assert (" 2021" in str(found.rows)) == ("2021" in time)


def test_an_annotation_may_be_stale() -> None:
    """The annotation of the last apply counts only if no field manager says more."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(named("Ingress", "extensions/v1beta1"))}
    ingress = stored(named("Ingress", "networking.k8s.io/v1", spec={}), annotations=applied)
    (row,) = rows(ingress, "1.22", "1.21")
    assert row.severity == "medium"
    managed = [{"manager": "kubectl", "apiVersion": "networking.k8s.io/v1", "operation": "Update"}]
    newer = report(stored(ingress, annotations=applied, managedFields=managed), "1.22", "1.21")
    assert [(each.severity, each.breaks) for each in newer.rows] == [("info", False)]


def test_objects_that_cannot_be_reached_any_more() -> None:
    """No version is left of pod security policies."""
    policy = stored(named("PodSecurityPolicy", "policy/v1beta1", spec={}))
    assert ("api-version", "critical") in {(row.check, row.severity) for row in rows(policy, "1.25", "1.24")}


def test_references_within_objects() -> None:
    """The target of an autoscaler in a version that goes is found; a text that spells a manifest is only told."""
    target = {"apiVersion": "extensions/v1beta1", "kind": "Deployment", "name": "web"}
    (row,) = rows(named("HorizontalPodAutoscaler", "autoscaling/v1", spec={"scaleTargetRef": target}), "1.16")
    assert row.field == "spec.scaleTargetRef"
    text = {"job.yaml": "apiVersion: batch/v1beta1\nkind: CronJob\n"}
    (told,) = report(named("ConfigMap", "v1", data=text), "1.25").rows
    assert (told.field, told.breaks) == ("data.job.yaml", False)


def test_rules_that_name_what_goes() -> None:
    """A rule over a group that lost the resource grants nothing any more, unless the role grants the new place too."""
    old = {"apiGroups": ["extensions"], "resources": ["ingresses"], "verbs": ["get"]}
    new = {**old, "apiGroups": ["networking.k8s.io"]}
    role = named("ClusterRole", "rbac.authorization.k8s.io/v1", rules=[old])
    (row,) = rows(role, "1.22", "1.21")
    assert (row.check, row.field) == ("rule", "rules[0]")
    assert not rows({**role, "rules": [old, new]}, "1.22", "1.21")
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": row.name}
    subjects = [{"kind": "ServiceAccount", "name": "web", "namespace": "shop"}, {"kind": "Group", "name": "devs"}]
    bound = named("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", roleRef=reference, subjects=subjects)
    (told,) = report_of(read_items([role, bound]), ReleaseSpan.of("1.21", "1.22")).rows
    assert told.who == "sa:shop/web, group:devs"
    assert not rows({**role, "rules": [{**old, "apiGroups": ["batch"], "resources": ["cronjobs"]}]}, "1.25", "1.24")


def test_webhooks_that_match_what_goes() -> None:
    """A webhook that names only versions that go sees nothing any more."""
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1beta1"], "resources": ["cronjobs"], "operations": ["CREATE"]}
    hook = named(
        "ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1",
        webhooks=[{"name": "h.example.com", "rules": [rule]}],
    )
    (row,) = rows(hook, "1.25", "1.24")
    assert (row.check, row.field) == ("configuration", "h.example.com")
    both = {**rule, "apiVersions": ["v1", "v1beta1"]}
    assert not rows({**hook, "webhooks": [{"name": "h.example.com", "rules": [both]}]}, "1.25", "1.24")
    for beside in (
        {**rule, "apiVersions": ["v1"]},
        {**rule, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]},
    ):
        assert not rows({**hook, "webhooks": [{"name": "h.example.com", "rules": [rule, beside]}]}, "1.25", "1.24")
    other = {**rule, "apiVersions": ["v1"], "resources": ["jobs"]}
    assert rows({**hook, "webhooks": [{"name": "h.example.com", "rules": [rule, other]}]}, "1.25", "1.24")


def test_a_role_for_a_policy_that_goes_breaks_nothing() -> None:
    """That a role names security policies tells that they were in use; the role itself does no harm."""
    allow = {"apiGroups": ["policy"], "resources": ["podsecuritypolicies"], "verbs": ["use"]}
    role = named("ClusterRole", "rbac.authorization.k8s.io/v1", rules=[allow])
    found = report(role, "1.25", "1.24").rows
    assert {row.check for row in found} == {"pod-security-policy", "rule"}
    assert not any(row.breaks for row in found)


def test_versions_of_definitions() -> None:
    """Versions that objects may be stored in are told, and custom objects in versions that are not served."""
    versions = [{"name": "v1", "served": True, "storage": True}, {"name": "v1beta1", "served": False, "storage": False}]
    spec = {"group": "example.com", "names": {"kind": "Shop", "plural": "shops"}, "versions": versions}
    definition = named(
        "CustomResourceDefinition", "apiextensions.k8s.io/v1", spec=spec, status={"storedVersions": ["v1beta1", "v1"]}
    )
    found = report([definition, named("Shop", "example.com/v1beta1"), named("Shop", "example.com/v1")], "1.30").rows
    assert sorted((row.check, row.where) for row in found) == [
        ("custom-version", "Shop a apiVersion"),
        ("stored-versions", "CustomResourceDefinition a status.storedVersions"),
    ]


def test_fields_that_the_target_does_not_know() -> None:
    """A field that a release took away is found; a misspelled one is told, and breaks nothing."""
    service = named("Service", "v1", spec={"topologyKeys": ["*"], "prots": []})
    fields = {
        row.field: row.breaks for row in report(service, "1.22", "1.21").rows if row.check in ("field", "unknown-field")
    }
    assert fields == {"spec.topologyKeys": True, "spec.prots": False}


def event(user: str, code: int = 200, agent: str = "robot/1") -> dict[str, Any]:
    group, _, version = BETA.partition("/")
    return {
        "auditID": f"{user}{code}{agent}",
        "verb": "list",
        "user": {"username": user},
        "userAgent": agent,
        "requestURI": f"/apis/{BETA}/flowschemas",
        "objectRef": {"apiGroup": group, "apiVersion": version, "resource": "flowschemas"},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": "2026-01-01T00:00:00Z",
    }


def test_callers_by_name() -> None:
    """Callers are subjects with their programs; who adapts, or never succeeded, is set aside."""
    log = [
        event("system:serviceaccount:ops:tuner"),
        event("system:serviceaccount:kube-system:generic-garbage-collector"),
        event("ann", 403),
    ]
    found = report([], "1.32", "1.31", audit_log=log)
    assert [(row.who, row.release) for row in found.rows if row.breaks] == [("sa:ops/tuner (robot/1)", "1.32")]
    aside = {row.who: row.evidence for row in found.rows if not row.breaks}
    assert "adapts by itself" in aside["sa:kube-system/generic-garbage-collector (robot/1)"]
    assert "never succeeded" in aside["user:ann (robot/1)"]


def test_kubectl_that_is_too_old() -> None:
    """A kubectl more than one release away is told with the hop."""
    log = [event("ann", agent="kubectl/v1.30.1 (linux/amd64)")]
    found = [row for row in report([], "1.33", "1.31", audit_log=log).rows if row.check == "kubectl-skew"]
    assert [(row.release, row.breaks) for row in found] == [("1.32", False)]


def test_metrics_as_evidence() -> None:
    """The metric tells that a version is asked for, and how often."""
    (row,) = rows([], "1.32", "1.31", metrics=METRICS)
    assert (row.where, row.release) == (f"{BETA} flowschemas", "1.32")
    assert "12 requests" in row.evidence


def helm_secret(manifest: str) -> dict[str, Any]:
    record = orjson.dumps({"name": "shop", "namespace": "web", "manifest": manifest})
    data = base64.b64encode(base64.b64encode(gzip.compress(record))).decode()
    secret = named("Secret", "v1", type="helm.sh/release.v1", data={"release": data})
    return {
        **secret,
        "metadata": {
            "name": "sh.helm.release.v1.shop.v1",
            "namespace": "web",
            "uid": "1",
            "labels": {"owner": "helm", "status": "deployed"},
        },
    }


def test_releases_of_charts() -> None:
    """The manifests that Helm keeps of a deployed release are looked at; values that were left out are told."""
    secret = helm_secret("---\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: nightly\n")
    (row,) = rows(secret, "1.25")
    assert (row.where, row.who) == ("CronJob nightly apiVersion (release web/shop)", "")
    assert "helm upgrade shop CHART --namespace web" in row.remedy
    (told,) = report({**secret, "data": {"release": ""}}, "1.25").rows
    assert told.check == "not-read"


def test_records_that_are_none_are_told() -> None:
    """A record that breaks off, is too often packed or no object is named with the reason; old revisions are not."""
    whole = helm_secret("kind: Pod")
    text = base64.b64decode(whole["data"]["release"]).decode()
    wrong = {
        "breaks off": base64.b64encode(text[: len(text) // 2].encode()).decode(),
        "no base64": "%%%",
        "no object": base64.b64encode(base64.b64encode(gzip.compress(b"[1]"))).decode(),
    }
    for release in wrong.values():
        (told,) = report({**whole, "data": {"release": release}}, "1.25").rows
        assert told.check == "not-read"
        assert "no record of Helm" in told.what
    old = {**whole["metadata"], "labels": {"owner": "helm", "status": "superseded"}}
    assert not report({**whole, "metadata": old, "data": {"release": "%%%"}}, "1.25").rows


def test_templates_are_named(tmp_path: Path) -> None:
    """Of a template that nobody rendered the version is read where it is plain, and the file is named where not."""
    folder = tmp_path / "shop" / "templates"
    folder.mkdir(parents=True)
    (folder / "job.yaml").write_text(
        "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: {{ .Release.Name }}\n"
    )
    (folder / "web.yaml").write_text('apiVersion: {{ template "web.version" . }}\nkind: Deployment\n')
    found = report(tmp_path, "1.25")
    assert [row.kind for row in found.rows if row.breaks] == ["CronJob"]
    assert [row.file for row in found.rows if row.check == "not-read"] == [str(folder / "web.yaml")]


def test_unknown_releases_are_refused() -> None:
    """The message names the newest known release."""
    with pytest.raises(SimkitError, match=r"the known releases are 1\.16 to 1\.37"):
        report([], "1.99")
    with pytest.raises(SimkitError, match="comes before"):
        report([], "1.20", "1.25")


def test_of_a_cluster() -> None:
    """A cluster asks the same question from its own release."""
    cluster = simkit.Cluster(release="1.24", seed=1)
    assert not cluster.upgrade_report("1.25")
    found = cluster.upgrade_report("1.25", manifests=named("CronJob", "batch/v1beta1"))
    assert found.has_impact
    assert found.summary()["count"].tolist() == [1]
    assert "1 thing breaks (1 high)" in repr(found)


@needs_shared
def test_other_tools_on_old_manifests(tmp_path: Path) -> None:
    """Whatever three other tools call removed is removed, but for two kinds that one of them has a wrong release for."""
    with tarfile.open(SHARED / "datasets" / "old-manifests.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    items = read_items(tmp_path)
    verdicts = [
        orjson.loads(line) for line in (SHARED / "datasets" / "manifest-verdicts.jsonl").read_bytes().splitlines()
    ]
    wrong = set()
    for target in ("1.16", "1.22", "1.25", "1.32"):
        found = report_of(items, ReleaseSpan.of("", target)).rows
        ours = {
            (row.file.removeprefix(f"{tmp_path}/"), row.api_version, row.kind)
            for row in found
            if row.check == "api-version" and row.breaks
        }
        for verdict in verdicts:
            place = f"{verdict['repo']}@{verdict['commit'][:10]}/{verdict['path']}"
            told = [verdict[tool][target] for tool in ("pluto", "kubent", "kubepug")]
            key = (place, verdict["apiVersion"], verdict["kind"])
            if ("removed" in told) != (key in ours):
                wrong.add((target, verdict["apiVersion"], verdict["kind"], key in ours))
    assert wrong == {
        ("1.22", "rbac.authorization.k8s.io/v1alpha1", "ClusterRoleBinding", False),  # served until 1.22
        ("1.22", "scheduling.k8s.io/v1alpha1", "PriorityClass", False),  # served until 1.22
        ("1.25", "node.k8s.io/v1alpha1", "RuntimeClass", True),  # gone in 1.24, in nobody's table
        ("1.32", "node.k8s.io/v1alpha1", "RuntimeClass", True),
    }


@needs_shared
def test_callers_of_a_recorded_cluster() -> None:
    """The programs that ask for what 1.32 takes away are found by name."""
    found = upgrade_report(MemorySnapshot([]), "1.32", since="1.31", audit_log=SHARED / "datasets" / "audit.jsonl.gz")
    assert sorted({row.who.partition(" ")[0] for row in found.rows if row.breaks}) == [
        "sa:platform-tools/apf-tuner",
        "user:auditor-1",
    ]


def test_values_of_wrong_types_are_told_and_left_out() -> None:
    """No server takes them; what stands beside them is looked at all the same."""
    hooks = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "h"},
    }
    old = {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "annotations": ["a"]},
    }
    found = report([{**hooks, "webhooks": {"a": "b"}}, {**hooks, "webhooks": [5, {"rules": 7}]}, old], "1.25").rows
    assert sorted(row.what for row in found if row.check == "fails-already") == [
        "It fails already: metadata.annotations is a list, not an object",
        "It fails already: webhooks is an object, not a list",
        "It fails already: webhooks[0] is a number, not an object",
        "It fails already: webhooks[0].rules is a number, not a list",
    ]
    assert [row.kind for row in found if row.breaks] == ["PodDisruptionBudget"]


POLICY = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("before", "breaks"),
    [
        ("", True),
        ("{{- if .Values.budget.enabled }}\n", True),
        ("{{- if .Values.old.enabled }}\n", False),
        ("{{- if .Values.missing.enabled }}\n", False),
        ('{{- if .Capabilities.APIVersions.Has "policy/v1beta1" }}\n', False),
        ('{{- if semverCompare "<1.21-0" .Capabilities.KubeVersion.GitVersion }}\n', False),
        ("{{- if .Capabilities.HelmVersion }}\na: b\n{{- end }}\n{{- with .Values.old }}\n", True),
        ("{{- if .Values.budget.enabled -}}\n{{- else }}\n", True),
        ("{{- if or .Values.old.enabled .Values.budget.enabled }}\n", True),
    ],
)
def test_templates_under_conditions(before: str, breaks: bool, tmp_path: Path) -> None:
    """A template that the values leave out, or that asks what the server serves, breaks nothing."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "values.yaml").write_text("budget: {enabled: true}\nold: {enabled: false}\n")
    (tmp_path / "templates" / "budget.yaml").write_text(
        f"{before}{POLICY}" + ("{{- end }}\n" if before else "# {{ a }}")
    )
    report = upgrade_report(MemorySnapshot([], release="1.24"), "1.25", manifests=tmp_path)
    assert [row.breaks for row in report.rows if row.check == "api-version"] == [breaks]


def test_directives_of_patches_are_no_fields() -> None:
    """A strategic merge patch among manifests says what to delete or replace."""
    spec = {"containers": [{"name": "a", "$patch": "delete"}], "bogus": True}
    rows = upgrade_report(MemorySnapshot([], release="1.33"), "1.34", manifests=named("Pod", "v1", spec=spec)).rows
    assert [row.field for row in rows] == ["spec.bogus"]


def test_the_coming_release() -> None:
    """What is planned to go with the release after the newest one is told, as planned; later ones are not known."""
    claim = named("ResourceClaim", "resource.k8s.io/v1beta1", spec={"devices": {"requests": [{"name": "a"}]}})
    (row,) = rows(claim, "1.38", "1.36")
    assert (row.release, row.what) == (
        "1.38", "resource.k8s.io/v1beta1 ResourceClaim is planned not to be served any more",
    )  # fmt: skip
    assert row.remedy.startswith("Use resource.k8s.io/v1 ResourceClaim.")
    assert not rows(claim, "1.37", "1.36")
    assert not rows(named("ResourceClaim", "resource.k8s.io/v1", spec={}), "1.38", "1.36")
    with pytest.raises(SimkitError, match=r"the known releases are"):
        rows(claim, "1.39", "1.36")


@pytest.mark.parametrize(("release", "to"), [("1.24", "1.25"), ("1.28", "1.33"), ("1.35", "1.36"), ("1.36", "1.38")])
def test_a_fresh_cluster_has_no_rows(release: str, to: str) -> None:
    """What the server makes by itself, its default roles and its own Endpoints, is the server's to change."""
    report = simkit.Cluster(release=release, seed=1).upgrade_report(to)
    assert not report.rows, report.to_frame()


def test_what_was_not_read_may_break(tmp_path: Path) -> None:
    """A broken file has no answer to whether it breaks; one with a repeated field was read."""
    (tmp_path / "broken.yaml").write_text("a: [b")
    (tmp_path / "twice.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a, name: b}\n")
    found = report(tmp_path, "1.25")
    told = {row.check: (row.breaks, row.remedy) for row in found.rows}
    assert told == {
        "not-read": (None, "Correct it, and ask again."),
        "read-otherwise": (False, "Correct it."),
    }
    assert "nothing breaks of what was read" in repr(found)
    assert "Incomplete: 1 part of the source could not be read" in repr(found)
    assert found.to_frame()["breaks"].isna().tolist() == [True, False]
    assert [row["breaks"] for row in found.to_dict()["rows"]] == [None, False]
