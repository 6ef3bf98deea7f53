"""Files rewritten for a release and tried on a server of it."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

import simkit
from simkit.analysis import migrate
from simkit.analysis.upgrade.upgrade_report import upgrade_report
from simkit.cli import main
from simkit.meta.errors import SimkitError
from simkit.snapshot.memory import MemorySnapshot
from tests.shared import SHARED, needs_shared

JOB = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: nightly # at three\nspec:\n  schedule: '0 3 * * *'\n  jobTemplate:\n    spec:\n      template:\n        spec: {restartPolicy: Never, containers: [{name: a, image: a}]}\n"
BROKEN = JOB.replace("schedule: '0 3 * * *'", "schedule: never")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "other.yaml").write_text("apiVersion: example.com/v1\nkind: Thing\n")
    return tmp_path


def test_a_server_of_the_release_takes_it() -> None:
    """Rewritten objects are accepted with strict validation; all others are left to a person."""
    cluster = simkit.Cluster(seed=1)
    assert migrate(JOB, "1.25", sandbox=cluster)
    found = migrate(BROKEN, "1.25", sandbox=cluster)
    assert not found
    assert "spec.schedule" in found.to_frame()["person"][0][0]


def test_wrong_use() -> None:
    """Unknown releases, versions and paths are refused."""
    for arguments in (("a.yaml", "1.25"), (JOB, "1.99")):
        with pytest.raises(SimkitError):
            migrate(*arguments)
    with pytest.raises(SimkitError, match="serves no version"):
        migrate(JOB, "1.25", output_version="batch/v9")


def test_patch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The default is a patch that can be applied; it changes nothing by itself."""
    assert main(["migrate", str(folder), "--to", "1.25"]) == 0
    patch = capsys.readouterr().out
    assert (folder / "job.yaml").read_text() == JOB
    subprocess.run(["patch", "-p1", "-d", "/", "-s"], input=patch.encode(), check=True)
    assert (folder / "job.yaml").read_text() == JOB.replace("v1beta1", "v1")


def test_check_and_in_place(folder: Path) -> None:
    """``--check`` says by its exit code whether something is to change, ``--in-place`` changes it."""
    assert main(["migrate", str(folder), "--to", "1.25", "--check"]) == 1
    assert main(["migrate", str(folder), "--to", "1.25", "--in-place"]) == 0
    assert main(["migrate", str(folder), "--to", "1.25", "--check"]) == 0


def test_output_folder(folder: Path, tmp_path: Path) -> None:
    """All files go into the folder, the untouched ones too."""
    (folder / "policy.yaml").write_text("apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\n")
    assert main(["migrate", str(folder), "--to", "1.25", "--output-dir", str(tmp_path / "new")]) == 1
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == ["job.yaml", "other.yaml", "policy.yaml"]


