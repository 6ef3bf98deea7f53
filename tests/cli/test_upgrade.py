"""``simkit upgrade`` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from simkit.cli import main

JOB = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: nightly\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n, uid: '1'}\nstatus: {nodeInfo: {kubeletVersion: v1.24.3}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "job.yaml").write_text(JOB)
    return str(tmp_path)


def test_exit_codes(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """0: nothing breaks; 1: something does; 2: wrong use."""
    assert main(["upgrade", folder, "--to", "1.24"]) == 0
    assert main(["upgrade", folder, "--to", "1.25"]) == 1
    assert "nightly" in capsys.readouterr().out
    assert main(["upgrade", folder, "--to", "1.99"]) == 2
    assert "the known releases are 1.16 to 1.37" in capsys.readouterr().err
    assert main(["upgrade", "--to", "1.25"]) == 2


@pytest.mark.filterwarnings("default")
def test_nothing_to_look_at_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder is no cluster in order, and a file that is no audit log is told."""
    for command in (["upgrade"], ["migrate", "--check"]):
        assert main([*command, str(tmp_path), "--to", "1.33"]) == 2
        assert str(tmp_path) in capsys.readouterr().err
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "log").write_text("no event\n")
    assert main(["upgrade", str(tmp_path / "job.yaml"), "--to", "1.24", "--audit-log", str(tmp_path / "log")]) == 0
    assert f"no audit event was found in {tmp_path}/log" in capsys.readouterr().err
    assert main(["upgrade", str(tmp_path / "job.yaml"), "--to", "1.24", "--metrics", str(tmp_path / "job.yaml")]) == 2
    assert "job.yaml are no metrics" in capsys.readouterr().err


