"""The commands escalations, cut and least-privilege."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from simkit.cli import main
from tests.analysis.escalation.scenes import scene
from tests.analysis.worlds import binding, role, rule

OBJECTS = [
    role("cluster-admin", rule("*", "*", groups="*")),
    binding("ops-admin", "cluster-admin", "sa:ops/admin"),
    *scene(rule("create", "serviceaccounts/token,pods"), rule("get,list", "pods,events"), place="ops"),
]
LOG = {
    "kind": "Event",
    "stage": "ResponseComplete",
    "verb": "create",
    "user": {
        "username": "system:serviceaccount:dev:attacker",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:dev", "system:authenticated"],
    },
    "objectRef": {"resource": "pods", "namespace": "ops"},
    "responseStatus": {"code": 201},
    "annotations": {"authorization.k8s.io/decision": "allow"},
}


def written(path: Path, objects: list[dict[str, Any]]) -> str:
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """A small dump, complete as it is."""
    return written(tmp_path / "cluster.json", OBJECTS)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """The exit code and the decoded answer."""
    code = main([*arguments, "--complete", "*", "--authorization-mode", "RBAC", "-o", "json"])
    return code, orjson.loads(capsys.readouterr().out)


def test_paths_are_listed(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 1, and 0 where everybody on the list may."""
    code, rows = asked(capsys, "escalations", dump, "--goal", "cluster-admin")
    assert code == 1
    assert [(row["subject"], row["primitives"]) for row in rows] == [("sa:dev/attacker", ["C5", "A1"])]
    code, rows = asked(capsys, "escalations", dump, "--goal", "cluster-admin", "--allow", "sa:dev/*")
    assert (code, rows) == (0, [])
    assert len(asked(capsys, "escalations", dump, "--subject", "sa:dev/attacker", "--each")[1]) > 3


def test_paths_are_proven(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Request by request, where one asks for details."""
    assert main(["escalations", dump, "--complete", "*", "--goal", "cluster-admin", "--prove", "--details"]) == 1
    shown = capsys.readouterr().out
    assert "proven: sa:dev/attacker -> cluster-admin" in shown
    assert "POST /api/v1/namespaces/ops/serviceaccounts/admin/token -> 201" in shown


def test_details_are_part_of_the_json(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The steps of each path, or the requests of each proof; tables of one line each have no place for them."""
    goal = ("escalations", dump, "--goal", "cluster-admin", "--details")
    _, [row] = asked(capsys, *goal)
    assert [(one["step"], one["primitive"]) for one in row["steps"]] == [(1, "C5"), (2, "A1")]
    assert row["steps"][0]["granted_by"] == ["RoleBinding ops/attack (ClusterRole rules, rule 0) to sa:dev/attacker"]
    _, [row] = asked(capsys, *goal, "--prove")
    assert [(one["primitive"], one["status"]) for one in row["steps"]] == [("C5", 201), ("A1", 201), ("end", 201)]
    assert main([*goal, "--complete", "*", "-o", "csv"]) == 2


def test_risky_permissions_of_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The effects of a role are tried on lent objects; tables show flagged rows, JSON shows all of them."""
    rules = role("probe", rule("get", "nodes/proxy"), rule("create", "roles", groups="rbac.authorization.k8s.io"))
    manifests = written(tmp_path / "role.json", [rules, binding("probe", "probe", "user:ann")])
    code, rows = asked(capsys, "escalations", manifests, "--manifests", "--risky-permissions", "--prove")
    assert code == 1
    verdicts = {row["primitive"]: (row["flagged"], row["verdict"]) for row in rows}
    assert verdicts == {"A7": (False, "not executed"), "E1": (True, "possible")}
    assert main(["escalations", manifests, "--manifests", "--risky-permissions"]) == 1
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]] == ["E1"]


def test_a_radius_and_what_changed(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All that one subject reaches; and the paths that are new since an older dump."""
    code, rows = asked(capsys, "escalations", dump, "--subject", "sa:dev/attacker", "--radius")
    assert code == 1
    assert "cluster-admin" in {row["place"] for row in rows}
    assert main(["escalations", dump, "--radius"]) == 2
    old = written(tmp_path / "old.json", OBJECTS[:-1])
    code, rows = asked(capsys, "escalations", dump, "--before", old, "--goal", "cluster-admin")
    assert (code, [row["change"] for row in rows]) == (1, ["new"])


def test_members_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of groups; anything else is wrong use."""
    grant = binding("attack", "rules", "group:devs", namespace="ops")
    dump = written(tmp_path / "cluster.json", [*OBJECTS[:-1], grant])
    table = tmp_path / "groups.yaml"
    table.write_text("devs: [alice]\n", encoding="utf-8")
    arguments = ["escalations", dump, "--subject", "alice", "--goal", "cluster-admin"]
    assert asked(capsys, *arguments)[0] == 0
    assert asked(capsys, *arguments, "--members", str(table))[0] == 1
    table.write_text("[alice]", encoding="utf-8")
    assert main([*arguments, "--members", str(table)]) == 2


def test_a_cut_is_proposed_and_verified(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table, as YAML, as commands; what a log shows in use stays."""
    target = tmp_path / "cut.yaml"
    assert main(["cut", dump, "--complete", "*", "--verify", "--write", str(target)]) == 1
    assert "the cut holds" in capsys.readouterr().err
    [changed] = yaml.safe_load_all(target.read_text(encoding="utf-8"))
    assert changed["rules"] == [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "events"]}]
    log = tmp_path / "audit.jsonl"
    log.write_bytes(orjson.dumps(LOG))
    code, made = asked(capsys, "cut", dump, "--audit-log", str(log))
    assert code == 1
    assert [row["change"] for row in made["changes"]] == ["remove sa:ops/admin from ClusterRoleBinding ops-admin"]
    assert main(["cut", dump, "--complete", "*", "--commands"]) == 1
    assert capsys.readouterr().out.startswith("kubectl patch clusterroles rules --type merge")
    assert main(["cut", dump, "--complete", "*", "--from", "user:nobody"]) == 0


