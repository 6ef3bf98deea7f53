"""Everyday questions about a dump, in the words of somebody who knows kubectl."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from simkit.cli import main
from tests.analysis.worlds import account, binding, role, rule

LOG = {"kind": "Event", "verb": "get", "requestURI": "/api/v1/pods/a", "user": {"username": "ann"}}
LOG |= {"objectRef": {"resource": "pods", "name": "a", "namespace": "dev"}, "stage": "ResponseComplete"}
LOG |= {"annotations": {"authorization.k8s.io/decision": "allow"}}
RBAC = "rbac.authorization.k8s.io"
KINDS = ("pods", "namespaces", "deployments.apps", "serviceaccounts", "secrets", "nodes")


def written(path: Path, *objects: object) -> Path:
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a small dump."""
    objects = [
        *(role("readers", rule("get", "pods")), binding("wide", "readers", "user:ann", "group:devs")),
        *(role("secrets", rule("get,list", "secrets"), namespace="dev"), account("dev", "app")),
        binding("narrow", "secrets", "sa:dev/app", namespace="dev", local=True),
        *(role("cluster-admin", rule("*", "*", groups="*")), binding("ops", "cluster-admin", "group:ops")),
        *(
            role("maker", rule("create,bind", "clusterrolebindings,clusterroles", groups=RBAC)),
            binding("m", "maker", "user:eve"),
        ),
    ]
    return str(written(tmp_path_factory.mktemp("dump") / "dump.json", *objects))


