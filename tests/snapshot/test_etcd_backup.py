"""Backups of etcd as dumps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import simkit
from simkit.cli import main
from simkit.meta.errors import SimkitError
from tests.engine.storage.etcd_server import MISSING, EtcdServer, installed

pytestmark = pytest.mark.slow

DUMP = """
apiVersion: v1
kind: List
items:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: widgets.example.com}
  spec:
    group: example.com
    scope: Namespaced
    names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
    versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, data: {word: c2VjcmV0}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: breaker}
  rules: [{apiGroups: [""], resources: [nodes], verbs: [delete]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: all}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: breaker}
  subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: devs}]
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: {size: 3}}
"""


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a snapshot and the data directory of an etcd that simkit filled."""
    if not installed() or shutil.which("etcdctl") is None:
        pytest.skip(MISSING)
    folder = tmp_path_factory.mktemp("backup")
    (folder / "dump.yaml").write_text(DUMP)
    etcd = EtcdServer(folder / "data")
    etcd.start()
    try:
        assert main(["save", str(folder / "dump.yaml"), "--secrets", "--to", f"etcd:{etcd.url}"]) == 0
        command = ["etcdctl", "--endpoints", etcd.url, "snapshot", "save", str(folder / "snapshot.db")]
        subprocess.run(command, check=True, capture_output=True, env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"})
    finally:
        etcd.stop()
    return folder


@pytest.mark.parametrize("name", ["snapshot.db", "data"])
def test_a_backup_is_a_dump(backup: Path, name: str) -> None:
    """A snapshot and a data directory are loaded as the dump was; everything counts as captured, secrets stay out."""
    before = sorted(path.name for path in backup.rglob("*"))
    cluster = simkit.load(backup / name)
    assert cluster.get("widget.example.com", "w", "shop")["spec"] == {"size": 3}
    assert list(cluster.who_can("delete", "nodes")["subject"]).count("group:devs") == 1
    assert cluster.dump is not None
    assert {"pods", "roles.rbac.authorization.k8s.io", "secrets"} <= {str(each) for each in cluster.dump.captured}
    assert cluster.get("secret", "s", "shop").get("data") == {"word": ""}
    assert simkit.load(backup / name, secrets=True).get("secret", "s", "shop")["data"] == {"word": "c2VjcmV0"}
    assert sorted(path.name for path in backup.rglob("*")) == before


def test_commands_read_a_backup(backup: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that takes a dump takes a backup."""
    assert main(["who-can", "delete", "nodes", "--dump", str(backup / "snapshot.db"), "-o", "csv"]) == 0
    assert "group:devs" in capsys.readouterr().out


def test_the_database_of_a_data_directory_is_a_dump(backup: Path, tmp_path: Path) -> None:
    """It has no hash at its end: the second try of etcd's tool found the folder of the first one."""
    content = (backup / "snapshot.db").read_bytes()
    (tmp_path / "db").write_bytes(content[:-32])
    assert simkit.load(tmp_path / "db").get("widget.example.com", "w", "shop")["spec"] == {"size": 3}


def test_a_broken_backup_is_told(backup: Path, tmp_path: Path) -> None:
    """The message of etcd's tool about a damaged file is passed on, with the file's name; nothing of it is read."""
    broken, content = tmp_path / "broken.db", (backup / "snapshot.db").read_bytes()
    for changed, told in {
        content[:9000]: "its end is missing",
        content[:-1] + bytes([content[-1] ^ 1]): "expected sha256",
        content[:-32].replace(b"widgets", b"gadgets") + content[-32:]: "expected sha256",
        content[:4096]: "",
    }.items():
        broken.write_bytes(changed)
        with pytest.raises(SimkitError, match=rf"broken\.db.*{told}"):
            simkit.load(broken)


def test_missing_tools_are_named(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without etcd's programs the error says what to install, and what else can be done."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SimkitError, match=r"needs etcd, which is not installed.*simkit dump"):
        simkit.load(backup / "snapshot.db")


def test_a_store_with_objects_is_not_written_over(backup: Path, tmp_path: Path) -> None:
    """Saving twice to one place is refused."""
    place = f"sqlite:{tmp_path / 'c.db'}"
    assert main(["save", str(backup / "dump.yaml"), "--to", place]) == 0
    assert main(["save", str(backup / "dump.yaml"), "--to", place]) == 2
