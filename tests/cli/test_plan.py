"""``simkit plan``: what a change of manifests does, for people, pipelines and programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema_rs
import pytest

from simkit.analysis.manifest_plan.result import PlanDocument
from simkit.cli import main
from simkit.cli.plan_comment import LONGEST, MARK

_CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{x: '{value}'}}\n"
_BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a dump of one ConfigMap, and manifests in ``deploy``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.yaml").write_text(_CONFIG.format(name="a", value=1), encoding="utf-8")
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "a.yaml").write_text(_CONFIG.format(name="a", value=2), encoding="utf-8")
    return tmp_path


def run(*words: str) -> int:
    return main(["plan", "dump.yaml", "--manifests", *words])


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of terraform plan: 0 for nothing, 2 for changes; 1 for refusals, wrong words and unreadable input."""
    assert run("-f", "deploy") == 2
    assert "data.x: '1' -> '2'" in capsys.readouterr().out
    assert run("-f", "dump.yaml") == 0
    (folder / "wrong.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a_b}}")
    for words in (("-f", "wrong.yaml"), (), ("-f", "absent"), ("-f", "deploy", "--bogus"), ("-o", "xyz")):
        assert run(*words) == 1, words


def test_the_comment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gravest change stands first, with a link to its line; the comment can be found again, and is not too long."""
    many = "---\n".join([*(_CONFIG.format(name=f"m{number}", value="y" * 900) for number in range(90)), _BINDING])
    (folder / "deploy" / "b.yaml").write_text(many, encoding="utf-8")
    assert run("-f", "deploy", "-o", "markdown", "--link", "https://example.com/{file}#L{line}") == 2
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == MARK
    assert lines[1] == "### Plan: 91 to create, 1 to change"
    first = next(line for line in lines if line.startswith("- "))
    assert "`user:eve to cluster-admin`" in first
    place = many.splitlines().index("kind: ClusterRoleBinding")
    assert f"https://example.com/deploy/b.yaml#L{place}" in first
    assert len(text) <= LONGEST + 1000


def test_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON fits its schema, and SARIF names file and line."""
    (folder / "deploy" / "b.yaml").write_text(_BINDING, encoding="utf-8")
    assert run("-f", "deploy", "-o", "json") == 2
    jsonschema_rs.validate(PlanDocument.model_json_schema(), json.loads(capsys.readouterr().out))
    assert main(["plan", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == PlanDocument.model_json_schema()
    assert run("-f", "deploy", "-o", "sarif") == 2
    (log,) = json.loads(capsys.readouterr().out)["runs"]
    places = {
        (one["ruleId"], where["artifactLocation"]["uri"], where["region"]["startLine"])
        for one in log["results"]
        for where in (one["locations"][0]["physicalLocation"],)
    }
    assert ("plan-access", "deploy/b.yaml", 1) in places
    assert ("plan-objects", "deploy/a.yaml", 1) in places


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.com"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_against_a_revision(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what differs between two revisions counts, and what is gone is deleted."""
    (folder / "deploy" / "gone.yaml").write_text(_CONFIG.format(name="gone", value=1), encoding="utf-8")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "deploy")
    _git(folder, "commit", "-qm", "first")
    (folder / "deploy" / "gone.yaml").unlink()
    (folder / "deploy" / "new.yaml").write_text(_CONFIG.format(name="new", value=1), encoding="utf-8")
    assert run("-f", "deploy", "--against", "main") == 2
    told = capsys.readouterr().out
    assert "Plan: 1 to create, 1 to delete" in told
    assert "delete: ConfigMap default/gone  (deploy/gone.yaml:1)" in told
    for revision, words in (
        ("absent", "knows no revision"),
        ("--output=x", "knows no revision"),
        ("HEAD:deploy", "knows no revision"),
        ("", "knows no revision"),
    ):
        assert run("-f", "deploy", f"--against={revision}") == 1
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("where", [".git", "apart"])
def test_a_repository_runs_no_program(where: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkout of somebody else has filters, a monitor and a remote to fetch from: none of them is called."""
    _git(folder, "init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text("*.yaml filter=evil diff=evil\n", encoding="utf-8")
    _git(folder, "add", "deploy", ".gitattributes")
    _git(folder, "commit", "-qm", "first")
    program = f"touch {folder}/pwned; cat"
    for key in ("filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "core.fsmonitor", "core.sshCommand"):
        _git(folder, "config", key, program)
    _git(folder, "config", "core.hooksPath", str(folder / "hooks"))
    _git(folder, "config", "core.repositoryFormatVersion", "1")
    _git(folder, "config", "extensions.partialClone", "origin")
    _git(folder, "config", "remote.origin.url", str(folder))
    _git(folder, "config", "remote.origin.promisor", "true")
    _git(folder, "config", "remote.origin.uploadPack", program)
    (folder / "pwned").unlink(missing_ok=True)
    if where == "apart":
        (folder / ".git").rename(folder / "apart")
        (folder / ".git").write_text("gitdir: apart\n", encoding="utf-8")
    (folder / "deploy" / "a.yaml").write_text(_CONFIG.format(name="a", value=3), encoding="utf-8")
    assert run("-f", "deploy", "--against", "main") == 2
    assert run("-f", "deploy", "--against", "1" * 40) == 1  # a commit that would have to be fetched
    assert "Plan: 1 to change" in capsys.readouterr().out
    assert not (folder / "pwned").exists()


def test_a_chart_is_told_by_its_templates(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What helm renders stands in a template, whose lines are others; tests of the chart are not asked for."""
    (folder / "shop").mkdir()
    (folder / "shop" / "Chart.yaml").write_text("name: shop\n", encoding="utf-8")
    (folder / "bin").mkdir()
    helm = folder / "bin" / "helm"
    made = f"---\n# Source: shop/templates/a.yaml\n{_CONFIG.format(name='made', value=1)}"
    helm.write_text(f'#!/bin/sh\necho "$@" >&2\ncase "$@" in *--skip-tests*) cat <<\'END\'\n{made}\nEND\nesac\n')
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=":")
    assert run("-f", "shop") == 2
    assert "create: ConfigMap default/made  (shop/templates/a.yaml)" in capsys.readouterr().out


def test_a_folder_of_all_sorts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kustomizations in it are rendered, and what they name is not read beside them; -f may be left out."""
    overlay = folder / "deploy" / "overlays" / "live"
    overlay.mkdir(parents=True)
    (overlay / "kustomization.yaml").write_text("resources: [../../base, c.yaml]\n", encoding="utf-8")
    (overlay / "c.yaml").write_text(_CONFIG.format(name="c", value=1), encoding="utf-8")
    (folder / "deploy" / "base").mkdir()
    (folder / "deploy" / "base" / "kustomization.yaml").write_text("resources: [b.yaml]\n", encoding="utf-8")
    (folder / "deploy" / "base" / "b.yaml").write_text(_CONFIG.format(name="b", value=1), encoding="utf-8")
    (folder / "bin").mkdir()
    kustomize = folder / "bin" / "kustomize"
    kustomize.write_text(f"#!/bin/sh\ncat <<'END'\n{_CONFIG.format(name='made', value=1)}\nEND\n")
    kustomize.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=":")
    assert run("deploy") == 2
    told = capsys.readouterr().out
    assert "Plan: 1 to create, 1 to change" in told
    assert "create: ConfigMap default/made  (deploy/overlays/live)" in told


def test_an_earlier_revision_is_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that git archive would leave out count, as do paths that are links; new paths are told of."""
    (folder / "gone.yaml").write_text(_CONFIG.format(name="gone", value=1), encoding="utf-8")
    (folder / "gone.yaml").rename(folder / "deploy" / "gone.yaml")
    (folder / ".gitattributes").write_text("deploy export-ignore\n", encoding="utf-8")
    (folder / "link").symlink_to("/nowhere")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "deploy", "link", ".gitattributes")
    _git(folder, "commit", "-qm", "first")
    _git(folder, "tag", "deploy")
    (folder / "deploy" / "gone.yaml").unlink()
    assert run("-f", "deploy", "--against", "deploy") == 2
    assert "Plan: 1 to delete" in capsys.readouterr().out
    (folder / "deploy" / "a.yaml").rename(folder / "moved.yaml")
    assert run("-f", "moved.yaml", "--against", "main") == 2
    assert "main has no moved.yaml" in capsys.readouterr().err


