"""Documents of other projects that name versions: rewritten, or left to a person with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from simkit.logic.migration.documents import rewrite

KUBEADM = """\
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
apiServer:
  extraArgs:  # ours
    audit-log-maxage: "30"
    profiling: "false"
kubernetesVersion: v1.36.0
"""


def told(text: str, release: str) -> tuple[Any, str]:
    """The documents of a text after the migration, and all that is left to a person."""
    found = rewrite(text, release)
    return yaml.safe_load(found.text), "\n".join(each for one in found.documents for each in one.migrated.person)


def test_kubeadm_arguments_become_a_list() -> None:
    """From 1.37 on kubeadm reads v1beta4 alone, in which arguments are names with values."""
    wanted, person = told(KUBEADM, "1.37")
    assert (wanted["apiVersion"], person) == ("kubeadm.k8s.io/v1beta4", "")
    assert wanted["apiServer"]["extraArgs"] == [
        {"name": "audit-log-maxage", "value": "30"},
        {"name": "profiling", "value": "false"},
    ]
    assert rewrite(KUBEADM, "1.36").text == KUBEADM


@pytest.mark.parametrize(
    ("before", "release", "version", "person"),
    [
        ("v1beta2", "1.26", "v1beta2", ""),
        ("v1beta2", "1.30", "v1beta3", ""),
        ("v1beta2", "1.33", "v1beta4", ""),
        ("v1beta1", "1.30", "v1beta1", "does not read v1beta1"),
    ],
)
def test_the_version_that_kubeadm_reads(before: str, release: str, version: str, person: str) -> None:
    """The newest one of the release, if it does not read that of the document."""
    text = f"apiVersion: kubeadm.k8s.io/{before}\nkind: JoinConfiguration\nnodeRegistration: {{name: a}}\n"
    wanted, said = told(text, release)
    assert wanted["apiVersion"] == f"kubeadm.k8s.io/{version}"
    assert person in said
    assert bool(said) == bool(person)


@pytest.mark.parametrize(
    ("text", "release", "person"),
    [
        (f"{KUBEADM}", "1.37", ""),
        (KUBEADM.replace("  extraArgs:", "  timeoutForControlPlane: 4m\n  extraArgs:"), "1.37",
         "timeouts.controlPlaneComponentHealthCheck"),
        ("apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\ndns: {type: CoreDNS}\n", "1.30", "dns.type"),
        ("apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterStatus\n", "1.30", "ClusterStatus"),
    ],
)  # fmt: skip
def test_fields_of_kubeadm_that_moved_are_left_to_a_person(text: str, release: str, person: str) -> None:
    """The document stays as it is, and the sentence names the field."""
    wanted, said = told(text, release)
    assert person in said
    assert (wanted["apiVersion"] == yaml.safe_load(text)["apiVersion"]) == bool(person)


def application(entry: str, kind: str = "Application") -> str:
    """An application of Argo CD that ignores something."""
    text = f"apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n"
    if kind == "ApplicationSet":
        return f"{text}  template:\n    spec:\n      ignoreDifferences:\n      - {entry}\n"
    return f"{text}  ignoreDifferences:\n  - {entry}\n"


@pytest.mark.parametrize("kind", ["Application", "ApplicationSet"])
@pytest.mark.parametrize(
    ("entry", "group", "person"),
    [
        ("{group: extensions, kind: Ingress, managedFieldsManagers: [a]}", "networking.k8s.io", ""),
        ("{group: extensions, kind: Ingress, jsonPointers: [/spec/rules]}", "extensions", "networking.k8s.io"),
        ("{group: policy, kind: PodSecurityPolicy, name: a}", "policy", "not served any more"),
        ("{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}", "apps", ""),
        ("{group: example.com, kind: Shop, jsonPointers: [/spec]}", "example.com", ""),
        ('{group: "*", kind: "*", jsonPointers: [/spec]}', "*", ""),
    ],
)
def test_ignored_differences(kind: str, entry: str, group: str, person: str) -> None:
    """An entry whose group has the kind no more names the one that has it; paths are for a person to see."""
    wanted, said = told(application(entry, kind), "1.30")
    spec = wanted["spec"]["template"]["spec"] if kind == "ApplicationSet" else wanted["spec"]
    assert spec["ignoreDifferences"][0]["group"] == group
    assert (person in said, bool(said)) == (True, bool(person))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("ingress:\n  apiVersion: extensions/v1beta1\n", "ingress.apiVersion"),
        ("hpa:\n  versions: [autoscaling/v2beta2]\n", "hpa.versions[0]"),
        ("extra:\n- apiVersion: policy/v1beta1\n  kind: PodDisruptionBudget\n", "extra[0].apiVersion"),
        ("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
         "spec:\n  values:\n    ingress: {apiVersion: extensions/v1beta1}\n", "spec.values.ingress.apiVersion"),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
         "spec:\n  source:\n    helm:\n      values: |\n        apiVersion: batch/v1beta1\n        a: b\n",
         "spec.source.helm.values.apiVersion"),
        ("ingress:\n  apiVersion: networking.k8s.io/v1\n", ""),
        ("image: extensions/v1beta1\n", ""),
        ("chart:\n  version: v1beta1\n", ""),
    ],
)  # fmt: skip
def test_values_of_charts_that_name_versions(text: str, path: str) -> None:
    """Each is told with its path, and the text stays: what a chart takes instead is for a person to say."""
    found = rewrite(text, "1.30")
    person = [each for one in found.documents for each in one.migrated.person]
    assert found.text == text
    assert [each.partition(" ")[0] for each in person] == ([path] if path else [])


@pytest.mark.parametrize(
    ("content", "concerned"),
    [
        ("apiVersion: policy/v1beta1\nkind: PodSecurityPolicy", True),
        ("apiVersion: v1\nkind: Pod\n---\napiVersion: kubeadm.k8s.io/v1beta2\nkind: JoinConfiguration", True),
        ("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration", False),
        ("apiVersion: [", False),
    ],
)
def test_files_that_cluster_api_writes(content: str, concerned: bool) -> None:
    """A file for nodes that holds a document in a version that is gone is told with its path."""
    obj = {
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"files": [{"path": "/etc/a.yaml", "content": content}]}}},
    }  # fmt: skip
    _, said = told(yaml.safe_dump(obj), "1.30")
    assert said.startswith("spec.template.spec.files[0].content holds a ") == concerned


@pytest.mark.parametrize(
    ("obj", "person"),
    [
        (
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"},
             "spec": {"source": {"helm": {"parameters": [{"name": "ingress.apiVersion", "value": "extensions/v1beta1"},
                                                         {"name": "image", "value": "extensions/v1beta1"}]}}}},
            "spec.source.helm.parameters[0].value says extensions/v1beta1",
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeadm-config"},
             "data": {"ClusterConfiguration": KUBEADM, "other": "kubeadm.k8s.io"}},
            "data.ClusterConfiguration holds a ClusterConfiguration in kubeadm.k8s.io/v1beta3",
        ),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "apiVersion: batch/v1beta1"}},
            "",
        ),
    ],
)  # fmt: skip
def test_parameters_and_config_maps(obj: dict[str, Any], person: str) -> None:
    """Parameters of Helm that name a version, and configurations of kubeadm in config maps, are left to a person."""
    _, said = told(yaml.safe_dump(obj), "1.37")
    assert said.startswith(person)
    assert len(said.splitlines()) == bool(person)