def test_output_folder_with_a_table(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another form of the answer does not keep the files from being written."""
    assert main(["migrate", str(folder), "--to", "1.25", "--output-dir", str(tmp_path / "new"), "-o", "json"]) == 0
    assert "batch/v1beta1" in capsys.readouterr().out
    assert (tmp_path / "new" / "job.yaml").read_text() == JOB.replace("v1beta1", "v1")


def test_a_kind_that_no_release_serves_is_left_to_a_person() -> None:
    """In the server's own groups; what may be a custom resource passes through."""
    found = migrate(
        "apiVersion: admissionregistration.k8s.io/v1alpha1\nkind: InitializerConfiguration\nmetadata: {name: a}\n---\n"
        "apiVersion: snapshot.storage.k8s.io/v1beta1\nkind: VolumeSnapshot\nmetadata: {name: a}\n",
        "1.30",
    )
    [row] = found.to_frame().itertuples()
    assert row.kind == "InitializerConfiguration"
    [note] = found.to_frame()["person"].tolist()[0]
    assert "no release from 1.16 on serves" in note
    assert found.files[0].after == found.files[0].before


@needs_shared
def test_old_manifests(tmp_path: Path) -> None:
    """After the migration nothing of the files is in a version that goes, but for what was left to a person."""
    with tarfile.open(SHARED / "datasets" / "old-manifests.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "doitintl"
    found = migrate(folder, "1.33", sandbox=simkit.Cluster(seed=1))
    assert found.summary().set_index("what")["count"]["rewritten"] > 25
    found.write()
    left = upgrade_report(MemorySnapshot([]), "1.33", since="", manifests=folder)
    rows = left.breaks()
    table = found.to_frame()
    person = {(row.file, row.kind) for row in table[table["verdict"] != "rewritten"].itertuples()}
    assert {(row.file, row.kind) for row in rows[rows["field"] == "apiVersion"].itertuples()} <= person


def test_an_object_without_a_name_is_left_to_a_person() -> None:
    """Objects that a server refuses are reported, also if they have only a kind."""
    found = migrate("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n", "1.30", sandbox=simkit.Cluster(seed=1))
    [row] = found.to_frame().itertuples()
    assert row.verdict == "a person has to see to it"
    assert "name or generateName is required" in str(row.person)


def test_what_manifests_say_nothing_of_is_no_fault() -> None:
    """Accounts and classes that a pod names, node ports and metadata without content are as the cluster has them.

    kube-apiserver 1.30 and 1.36 accept all of them.
    """
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  serviceAccountName: robot\n"
        "  priorityClassName: important\n  runtimeClassName: sandboxed\n  containers: [{name: a, image: a}]\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  type: LoadBalancer\n"
        "  ports: [{name: a, port: 80}, {name: b, port: 443}]\n---\n"
        "apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\nmetadata:\n"
        "spec: {nonResourceAttributes: {path: /, verb: get}}\n"
    )
    assert migrate(text, "1.36", sandbox=simkit.Cluster(seed=1), check=True).to_frame().empty


def test_what_is_no_object_is_wrong_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken YAML and plain text are told with their line; the rest is done, and the exit code is 2."""
    (folder / "notes.yaml").write_text("---\nremember the milk\n")
    (folder / "broken.yaml").write_text("a: [\n")
    assert main(["migrate", str(folder), "--to", "1.25"]) == 2
    said = capsys.readouterr()
    assert "notes.yaml:2: 'remember the milk' is no object" in said.err
    assert "broken.yaml:" in said.err
    assert "+apiVersion: batch/v1" in said.out


def test_check_tells_what_the_server_refuses_anyway(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document in a version that is still served, but that is not valid; without ``--check`` it is left alone."""
    (folder / "job.yaml").unlink()
    (folder / "web.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {}\n")
    (folder / "wrong.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: web\n")
    assert main(["migrate", str(folder), "--to", "1.30"]) == 0
    assert main(["migrate", str(folder), "--to", "1.30", "--check"]) == 1
    said = capsys.readouterr().err
    assert "web.yaml:1: Deployment web: a server of 1.30 refuses it" in said
    assert "spec.selector" in said
    assert "wrong.yaml:1: ConfigMap: a server of 1.30 refuses it: its metadata is no object" in said


@pytest.mark.parametrize("name", ["{{ .Release.Name }}", '"{{ .Release.Name }}"', 'a-{{ include "b" . | trunc 5 }}'])
@pytest.mark.parametrize("version", ["batch/v1beta1", "batch/v1"])
def test_a_template_is_not_tried(name: str, version: str) -> None:
    """A template of which only the version changes is rewritten; no server is asked about what is not rendered."""
    text = JOB.replace("nightly", name).replace("batch/v1beta1", version)
    found = migrate(text, "1.35", sandbox=simkit.Cluster(seed=1), check=True)
    assert found, found.to_frame()["person"].tolist()
    assert found.files[0].after == text.replace("v1beta1", "v1")
