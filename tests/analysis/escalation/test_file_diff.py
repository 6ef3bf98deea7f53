"""Diffs of remedies against the files in which the objects are written."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
import yaml

from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.least_privilege.change import Change
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLES
from simkit.meta.names import Key
from simkit.snapshot.load import load

TEXT = """\
# everything of the shop
kind: ClusterRoleBinding   # who may do all
apiVersion: rbac.authorization.k8s.io/v1
metadata:
  name: "admins"
subjects:
  # the people on call
  - kind: Group
    name: 'oncall'
  # left the company
  - {kind: User, name: bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
---
kind: Role
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: reader, namespace: shop}
rules:
# secrets of the shop
- {apiGroups: [""], resources: [secrets], verbs: [get]}
"""
BINDING = Key(CLUSTER_ROLE_BINDINGS, "", "admins")
ROLE = Key(ROLES, "shop", "reader")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rbac.yaml"
    path.write_text(TEXT)
    return path


def diff(file: Path, key: Key, *, without_bob: bool) -> str:
    """The diff for a binding without one subject, or for an object that is deleted."""
    dump = load(file)
    snapshot = dump.snapshot()
    obj = dict(snapshot.get(key.resource, key.name, key.namespace) or {})
    wanted = {**obj, "subjects": obj["subjects"][:1]} if without_bob else None
    return Remedy("", "", (Change(key, wanted),), (), snapshot).diff(dump.origins)


def test_comments_and_order_stay(file: Path) -> None:
    """Only the lines of the subject go, with the comment before it, and the diff can be applied."""
    found = diff(file, BINDING, without_bob=True)
    changed = [line for line in found.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert "-  - {kind: User, name: bob}" in changed
    assert not [line for line in changed if line.startswith("+")]
    assert found.startswith(f"--- a{file}\n+++ b{file}\n")


def test_a_deleted_object_takes_its_document_with_it(file: Path) -> None:
    """Of two documents one goes, with the line between them."""
    found = diff(file, ROLE, without_bob=False)
    assert "-kind: Role\n" in found
    assert "----\n" in found
    assert "kind: ClusterRoleBinding" not in found.replace(" kind: ClusterRole,", "")


def test_a_file_that_has_changed_since(file: Path) -> None:
    """If the object is no longer in the file, the diff is that of the object alone."""
    dump = load(file)
    file.write_text("# moved\n")
    found = Remedy("", "", (Change(ROLE, None),), (), dump.snapshot()).diff(dump.origins)
    assert found.startswith("--- a/roles/shop/reader.yaml\n+++ /dev/null\n")
    assert "- name: reader" not in found
    assert "-  name: reader" in found


def test_lists(tmp_path: Path) -> None:
    """An object in a list of a file changes where it stands."""
    file = tmp_path / "list.yaml"
    items = "\n".join(f"  {line}" if line else line for line in TEXT.split("---\n")[1].splitlines())
    file.write_text(f"apiVersion: v1\nkind: List\nitems:\n- {items.strip()}\n")
    dump = load(file)
    obj = dict(dump.snapshot().get(ROLES, "reader", "shop") or {})
    wanted = {**obj, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}
    found = Remedy("", "", (Change(ROLE, wanted),), (), dump.snapshot()).diff(dump.origins)
    assert "+" in found
    assert "configmaps" in found
    assert " # secrets of the shop" in found or "# secrets of the shop" not in found.replace("-", "")


def narrowed(source: Path) -> str:
    """The diff for the role with another resource in its rule, and its place in the source."""
    dump = load(source)
    obj = dict(dump.snapshot().get(ROLES, "reader", "shop") or {})
    wanted = {**obj, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}
    return Remedy("", "", (Change(ROLE, wanted),), (), dump.snapshot()).diff(dump.origins)


@pytest.mark.parametrize("name", ["dump.json", "dump.tar.gz"])
def test_json_and_archives_are_no_files_to_patch(tmp_path: Path, file: Path, name: str) -> None:
    """The diff is that of the object."""
    target = tmp_path / name
    if name.endswith(".gz"):
        with tarfile.open(target, "w:gz") as opened:
            opened.add(file, "cluster-dump/rbac.yaml")
    else:
        items = list(yaml.safe_load_all(TEXT))
        target.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4) + "\n")
    found = narrowed(target)
    assert found.startswith("--- a/roles/shop/reader.yaml\n+++ b/roles/shop/reader.yaml\n")
    assert "-  - secrets" in found


@pytest.mark.parametrize("place", [0, 40, 79])
@pytest.mark.parametrize("gone", [True, False])
def test_a_change_in_a_long_file_can_be_applied(tmp_path: Path, place: int, *, gone: bool) -> None:
    """Deleted or changed at the beginning, in the middle or at the end, only the lines around it are in the diff."""
    document = TEXT.split("---\n")[1]
    written = [document.replace("name: reader", f"name: r{number}") for number in range(80)]
    before = "---\n".join(written)
    file = tmp_path / "roles.yaml"
    file.write_text(before)
    dump = load(file)
    key = Key(ROLES, "shop", f"r{place}")
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    wanted = None if gone else {**(dump.snapshot().get(ROLES, key.name, "shop") or {}), "rules": rules}
    found = Remedy("", "", (Change(key, wanted),), (), dump.snapshot()).diff(dump.origins)
    assert found.startswith(f"--- a{file}\n+++ b{file}\n@@ ")
    expected = list(yaml.safe_load_all(before))
    expected[place : place + 1] = [] if gone else [{**expected[place], "rules": rules}]
    assert list(yaml.safe_load_all(patched(before, found))) == expected
    assert found.count("\n") < 60


def patched(text: str, diff: str) -> str:
    """A text after a unified diff whose context stands exactly where the hunks say."""
    old, made, at = text.splitlines(keepends=True), list[str](), 0
    for line in diff.splitlines(keepends=True)[2:]:
        if line.startswith("@@ "):
            start = int(line.split(",")[0].removeprefix("@@ -")) - 1
            made += old[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert line[1:] == old[at]
            made += [old[at]] if line.startswith(" ") else []
            at += 1
    return "".join(made + old[at:])
