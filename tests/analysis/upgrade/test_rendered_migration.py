"""What kustomizations render before and after a migration is compared."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from simkit.analysis import Migration, migrate
from simkit.analysis.upgrade.rendered_migration import compared
from simkit.cli.rendering import renderer
from simkit.meta.errors import SimkitError
from tests.analysis.upgrade.test_kustomizations import JOB, overlay

OVERLAY = """\
patches:
- target: {group: batch, version: v1beta1, kind: CronJob}
  patch: |
    - {op: replace, path: /spec/schedule, value: "5 5 * * *"}
"""


def rendered(folder: Path) -> str:
    """The objects of a kustomization with its JSON patches of the schedule, as kustomize renders them."""
    text = yaml.safe_load((folder / "kustomization.yaml").read_text())
    objects: list[Any] = []
    for name in text["resources"]:
        inner = (folder / name).resolve()
        objects += yaml.safe_load_all(rendered(inner) if inner.is_dir() else inner.read_text())
    for patch in text.get("patches", ()):
        target = patch["target"]
        for obj in objects:
            if (obj["apiVersion"], obj["kind"]) == (f"{target['group']}/{target['version']}", target["kind"]):
                obj["spec"]["schedule"] = yaml.safe_load(patch["patch"])[0]["value"]
    return str(yaml.safe_dump_all(objects))


def untargeted(found: Migration) -> Migration:
    """The migration as if it left kustomizations alone."""
    files = [
        replace(each, rewritten=replace(each.rewritten, text=each.before)) if "kustom" in each.path else each
        for each in found.files
    ]
    return replace(found, files=tuple(files))


def told(found: Migration) -> list[str]:
    """All that is left to a person."""
    return [each for row in found.to_frame()["person"] for each in row]


def test_what_reaches_the_cluster_is_the_same(tmp_path: Path) -> None:
    """A migration that follows what kustomizations select changes nothing but versions."""
    folder = overlay(tmp_path, OVERLAY)
    before = {path: path.read_text() for path in folder.rglob("*.yaml")}
    assert told(compared(migrate(folder, "1.30"), [folder], rendered)) == []
    assert {path: path.read_text() for path in folder.rglob("*.yaml")} == before


def test_a_patch_that_is_lost_is_told(tmp_path: Path) -> None:
    """The schedule of the base would reach the cluster."""
    folder = overlay(tmp_path, OVERLAY)
    found = compared(untargeted(migrate(folder, "1.30")), [folder], rendered)
    assert told(found) == [
        "rendered, CronJob nightly is not what it was: spec.schedule is 0 3 * * *, and was 5 5 * * *"
    ]
    assert not found


def test_objects_that_are_missing_or_new_are_told(tmp_path: Path) -> None:
    """By kind, name and group."""
    folder = overlay(tmp_path, "")

    def losing(path: Path) -> str:
        return rendered(path).replace("name: nightly", f"name: {'other' if 'after' in str(path) else 'nightly'}")

    assert (
        sorted(told(compared(migrate(folder, "1.30"), [folder], losing)))[:2]
        == [
            "rendered, CronJob nightly of batch is missing after the migration",
        ]
        * 2
    )


def test_a_kustomization_that_breaks_is_told_and_a_broken_one_is_not(tmp_path: Path) -> None:
    """Only one that rendered before can be compared."""
    folder = overlay(tmp_path, "")

    def failing(where: str) -> Migration:
        def render(path: Path) -> str:
            if ("after" in str(path)) == (where == "after"):
                raise SimkitError("no matches")
            return rendered(path)

        return compared(migrate(folder, "1.30"), [folder], render)

    assert told(failing("before")) == []
    assert told(failing("after")) == ["it is not rendered any more: no matches"] * 2


@pytest.mark.skipif(shutil.which("kubectl") is None and shutil.which("kustomize") is None, reason="needs kustomize")
def test_with_the_real_program(tmp_path: Path) -> None:
    """kustomize loses the patch as the renderer above does."""
    folder = overlay(tmp_path, OVERLAY)
    assert told(compared(migrate(folder, "1.30"), [folder], renderer("1.30"))) == []
    (lost,) = told(compared(untargeted(migrate(folder, "1.30")), [folder], renderer("1.30")))
    assert "spec.schedule" in lost or "no matches" in lost


@pytest.mark.parametrize("line", ["resources: [https://example.com/a]\n", "resources: ['github.com/a/b?ref=main']\n"])
def test_nothing_is_fetched(tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A kustomization that names another host is not rendered, and the answer says so."""
    folder = overlay(tmp_path, "", base=JOB)
    (folder / "over" / "kustomization.yaml").write_text(line)
    with pytest.raises(SimkitError, match=r"another host|installed"):
        renderer("1.30")(folder / "over")
    assert "not compared" in capsys.readouterr().err
