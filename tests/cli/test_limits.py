"""What an answer cannot see stands in every form of output of every command about access."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

import simkit
from simkit.cli import main
from simkit.cluster.access import AUTHORIZERS
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.seams.authorization import MODES
from tests.analysis.worlds import account, binding, namespace, role, rule

MARKS = {
    "EKS": {"eks.amazonaws.com/nodegroup": "a"},
    "GKE": {"cloud.google.com/gke-nodepool": "a"},
    "AKS": {"kubernetes.azure.com/agentpool": "a"},
}
BARE = [
    namespace("dev"),
    account("dev", "app"),
    role("reader", rule("get", "secrets")),
    binding("ann", "reader", "user:ann"),
    binding("ops", "cluster-admin", "user:ops"),
    role("cluster-admin", rule("*", "*", groups="*")),
]
KINDS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
PLACED = ("roles", "rolebindings")
COMMANDS = (
    "who-can get secrets -f DUMP",
    "can-i get secrets --as ann -f DUMP",
    "can-i --list --as ann -f DUMP",
    "permissions ann DUMP",
    "bindings DUMP",
    "exposure DUMP",
    "audit DUMP",
    "causes DUMP",
    "escalations DUMP --direct",
    "cut DUMP --goal ALL",
    "diff EMPTY DUMP",
    "what-if delete clusterrolebinding/ann -f DUMP",
)
FORMS = ("table", "wide", "json", "yaml", "csv", "jsonl", "markdown", "html")
REPORTS = ("sarif", "junit")


def node(labels: dict[str, str]) -> dict[str, object]:
    """A node with the labels of a provider."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}