def test_least_privilege_is_proposed_and_verified(
    dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the roles as YAML, and what is unused."""
    log, target = tmp_path / "audit.jsonl", tmp_path / "roles.yaml"
    log.write_bytes(orjson.dumps(LOG))
    arguments = ["least-privilege", dump, "--audit-log", str(log)]
    code = main([*arguments, "--complete", "*", "--verify", "--write", str(target)])
    assert code == 1
    assert "all of them are still allowed" in capsys.readouterr().err
    made = [obj for obj in yaml.safe_load_all(target.read_text(encoding="utf-8")) if obj]
    assert made[0]["rules"] == [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}]
    code, rows = asked(capsys, *arguments, "--unused")
    assert code == 1
    assert {"unused grant", "unused part"} <= {row["verdict"] for row in rows}
    assert main(["least-privilege", dump, "--audit-log", str(tmp_path / "none")]) == 2


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a path nor the demonstration."""
    assert main(["escalations"]) == 2
    assert main(["cut"]) == 2
    assert main(["least-privilege"]) == 2
    assert main(["escalations", "--demo", "--goal", "be mighty today"]) == 2


def test_manifests_are_executed_where_they_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Proofs run over the objects that were looked at: manifests, with the server's own, in the namespace given."""
    rbac = "rbac.authorization.k8s.io"
    attack = scene(
        rule("create", "clusterrolebindings", groups=rbac), rule("bind", "clusterroles", groups=rbac), place=""
    )
    path = tmp_path / "chart.yaml"
    path.write_text(yaml.safe_dump_all(attack))
    words = [
        "escalations",
        str(path),
        "--manifests",
        "--goal",
        "cluster-admin",
        "--subject",
        "sa:dev/attacker",
        "--prove",
    ]
    assert main([*words, "-o", "json"]) == 1
    assert [row["verdict"] for row in orjson.loads(capsys.readouterr().out)] == ["proven"]


@pytest.mark.parametrize(
    "command", ["escalations", "cut", "audit", "redact --to x.yaml", "least-privilege --audit-log x"]
)
def test_one_source_has_to_be_named(command: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands that take paths take --dump, --demo and --context alike, and exactly one of them."""
    name, *more = command.split()
    for source in ([], [dump, "--demo"], ["--dump", dump, "--context", "prod"]):
        assert main([name, *source, *more]) == 2
        assert "--context NAME" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_a_log_that_breaks_off_is_told(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, as all that is no answer."""
    log = tmp_path / "audit.jsonl"
    log.write_bytes(orjson.dumps(LOG) + b'\n{"kind": "Event", "auditID": "7", "verb": "ge')
    main(["least-privilege", dump, "--complete", "*", "--audit-log", str(log), "--authorization-mode", "RBAC"])
    notes = capsys.readouterr().err
    assert "1 line of an audit log breaks off in the middle of an event" in notes
    assert "The log has 1 allowed request" in notes


def test_subjects_are_chosen_by_a_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    """All service accounts with a path; a note says that those which hold the goal already are not listed."""
    told: dict[str, set[str]] = {}
    for options in ((), ("--subject", "sa:*"), ("--subject", "sa:*", "--direct")):
        assert main(["escalations", "--demo", "--goal", "cluster-admin", "-o", "json", *options]) == 1
        answer = capsys.readouterr()
        told[" ".join(options)] = {row["subject"] for row in orjson.loads(answer.out)}
        assert ("--direct lists them" in answer.err) == ("--direct" not in options)
    every, accounts, holders = told.values()
    assert accounts == {subject for subject in every if subject.startswith("sa:")}
    assert "sa:ci/release-train" in holders - accounts


def test_unknown_subjects_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no binding has gets a note with the names that are near; the answer is the same."""
    assert main(["escalations", "--demo", "--subject", "group:oidc:helpdeks"]) == 0
    assert "no binding names group:oidc:helpdeks" in (told := capsys.readouterr().err)
    assert "did you mean group:oidc:helpdesk" in told
    assert main(["cut", "--demo", "--from", "nobody-at-all"]) == 0
    assert "no binding names user:nobody-at-all" in capsys.readouterr().err
    main(["escalations", "--demo", "--subject", "group:oidc:helpdesk", "--subject", "group:system:authenticated"])
    assert "no binding names" not in capsys.readouterr().err
