"""The commands releases, policy and without."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from pathlib import Path

import orjson
import pytest

from simkit.cli import main, serve
from simkit.cli.pages import PageParser
from simkit.cli.source import demo_path

WORKED = Path(__file__).resolve().parents[1] / "logic" / "lifecycle" / "worked.yaml"
BROKEN = """
groups:
- name: shop.example.com
  versions: [{name: v1beta1, introduced: "1.28", deprecated: "1.29", removed: "1.30"}]
"""


def test_releases_are_listed_with_their_dates(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, the oldest first."""
    assert main(["releases", "-o", "json"]) == 0
    rows = orjson.loads(capsys.readouterr().out)
    assert (rows[0]["release"], rows[-1]["release"]) == ("1.16", "1.37")
    assert rows[0]["released"] == "2019-09-18"


def test_removals_between_two_releases(capsys: pytest.CaptureFixture[str]) -> None:
    """With the replacement."""
    assert main(["releases", "1.31", "1.32", "-o", "json"]) == 0
    rows = orjson.loads(capsys.readouterr().out)
    assert {(row["change"], row["kind"]) for row in rows} >= {("goes", "FlowSchema")}


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["1.25", "-g", "policy"], "policy/v1"),
        (["--calendar", "-g", "batch"], "batch/v1beta1"),
        (["1.21", "--limits"], "default roles"),
    ],
)
def test_other_views_of_releases(arguments: list[str], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The resources of a release, a calendar, and the limits of a simulated release."""
    assert main(["releases", *arguments]) == 0
    assert shown in capsys.readouterr().out


def test_unknown_releases_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the known ones."""
    assert main(["releases", "1.99"]) == 2
    assert "1.16 to 1.37" in capsys.readouterr().err


def test_a_history_that_keeps_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty report has the exit code 0."""
    assert main(["policy", "check", str(WORKED), "-o", "json"]) == 0
    assert orjson.loads(capsys.readouterr().out) == []


def test_a_history_that_breaks_the_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The finding says from when it would be fine; the plan starts from the same file."""
    path = tmp_path / "history.yaml"
    path.write_text(BROKEN, encoding="utf-8")
    assert main(["policy", "check", str(path), "-o", "json"]) == 1
    (row,) = orjson.loads(capsys.readouterr().out)
    assert (row["rule"], row["complies_from"]) == ("4a", "1.32 (2024-12-11)")
    path.write_text(BROKEN.replace(', deprecated: "1.29", removed: "1.30"', ""), encoding="utf-8")
    assert main(["policy", "plan", str(path), "shop.example.com", "v1", "--start", "1.30", "-o", "json"]) == 0
    steps = orjson.loads(capsys.readouterr().out)
    assert [step["release"] for step in steps if step["action"] == "remove"] == ["1.33"]


def test_a_policy_needs_one_history(capsys: pytest.CaptureFixture[str]) -> None:
    """A file or the history of Kubernetes."""
    assert main(["policy", "check"]) == 2
    assert main(["policy", "check", "--kubernetes", "batch"]) == 1
    assert "batch/v1beta1" in capsys.readouterr().out


def test_removals_with_and_without_users(capsys: pytest.CaptureFixture[str]) -> None:
    """The bundled cluster does not use flow control's beta, but the workloads."""
    assert main(["removal-report", "apps/v1", "--dump", str(demo_path()), "-o", "json"]) == 1
    rows = orjson.loads(capsys.readouterr().out)
    assert {row["kind"] for row in rows if row["severity"] == "critical"} >= {"Deployment"}
    assert main(["removal-report", "node.k8s.io/v1", "--dump", str(demo_path())]) in (0, 1)
    assert main(["removal-report", "nosuch/v1", "--dump", str(demo_path())]) == 2


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--feature-gates", "WatchList"), "missing bool value for WatchList"),
        (("--feature-gates", "WatchList=yes"), "'yes' is neither true nor false"),
        (("--runtime-config", "batch/v1=maybe"), "'maybe' is neither true nor false"),
    ],
)
def test_switches_must_be_written_well(capsys: pytest.CaptureFixture[str], flags: tuple[str, str], text: str) -> None:
    """A gate needs its value; versions may go without."""
    assert main(["serve", *flags]) == 2
    assert text in capsys.readouterr().err


def test_switches_given_twice_add_up() -> None:
    """Later ones win."""
    parser = PageParser()
    serve.add_options(parser)
    given = ["--runtime-config", "api/all,batch/v1=false", "--runtime-config", "batch/v1"]
    args = parser.parse_args([*given, "--feature-gates", "A=true", "--feature-gates", "B=false"])
    assert args.runtime_config == {"api/all": True, "batch/v1": True}
    assert args.feature_gates == {"A": True, "B": False}


