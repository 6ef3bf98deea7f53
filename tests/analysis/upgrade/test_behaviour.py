"""Every entry of the table of changed behaviour finds what it is about, and not what looks like it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from simkit.analysis.upgrade.behaviour import BehaviourSearch, Entry, behaviour_entries
from simkit.analysis.upgrade.items import Break, Item
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.analysis.upgrade.upgrade_report import upgrade_report
from simkit.schema.releases import RELEASES, minor_of
from simkit.snapshot.memory import MemorySnapshot

CASES: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("behaviour_cases.yaml").read_text())
ENTRIES = {entry.id: entry for entry in behaviour_entries()}
BY_REQUESTS = {"kubectl-skew"}
WHOLE = ReleaseSpan("", RELEASES[-1])


def found(objects: Iterable[Any], span: ReleaseSpan = WHOLE, beside: Iterable[Any] = (), file: str = "") -> list[Break]:
    """The rows about objects of a file, in a cluster that has others beside them."""
    search = BehaviourSearch(span, map(Item, beside))
    return [row for obj in objects for row in search.find(Item(obj, file=file), orjson.dumps(obj))]


def checks(objects: Iterable[Any], span: ReleaseSpan = WHOLE, beside: Iterable[Any] = (), file: str = "") -> set[str]:
    return {row.check for row in found(objects, span, beside, file)}


def static_pod(component: str, flag: str) -> dict[str, Any]:
    containers = [{"name": "a", "image": "a", "command": [component, flag]}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers}}


def pod_with(volume: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "a", "image": "a"}], "volumes": [{"name": "data", volume: {"volumeID": "1"}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def pairs(entry: Entry) -> Iterator[tuple[Any, Any]]:
    """Objects in which an entry is found, each with one that looks like it."""
    case = CASES.get(entry.id, {})
    for obj in case.get("found", ()):
        yield obj, None
    for obj in case.get("alike", ()):
        yield None, obj
    for detector in entry.detectors:
        if detector.volume:
            yield pod_with(detector.volume), pod_with("emptyDir")
        if detector.provisioner:
            storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "a"}}
            yield (
                {**storage, "provisioner": detector.provisioner},
                {**storage, "provisioner": "kubernetes.io/no-provisioner"},
            )
        if detector.flag and not case.get("found"):
            component = case.get("component") or (detector.component or ("kubelet",))[0]
            value = f"={case['value']}" if "value" in case else "=1"
            other = static_pod(
                component, f"--{detector.flag}={case['other']}" if "other" in case else f"--{detector.flag}s=1"
            )
            yield static_pod(component, f"--{detector.flag}{value}"), other
            yield None, static_pod("some-other-server", f"--{detector.flag}{value}")
        for version in detector.versions:
            obj = {"apiVersion": version, "kind": "Policy", "metadata": {"name": "a"}}
            yield obj, {**obj, "apiVersion": f"{version.partition('/')[0]}/v9"}


@pytest.mark.parametrize(
    "entry", [each for each in ENTRIES.values() if each.id not in BY_REQUESTS and each.detectors[0].skew == ""]
)
def test_entry(entry: Entry) -> None:
    """An entry is found in its positive cases and in none of its look-alikes."""
    told = list(pairs(entry))
    assert any(yes for yes, _ in told)
    assert any(no for _, no in told)
    for yes, no in told:
        beside, file = CASES.get(entry.id, {}).get("beside", ()), CASES.get(entry.id, {}).get("file", "")
        if yes is not None:
            assert entry.id in checks([yes], WHOLE, beside, file), yes
        if no is not None:
            assert entry.id not in checks([no], WHOLE, beside, file), no


@pytest.mark.parametrize("entry", [each for each in ENTRIES.values() if each.release and minor_of(each.release) > 16])
def test_only_on_the_way_over_its_release(entry: Entry) -> None:
    """A change shows on the way into its release, not afterwards."""
    yes = [obj for obj, _ in pairs(entry) if obj is not None]
    before, case = f"1.{minor_of(entry.release) - 1}", CASES.get(entry.id, {})
    beside, file = case.get("beside", ()), case.get("file", "")
    assert entry.id in checks(yes, ReleaseSpan(before, entry.release), beside, file)
    if entry.release != RELEASES[-1]:
        assert entry.id not in checks(yes, ReleaseSpan(entry.release, RELEASES[-1]), beside, file)


def test_cases_name_entries() -> None:
    """No case is about an entry that is not there."""
    assert set(CASES) <= set(ENTRIES)


def test_reddit() -> None:
    """The selector in a custom resource that named a label of control plane nodes is found with object and field."""
    peer = {
        "apiVersion": "crd.projectcalico.org/v1",
        "kind": "BGPPeer",
        "metadata": {"name": "reflectors"},
        "spec": {"nodeSelector": "all()", "peerSelector": "has(node-role.kubernetes.io/master)"},
    }
    (row,) = found([peer], ReleaseSpan("1.23", "1.24"))
    assert (row.where, row.release, row.breaks) == ("BGPPeer reflectors spec.peerSelector", "1.24", True)
    assert not found([peer], ReleaseSpan("1.24", "1.25"))


def test_charts_that_name_the_label(tmp_path: Path) -> None:
    """Values and templates of a chart are looked through as they are, and parameters that name the key with a path."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "values.yaml").write_text("web:\n  nodeSelector: {node-role.kubernetes.io/master: ''}\n")
    lines = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  # node-role.kubernetes.io/master"
        "\n  tolerations:\n  - key: node-role.kubernetes.io/master\n"
    )
    (tmp_path / "templates" / "web.yaml").write_text(lines)
    (tmp_path / "templates" / "mended.yaml").write_text(f"{lines}  - key: node-role.kubernetes.io/control-plane\n")
    parameter = {"name": r"nodeSelector.node-role\.kubernetes\.io/master", "value": ""}
    application = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "a"},
        "spec": {"source": {"helm": {"parameters": [parameter]}}},
    }
    (tmp_path / "application.yaml").write_text(yaml.safe_dump(application))
    snapshot = MemorySnapshot([], release="1.23")
    rows = upgrade_report(snapshot, "1.24", manifests=tmp_path).rows
    assert {(Path(row.file).name, row.line, row.field) for row in rows if row.check == "node-role-master"} == {
        ("values.yaml", 1, "web.nodeSelector[node-role.kubernetes.io/master]"),
        ("web.yaml", 8, ""),
        ("application.yaml", 1, "spec.source.helm.parameters[0].name"),
    }
    assert not upgrade_report(snapshot, "1.25", since="1.24", manifests=tmp_path).breaks().shape[0]


