"""The command that says how a cluster is dumped, or dumps it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import simkit
from simkit.analysis.findings.audit import CHECKS, audit
from simkit.cli import main
from simkit.cli.source import demo_path
from simkit.meta import datasets
from simkit.snapshot.dumping import AUDIT, NEEDED
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import account, namespace

TOKEN = "kubernetes.io/service-account"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[simkit.Cluster, Path]]:
    """A served cluster with two secrets and the kubeconfig of its administrator."""
    cluster = simkit.Cluster("1.33", seed=1)
    cluster.apply([namespace("shop"), account("shop", "robot")])
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}}
    cluster.apply({**secret, "stringData": {"password": "hunter2"}})
    named = {"name": "robot-token", "namespace": "shop", "annotations": {f"{TOKEN}.name": "robot", "owner": "x: y"}}
    cluster.apply({**secret, "metadata": named, "type": f"{TOKEN}-token"})
    cluster.settle()
    path = tmp_path_factory.mktemp("served") / "kubeconfig"
    server = cluster.serve(kubeconfig=path)
    yield cluster, path
    server.stop()


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The output of the command."""
    assert main(["dump", *arguments]) == 0
    return capsys.readouterr().out


def run(commands: str, folder: Path) -> str:
    """Run commands as a person would who pastes them; gives what they say on standard error."""
    done = subprocess.run(["sh", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_the_printed_commands_make_a_complete_dump(
    served: tuple[simkit.Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Empty lists count as captured, secrets have their keys and types alone, release and answers are the cluster's."""
    cluster, kubeconfig = served
    names = ("roles", "rolebindings", "clusterroles", "clusterrolebindings", "secrets", "networkpolicies", "ns")
    run(printed(capsys, "--kubeconfig", str(kubeconfig), *names), tmp_path)
    copy = simkit.load(tmp_path / "dump")
    assert copy.dump is not None
    assert list(copy.dump.problems) == []
    assert "networkpolicies.networking.k8s.io" in map(str, copy.dump.captured)
    assert copy.release == "1.33"
    assert copy.get("secret", "db", "shop")["data"] == {"password": ""}
    assert copy.get("secret", "robot-token", "shop")["metadata"]["annotations"] == {f"{TOKEN}.name": "robot"}
    assert copy.get("secret", "robot-token", "shop")["type"] == f"{TOKEN}-token"
    assert "hunter2" not in "".join(file.read_text() for file in (tmp_path / "dump").iterdir())
    assert copy.who_can("list", "secrets").equals(cluster.who_can("list", "secrets"))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_the_printed_commands_dump_every_type(
    served: tuple[simkit.Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name every type is listed, but events."""
    _, kubeconfig = served
    commands = printed(capsys, "--kubeconfig", str(kubeconfig))
    listing = commands.partition("$(")[2].partition("); do")[0]
    types = subprocess.run(["sh", "-c", listing], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert {"pods", "roles.rbac.authorization.k8s.io", "networkpolicies.networking.k8s.io"} < set(types.split())
    assert not {"events", "events.events.k8s.io", "secrets"} & set(types.split())
    assert "secrets.yaml" in commands


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_a_refused_list_is_not_an_empty_list(
    served: tuple[simkit.Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kubectl writes an empty list where it may not list; the commands remove it."""
    commands = printed(capsys, "--kubeconfig", str(served[1]), "pods", "secrets")
    as_robot = commands.replace("kubectl ", "kubectl --as system:serviceaccount:shop:robot ")
    told = run(as_robot, tmp_path)
    assert told.count("forbidden") == 2
    assert [file.name for file in (tmp_path / "dump").iterdir()] == ["version.json"]


def test_a_dump_is_written(
    served: tuple[simkit.Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --to the dump is written, with or without the values of secrets."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    cluster, kubeconfig = served
    path = tmp_path / "dump.json.gz"
    assert main(["dump", "--kubeconfig", str(kubeconfig), "--to", str(path)]) == 0
    assert f"1.33 to {path}" in capsys.readouterr().err
    copy = simkit.load(path)
    assert copy.release == "1.33", "the dump tells it"
    assert main(["upgrade", str(path), "--to", "1.34"]) in (0, 1)
    assert "the release of the cluster is unknown" not in capsys.readouterr().err
    assert copy.findings().equals(cluster.findings())
    assert copy.get("secret", "db", "shop")["data"] == {"password": ""}
    assert main(["dump", "secrets", "--secrets", "--kubeconfig", str(kubeconfig), "--to", str(path)]) == 0
    assert simkit.load(path, secrets=True).get("secret", "db", "shop")["data"] == {"password": "aHVudGVyMg=="}


def test_a_type_that_the_server_does_not_list_is_told(
    served: tuple[simkit.Cluster, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A named type that did not come makes the exit code 1."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    path = tmp_path / "dump.json"
    assert main(["dump", "roles", "certificates", "--kubeconfig", str(served[1]), "--to", str(path)]) == 1
    assert "certificates" in capsys.readouterr().err
    assert simkit.load(path).get("role", "extension-apiserver-authentication-reader", "kube-system")


def test_wrong_use_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and --for exclude each other, and --for takes commands that read dumps."""
    assert main(["dump", "roles", "--for", "audit"]) == 2
    assert main(["dump", "--for", "serve"]) == 2
    assert "--for" in capsys.readouterr().err


def test_without_a_connection_the_commands_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason on standard error; kubectl may be able to connect."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert main(["dump", "--to", str(tmp_path / "dump.json")]) == 2
    shown = capsys.readouterr()
    assert "kubeconfig" in shown.err
    assert 'kubectl get "$type" -A -o json' in shown.out
    assert not (tmp_path / "dump.json").exists()


@pytest.mark.slow
def test_the_resources_for_a_command_are_enough_for_it() -> None:
    """An audit and a question about access answer from what --for names as from everything."""
    dump = load(demo_path())
    words = {each.partition(".")[0] for each in AUDIT}
    kept = [obj for key, obj in dump.keyed.items() if key.resource.resource in words]
    part = MemorySnapshot(kept, captured=list(AUDIT), index=dump.index)
    whole = dump.snapshot()
    assert audit(part).to_frame().equals(audit(whole).to_frame())
    assert {str(need) for check in CHECKS for need in check.needs} <= set(AUDIT)
    assert set(NEEDED["who-can"]) < set(AUDIT)


@pytest.mark.slow
def test_an_audit_of_the_demo_cluster_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The current folder stays as it was unless --html is given."""
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "--demo"]) == 0
    assert "critical" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_audit_begins_with_root_causes(capsys: pytest.CaptureFixture[str]) -> None:
    """They are those of ``simkit causes``; with a choice of checks, which knows no paths, there are none."""
    assert main(["audit", "--demo"]) == 0
    audited = capsys.readouterr().out.splitlines()
    assert main(["causes", "--demo"]) == 1
    causes = capsys.readouterr().out.splitlines()
    assert [line.split() for line in audited[:11]] == [line.split() for line in causes[:11]]
    assert "more root causes; `simkit causes` lists them" in audited[12]
    assert main(["audit", "--demo", "--check", "secrets-list"]) == 0
    assert "root causes" not in capsys.readouterr().out


_AWS = """#!{python}
import json, sys
outputs, words = json.load(open({export!r})), sys.argv[1:]
told = dict(zip(words[2::2], words[3::2]))
if words[:2] == ["iam", "get-role"]:
    assert "/" not in told["--role-name"], words
    sys.exit()  # the export of the demo company has no trust policies
assert words[0] == "eks" and words[1].startswith(("list-", "describe-")), words
which = told.get("--principal-arn") or told.get("--association-id")
field = {{"describe-cluster": "cluster", "list-access-entries": "accessEntries",
    "describe-access-entry": "accessEntry", "list-associated-access-policies": "associatedAccessPolicies",
    "list-pod-identity-associations": "associations", "describe-pod-identity-association": "association"}}[words[1]]
found = [one for one in outputs if field in one and (which is None or which in json.dumps(one))]
if told.get("--output") == "text":
    print("\\t".join(one if isinstance(one, str) else one["associationId"] for one in found[0][field]))
else:
    print(json.dumps(found[0], indent=4))
"""


_GCLOUD = """#!{python}
import json, sys
outputs, words = json.load(open({export!r})), sys.argv[1:]
verb, name = words[: next(at for at, word in enumerate(words) if word.startswith("-"))][-2:]
account = next(one for one in outputs if "resource" in one)
policies = [one for one in outputs if "type" in one and "policy" in one]
text = next((word for word in words if word.startswith("--format=value")), "")
if text:
    roles = [binding["role"] for one in policies for binding in one["policy"]["bindings"]]
    print("\\n".join(roles if "role" in text else [account["resource"].rpartition("/")[2]]))
    sys.exit()
if "roles" in words:
    assert verb == "describe", words
    found = next((one for one in outputs if one.get("name", "").endswith("/roles/" + name)), {{"name": name, "etag": "x"}})
elif "service-accounts" in words:
    assert verb == "get-iam-policy", words
    found = account["policy"]
elif "memberships" in words:
    assert words[3] == "list", words
    found = [one for one in outputs if "preferredMemberKey" in one]
elif "groups" in words:
    found = next(one for one in outputs if one.get("groupKey") == {{"id": name}})
else:
    assert verb in ("describe", "get-ancestors-iam-policy"), words
    found = outputs[0] if verb == "describe" else policies
print(json.dumps(found, indent=2))
"""
_AZ = """#!{python}
import json, sys
outputs, words = json.load(open({export!r})), sys.argv[1:]
cluster, assignments, role, identity, credential = outputs
command = [word for word in words if not word.startswith("-")]
if words[:3] == ["rest", "--method", "get"]:
    assert "/providers/Microsoft.Authorization/denyAssignments?api-version=" in words[4], words
    print('{{"value": []}}')
    sys.exit()
assert "list" in command or command[1] == "show", words
if "tsv" in command and command[0] == "role":
    print("\\n".join(one["principalId"] for one in assignments if one["principalType"] == "Group"))
    sys.exit()
if command[0] == "ad":
    print("[]")
    sys.exit()
if "tsv" in command:
    print(cluster["id"] if command[0] == "aks" else identity["name"] + "\\t" + identity["resourceGroup"])
    sys.exit()
above = [one for one in assignments if "/namespaces/" not in one["scope"]]
found = {{"aks show": cluster, "identity list": [identity], "identity federated-credential": [credential]}}
found["role definition"] = [role]
found["role assignment"] = above if "--include-inherited" in words else [one for one in assignments if one not in above]
print(json.dumps(found[" ".join(command[:2])], indent=2))
"""


@pytest.mark.parametrize(
    ("provider", "program", "answers", "variables"),
    [
        ("eks", "aws", _AWS, "CLUSTER=pellowick"),
        ("gke", "gcloud", _GCLOUD, "CLUSTER=p PROJECT=q LOCATION=r GOOGLE_GROUPS=parcels@pellowick.example"),
        ("aks", "az", _AZ, "CLUSTER=p GROUP=q"),
    ],
)
def test_the_commands_for_a_provider_write_a_complete_export(
    provider: str, program: str, answers: str, variables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a program that answers as the provider's does, they only list and describe, and leave nothing open."""
    export = str(datasets.path(f"clusters/pellowick-{provider}.json"))
    tool = tmp_path / "bin" / program
    tool.parent.mkdir()
    tool.write_text(answers.format(python=sys.executable, export=export))
    tool.chmod(0o755)
    commands = printed(capsys, "--cloud", provider)
    assert ": set " in run(commands, tmp_path)
    assert run(f"PATH={tool.parent}:$PATH; {variables}\n{commands}", tmp_path) == ""
    accounts = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "shiftwork", "namespace": "ci"}}]
    found, wanted = (
        simkit.load([namespace("ci"), *accounts], captured=["*"], cloud=source).snapshot().authorization
        for source in (str(tmp_path / "cloud"), export)
    )
    assert found == wanted


def test_the_commands_for_eks_take_no_other_arguments() -> None:
    """Options of the dump itself would be ignored."""
    assert main(["dump", "--cloud", "eks", "pods"]) == 2
    assert main(["dump", "--cloud", "eks", "--secrets"]) == 2