def test_uses_of_removed_versions_are_placed_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a report for build servers: the file and the line of the manifest."""
    path = tmp_path / "chart.yaml"
    budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: dev}\n"
    path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: dev}}\n---\n{budget}")
    command = ["removal-report", "--release", "1.32", "--dump", str(path), "--manifests", "-o", "sarif"]
    assert main(command) == 1
    (found,) = orjson.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert found["ruleId"] == "api-version-1.25"
    place = found["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (path.as_uri(), 5)


CRON_JOB = """
apiVersion: batch/v1beta1
kind: CronJob
metadata: {name: a, namespace: default, uid: 4d1c7c0e-9b0a-4a52-9a4f-6f1d8a3f5c11}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n}
status: {nodeInfo: {kubeletVersion: v1.24.3}}
"""


@pytest.mark.parametrize(
    ("dump", "words", "code", "told"),
    [
        (CRON_JOB, ["--to", "1.25"], 2, "--from-release"),
        (CRON_JOB, ["1.25"], 2, "--from-release"),
        (CRON_JOB, ["--to", "1.25", "--from-release", "1.30"], 2, "1.25 comes before 1.30"),
        (CRON_JOB, ["--to", "1.25", "--from-release", "1.24", "--manifests"], 1, ""),
        (CRON_JOB, ["--to", "1.25", "--manifests"], 1, ""),
        (f"{CRON_JOB}---{NODE}", ["--to", "1.25", "--manifests"], 1, ""),
        (f"{CRON_JOB}---{NODE}", ["--to", "1.25"], 0, ""),  # listed by a server, in a version of the listing's choice
    ],
)
def test_what_a_release_removes_depends_on_the_release_before(
    dump: str, words: list[str], code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told, or shown by a node, and never assumed."""
    path = tmp_path / "dump.yaml"
    path.write_text(dump)
    assert main(["removal-report", *words, "-f", str(path), "-o", "json"]) == code
    shown = capsys.readouterr()
    assert told in shown.err
    if code != 2:
        assert "flowcontrol" not in shown.out  # of 1.30
        assert ("CronJob" in shown.out) == bool(code)


def test_a_release_is_found_in_what_comes_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It can be read once, and is read as the release that it shows."""
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(f"{CRON_JOB}---{NODE}".encode())))
    assert main(["removal-report", "--to", "1.25", "--manifests", "-f", "-", "-o", "json"]) == 1
    assert "CronJob" in capsys.readouterr().out


def test_requests_that_are_not_decided_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the release that an upgrade starts from, no server can be asked."""
    (tmp_path / "log").write_text("")
    (tmp_path / "dump.yaml").write_text(CRON_JOB)
    main(["upgrade", str(tmp_path / "dump.yaml"), "--to", "1.25", "--audit-log", str(tmp_path / "log")])
    assert "--from" in capsys.readouterr().err.partition("recorded requests")[2]


def _answered(version: str, resource: str, code: int = 200) -> str:
    group, _, name = version.partition("/")
    reference = {"apiGroup": group, "apiVersion": name, "resource": resource}
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "stage": "ResponseComplete",
        "verb": "list",
        "requestURI": f"/apis/{version}/{resource}",
        "user": {"username": "ci"},
        "objectRef": reference,
        "responseStatus": {"code": code},
    }
    return orjson.dumps(event).decode()


@pytest.mark.parametrize(
    ("answered", "breaking"),
    [
        ([("batch/v1beta1", "cronjobs", 200)], 1),
        ([("batch/v1beta1", "cronjobs", 404)], 0),
        ([("policy/v1beta1", "podsecuritypolicies", 200), ("batch/v1beta1", "cronjobs", 200)], 1),
    ],
)
def test_the_release_is_that_of_what_was_answered(
    answered: list[tuple[str, str, int]], breaking: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Calls that were answered show a release that serves the version, so that they are not gone already."""
    dump, log = tmp_path / "dump.yaml", tmp_path / "audit.jsonl"
    dump.write_text("{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: '1'}}\n")
    log.write_text("\n".join(_answered(*each) for each in answered))
    command = ["removal-report", "batch/v1beta1", str(dump), "--audit-log", str(log), "-o", "json"]
    assert main(command) == breaking
    told = capsys.readouterr()
    assert [row["breaks"] for row in orjson.loads(told.out)] == [bool(breaking)]
    assert ("is unknown; assuming 1.30" in told.err) == (not breaking)


def test_words_beside_a_release_are_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A release that an option names leaves no elements to name: several dumps are read as one."""
    dump, nodes = tmp_path / "dump.yaml", tmp_path / "nodes.yaml"
    dump.write_text("{apiVersion: batch/v1beta1, kind: CronJob, metadata: {name: a, namespace: b}, spec: {}}\n")
    nodes.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: n, uid: '1'}, status: {nodeInfo: {kubeletVersion: v1.24.1}}}\n"
    )
    assert main(["removal-report", "--to", "1.25", str(dump), str(nodes), "-o", "json"]) == 1
    (row,) = orjson.loads(capsys.readouterr().out)
    assert (row["release"], row["name"]) == ("1.25", "a")
