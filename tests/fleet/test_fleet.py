"""Fleets: many clusters asked in one call, wherever the work is done."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from simkit.analysis import audit, compare
from simkit.cli import main
from simkit.fleet import Fleet
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.snapshot.load import load

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="kube-simkit[fleet] is not installed")

EXTRA = """---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: drift}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: mallory}]
"""
ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: view}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
{apiVersion: v1, kind: List, items: []}
"""
COMPLETE = '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"%sList","items":[]}\n'
ALL = "---\n".join(COMPLETE % kind for kind in ("Role", "RoleBinding", "ClusterRoleBinding"))


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden cluster, one like it, one with a binding more, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("dumps")
    for name in ("golden", "same"):
        (folder / f"{name}.yaml").write_text(ROLES + "---\n" + ALL)
    (folder / "drifted.yaml").write_text(ROLES + "---\n" + ALL + EXTRA)
    (folder / "broken.yaml").write_text("{]")
    return folder


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A Dask scheduler of its own."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        yield cluster.scheduler_address


def test_an_audit_of_many_is_the_audits_of_each(tmp_path: Path) -> None:
    """The rows of each cluster are those that its own audit gives, with its name before them."""
    for name in ("one", "two"):
        shutil.copy(datasets.path(datasets.DEMO), tmp_path / f"{name}.json.gz")
    answer = Fleet(str(tmp_path / "*.json.gz"), scheduler="threads", workers=2).audit()
    expected = audit(load(datasets.path(datasets.DEMO)).snapshot()).to_frame()
    assert answer.clusters == ("one", "two")
    whole = answer.to_frame()
    for name in answer.clusters:
        rows = whole[whole["cluster"] == name].drop(columns="cluster").reset_index(drop=True)
        assert rows.astype(str).equals(pd.DataFrame(expected).astype(str))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes", "address"])
def test_drift_is_the_same_wherever_it_is_found(dumps: Path, scheduler: str, request: pytest.FixtureRequest) -> None:
    """The clusters that differ from the golden one, by what access; the broken one is named and stops nobody."""
    where = request.getfixturevalue("address") if scheduler == "address" else scheduler
    answer = Fleet(sorted(dumps.iterdir()), scheduler=where, workers=1).diff(golden="golden")
    frame = answer.to_frame()
    assert set(frame["cluster"]) == {"drifted"}
    assert set(frame["subject"]) == {"user:mallory"}
    assert len(frame) == len(compare(load(dumps / "golden.yaml").snapshot(), load(dumps / "drifted.yaml").snapshot()))
    assert answer.clusters == ("drifted", "same")
    assert [failure.cluster for failure in answer.failures] == ["broken"]
    assert "broken.yaml" in answer.failures[0].reason


def test_tables_are_written_as_they_come(dumps: Path, tmp_path: Path) -> None:
    """Each cluster's table is a Parquet file; the answer keeps no rows."""
    answer = Fleet([dumps / "drifted.yaml", dumps / "same.yaml"], scheduler="synchronous").audit(to=tmp_path / "out")
    assert len(answer) == 0
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["drifted.parquet", "same.parquet"]
    written = pd.read_parquet(tmp_path / "out" / "drifted.parquet")
    assert len(written) == len(audit(load(dumps / "drifted.yaml").snapshot()))
    assert set(written["cluster"]) == {"drifted"}


def test_names_of_clusters_are_those_of_their_files_and_unique(dumps: Path, tmp_path: Path) -> None:
    """Two places with one name are refused; names may be given."""
    shutil.copy(dumps / "same.yaml", tmp_path / "same.json")
    with pytest.raises(SimkitError, match="two clusters would be called 'same'"):
        Fleet([dumps / "same.yaml", tmp_path / "same.json"])
    fleet = Fleet({"eu": dumps / "same.yaml", "us": tmp_path / "same.json"}, scheduler="synchronous")
    assert [member.name for member in fleet.members] == ["eu", "us"]


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:1", "nonsense"])
def test_a_scheduler_that_is_not_there_is_told(dumps: Path, where: str) -> None:
    """The error names the address."""
    with pytest.raises(SimkitError, match=where):
        Fleet([dumps / "same.yaml"], scheduler=where).audit()


def test_an_unknown_golden_cluster_is_told(dumps: Path) -> None:
    """The error says what was looked for."""
    with pytest.raises(SimkitError, match="no cluster of the fleet is called 'gold'"):
        Fleet([dumps / "same.yaml"]).diff(golden="gold")


def test_the_command(dumps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Drift and expectations on the command line, with exit codes as everywhere."""
    here = ["--scheduler", "synchronous", "-o", "csv"]
    good = [str(dumps / f"{name}.yaml") for name in ("golden", "same")]
    assert main(["fleet", "diff", *good, "--golden", "golden", *here]) == 0
    assert main(["fleet", "diff", *good, str(dumps / "drifted.yaml"), "--golden", "golden", *here]) == 1
    assert "drifted,gained,user:mallory" in capsys.readouterr().out
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "expectations:\n- name: nobody reads pods\n  cannot: {subject: 'user:mallory', verb: get, resource: pods}\n"
    )
    assert main(["fleet", "check", *good, "--suite", str(suite), *here]) == 0
    assert main(["fleet", "check", str(dumps / "drifted.yaml"), "--suite", str(suite), *here]) == 1
    written = ["--parquet", str(tmp_path / "tables"), *here]
    assert main(["fleet", "check", *good, "--suite", str(suite), *written]) == 0
    assert main(["fleet", "check", str(dumps / "drifted.yaml"), "--suite", str(suite), *written]) == 1
    assert main(["fleet", "diff", *good, str(dumps / "drifted.yaml"), "--golden", "golden", *written]) == 1
    assert main(["fleet", "check", *good, *here]) == 2
    assert main(["fleet", "audit", str(dumps / "broken.yaml"), *here]) == 2
    assert "broken" in capsys.readouterr().err
    assert main(["fleet", "audit", *good, "--release", "9.9", *here]) == 2
    assert "9.9" in capsys.readouterr().err
    assert main(["fleet", "audit", *good, "--workers", "0", *here]) == 2


def test_each_cluster_may_have_the_export_of_its_provider(capsys: pytest.CaptureFixture[str]) -> None:
    """What IAM grants counts in the cluster whose export it is; an export of no cluster is refused."""
    demo, export = datasets.path(datasets.DEMO), datasets.path("clusters/pellowick-gke.json")
    places = {"with": demo, "without": demo}
    fleet = Fleet(places, scheduler="synchronous", cloud={"with": export})
    found = fleet.audit(checks=["cloud-admin"]).to_frame()
    assert set(found["cluster"]) == {"with"}
    with pytest.raises(SimkitError, match="no cluster of the fleet is called 'other'"):
        Fleet(places, cloud={"other": export})
    name = demo.name.partition(".")[0]
    assert main(["fleet", "audit", str(demo), "--scheduler", "synchronous", "--cloud", f"{name}={export}"]) == 1
    assert "cloud-admin" in capsys.readouterr().out
    assert main(["fleet", "audit", str(demo), "--cloud", str(export)]) == 2
