"""Kustomizations beside rewritten objects: what they select is found after the migration too."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import simkit
from simkit.analysis import migrate, upgrade_report
from simkit.logic.migration.kustomizations import Pair, Patches
from simkit.snapshot.memory import MemorySnapshot

JOB = """\
apiVersion: batch/v1beta1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
"""
INGRESS = """\
apiVersion: networking.k8s.io/v1beta1
kind: Ingress
metadata: {name: web}
spec: {backend: {serviceName: web, servicePort: 80}}
"""
NOTHING = MemorySnapshot([], captured=[])
TARGET = "{group: batch, version: v1beta1, kind: CronJob}"


def overlay(folder: Path, kustomization: str, base: str = JOB, **patches: str) -> Path:
    """A base with one object, and an overlay over it."""
    for path, text in {"base/object.yaml": base, "base/kustomization.yaml": "resources: [object.yaml]\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "over").mkdir()
    (folder / "over" / "kustomization.yaml").write_text(f"resources: [../base]\n{kustomization}")
    for name, text in patches.items():
        (folder / "over" / f"{name}.yaml").write_text(text)
    return folder


def migrated(folder: Path) -> tuple[simkit.analysis.Migration, str]:
    """The migration to 1.35, tried on a server, and the overlay after it."""
    found = migrate(folder, "1.35", sandbox=simkit.Cluster(seed=1), check=True)
    return found, next(each.after for each in found.files if each.path.endswith("over/kustomization.yaml"))


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("patches: [{path: more.yaml, target: TARGET}]", ("patches", 0, "target")),
        ("patchesJson6902: [{path: more.yaml, target: TARGET}]", ("patchesJson6902", 0, "target")),
        ("replacements: [{source: TARGET, targets: []}]", ("replacements", 0, "source")),
        (
            "replacements: [{source: {kind: A}, targets: [{select: TARGET}]}]",
            ("replacements", 0, "targets", 0, "select"),
        ),
        (
            "replacements: [{source: {kind: A}, targets: [{select: {kind: A}, reject: [TARGET]}]}]",
            ("replacements", 0, "targets", 0, "reject", 0),
        ),
    ],
)
def test_what_is_selected_is_found_again(tmp_path: Path, field: str, path: tuple[str | int, ...]) -> None:
    """Every selector of a rewritten object names its new version; comments stay."""
    text = field.replace("TARGET", TARGET) + "  # ours\n"
    found, after = migrated(overlay(tmp_path, text, more="- {op: remove, path: /spec/suspend}\n"))
    selector = yaml.safe_load(after)
    for step in path:
        selector = selector[step]
    assert selector == {"group": "batch", "version": "v1", "kind": "CronJob"}
    assert "# ours" in after
    assert found


def test_selectors_without_a_version_stay(tmp_path: Path) -> None:
    """A target that names no version matches before and after; nothing is written."""
    kustomization = "patches: [{target: {kind: CronJob}, patch: '[]'}]\nvars: [{name: A, objref: {kind: A}}]\n"
    found, after = migrated(overlay(tmp_path, kustomization))
    assert after.endswith(kustomization)
    assert found


def test_a_target_beyond_the_files_is_left_to_a_person(tmp_path: Path) -> None:
    """Where the object is not rewritten, its target is not either, and somebody is told."""
    found, after = migrated(overlay(tmp_path, f"patches: [{{target: {TARGET}, patch: '[]'}}]\n", base=INGRESS))
    assert "v1beta1" in after
    assert not found
    assert "no object is among the files" in str(found.to_frame()["person"].tolist())


@pytest.mark.parametrize(
    "patch",
    [
        "- {op: replace, path: /spec/backend/servicePort, value: 8080}\n",
        INGRESS.replace("serviceName: web", "serviceName: shop"),
    ],
)
def test_patches_of_fields_that_move_are_left_to_a_person(patch: str, tmp_path: Path) -> None:
    """An Ingress has other fields in its new version. Its tree stays as it is, others do not."""
    overlay(tmp_path / "one", "patches: [{path: more.yaml, target: {kind: Ingress}}]\n", INGRESS, more=patch)
    inline = yaml.safe_dump({"patches": [{"target": {"kind": "Ingress"}, "patch": patch}]})
    overlay(tmp_path / "inline", inline, INGRESS)
    overlay(tmp_path / "other", f"patches: [{{target: {TARGET}, patch: '[]'}}]\n")
    found = migrate(tmp_path, "1.35")
    assert str(found.to_frame()["person"].tolist()).count("have moved") >= 2
    changed = sorted(str(Path(each.path).relative_to(tmp_path)) for each in found.changed)
    assert changed == ["other/base/object.yaml", "other/over/kustomization.yaml"]
    assert not found


def test_json_patches_of_metadata_stay(tmp_path: Path) -> None:
    """Metadata has the same fields in all versions."""
    patch = "- {op: add, path: /metadata/annotations, value: {a: b}}\n"
    folder = overlay(tmp_path, "patches: [{path: more.yaml, target: {kind: Ingress}}]\n", INGRESS, more=patch)
    found, _ = migrated(folder)
    assert found, found.to_frame()["person"].tolist()


def test_patches_are_no_whole_objects(tmp_path: Path) -> None:
    """A strategic merge patch is rewritten, and not tried as an object of its own; one within the overlay too."""
    patch = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {suspend: true}\n"
    inline = "".join(f"    {line}\n" for line in patch.splitlines())
    found, after = migrated(overlay(tmp_path, f"patches:\n- path: more.yaml\n- patch: |-\n{inline}", more=patch))
    assert found, found.to_frame()["person"].tolist()
    assert "apiVersion: batch/v1\n" in after
    assert [each.after for each in found.files if each.path.endswith("more.yaml")] == [patch.replace("v1beta1", "v1")]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("web", True),
        ("^web-.*", False),
        ("w.*b", True),
        (".*", True),
        ("w.*w", False),
        ("we.*eb", False),
        (".*e.*", True),
        ("(a+)+b|web", True),
    ],
)
def test_names_that_a_target_selects(pattern: str, found: bool) -> None:
    """As kustomize matches them; a pattern that is not tried, since it may be costly, may select any object."""
    pair = Pair({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}, {})
    assert bool(Patches([pair], "1.33").selected({"kind": "Pod", "name": pattern})) == found


@pytest.mark.parametrize(
    ("more", "unread"),
    [
        ("", ""),
        ("- https://example.com/base", "https://example.com/base"),
        ("- ../missing", "../missing"),
        ("helmCharts: [{name: shop, repo: https://example.com}]", "helmCharts"),
        ("components: {a: 1}", ""),
    ],
)
def test_what_a_kustomization_builds_from_and_was_not_read_is_told(tmp_path: Path, more: str, unread: str) -> None:
    """An overlay whose base is elsewhere breaks nothing that can be seen: that is no good news."""
    folder = overlay(tmp_path, more + "\n", JOB.replace("v1beta1", "v1"))
    over = folder / "over" / "kustomization.yaml"
    over.write_text(over.read_text().replace("resources: [../base]", "resources:\n- ../base"))
    found = upgrade_report(NOTHING, "1.33", manifests=folder)
    assert not found.has_impact
    assert bool(found.caveats) == bool(unread)
    assert all(unread in row.what for row in found.rows)
    [alone] = upgrade_report(NOTHING, "1.33", manifests=folder / "over").caveats
    assert alone.id == "not-read"