def test_selectors_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A selector that cannot be read is told in the words of kube-apiserver."""
    for selector in ("app=(", "a in b", "-x=y"):
        assert run("-f", "deploy", f"--prune={selector}") == 1
        assert f"{selector!r} is no label selector: unable to parse requirement" in capsys.readouterr().err


def test_one_mistake_does_not_hide_another(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many lines that one manifest causes take one line of the first screen, which has each kind of mistake."""
    subjects = ", ".join(
        f"{{kind: User, name: u{number}, apiGroup: rbac.authorization.k8s.io}}" for number in range(30)
    )
    many = _BINDING.replace("subjects: [", f"subjects: [{subjects}, ")
    wrong = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a_b, namespace: default}}\n"
    old = "{apiVersion: policy/v1beta1, kind: PodSecurityPolicy, metadata: {name: old}}\n"
    (folder / "deploy" / "b.yaml").write_text("---\n".join([many, wrong, old]), encoding="utf-8")
    assert run("-f", "deploy", "-o", "markdown") == 1
    screen, _, _ = capsys.readouterr().out.partition("<details>")
    for words in ("**opened**", "**gained**", "ConfigMap default/a_b", "PodSecurityPolicy old"):
        assert words in screen
    assert "like it" in screen


def test_namespaces_of_objects_that_name_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are those that -n says, and nothing to complain of."""
    (folder / "deploy" / "a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    run("-f", "deploy", "-n", "default")
    assert "namespace" not in capsys.readouterr().err


def test_what_an_application_deploys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder that an application of Argo CD or a kustomization of Flux names is read too; others are not."""
    _git(folder, "init", "-q")
    application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\n"
    (folder / "apps").mkdir()
    (folder / "apps" / "app.yaml").write_text(f"{application}spec: {{source: {{path: deploy}}}}\n", encoding="utf-8")
    run("-f", "apps")
    told = capsys.readouterr()
    assert "deploys deploy, which is read too" in told.err
    assert "ConfigMap default/a" in told.out
    (folder / "apps" / "app.yaml").write_text(f"{application}spec: {{source: {{path: ../..}}}}\n", encoding="utf-8")
    run("-f", "apps")
    assert "read too" not in capsys.readouterr().err


def test_the_same_change_has_the_same_comment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the words of kube-apiserver hold a generated name, as of pods that a pod security level refuses."""
    pod = "metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: d}]}"
    spec = f"{{selector: {{matchLabels: {{a: b}}}}, template: {{{pod}}}}}"
    deployment = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: w, namespace: billing}}, spec: {spec}}}"
    (folder / "deploy" / "b.yaml").write_text(deployment, encoding="utf-8")
    comments = []
    for _ in range(2):
        assert main(["plan", "--demo", "-f", "deploy", "-o", "markdown"]) == 2
        comments.append(capsys.readouterr().out)
    assert "Error creating: pods" in comments[0]
    assert comments[0] == comments[1]
