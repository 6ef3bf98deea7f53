"""Guesses of people who know kubectl and pandas, and the answers to wrong guesses."""

from __future__ import annotations

from pathlib import Path

import pytest

import simkit
from simkit import SimkitError, analysis
from simkit.cli import main


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("auditt --demo", "there is no command 'auditt'; did you mean 'audit'?; see simkit --help"),
        ("get pods", "there is no command 'get'"),
        ("escalations --demo --subjects ann", "did you mean --subject?; see simkit escalations --help"),
        ("who-can get secrets --dmp x", "did you mean --dump?; see simkit who-can --help"),
        ("removal-report polcy/v1beta1 --demo", "does not serve 'polcy/v1beta1'"),
        ("plot --demo", "pictures are written by --plot FILE"),
        ("roles --demo", "in simkit bindings"),
        ("escalations --demo -n billing", "name the subject (--subject sa:NS/NAME)"),
        ("graph -n billing --demo", "write simkit escalations --graph FILE"),
        ("escalations --demo --bloodhound x.json", "write --graph paths.json with simkit escalations"),
        ("who-can get secrets --demo --exclude user:ann", "write simkit what-if remove WHO cluster.yaml"),
        ("bindings --demo --plot x.png", "pictures are written by --plot FILE of exposure"),
        ("stale", "there is no command 'stale'; write simkit audit cluster.yaml --stale"),
        ("rbac --demo", "write simkit audit cluster.yaml"),
        ("crd old new", "did you mean 'crd-diff'?"),
        ("dump --demo --to x.json", "simkit redact --demo --to FILE"),
        ("who-can get secrets --to=x.xlsx --demo", "write the answer to a file with > FILE"),
        ("who-can get secrets -o x.xlsx --demo", "write the answer to a file with -o csv > x.csv"),
        ("cut --demo cluster-admin", "'cluster-admin' is read as a path, and a goal, role or subject needs its option"),
        ("permissions --as sa:a/b --demo", "name the subject as a word"),
        ("releases --to 1.33", "name one or two releases as words: simkit releases 1.25 1.32"),
        ("serve --http", "unrecognized arguments: --http"),
        ("who-can read secrets --demo", "reading is get (one object), list (all) and watch"),
        ("audit --demo --format json", "write -o FORMAT"),
        ("audit --demo -o report.html", "simkit audit --html report.html"),
        ("scan --demo", "write simkit audit cluster.yaml"),
        ("watch cluster.yaml", "it follows a running cluster"),
        ("upgrade --demo", "name the release to upgrade to: --to 1.33"),
        ("who-can secrets --demo", "name the verb before it, as in get secrets"),
        ("who-can get,list secrets --demo", "several verbs; ask about one at a time"),
        ("who-can get secrets/db --demo", "give the name of an object apart: get secrets db"),
    ],
)
def test_a_wrong_guess_is_answered_with_the_right_word(
    command: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with exit code 2."""
    assert main(command.split()) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_the_dump_may_stand_before_the_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the release of an upgrade at either side of it; a plan tells that the cluster comes first."""
    dump, manifests = tmp_path / "dump.json", tmp_path / "role.yaml"
    simkit.Cluster(seed=1).save(dump)
    rule = "{apiGroups: [''], resources: [pods], verbs: [get]}"
    head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole"
    manifests.write_text(f"{head}\nmetadata: {{name: a}}\nrules: [{rule}]\n---\n{head}Binding\nmetadata: {{name: a}}\n")
    assert main(["who-can", str(dump), "get", "secrets"]) == 0
    assert "group:system:masters" in capsys.readouterr().out
    assert main(["what-if", str(dump), "delete", "clusterrolebinding", "cluster-admin"]) == 1
    assert main(["upgrade", str(dump), "1.33"]) == main(["upgrade", "1.33", str(dump)]) == 0
    assert main(["plan", str(manifests), str(dump)]) == 1
    assert f"as in simkit plan {dump} {manifests}" in capsys.readouterr().err


def test_help_and_version_are_commands_as_in_kubectl(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "audit"]) == 0
    assert "usage: simkit audit" in capsys.readouterr().out
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"simkit {simkit.__version__}\n"


def test_lists_are_narrowed_as_clients_do_it() -> None:
    """By labels and by fields; what cannot be selected by is refused as the server does it."""
    cluster = simkit.Cluster(seed=1)
    for name, team in (("a", "red"), ("b", "blue")):
        metadata = {"name": name, "labels": {"team": team}}
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert [each["metadata"]["name"] for each in cluster.list("configmaps", label_selector="team=red")] == ["a"]
    assert [each["metadata"]["name"] for each in cluster.list("cm", "default", field_selector="metadata.name=b")] == [
        "b"
    ]
    with pytest.raises(simkit.StatusError, match="is not a known field selector"):
        cluster.list("configmaps", field_selector="data.x=1")


def test_a_cluster_in_place_of_its_snapshot_is_told() -> None:
    cluster = simkit.Cluster(seed=1)
    with pytest.raises(SimkitError, match=r"Cluster is no snapshot; pass cluster\.snapshot\(\)"):
        analysis.who_can(cluster, "get", "pods")  # type: ignore[arg-type]
