"""The query commands: what they print, and their exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from simkit.cli import COMMANDS, main
from tests.analysis.worlds import binding, role, rule


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """The path of a small dump."""
    objects = [
        role("readers", rule("get", "pods"), rule("get", urls="/metrics")),
        role("secrets", rule("get,list", "secrets"), namespace="dev"),
        role("named", rule("get", "secrets", names="db"), namespace="dev"),
        binding("wide", "readers", "user:ann", "group:devs"),
        binding("narrow", "secrets", "sa:dev/app", namespace="dev", local=True),
        binding("one", "named", "user:bob", namespace="dev", local=True),
    ]
    path = tmp_path / "dump.json"
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def test_a_table_of_who_can(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Subjects, scope, binding and role stand in aligned columns; somebody can, so the code is 0."""
    assert main(["who-can", "get", "secrets", "--dump", dump, "-n", "dev"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["SUBJECT", "SCOPE", "BINDING", "ROLE", "RULE", "NAMES"]
    assert [line.split()[0] for line in out[1:]] == ["group:system:masters", "sa:dev/app"]
    assert out[2].index("RoleBinding") == out[0].index("BINDING")


def test_an_empty_answer_of_who_can(dump: str) -> None:
    """If only system:masters may do it, the exit code is 1."""
    assert main(["who-can", "list", "secrets", "--dump", dump, "-A"]) == 1
    assert main(["who-can", "get", "secrets", "--dump", dump, "--any-name"]) == 0
    assert main(["who-can", "get", "--url", "/metrics", "--dump", dump]) == 0


@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_outputs(dump: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each form holds the same rows, JSON with lists as lists."""
    command = ["who-can", "get", "secrets", "db", "--dump", dump, "-o", form]
    assert main([*command, "--authorization-mode", "RBAC"]) == 0
    out = capsys.readouterr().out
    if form == "json":
        rows = orjson.loads(out)
        assert [row["subject"] for row in rows] == ["group:system:masters", "sa:dev/app", "user:bob"]
        assert rows[2]["names"] == ["db"]
    else:
        assert "bob" in out
        assert len(out.splitlines()) == (4 if form == "csv" else 5)


def test_can_i_explains(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A yes is 0 with its evidence, a no is 1 with its near miss; groups can be given besides."""
    assert main(["can-i", "get", "pods", "--as", "ann", "--dump", dump]) == 0
    assert "ClusterRoleBinding wide grants ClusterRole readers" in capsys.readouterr().out
    assert main(["can-i", "get", "pods", "--as", "carol", "--as-group", "devs", "--dump", dump]) == 0
    assert main(["can-i", "get", "pods", "--as-group", "devs", "--dump", dump]) == 0
    capsys.readouterr()
    assert main(["can-i", "get", "secrets", "--as", "system:serviceaccount:dev:app", "-n", "ops", "--dump", dump]) == 1
    assert "but only in dev, not in ops" in capsys.readouterr().out
    assert main(["can-i", "get", "secrets", "--as", "bob", "-n", "dev", "--dump", dump, "-o", "json"]) == 1
    told = orjson.loads(capsys.readouterr().out)
    assert told["allowed"] is False
    assert "limited to the names db" in told["explanation"][0]


def test_can_i_lists(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All that a subject may do is listed; somebody unknown is wrong use, unless groups are given."""
    assert main(["can-i", "--list", "--as", "ann", "--dump", dump]) == 0
    assert "/metrics" in capsys.readouterr().out
    assert main(["can-i", "--list", "--as", "nobody", "--dump", dump]) == 2
    assert main(["can-i", "--list", "--as", "carol", "--as-group", "devs", "--dump", dump, "-o", "json"]) == 0


def test_a_report_that_cannot_be_written_is_told(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what is missing, and how to take it as empty."""
    assert main(["audit", dump, "--html", str(tmp_path / "r.html")]) == 2
    told = capsys.readouterr().err
    assert "no report was written, since its paths and causes need more" in told
    assert "--complete pods" in told


def test_audit_fails_from_a_severity_on(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The code is 1 from --fail-on, and what could not be asked is said."""
    assert main(["audit", dump, "--fail-on", "high"]) == 0
    assert main(["audit", dump, "--fail-on", "medium"]) == 1
    assert main(["audit", dump, "--fail-on", "never"]) == 0
    told = capsys.readouterr()
    assert "skipped missing-account" in told.out
    assert "root causes and escalation paths are left out: the snapshot does not hold pods" in told.err
    assert main(["audit", dump, "--complete", "pods, serviceaccounts,secrets", "--complete", "namespaces"]) == 0
    assert "left out" not in capsys.readouterr().err
    assert main(["audit", dump, "--complete", "*", "--show", "info", "-o", "markdown"]) == 0
    assert "| medium" in capsys.readouterr().out
    assert main(["audit", dump, "-o", "json"]) == 0
    assert orjson.loads(capsys.readouterr().out)["counts"]["medium"] == 2
    assert main(["audit", dump, "-o", "csv", "--check", "secrets-list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["who-can", "get", "podz", "--dump", "DUMP"],
        ["who-can", "gte", "pods", "--dump", "DUMP"],
        ["who-can", "get", "pods", "--dump", "missing.yaml"],
        ["who-can", "get", "secrets", "db", "--any-name", "--dump", "DUMP"],
        ["can-i", "get", "pods", "--dump", "DUMP"],
        ["can-i", "--as", "ann", "--dump", "DUMP"],
        ["can-i", "get", "pods", "--as", "sa:nameless", "--dump", "DUMP"],
        ["audit"],
        ["audit", "DUMP", "--check", "unheard-of"],
    ],
)
def test_wrong_use_is_2_and_one_line(words: list[str], dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes end with code 2 and a line on standard error, without a traceback."""
    assert main([dump if word == "DUMP" else word for word in words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("simkit: ")
    assert "Traceback" not in captured.err
    assert not captured.out


def test_a_dump_without_bindings_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question whose objects were not captured asks for them instead of answering that nobody can."""
    path = tmp_path / "roles.yaml"
    path.write_bytes(orjson.dumps(role("r", rule("get", "pods"))))
    assert main(["who-can", "get", "pods", "--dump", str(path)]) == 2
    assert "clusterrolebindings" in capsys.readouterr().err
    assert main(["who-can", "get", "pods", "--dump", str(path), "--complete", "*"]) == 1


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's help shows how it is used."""
    assert main([command, "--help"]) == 0
    assert f"simkit {command}" in capsys.readouterr().out.split("examples:")[1]


@pytest.mark.parametrize("words", [["--help"], ["get", "secrets", "--demo"]], ids=" ".join)
def test_who_can_imports_no_heavy_library(words: list[str]) -> None:
    """Neither the help nor the answer of a query imports tables or the engine."""
    code = (
        f"import sys; from simkit.cli import main; main(['who-can', *{words}]);"
        "heavy = {'pandas', 'networkx', 'matplotlib', 'simkit.engine'} & set(sys.modules); sys.exit(len(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_no_command_shows_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the commands are listed and the code is 2; an unknown one is 2 as well."""
    assert main([]) == 2
    assert all(command.name in capsys.readouterr().out for command in COMMANDS[:1])
    assert main(["unheard-of"]) == 2


def test_manifests_stand_on_the_servers_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Manifests may refer to default roles, fill aggregated ones, and name no namespace; nothing is missing then."""
    objects = [
        binding("web", "edit", "sa:prod/web", namespace="prod"),
        role("more", rule("list", "widgets", groups="example.com"), labels={"rbac.authorization.k8s.io/aggregate-to-edit": "true"}),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}},
    ]  # fmt: skip
    path = tmp_path / "out.json"
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    words = ["--as", "sa:prod/web", "-n", "prod", "--dump", str(path), "--manifests", "--into", "prod"]
    assert main(["can-i", "create", "deployments", *words]) == 0
    assert main(["can-i", "list", "widgets", "--api-group", "example.com", *words]) == 0
    assert main(["can-i", "get", "nodes", *words]) == 1
    assert main(["audit", str(path), "--manifests", "--into", "prod", "-o", "json", "--fail-on", "never"]) == 0
    told = orjson.loads(capsys.readouterr().out[-10_000:].partition("\n{")[2].join(["{", ""]))
    assert [one["check"] for one in told["skipped"]] == ["unused-account"]  # manifests do not show what runs
    assert {finding["namespace"] for finding in told["findings"]} <= {"", "prod"}