def test_a_text_is_weaker_than_a_selector() -> None:
    """A text in a config map may mean anything: it is reported, and breaks nothing by itself."""
    data = {"inventory.ini": "[nodes]\nselector = node-role.kubernetes.io/master"}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    (row,) = found([obj], ReleaseSpan("1.23", "1.24"))
    assert not row.breaks


def test_drivers_take_the_harm_away() -> None:
    """A volume that a CSI driver takes over breaks nothing where the driver is."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "a"},
        "spec": {"awsElasticBlockStore": {}},
    }
    assert "volume-aws-ebs" in checks([claim])
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}}
    assert "volume-aws-ebs" not in checks([claim], beside=[driver])


def test_templates_in_custom_resources() -> None:
    """A pod template within a custom resource is looked at as one in a Deployment."""
    template = {"spec": {"containers": [{"name": "a", "image": "k8s.gcr.io/pause:3.5"}]}}
    rollout = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "a"},
        "spec": {"template": template},
    }
    assert [row.field for row in found([rollout])] == ["spec.template.spec.containers[0].image"]


def test_kubelet_skew() -> None:
    """The hop is named at which a kubelet is too old."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a"},
        "status": {"nodeInfo": {"kubeletVersion": "v1.25.3"}},
    }
    rows = [row for row in found([node], ReleaseSpan("1.26", "1.31")) if row.check == "kubelet-skew"]
    assert [row.release for row in rows] == ["1.29"]
    assert not [row for row in found([node], ReleaseSpan("1.26", "1.28")) if row.check == "kubelet-skew"]


