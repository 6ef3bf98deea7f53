"""Admission plugins of every release: which there are, and which are on."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError, StatusError
from simkit.schema.admissionplugins import on_by_default, plugins_of
from simkit.schema.feature_gates import parse_feature_gates
from simkit.schema.releases import RELEASES
from tools.facts import read

ON_IN_1_20 = [
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
]
OFF_IN_1_20 = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "SecurityContextDeny",
    "LimitPodHardAntiAffinityTopology",
    "NodeRestriction",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurityPolicy",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PersistentVolumeLabel",
    "OwnerReferencesPermissionEnforcement",
    "AlwaysDeny",
]
"""Read in the lists of kube-apiserver's source."""


def on(release: str, **gates: bool) -> list[str]:
    return list(on_by_default(release, parse_feature_gates(gates, release).values))


def test_the_plugins_of_1_20() -> None:
    """On and off as in its own list."""
    assert on("1.20") == ON_IN_1_20
    assert set(plugins_of("1.20")) == {*ON_IN_1_20, *OFF_IN_1_20}


def test_the_plugins_of_1_30() -> None:
    """As a running server tells them."""
    facts = read("admission-1.30.json")
    assert on("1.30") == facts["defaultEnabled"]
    assert set(plugins_of("1.30")) == {*facts["defaultEnabled"], *facts["defaultOff"]}


@pytest.mark.parametrize(
    ("plugin", "first", "last"),
    [
        ("CertificateSigning", "1.18", "1.37"),
        ("PodSecurity", "1.23", "1.37"),
        ("ClusterTrustBundleAttest", "1.27", "1.37"),
        ("ValidatingAdmissionPolicy", "1.30", "1.37"),
        ("MutatingAdmissionPolicy", "1.36", "1.37"),
    ],
)
def test_since_when_a_plugin_works_by_default(plugin: str, first: str, last: str) -> None:
    """A plugin works by default if it is in the list and its gate is on."""
    there = [release for release in RELEASES if plugin in on(release)]
    assert there == list(RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1])


def test_a_gate_brings_its_plugin() -> None:
    """Pod security as alpha, and policies as beta that is off."""
    assert "PodSecurity" in on("1.22", PodSecurity=True)
    assert "ValidatingAdmissionPolicy" in on("1.28", ValidatingAdmissionPolicy=True)
    assert "PodSecurity" not in on("1.24", PodSecurity=False)


def namespace(level: str) -> dict[str, object]:
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tight", "labels": labels}}


def test_servers_have_the_plugins_of_their_release() -> None:
    """A privileged pod meets nobody in 1.22, and pod security in 1.23."""
    spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "tight"}, "spec": spec}
    for release in ("1.22", "1.23"):
        cluster = Cluster(release, seed=1)
        cluster.create(namespace("baseline"))
        cluster.settle()
        if release == "1.22":
            assert cluster.create(pod)["spec"]["hostNetwork"] is True
        else:
            with pytest.raises(StatusError, match="violates PodSecurity"):
                cluster.create(pod)


@pytest.mark.parametrize(
    ("release", "plugin", "text"),
    [
        ("1.21", "PodSecurity", "is unknown; it comes with 1.22"),
        ("1.30", "PodSecurityPolicy", r"is unknown; its last release is 1\.24"),
        ("1.20", "NodeDeclaredFeatureValidator", "is unknown; it comes with 1.35"),
        ("1.30", "ImagePolicyWebhook", "is known, but simkit does not have it"),
        ("1.30", "PodSecurty", "is unknown; did you mean PodSecurity"),
    ],
)
def test_plugins_of_other_releases_are_unknown(release: str, plugin: str, text: str) -> None:
    """The error says when it came or went."""
    with pytest.raises(SimkitError, match=f'plugin "{plugin}" {text}'):
        Cluster(options=Options(release=release, enable_admission_plugins=(plugin,)))


def test_a_fork_at_another_release_leaves_what_it_does_not_know() -> None:
    """Plugins and gates that were set, and that the other release has no more."""
    options = Options(
        release="1.29",
        seed=1,
        disable_admission_plugins=("SecurityContextDeny",),
        feature_gates={"SecurityContextDeny": True, "SidecarContainers": False},
    )
    fork = Cluster(options=options).fork(release="1.33")
    assert fork.release == "1.33"
    assert fork.engine.gate("SidecarContainers") is True
