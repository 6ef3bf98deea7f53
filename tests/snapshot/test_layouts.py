"""Folders and archives of other programs: the files with objects are read, and only those."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simkit.snapshot.load import load
from tests.analysis.worlds import role, rule

ROLE = role("readers", rule("get", "pods"), namespace="dev")
WIDE = role("readers", rule("get", "nodes"))
BARE = {key: value for key, value in ROLE.items() if key not in ("apiVersion", "kind")}
LOG = gzip.compress(b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1"}')
RBAC = "rbac.authorization.k8s.io"
WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "must-gather": {
        "must-gather.local.1/timestamp": "2026-01-01 10:00",
        "must-gather.local.1/image/version": "must-gather 4.16",
        f"must-gather.local.1/image/cluster-scoped-resources/{RBAC}/clusterroles/readers.yaml": WIDE,
        f"must-gather.local.1/image/namespaces/dev/{RBAC}/roles.yaml": {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleList",
            "items": [BARE],
        },
        "must-gather.local.1/image/namespaces/dev/pods/web/web/logs/current.log": "started",
        "must-gather.local.1/image/audit_logs/audit.log.gz": LOG,
    },
    "Velero backup": {
        "metadata/version": "1.1.0",
        f"resources/roles.{RBAC}/namespaces/dev/readers.json": ROLE,
        f"resources/roles.{RBAC}/v1-preferredversion/namespaces/dev/readers.json": {**ROLE, "rules": []},
        f"resources/clusterroles.{RBAC}/cluster/readers.json": WIDE,
    },
    "Sonobuoy snapshot": {
        "servergroups.json": [],
        "meta/config.json": {"description": "a run"},
        f"resources/ns/dev/{RBAC}_v1_roles.json": [ROLE],
        f"resources/cluster/{RBAC}_v1_clusterroles.json": [WIDE],
    },
    "support bundle": {
        "bundle/cluster-info/cluster_version.json": {"info": {"minor": "30"}},
        "bundle/cluster-resources/roles/dev.json": [BARE],
        "bundle/cluster-resources/clusterroles.json": {
            "kind": "ClusterRoleList",
            "apiVersion": f"{RBAC}/v1",
            "items": [WIDE],
        },
        "bundle/cluster-resources/pods-errors.json": ["forbidden"],
        "bundle/cluster-resources/groups.json": [{"name": "apps"}],
        "bundle/cluster-resources/auth-cani-list/dev.json": {"status": {}},
        "bundle/version.yaml": {"apiVersion": "troubleshoot.sh/v1beta2", "kind": "SupportBundle"},
    },
    "": {  # what Go programs write that leave the types of lists out, and what cluster-info dump writes
        f"dev/roles.{RBAC}.json": {"metadata": {}, "items": [BARE]},
        f"clusterroles.{RBAC}.json": [{"metadata": {"name": "readers"}, "rules": WIDE["rules"]}],
        "dev/web/logs.txt": "started",
    },
}


def _bytes(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()


@pytest.mark.parametrize("layout", WRITTEN)
@pytest.mark.parametrize("packed", [False, True])
def test_files_with_objects_are_read(tmp_path: Path, layout: str, packed: bool) -> None:
    """Both roles come in once, as a folder or an archive; nothing counts as lost; what was left out is said."""
    source = tmp_path / "dump.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        for name, content in WRITTEN[layout].items():
            encoded = _bytes(content)
            member = tarfile.TarInfo(name)
            member.size = len(encoded)
            archive.addfile(member, io.BytesIO(encoded))
            (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "folder" / name).write_bytes(encoded)
    dump = load(source if packed else tmp_path / "folder")
    assert dump.lost == ()
    assert {(obj["kind"], obj["metadata"]["name"], len(obj["rules"])) for obj in dump} == {
        ("Role", "readers", 1),
        ("ClusterRole", "readers", 1),
    }
    said = [problem.what for problem in dump.problems if "left out" in problem.what]
    assert len(said) == 1
    assert layout in said[0]


def test_logs_between_objects_are_skipped() -> None:
    """The standard output of cluster-info dump holds logs that may look like anything."""
    logs = '==== START logs for container a of pod dev/web ====\n{"kind": "Broken\n}\n==== END logs for container a of'
    nodes = json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": []}, indent=4)
    roles = json.dumps({"kind": "RoleList", "apiVersion": f"{RBAC}/v1", "items": [ROLE]}, indent=4)
    dump = load(f"{nodes}\n{logs} pod dev/web ====\n{roles}\n")
    assert dump.lost == ()
    assert [obj["kind"] for obj in dump] == ["Role"]
    assert "nodes" in {resource.resource for resource in dump.captured}


def test_manifests_go_where_they_are_told(tmp_path: Path) -> None:
    """Output of helm template often lacks namespaces; charts and kustomizations must be built first, as the message says."""
    for name, text in {
        "out.yaml": "---\n# Source: web/templates/account.yaml\n"
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n---\n# Source: web/templates/none.yaml\n",
        "chart/Chart.yaml": "apiVersion: v2\nname: web\n",
        "chart/values.yaml": "replicas: 1\n",
        "base/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
        "chart/templates/role.yaml": "{{- if .Values.rbac }}\nkind: Role\n{{- end }}\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    dump = load(tmp_path, namespace="prod")
    assert [obj["metadata"] for obj in dump] == [{"name": "web", "namespace": "prod"}]
    assert ["helm template" in str(problem) for problem in dump.lost] == [True]
    hints = " ".join(str(problem) for problem in dump.problems if problem.weight != "lost")
    assert "kubectl kustomize" in hints
    assert hints.count("helm template") == 2
