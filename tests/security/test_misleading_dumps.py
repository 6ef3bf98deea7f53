"""Dumps that are written to mislead: each with the subjects that can read secrets, and with what has to be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import pytest
import yaml

import simkit
from simkit.cli import main
from simkit.cli.answers_for_programs import ClusterQuestions

RBAC: Final = "rbac.authorization.k8s.io"
SECRETS: Final = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
EVE: Final = {"kind": "User", "name": "eve"}
ROLE_TEXT: Final = f"apiVersion: {RBAC}/v1\nkind: ClusterRole\nmetadata: {{name: r}}\n"
RULES_TEXT: Final = "rules:\n- apiGroups: ['']\n  resources: [secrets]\n  verbs: [get]\n"


def role(rules: Any = SECRETS, kind: str = "ClusterRole", version: str = f"{RBAC}/v1", **parts: Any) -> dict[str, Any]:
    """A role of the name ``r``."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "r"}, "rules": rules, **parts}


def binding(*subjects: Any, kind: str = "ClusterRole", version: str = f"{RBAC}/v1", name: str = "r") -> dict[str, Any]:
    """A ClusterRoleBinding of it."""
    reference = {"apiGroup": RBAC, "kind": kind, "name": name}
    what = {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": "b"}}
    return {**what, "roleRef": reference, "subjects": list(subjects)}


class Misleading(NamedTuple):
    """The objects, or the text, of a dump."""

    dump: list[dict[str, Any]] | str
    who: frozenset[str] = frozenset()
    told: str = ""
    asked: tuple[str, ...] = ("get", "secrets")


def _rule(**lists: Any) -> list[dict[str, Any]]:
    return [{**SECRETS[0], **lists}]


def _list(*items: Any, kind: str = "List", version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "items": list(items)}


def _text(*objects: Any) -> str:
    return str(yaml.safe_dump_all(objects))


EVE_CAN: Final = frozenset({"user:eve"})
NOBODY: Final = frozenset[str]()
KINDS: Final[dict[str, Misleading]] = {
    "verbs in other letters": Misleading([role(_rule(verbs=["GET", "get ", " get"])), binding(EVE)]),
    "a verb beside a star": Misleading([role(_rule(verbs=["none", "*"])), binding(EVE)], EVE_CAN),
    "the empty name, for one secret": Misleading(
        [role(_rule(resourceNames=[""])), binding(EVE)], asked=("get", "secrets", "x")
    ),
    "the empty name, for a list": Misleading(
        [role(_rule(resourceNames=[""], verbs=["list"])), binding(EVE)], EVE_CAN, asked=("list", "secrets")
    ),
    "a star for subresources": Misleading(
        [role(_rule(resources=["pods/*"], verbs=["create"])), binding(EVE)], asked=("create", "pods/eviction")
    ),
    "a star before a subresource": Misleading(
        [role(_rule(resources=["*/eviction"], verbs=["create"])), binding(EVE)],
        EVE_CAN,
        asked=("create", "pods/eviction"),
    ),
    "a star within a path": Misleading(
        [role([{"nonResourceURLs": ["/a*b"], "verbs": ["get"]}]), binding(EVE)], asked=("get", "--url", "/axb")
    ),
    "a kind of subjects in other letters": Misleading([role(), binding({"kind": "user", "name": "eve"})]),
    "a service account of no namespace": Misleading([role(), binding({"kind": "ServiceAccount", "name": "eve"})]),
    "subjects without a group": Misleading([role(), binding({**EVE, "apiGroup": ""})], EVE_CAN),
    "subjects of a wrong group": Misleading([role(), binding({**EVE, "apiGroup": "v1", "namespace": "x"})], EVE_CAN),
    "a group that looks like another": Misleading(
        [role(), binding({"kind": "Group", "name": "system:m\u0430sters"})], frozenset({"group:system:m\u0430sters"})
    ),
    "the user of a service account": Misleading(
        [role(), binding({"kind": "User", "name": "system:serviceaccount:a:b"})], frozenset({"sa:a/b"})
    ),
    "a role for a cluster": Misleading([role(kind="Role"), binding(EVE, kind="Role")]),
    "a kind of roles in other letters": Misleading([role(), binding(EVE, kind="clusterrole")]),
    "a role that is not there": Misleading([binding(EVE, name="cluster-admin")]),
    "a wild user of v1alpha1": Misleading(
        [role(), binding({"kind": "User", "name": "*"}, version=f"{RBAC}/v1alpha1")],
        frozenset({"group:system:authenticated"}),
    ),
    "old versions": Misleading([role(version=f"{RBAC}/v1beta1"), binding(EVE, version=f"{RBAC}/v1alpha1")], EVE_CAN),
    "lists within lists": Misleading([_list(_list(_list(role())), _list(binding(EVE)))], EVE_CAN),
    "a list of another kind": Misleading([_list(role(), binding(EVE), kind="ConfigMapList")], EVE_CAN),
    "items without a kind": Misleading(
        [
            _list({"metadata": {"name": "r"}, "rules": SECRETS}, kind="ClusterRoleList", version=RBAC + "/v1"),
            binding(EVE),
        ],
        EVE_CAN,
    ),
    "a role that is there twice": Misleading([role(), role([]), binding(EVE)], told="is there twice and differs"),
    "rules twice": Misleading(
        f"{ROLE_TEXT}{RULES_TEXT}rules: []\n---\n{_text(binding(EVE))}", told="'rules' is there twice"
    ),
    "rules twice in an item": Misleading(
        "apiVersion: v1\nkind: List\nitems:\n"
        + "".join(
            f"  {line}\n"
            for line in (*_text([role()]).splitlines(), "  rules: []", *_text([binding(EVE)]).splitlines())
        ),
        told="'rules' is there twice",
    ),
    "YAML behind JSON": Misleading(f"{orjson.dumps(role()).decode()}\n---\n{_text(binding(EVE))}", EVE_CAN),
    "a kind behind a mark": Misleading(f"a: b\n--- # {{}}\n{_text(role(), binding(EVE))}", EVE_CAN),
    "rules twice in JSON": Misleading(
        orjson.dumps(role()).decode()[:-1] + ',"rules":[]}\n' + orjson.dumps(binding(EVE)).decode(),
        told="rules is there twice",
    ),
    "a role that cannot be read": Misleading([role(_rule(verbs="get")), binding(EVE)], told="could not be read"),
    "a role without a version": Misleading(
        [role(version=""), binding(EVE)], told="Incomplete: 1 part of the source could not be read"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_misleading_dump(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is that of kube-apiserver, and says what was read otherwise than written, or not at all."""
    attack = KINDS[kind]
    dump = tmp_path / "dump.yaml"
    dump.write_text(attack.dump if isinstance(attack.dump, str) else _text(*attack.dump))
    main(["who-can", *attack.asked, "-A", "--dump", str(dump), "--complete", "*", "-o", "json"])
    shown = capsys.readouterr()
    assert {row["subject"] for row in orjson.loads(shown.out)} - {"group:system:masters"} == attack.who
    assert attack.told in shown.err
    if attack.told.startswith(("could not", "Incomplete")):
        assert attack.told in shown.out


def test_lists_that_repeat_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that names ten thousand times the same has no product of a billion permissions."""
    many = _rule(apiGroups=[""] * 1000, resources=["secrets"] * 10_000, verbs=["get"] * 10_000)
    dump = tmp_path / "dump.json"
    dump.write_bytes(orjson.dumps(_list(role(many), binding(EVE))))
    assert main(["audit", str(dump), "--complete", "*"]) == 1
    assert "user:eve may get secrets" in capsys.readouterr().out
    other = {name: [*words, *(f"x{number}" for number in range(100))] for name, words in SECRETS[0].items()}
    dump.write_bytes(orjson.dumps(_list(role([other]), binding(EVE))))
    assert main(["audit", str(dump), "--complete", "*"]) == 2
    assert "a rule of ClusterRole r gives user:eve 1,030,301 permissions" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("check", "FILE"), ("audit", "--rules", "FILE")])
def test_files_that_say_something_twice(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of expectations or checks is not read by half."""
    file, dump = tmp_path / "file.yaml", tmp_path / "dump.yaml"
    file.write_text("expectations: []\nexpectations: []\n")
    dump.write_text(_text(role(), binding(EVE)))
    assert main([*(str(file) if word == "FILE" else word for word in words), "-f", str(dump), "--complete", "*"]) == 2
    assert "the key 'expectations' is there twice" in capsys.readouterr().err


def test_programs_are_told_what_was_not_read() -> None:
    """So are notebooks: the limit is the snapshot's own, and stays where its authorizers are stated."""
    objects = [role(_rule(verbs="get")), binding(EVE)]
    for modes in ((), ("RBAC",)):
        cluster = simkit.load(_text(*objects), captured=["*"], authorization_mode=modes)
        assert "could not be read" in ClusterQuestions(cluster).who_can("get", "secrets").incomplete[0]
        assert "could not be read" in cluster.who_can("get", "secrets").attrs["caveats"][0]
        assert "could not be read" in str(cluster.can("user:eve", "get", "secrets").caveats[0])


def test_a_kustomization_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its patches may grant what the files beside it do not, and only kustomize applies them."""
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [a.yaml]\npatches: [{target: {kind: Role}, patch: '[]'}]\n"
    )
    (tmp_path / "a.yaml").write_text(_text(role(), binding(EVE)))
    assert main(["audit", str(tmp_path), "--manifests"]) == 1
    assert "load what `kubectl kustomize` writes" in capsys.readouterr().err