def written(path: Path, objects: list[dict[str, object]]) -> str:
    """The path of a dump of the objects."""
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_form_says_lower_bound(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs find it in the answer itself; people beside or above the table."""
    dump = written(tmp_path / "dump.json", [*BARE, node(MARKS["EKS"])])
    empty = written(tmp_path / "empty.json", [node(MARKS["EKS"])])
    words = [{"DUMP": dump, "EMPTY": empty, "ALL": "all secrets"}.get(word, word) for word in command.split()]
    known = REPORTS if words[0] in ("audit", "causes", "escalations") else ()
    for form in (*FORMS, *known):
        assert main([*words, "--complete", "*", "-o", form]) in (0, 1), form
        shown = capsys.readouterr()
        assert "Lower bound: EKS access entries" in (shown.err if form in ("table", "wide") else shown.out), form


@pytest.mark.parametrize("command", COMMANDS)
def test_an_export_speaks_for_the_provider_only_if_it_is_whole(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half an export leaves the answer a lower bound in every command; the whole of it does not."""
    dump = written(tmp_path / "dump.json", [*BARE, node(MARKS["EKS"])])
    empty = written(tmp_path / "empty.json", [node(MARKS["EKS"])])
    outputs = orjson.loads(datasets.path("clusters/pellowick-eks.json").read_bytes())
    words = [{"DUMP": dump, "EMPTY": empty, "ALL": "all secrets"}.get(word, word) for word in command.split()]
    for name, some in (("half", outputs[:-3]), ("whole", outputs)):
        export = tmp_path / f"{name}.json"
        export.write_bytes(orjson.dumps([one for one in some if name == "whole" or "accessEntries" not in one]))
        for form in ("table", "json"):
            assert main([*words, "--complete", "*", "-o", form, "--cloud", str(export)]) in (0, 1), form
            shown = capsys.readouterr()
            told = "Lower bound: the EKS export is incomplete" in (shown.err if form == "table" else shown.out)
            assert told == (name == "half"), (name, form)
            assert "were not read" not in shown.out + shown.err


@pytest.mark.parametrize("provider", MARKS)
def test_marks_of_providers(provider: str) -> None:
    """Tables, answers and graphs of Python carry it, in forks as well."""
    cluster = simkit.load([*BARE, node(MARKS[provider])], captured="*").fork()
    answer, table = cluster.can("bob", "get", "secrets"), cluster.who_can("get", "secrets")
    [text] = table.attrs["caveats"]
    assert text.startswith("Lower bound:")
    assert provider in text
    assert text in str(table)
    assert text in table._repr_html_()  # type: ignore[operator]
    assert text in str(answer)
    assert text in answer._repr_html_()
    assert answer.to_dict()["caveats"] == [text]
    assert answer.to_frame().attrs["caveats"] == (text,)
    for other in (cluster.audit(), cluster.escalations(), cluster.causes(), cluster.remediation_plan()):
        assert [caveat.text for caveat in other.caveats] == [text]
        assert text in repr(other)
    assert text in cluster.access_graph().graph["caveats"]


def test_roles_of_providers_are_marks() -> None:
    """A dump of RBAC alone is recognized by the provider's roles."""
    cluster = simkit.load([*BARE, role("eks:node-manager")], captured="*")
    assert cluster.snapshot().authorization.provider == "EKS"


def test_authorizers_that_are_not_known() -> None:
    """A dump without a static pod of kube-apiserver says that RBAC alone is assumed; options and manifests are known."""
    assert "Assumes RBAC alone" in str(simkit.load(BARE, captured="*").can("ann", "get", "secrets"))
    for known in (
        simkit.load(BARE, captured="*", authorization_mode=["RBAC"]),
        simkit.load(BARE, manifests=True),
        simkit.Cluster(seed=1),
        simkit.demo(),
    ):
        assert not known.can("ann", "get", "secrets").caveats


def test_authorizers_that_are_not_decided() -> None:
    """Webhooks are named: their decisions are not in the dump."""
    cluster = simkit.load(BARE, captured="*", authorization_mode=["Node", "RBAC", "Webhook"])
    assert [caveat.id for caveat in cluster.can("ann", "get", "secrets").caveats] == ["undecided-authorizer"]
    assert cluster.can("system:node:n", "create", "nodes")


@pytest.mark.parametrize("uid", [{}, {"uid": "1"}], ids=["pasted", "dumped"])
def test_authorizers_that_pasted_objects_show(
    uid: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Objects without uids are read as manifests, and their static pod of kube-apiserver still says who decides."""
    pod: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-apiserver-n", "namespace": "kube-system", **uid},
        "spec": {"containers": [{"name": "kube-apiserver", "command": ["kube-apiserver", "--authorization-mode=Webhook,RBAC"]}]},
    }  # fmt: skip
    dump = written(tmp_path / "objects.json", [*BARE, pod])
    assert main(["who-can", "get", "secrets", "--dump", dump, "--complete", "*"]) in (0, 1)
    assert "the decisions of the authorizer Webhook are not known" in capsys.readouterr().err
    loaded = simkit.load([*BARE, pod], captured="*", manifests=not uid)
    assert [caveat.id for caveat in loaded.can("ann", "get", "secrets").caveats] == ["undecided-authorizer"]


def test_authorizers_that_there_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    """A mode that was mistyped granted nothing, which looked like an answer."""
    assert tuple(AUTHORIZERS.ours) == MODES
    with pytest.raises(SimkitError, match=r'authorization-mode "Rbac" is not a valid mode .known modes: .*RBAC'):
        simkit.load(BARE, authorization_mode=["Rbac"])
    assert main(["who-can", "get", "pods", "--demo", "--authorization-mode", "Node,\x1b[2Jx"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "is not a valid mode" in err
    assert "\x1b" not in err


def test_nodes_without_their_pods() -> None:
    """The Node authorizer decides by pods: without them, what a node may read is not known."""
    chain = ["Node", "RBAC"]
    cluster = simkit.load(BARE, captured=["clusterroles", "clusterrolebindings", *PLACED], authorization_mode=chain)
    assert [caveat.id for caveat in cluster.can("ann", "get", "secrets").caveats] == ["not-captured"]


def test_rules_of_nodes_are_incomplete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a SelfSubjectRulesReview of a node says it; other subjects have all of theirs."""
    dump = written(tmp_path / "dump.json", [dict(each) for each in BARE])
    command = ["permissions", "-f", dump, "--complete", "*", "--authorization-mode", "Node,RBAC", "-o", "json"]
    main([*command, "system:node:n"])
    assert "node authorizer does not support user rule resolution" in capsys.readouterr().err
    main([*command, "ann"])
    shown = capsys.readouterr()
    assert "caveats" not in shown.out
    assert not shown.err


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "jsonl"])
def test_an_empty_answer_says_lower_bound(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list would claim that nobody has it: there is a row that holds the limit alone."""
    empty = written(tmp_path / "dump.json", [node(MARKS["EKS"])])
    main(["who-can", "impersonate", "users", "-f", empty, "--complete", "*", "-o", form])
    assert "Lower bound: EKS access entries" in capsys.readouterr().out


def test_quiet_tables_say_lower_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Once on standard error, since a table has no place for it; an answer in sentences says it no second time."""
    dump = written(tmp_path / "dump.json", [*BARE, node(MARKS["EKS"])])
    for quiet in ([], ["--quiet"]):
        for question in (["who-can", "get", "secrets"], ["can-i", "get", "secrets", "--as", "ann"]):
            main([*question, "-f", dump, "--complete", "*", *quiet])
            shown = capsys.readouterr()
            assert (shown.out + shown.err).count("Lower bound") == 1, question


def test_fleets_say_lower_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the clusters that it is about, in the answer of a program and for people."""
    captured = [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{kind}List", "items": []} for kind in KINDS]
    lists = [orjson.dumps(one).decode() for one in captured]
    for name, objects in (("eks", [node(MARKS["EKS"])]), ("plain", [node({})])):
        (tmp_path / f"{name}.yaml").write_text(
            "\n---\n".join([*lists, *(orjson.dumps(one).decode() for one in objects)])
        )
    paths = [str(tmp_path / f"{name}.yaml") for name in ("eks", "plain")]
    main(["fleet", "audit", *paths, "--scheduler", "synchronous", "-o", "json"])
    shown = capsys.readouterr()
    assert "eks: Lower bound: EKS access entries" in shown.out
    assert "eks: Lower bound: EKS access entries" in shown.err