@pytest.mark.parametrize(
    ("image", "releases"),
    [
        ("registry.k8s.io/kube-proxy:v1.31.4", ["1.35"]),
        ("602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy:v1.32.0-minimal-eksbuild.2", ["1.36"]),
        ("registry.k8s.io/kube-proxy-amd64:v1.34.0@sha256:0", []),
        ("example.com/other-kube-proxy:v1.20.0", []),
        ("registry.k8s.io/kube-proxy", []),
    ],
)
def test_kube_proxy_skew(image: str, releases: list[str]) -> None:
    """The hop is named at which the kube-proxy of a DaemonSet is too old."""
    containers = [{"name": "kube-proxy", "image": image}]
    obj = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-proxy"},
           "spec": {"template": {"spec": {"containers": containers}}}}  # fmt: skip
    rows = [row for row in found([obj], ReleaseSpan("1.34", "1.37")) if row.check == "kube-proxy-skew"]
    assert [row.release for row in rows] == releases


def test_rows_name_what_is_meant() -> None:
    """The gate, the flag or the metric stands in the first sentence, so that rows about others are not taken for it."""
    pods = [
        static_pod("kubelet", "--container-hints=/a"),
        static_pod("kube-apiserver", "--feature-gates=GitRepoVolumeDriver=true,AnyVolumeDataSource=true"),
        static_pod("kube-apiserver", "--enable-admission-plugins=NodeRestriction,PodSecurityPolicy"),
    ]
    assert {row.what.partition(". ")[0] for row in found(pods) if row.severity == "critical"} == {
        "The kubelet's flags for cAdvisor are gone: --container-hints",
        "The feature gate GitRepoVolumeDriver is locked to false",
        "The feature gate AnyVolumeDataSource is gone",
        "The admission plugin PodSecurityPolicy is gone",
    }


def test_broken_objects_are_survived() -> None:
    """Objects of any shape are looked through without an error."""
    shapes: tuple[Any, ...] = (
        None,
        [],
        "text",
        {"template": []},
        {"template": {"spec": {"containers": "x", "volumes": 5}}},
    )
    for spec in shapes:
        found([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}])


def test_configurations_in_config_maps_have_their_rows() -> None:
    """A mode of kube-proxy that is deprecated is found in its config map."""
    text = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\n"
    proxy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-proxy"}, "data": {"config.conf": text}}
    (row,) = found([proxy], ReleaseSpan("1.34", "1.35"))
    assert (row.check, row.field) == ("proxy-ipvs", "data[config.conf].mode")


@pytest.mark.parametrize(("allowed", "breaks"), [("false", False), ("true", True)])
def test_a_kubelet_that_may_start_with_cgroup_v1(allowed: str, breaks: bool) -> None:
    """The setting in the config map of kubelets makes an old image of a node harmless."""
    text = f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: {allowed}\n"
    items = [
        Item({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
              "status": {"nodeInfo": {"osImage": "CentOS Linux 7 (Core)"}}}),
        Item({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubelet-config"},
              "data": {"kubelet": text}}),
    ]  # fmt: skip
    search = BehaviourSearch(ReleaseSpan("1.34", "1.35"), items)
    (row,) = search.find(items[0], b"")
    assert (row.check, row.breaks) == ("cgroup-v1", breaks)


@pytest.mark.parametrize(
    ("to", "breaks"), [("1.35.2", [True]), ("v1.35", [False]), ("1.35.4", []), ("1.36.1", [False])]
)
def test_a_fault_of_patch_releases(to: str, breaks: list[bool]) -> None:
    """It breaks where the patch has it, is told where the patch is not said, and is nothing where it is fixed."""
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"},
                "spec": {"podManagementPolicy": "Parallel"}}  # fmt: skip
    assert [row.breaks for row in found([stateful], ReleaseSpan.of("1.34", to))] == breaks


def test_revisions_are_left_to_what_keeps_them() -> None:
    """What a DaemonSet was before breaks nothing."""
    spec = {"template": {"spec": {"volumes": [{"name": "a", "gitRepo": {"repository": "r"}}],
                                  "containers": [{"name": "a", "image": "a"}]}}}  # fmt: skip
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "a"},
        "data": {"spec": spec},
    }
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": spec}
    assert not found([revision])
    assert "volume-gitrepo" in checks([daemons])