def test_json(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of objects with what programs need."""
    main(["upgrade", folder, "--to", "1.25", "-o", "json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert {"release", "what", "where", "who", "evidence", "severity", "remedy", "source"} <= set(row)
    assert (row["release"], row["file"], row["line"]) == ("1.25", f"{folder}/job.yaml", 1)


def test_build_servers(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF and JUnit have a result for each break, at its file and line."""
    main(["upgrade", folder, "--to", "1.25", "-o", "sarif"])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    main(["upgrade", folder, "--to", "1.25", "-o", "junit"])
    assert 'failures="1"' in capsys.readouterr().out


def test_migrations_for_build_servers(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is to be rewritten is a result at its file and line; so is what cannot be read."""
    Path(folder, "bad.yaml").write_text("a: [b")
    assert main(["migrate", folder, "--to", "1.25", "--check", "-o", "sarif"]) == 2
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert {one["ruleId"] for one in results} == {"old-batch-v1beta1-cronjob", "not-read"}
    assert main(["migrate", folder, "--to", "1.25", "--check", "-o", "junit"]) == 2
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "2",
        "errors": "0",
    }


def test_the_release_of_the_cluster_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --from it is that of the newest kubelet."""
    (tmp_path / "dump.yaml").write_text(NODE)
    main(["upgrade", str(tmp_path), "--to", "1.28", "-o", "json"])
    assert [row["release"] for row in json.loads(capsys.readouterr().out)] == ["1.27"]
    assert main(["upgrade", str(tmp_path), "--to", "1.23"]) == 2


def test_charts_are_rendered_by_helm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --helm a chart is what helm makes of it, a refusal of helm is told, and so is that it is missing."""
    chart, tools = tmp_path / "shop", tmp_path / "bin"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: shop\nversion: 1.0.0\napiVersion: v2\n")
    (chart / "templates" / "job.yaml").write_text(JOB.replace("v1beta1", "{{ .Values.version }}"))
    words = ["upgrade", str(chart), "--helm", "--to", "1.25"]
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert main(words) == 2
    assert "cannot be rendered without helm" in capsys.readouterr().err
    helm = tools / "helm"
    helm.write_text(f"#!/bin/sh\necho '{JOB}'\n")
    helm.chmod(0o755)
    assert main(words) == 1
    assert "nightly" in capsys.readouterr().out
    helm.write_text("#!/bin/sh\necho 'Error: no values' >&2\nexit 1\n")
    assert main(words) == 2
    assert "no values" in capsys.readouterr().err


def test_metadata_that_is_no_object_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such an object is a row of what was not read, with file and line, and not left out in silence."""
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: web\n---\napiVersion: v1\nkind: Pod\n")
    main(["upgrade", str(tmp_path), "--to", "1.30", "-o", "json"])
    said = capsys.readouterr()
    [row] = [row for row in json.loads(said.out) if row["check"] == "not-read"]
    assert (row["line"], "metadata of a ConfigMap is no object" in row["what"]) == (1, True)
    assert "metadata of a ConfigMap is no object" in said.err


@pytest.mark.slow
def test_a_report_goes_into_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    """As everywhere else where a command writes a file."""
    page = tmp_path / "new" / "deep" / "page.html"
    main(["upgrade", "--demo", "--to", "1.33", "--report", str(page)])
    assert "<h1" in page.read_text()
    known = tmp_path / "other" / "known.json"
    main(["audit", "--demo", "--write-baseline", str(known)])
    assert known.exists()
    plan = tmp_path / "third" / "plan.yaml"
    main(["cut", "--demo", "--best", "1", "--write", str(plan)])
    assert "kind" in plan.read_text()


def test_rows_that_differ_by_their_place_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In tables; JSON has all."""
    nodes = "---\n".join(
        NODE.replace("name: n,", f"name: n{number},").replace("'1'", f"'{number}'") for number in range(3)
    )
    path = tmp_path / "nodes.yaml"
    path.write_text(nodes)
    command = ["upgrade", str(path), "--from", "1.26", "--to", "1.27"]
    assert main(command) == 1
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert f"Node n0 status.nodeInfo.kubeletVersion ({path}:1) and 2 more" in row
    assert main([*command, "-o", "json"]) == 1
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == ["n0", "n1", "n2"]


def test_callers_that_have_stopped(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Requests of before a day do not count."""
    reference = {"apiGroup": "batch", "apiVersion": "v1beta1", "resource": "cronjobs"}
    events = [
        {"verb": "list", "requestURI": "/apis/batch/v1beta1/cronjobs", "user": {"username": user}, "userAgent": "a",
         "objectRef": reference, "responseStatus": {"code": 200}, "requestReceivedTimestamp": f"{day}T10:00:00Z"}
        for user, day in (("ann", "2026-10-01"), ("bob", "2026-11-02"))
    ]  # fmt: skip
    log = tmp_path / "audit.log"
    log.write_text("\n".join(map(json.dumps, events)))
    command = ["upgrade", folder, "--from", "1.24", "--to", "1.25", "--audit-log", str(log), "-o", "json"]
    for words, callers in (
        ([], {"user:ann (a)", "user:bob (a)"}),
        (["--requests-since", "2026-11-01"], {"user:bob (a)"}),
    ):
        main([*command, *words])
        rows = json.loads(capsys.readouterr().out)
        assert {row["who"] for row in rows if row["check"] == "caller"} == callers


@pytest.mark.parametrize(
    ("rule", "code", "told"),
    [
        ("{check: api-version, kind: CronJob, name: 'night*', reason: goes in May}", 0, ""),
        ("{check: api-version, name: other, reason: goes in May}", 1, "matches no row"),
        ("{kind: CronJob, reason: goes in May, expires: 2020-01-31}", 1, "expired on 2020-01-31"),
        ("{reason: goes in May}", 2, "say what is accepted"),
        ("{kind: CronJob}", 2, "reason"),
    ],
)
def test_accepted_rows_break_nothing(
    folder: str, rule: str, code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until their last day; the row stays, with the reason."""
    accepted = tmp_path / "accepted"
    accepted.write_text(f"suppressions: [{rule}]")
    assert main(["upgrade", folder, "--to", "1.25", "--suppress", str(accepted), "-o", "json"]) == code
    shown = capsys.readouterr()
    assert told in shown.err
    if code == 0:
        assert "accepted: goes in May" in json.loads(shown.out)[0]["evidence"]


def test_a_manifest_needs_neither_tables_nor_expressions(tmp_path: Path) -> None:
    """The libraries of tables and the parser of CEL are not loaded for a manifest of which no expression decides."""
    manifest = tmp_path / "job.yaml"
    manifest.write_text("apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily'}\n")
    code = (
        "import sys; from simkit.cli import main; "
        f"main(['upgrade', {str(manifest)!r}, '--to', '1.33', '-o', 'json']); "
        "print({'pandas', 'numpy', 'lark'} & set(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "set()"


def test_what_was_not_read_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not counted among what breaks nothing."""
    (tmp_path / "broken.yaml").write_text("a: [b")
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    main(["upgrade", str(tmp_path), "--to", "1.30"])
    said = capsys.readouterr()
    assert "could not be read" in said.out
    assert "break nothing" not in said.err
    for more in ([], ["--plan"], ["-o", "json"]):
        main(["upgrade", str(tmp_path), "--to", "1.30", *more])
        assert "Incomplete: 1 part of the source" in capsys.readouterr().err
