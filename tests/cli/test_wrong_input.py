"""Wrong input: exit code 2, never that of findings, and no traceback; what can be read is read."""

from __future__ import annotations

import io
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from simkit.cli import main
from simkit.meta.objects import copied
from tests.analysis.worlds import binding, role, rule

RUN = "import sys; from simkit.cli import main; sys.exit(main())"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "dev", "annotations": {"a": "b"}, "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1"}]},
    "spec": {
        "serviceAccountName": "app",
        "containers": [{"name": "c", "env": [{"name": "A", "value": "b"}], "securityContext": {"privileged": True}}],
        "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
    },
}  # fmt: skip
OBJECTS: list[dict[str, Any]] = [
    role("cluster-admin", rule("*", "*", groups="*")),
    role("secrets", rule("get,list", "secrets"), rule("get", urls="/metrics"), namespace="dev"),
    binding("ops", "cluster-admin", "sa:dev/app", "group:devs"),
    binding("narrow", "secrets", "user:ann", namespace="dev", local=True),
    POD,
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app", "namespace": "dev"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "dev"}, "data": {"k": "dg=="}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev", "labels": {"a": "b"}}},
    {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "p", "namespace": "dev"},
     "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
    {"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "i", "namespace": "dev"},
     "spec": {"rules": [{"host": "h", "http": {"paths": [{"backend": {"serviceName": "s", "servicePort": 80}}]}}]}},
    {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "dev"}, "spec": {"a": 1}},
]  # fmt: skip
COMMANDS = (
    "audit DUMP --complete *",
    "who-can get secrets --dump DUMP --complete * -n dev",
    "can-i get secrets --as sa:dev/app --dump DUMP --complete *",
    "escalations DUMP --complete *",
    "cut DUMP --complete *",
    "removal-report policy/v1 --dump DUMP",
    "upgrade DUMP --to 1.33",
    "redact DUMP --pseudonyms --to OUT",
    "diff DUMP DUMP --complete *",
)
WRONG: tuple[Any, ...] = ("text", 7, True, ["a"], {"a": "b"}, [None], [7], {})


def run(command: str, dump: Path) -> int:
    words = [{"DUMP": str(dump), "OUT": str(dump.with_name("out.json"))}.get(word, word) for word in command.split()]
    return main(words)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a value."""
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [spot for key, item in pairs for spot in spots(item, (*path, key))]


def spoiled(seed: int) -> list[Any]:
    """The objects, some values of which are something else."""
    chance = random.Random(seed)
    objects: Any = copied(OBJECTS)
    for _ in range(4):
        *path, last = chance.choice(spots(objects))
        place = objects
        for step in path:
            place = place[step]
        place[last] = chance.choice(WRONG)
    return list(objects)


@pytest.mark.parametrize("seed", range(12))
def test_no_wrong_type_ends_in_a_traceback(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands in place of whatever, in every command that reads objects."""
    monkeypatch.setenv("SIMKIT_TRACEBACK", "1")
    dump = tmp_path / "dump.json"
    dump.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": spoiled(seed)}))
    for command in COMMANDS:
        assert run(command, dump) in (0, 1, 2), command