def asked(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(command.split())
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.parametrize(
    "words",
    [
        "who-can get secrets -n dev DUMP",
        "who-can get secrets DUMP -n dev",
        "who-can get secrets -n dev -f DUMP",
        "who-can get secrets --namespace=dev --filename DUMP",
        "who-can -n dev get secrets db DUMP",
    ],
)
def test_who_can_read_secrets_in_a_namespace(words: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 1. The dump is the last word, or behind ``-f``, wherever the other options are."""
    code, out, _ = asked(f"{words.replace('DUMP', dump)} --no-headers -q", capsys)
    assert (code, "sa:dev/app" in out, "SUBJECT" in out) == (0, True, False)


def test_the_dump_of_the_session(
    dump: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIMKIT_DUMP is looked at where nothing else is named; a file that is named goes before it."""
    monkeypatch.setenv("SIMKIT_DUMP", dump)
    assert "sa:dev/app" in asked("who-can get secrets app-keys -n dev", capsys)[1]
    monkeypatch.setenv("SIMKIT_DUMP", "/nowhere")
    assert asked("who-can get secrets", capsys)[0] == 2
    assert asked(f"who-can get secrets -n dev {dump}", capsys)[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        "permissions sa:dev/app DUMP",
        "auth can-i --list --as sa:dev/app -n dev DUMP",
        "can-i --list --subject sa:dev/app -f DUMP",
    ],
)
def test_what_a_service_account_can_do(words: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 2."""
    code, out, _ = asked(words.replace("DUMP", dump), capsys)
    assert code == 0
    assert "RoleBinding narrow" in out


def test_permissions_in_a_namespace_are_only_those(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 2: ``-n`` is not ignored; the rules for everywhere hold there too."""
    assert asked(f"permissions sa:dev/app -n other {dump}", capsys)[0] == 1
    assert asked(f"permissions user:ann -n other {dump}", capsys)[0] == 0


def test_which_bindings_give_cluster_admin(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 3."""
    _, out, _ = asked(f"bindings --role cluster-admin {dump} -o json", capsys)
    assert [(row["binding"], row["subject"]) for row in orjson.loads(out)] == [("ops", "group:ops")]


def test_the_shortest_path_of_one_subject_with_its_proof(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 4. A subject among the words is the subject; the last paths are cut off."""
    every = " ".join(f"--complete {kind}" for kind in KINDS)
    code, out, _ = asked(f"escalations user:eve {dump} {every} --to cluster-admin --limit 1 --prove --details", capsys)
    assert code == 1
    assert "proven" in out


def test_what_breaks_when_a_binding_is_deleted(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 5: by the access that is lost, and by the requests of an audit log."""
    every = " ".join(f"--complete {kind}" for kind in KINDS)
    code, out, err = asked(f"what-if delete clusterrolebinding wide {dump} {every}", capsys)
    assert code == 1
    assert {"group:devs", "user:ann"} <= set(out.split())
    assert "2 permissions lost" in err
    log = tmp_path / "audit.jsonl"
    log.write_bytes(orjson.dumps(LOG))
    code, out, err = asked(f"what-if delete clusterrolebinding/wide {dump} {every} --audit-log {log} -o json", capsys)
    assert [row["subject"] for row in orjson.loads(out)] == ["user:ann"]
    code, _, err = asked(f"what-if delete clusterrolebinding ops {dump} {every} --audit-log {log}", capsys)
    assert (code, "0 different requests" in err) == (0, True)
    assert asked(f"what-if delete clusterrolebinding nope {dump}", capsys)[0] == 2


def test_what_is_deleted_may_be_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    """An object that is not found is told of with the namespace that was searched, and where it or a similar one is."""
    for words, told in (
        ("rolebinding leads", "looked in namespace default; it is in namespace billing, customers,"),
        ("clusterrolebinding pellowick:tolbox", "did you mean 'pellowick:toolbox'?"),
        ("rolebinding pellowick:toolbox", "pellowick:toolbox is a ClusterRoleBinding"),
    ):
        code, _, err = asked(f"what-if delete {words} --demo", capsys)
        assert code == 2
        assert told in err
    assert asked("what-if delete rolebinding billing/leads --demo", capsys)[0] == 1
    assert "as in: what-if delete KIND NAME" in asked("what-if --demo --delete clusterrolebinding x", capsys)[2]
    assert "no dump is named, and ops-admin is no file" in asked("what-if delete crb ops-admin", capsys)[2]


def test_a_binding_with_finalizers_is_emptied_or_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server only marks it for deletion, and it still grants."""
    held = binding("held", "readers", "user:sue")
    held["metadata"]["finalizers"] = ["a.example/b"]
    path = written(tmp_path / "held.json", role("readers", rule("list", "secrets")), held)
    _, out, err = asked(f"what-if remove user:sue {path} --complete * -o json", capsys)
    assert [row["change"] for row in orjson.loads(out)] == ["lost"]
    _, _, err = asked(f"what-if delete clusterrolebinding held {path} --complete *", capsys)
    assert "only marked for deletion, and works until its finalizers are gone: a.example/b" in err
    _, out, _ = asked(f"causes {path} --complete * -o json", capsys)
    assert orjson.loads(out)[0]["remedy"] == "Remove user:sue from ClusterRoleBinding held."


def test_a_namespace_has_all_causes_of_its_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """Those elsewhere too; and a check counts its findings by their severity."""
    _, out, _ = asked("audit --demo -n billing", capsys)
    assert "ClusterRole pellowick:edit-sharing" in out.partition("findings:")[0]
    assert "1 medium, 3 low" in out


def test_which_objects_use_a_version_that_is_removed(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 6: a release among the words is the release."""
    texts = {asked(f"removal-report {words} {dump}", capsys)[1] for words in ("1.32", "--to 1.32", "--release v1.32")}
    assert len(texts) == 1
    assert asked(f"upgrade {dump} --to 1.32 --plot /nowhere/x.txt", capsys)[0] == 2


def test_two_dumps_are_compared(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 7, for one subject or one namespace."""
    empty = written(tmp_path / "empty.json", role("readers", rule("get", "pods")), binding("x", "readers", "user:x"))
    every = "--complete *"
    assert len(orjson.loads(asked(f"diff {empty} {dump} {every} -o json", capsys)[1])) == 10
    rows = orjson.loads(asked(f"diff {empty} {dump} {every} --subject group:devs -o json", capsys)[1])
    assert {row["subject"] for row in rows} == {"group:devs"}
    rows = orjson.loads(asked(f"diff {empty} {dump} {every} -n other -o json", capsys)[1])
    assert {row["scope"] for row in rows} == {"*"}


def test_least_privilege_of_one_user(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 8. The subject may stand among the words."""
    log = tmp_path / "audit.jsonl"
    log.write_bytes(orjson.dumps(LOG))
    _, out, _ = asked(f"least-privilege user:ann --audit-log {log} -f {dump} --complete * -o json", capsys)
    assert [row["subject"] for row in orjson.loads(out)] == ["user:ann"]


def test_a_picture_of_the_access(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 9."""
    picture = tmp_path / "new" / "access.png"
    assert asked(f"exposure {dump} --plot {picture}", capsys)[0] == 1
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "it has to end in .png" in asked(f"exposure {dump} --plot x.gif", capsys)[2]


def test_expectations_in_a_pipeline(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 10: expectations and dump are the two words; JUnit counts what is broken; ``--severity`` leaves some out, and not all."""
    suite = tmp_path / "expectations.yaml"
    suite.write_text("expectations: [{name: none, severity: low, never: {verb: get, resource: secrets}}]")
    code, out, _ = asked(f"check {suite} {dump} -o junit", capsys)
    assert (code, ElementTree.fromstring(out).attrib["failures"]) == (1, "1")
    code, _, told = asked(f"check {suite} {dump} --severity HIGH", capsys)
    assert code == 2
    assert "no expectation of severity high or worse, so nothing was checked" in told
    suite.write_text("expectations: [{name: none, cannot: {subject: 'group:devz', verb: get, resource: secrets}}]")
    code, _, told = asked(f"check {suite} {dump}", capsys)
    assert code == 0
    assert "no binding names group:devz; did you mean group:devs?" in told


def test_the_subject_may_stand_first(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As people say it: can ``sa:dev/app`` get secrets."""
    assert main(["can-i", "sa:dev/app", "get", "secrets", "-n", "dev", dump, "--complete", "*"]) == 0
    assert "yes  sa:dev/app: get secrets in dev" in capsys.readouterr().out


def test_who_has_the_goal_already_is_told(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A subject that needs no step is not said to have no path."""
    assert main(["escalations", "group:ops", dump, "--complete", "*", "--goal", "cluster-admin"]) == 0
    told = capsys.readouterr().err
    assert "group:ops already has cluster-admin, by ClusterRoleBinding ops" in told
    assert "no path was found" not in told


def test_a_subject_is_left_out(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``what-if remove`` takes it out of all bindings."""
    assert main(["what-if", "remove", "sa:dev/app", dump, "--complete", "*", "-o", "csv"]) == 1
    told = capsys.readouterr()
    assert "removed from RoleBinding dev/narrow" in told.err
    assert {line.split(",")[1] for line in told.out.splitlines()[1:]} == {"sa:dev/app"}


def test_a_grant_of_several_verbs_is_listed_once(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Running commands in pods takes create or get; whoever has both stands in one row."""
    assert main(["who-can", "exec", "-f", dump, "--complete", "*", "-o", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len([row for row in rows if row.startswith("group:ops,")]) == 1


def test_a_namespace_in_the_place_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who forgot ``-n`` is told what the word was taken for."""
    assert main(["who-can", "get", "secrets", "billing", "--demo"]) == 0
    assert "billing is taken for the name of an object; in the namespace billing: -n billing" in capsys.readouterr().err
    assert main(["who-can", "get", "secrets", "billing", "-n", "billing", "--demo"]) == 0
    assert "is taken for" not in capsys.readouterr().err