def test_wrong_objects_are_told_and_the_rest_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With file, line and field, once each."""
    wrong = {**OBJECTS[2], "metadata": {"name": "bad"}, "subjects": "alice"}
    dump = tmp_path / "dump.yaml"
    dump.write_text(yaml.safe_dump_all([*OBJECTS, wrong]))
    assert main(["who-can", "get", "secrets", "--dump", str(dump), "-n", "dev", "--authorization-mode", "RBAC"]) == 0
    shown = capsys.readouterr()
    assert "sa:dev/app" in shown.out
    line = dump.read_text().splitlines().index("subjects: alice") - 7
    told, limit = shown.err.splitlines()
    assert "1 part of the source could not be read" in limit
    assert told.startswith(f"simkit: {dump}:")
    assert abs(int(told.split(":")[2]) - line) <= 1
    assert told.endswith(
        "ClusterRoleBinding bad: subjects is text, not a list; it was left out, as kube-apiserver refuses it"
    )


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Piped:
        buffer = io.BytesIO(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Piped())
    assert main(["who-can", "get", "secrets", "--dump", "-", "-n", "dev"]) == 0
    assert "user:ann" in capsys.readouterr().out


def test_a_namespace_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer stands: a grant may come before its namespace."""
    dump = tmp_path / "dump.json"
    dump.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    assert main(["who-can", "get", "secrets", "--dump", str(dump), "-n", "devv", "--authorization-mode", "RBAC"]) == 0
    assert capsys.readouterr().err == "simkit: there is no namespace 'devv'; did you mean 'dev'?\n"
    assert main(["can-i", "get", "secrets", "--as", "ann", "--dump", str(dump), "-n", "devv"]) == 1
    assert "no namespace 'devv'" in capsys.readouterr().err
    assert main(["who-can", "get", "secrets", "--dump", str(dump), "-n", "dev", "--authorization-mode", "RBAC"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_no_differences_are_told(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people in a sentence; for programs as an empty list or a header alone."""
    dump = tmp_path / "dump.json"
    dump.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    assert main(["diff", str(dump), str(dump), "-o", form, "--authorization-mode", "RBAC"]) == 0
    shown = capsys.readouterr()
    if form == "json":
        assert orjson.loads(shown.out) == []
    elif form == "table":
        assert (shown.out, shown.err) == ("", "simkit: no differences: nobody gained or lost access\n")
    else:
        assert shown.out


def test_input_without_objects_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not an answer about an empty cluster."""
    dump = tmp_path / "dump.yaml"
    dump.write_text("just text\n")
    for command in COMMANDS:
        assert run(command, dump) == 2
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_it_silently(tmp_path: Path) -> None:
    """As ``head`` does, before anything was written; the exit code is that of other programs then."""
    dump = tmp_path / "dump.json"
    more = [binding(f"b{number}", "cluster-admin", f"user:u{number}") for number in range(2000)]
    dump.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [*OBJECTS, *more]}))
    command = [
        sys.executable,
        "-c",
        RUN,
        "who-can",
        "get",
        "secrets",
        "--authorization-mode",
        "RBAC",
        "--dump",
        str(dump),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (141, b"")


def test_a_fault_of_its_own_is_none_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, and its exit code is not that of findings."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by accident")

    monkeypatch.setattr("simkit.cli.audit.opened", fail)
    assert main(["audit", "x"]) == 2
    assert capsys.readouterr().err.startswith("simkit: this is a fault of simkit: ZeroDivisionError: by accident\n")
    monkeypatch.setenv("SIMKIT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["audit", "x"])


def test_ports_are_checked_before_a_dump_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A taken port comes with the flag and a port that is free; 0 is no port."""
    missing = str(tmp_path / "missing.yaml")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "--secure-port", str(port), missing]) == 2
        told = capsys.readouterr().err
        assert f"port {port} on 127.0.0.1" in told
        proposed = int(told.split("--secure-port ")[1].split(",")[0])
        with socket.socket() as free:
            free.bind(("127.0.0.1", proposed))
    assert main(["serve", "--secure-port", "0", missing]) == 2
    assert "a server needs a port: --secure-port PORT for HTTPS" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the file and has no number of an error."""
    assert main(["policy", "check", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err == "simkit: cannot read nowhere.yaml: No such file or directory\n"


def test_a_sqlite_file_is_not_encrypted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configuration of encryption is refused where nothing would be encrypted, by a server too."""
    store = f"sqlite:{tmp_path}/a.db"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    for words in (["save", "--demo", "--to", store], ["serve", "--secure-port", port, "--storage", store]):
        assert main([*words, "--encryption-provider-config", "any.yaml"]) == 2
        assert "is for an etcd" in capsys.readouterr().err


def test_problems_that_are_alike_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three of a kind are told, and a hundred kinds; where nothing is read, notes say why."""
    answers = tmp_path / "answers.jsonl"
    answers.write_bytes(b"".join(b'{"allowed": true, "row": %d}\n' % number for number in range(1500)))
    assert main(["causes", str(answers)]) == 2
    *told, more, end = capsys.readouterr().err.splitlines()
    assert [line.split(":")[2] for line in told] == ["1", "2", "3"]
    assert more == f"simkit: {answers}: 1,497 more like this"
    assert end == "simkit: no object could be read"
    kinds = tmp_path / "kinds.json"
    kinds.write_bytes(orjson.dumps([{"apiVersion": "v1", "kind": "K" * number} for number in range(1, 121)]))
    assert main(["causes", str(kinds)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 102
    assert "20 more problems; in Python, simkit.load(...).dump.problems" in told[100]
    log = tmp_path / "audit.log"
    log.write_bytes(orjson.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Event", "verb": "get"}))
    assert main(["causes", str(log)]) == 2
    assert "give the file as the audit log" in capsys.readouterr().err


def test_a_missing_dump_is_told_where_the_resource_was_taken_for_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SIMKIT_DUMP", raising=False)
    assert main(["who-can", "get", "secrets"]) == 2
    assert "no dump is named, and secrets is no file or folder" in capsys.readouterr().err
