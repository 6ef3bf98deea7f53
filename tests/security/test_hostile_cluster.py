"""A cluster in which every name was chosen by an attacker, run through every command and output."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
import yaml

import simkit
from simkit.analysis.access.can import can
from simkit.analysis.access.compare import compare
from simkit.analysis.escalation import blast_radius, cut, escalations
from simkit.analysis.findings import audit
from simkit.analysis.least_privilege import least_privilege
from simkit.analysis.plots import access_drift, binding_graph
from simkit.analysis.rbac.graph import access_graph
from simkit.cli import main
from simkit.meta.escaping import kubectl_command
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from tests.security.hostile_cluster import (
    HOSTILE,
    OURS,
    Elements,
    assert_shown_as_text,
    formulas,
    rendered,
    run_by_shell,
)
from tools.make_hostile_cluster import PAYLOADS

CHOSEN = set(PAYLOADS.values())
LABELLED = ("pod-security.kubernetes.io/enforce=baseline", "--overwrite")
"""What the command that labels a namespace says besides its name."""
SUBJECTS = (
    "user:x;touch pwned",
    "user:\x1b]0;owned\x07\x1b[2J\x1b[1;1H",
    "sa:hostile/--all",
    "group:=cmd|' /C calc'!A0",
)
ALL = ("--complete", "*")
COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": ("audit", HOSTILE, *ALL, "--show", "info"),
    "who-can": ("who-can", "get", "secrets", "--dump", HOSTILE, *ALL, "-A"),
    "diff": ("diff", "EMPTY", HOSTILE, *ALL),
    "escalations": ("escalations", HOSTILE, *ALL, "--direct"),
    "radius": ("escalations", HOSTILE, *ALL, "--radius", "--subject", SUBJECTS[1]),
    "risky": ("escalations", HOSTILE, *ALL, "--risky-permissions"),
    "compared": ("escalations", HOSTILE, *ALL, "--before", "EMPTY"),
    "cut": ("cut", HOSTILE, *ALL, "--direct"),
    "least-privilege": ("least-privilege", HOSTILE, *ALL, "--audit-log", "LOG"),
    "unused": ("least-privilege", HOSTILE, *ALL, "--audit-log", "LOG", "--unused"),
    "check": ("check", "SUITE", "--dump", HOSTILE, *ALL),
    "removal-report": ("removal-report", "--dump", HOSTILE, *ALL, "--audit-log", "LOG", "--release", "1.32"),
    "causes": ("causes", HOSTILE, *ALL, "--all"),
    "plan": ("cut", HOSTILE, *ALL, "--best", "2"),
    "upgrade": ("upgrade", HOSTILE, "--to", "1.33", "--audit-log", "LOG", "--all"),
    "crd-diff": ("crd-diff", "OLD", "NEW"),
    "fleet audit": ("fleet", "audit", HOSTILE, "SMALL", "--scheduler", "threads"),
    "fleet diff": ("fleet", "diff", "--golden", "SMALL", HOSTILE, "SMALL", "--scheduler", "threads"),
    **{f"can-i {at}": ("can-i", "get", "secrets", "--dump", HOSTILE, f"--as={who}") for at, who in enumerate(SUBJECTS)},
    **{f"list {at}": ("can-i", "--list", "--dump", HOSTILE, f"--as={who}") for at, who in enumerate(SUBJECTS)},
}
PROSE: dict[str, tuple[str, ...]] = {
    "details": (*COMMANDS["escalations"], "--details"),
    "commands": (*COMMANDS["cut"], "--commands"),
    "migrate": ("migrate", "OLD", "--to", "1.33"),
    "save": ("save", HOSTILE, "--to", "SAVED"),
}


@pytest.fixture(scope="module")
def dump() -> Dump:
    return load(HOSTILE, captured=["*"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The paths of EMPTY, SMALL, LOG and SUITE in the commands."""
    folder = tmp_path_factory.mktemp("hostile")
    empty = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    texts: dict[str, Any] = {
        "EMPTY": orjson.dumps(empty),
        "SMALL": yaml.safe_dump_all(
            [empty, *map(_access, ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"))]
        ).encode(),
        "LOG": b"\n".join(orjson.dumps(_event(text)) for text in PAYLOADS.values()),
        "SUITE": yaml.safe_dump({"expectations": [_expectation(text) for text in PAYLOADS.values()]}).encode(),
    }
    old = [*map(_definition, PAYLOADS.values()), *map(_ingress, PAYLOADS.values())]
    texts["OLD"] = yaml.safe_dump_all(old).encode()
    texts["NEW"] = yaml.safe_dump_all([_definition(text, kind="integer") for text in PAYLOADS.values()]).encode()
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in texts} | {"SAVED": f"sqlite:{folder / 'saved.db'}"}


def _definition(text: str, kind: str = "string") -> dict[str, Any]:
    """A definition in which whatever can be chosen was chosen, changed where its fields are of another type."""
    schema = {"type": "object", "properties": {text: {"type": kind, "enum": [text], "description": text}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": text, "kind": text, "singular": text, "shortNames": [text]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": text},
        "spec": {"group": text, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _ingress(text: str) -> dict[str, Any]:
    backend = {"serviceName": text, "servicePort": text}
    spec = {"rules": [{"host": text, "http": {"paths": [{"path": text, "backend": backend}]}}]}
    meta = {"name": text, "namespace": text, "annotations": {text: text}}
    return {"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": meta, "spec": spec}


def _event(text: str) -> dict[str, Any]:
    where = {"resource": "secrets", "namespace": text, "name": text, "apiVersion": "v1"}
    user = {"username": text, "groups": [text, "system:authenticated"]}
    event = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": "get", "user": user}
    return {**event, "userAgent": text, "objectRef": where, "responseStatus": {"code": 200}}


def _access(kind: str) -> dict[str, Any]:
    """A role without rules, or a binding of it without subjects."""
    metadata = {"name": "none"} if kind.startswith("Cluster") else {"name": "none", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind.removesuffix("Binding"), "name": "none"}
    what: dict[str, Any] = {"roleRef": role} if kind.endswith("Binding") else {"rules": []}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **what}


def _expectation(text: str) -> dict[str, Any]:
    return {"name": text, "cannot": {"subject": f"user:{text}", "verb": "get", "resource": "secrets"}}


def _run(words: tuple[str, ...], files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> str:
    code = main([files.get(word, word) for word in words])
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    assert_shown_as_text(out + err)
    return out


@pytest.mark.parametrize(
    ("name", "form"), list(product(COMMANDS, ("table", "json", "jsonl", "csv", "markdown", "html")))
)
def test_every_output_shows_names_as_names(
    name: str, form: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables, JSON, CSV, markdown and HTML of every command: nothing is executed, rendered or calculated."""
    out = _run((*COMMANDS[name], "-o", form), files, capsys)
    if form == "json":
        assert orjson.loads(out) is not None
    if form == "html" and out:
        page = Elements(out)
        assert set(page.names) <= {"meta", "title", "style", "table", "thead", "tbody", "tr", "th", "td"}
        assert page.attributes <= {"charset", "class"}
        assert page.classes <= {"simkit", "number"}
    if form == "csv":
        assert formulas(out) == []
    if form == "markdown":
        page = rendered(out)
        assert set(page.names) <= OURS
        assert page.attributes <= {"class", "style"}


@pytest.mark.parametrize("name", PROSE)
def test_explanations_and_commands_show_names_as_names(
    name: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts beside tables show names as text, too."""
    _run(PROSE[name], files, capsys)


def test_a_comment_cannot_be_forged(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """``diff -o markdown`` has one headline and one fold, whatever users are called."""
    page = rendered(_run((*COMMANDS["diff"], "-o", "markdown"), files, capsys))
    assert [page.names.count(name) for name in ("h3", "details")] == [1, 1]


def test_steps_in_markdown_are_a_block(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The steps of paths are shown as they are, whatever stands in them."""
    page = rendered(_run((*PROSE["details"], "-o", "markdown"), files, capsys))
    assert set(page.names) <= OURS
    assert page.names.count("pre") == 1


@pytest.mark.parametrize("form", ["junit", "sarif"])
@pytest.mark.parametrize("name", ["audit", "check"])
def test_reports_for_build_servers(
    name: str, form: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """XML is well-formed, and messages of SARIF hold no links."""
    out = _run((*COMMANDS[name], "-o", form), files, capsys)
    if form == "junit":
        assert ElementTree.fromstring(out).tag == "testsuite"
        return
    messages = [result["message"]["text"] for result in orjson.loads(out)["runs"][0]["results"]]
    assert messages
    assert not [text for text in messages if "](" in text.replace("\\]", "")]


def test_commands_of_findings_are_run_by_a_shell_as_they_are_meant(dump: Dump, tmp_path: Path) -> None:
    """A shell that runs every proposed command calls kubectl once for each, with the names that are in the cluster."""
    commands = [finding.command for finding in audit(dump.snapshot()).findings if finding.command]
    commands = [command for command in commands if "\\x00" not in command]
    calls = run_by_shell(commands, tmp_path)
    assert len(calls) == len(commands) > len(PAYLOADS)
    names = {key.name for key in dump.origins}
    assert {call[0] for call in calls} == {"delete", "label"}
    for call in calls:
        rest = [word.removeprefix("--namespace=") for word in call[2:] if word not in ("--", "--namespace")]
        assert set(rest) - set(LABELLED if call[0] == "label" else ()) <= names | CHOSEN


def test_commands_of_cuts_are_run_by_a_shell_as_they_are_meant(dump: Dump, tmp_path: Path) -> None:
    """So do the commands of a cut, and those in the comments of its YAML."""
    made = cut(dump.snapshot(), direct=True)
    comments = [line.removeprefix("# ") for line in made.yaml().splitlines() if line.startswith("# ")]
    commands = [line for line in [*made.commands(), *comments] if "\\x00" not in line]
    calls = run_by_shell(commands, tmp_path)
    assert len(calls) == len(commands) > len(PAYLOADS) // 2
    assert {call[0] for call in calls} <= {"delete", "patch", "apply"}


def test_yaml_of_cuts_and_proposals_holds_nothing_but_their_objects(dump: Dump, files: dict[str, str]) -> None:
    """No name ends the comment in which the command stands."""
    for made in (
        cut(dump.snapshot(), direct=True),
        least_privilege(dump.snapshot(), files["LOG"]),
    ):
        assert [one for one in yaml.safe_load_all(made.yaml()) if one] == made.manifests()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("x;touch y", "kubectl delete roles 'x;touch y' --namespace a"),
        ("--all", "kubectl delete roles --namespace a -- --all"),
        ("a\nb'", "kubectl delete roles $'a\\nb\\'' --namespace a"),
    ],
)
def test_a_name_is_one_word(name: str, command: str) -> None:
    """A name is never a flag, a second command or a second line."""
    assert kubectl_command("delete", "roles", name, "a") == command


def test_notebooks_show_names_as_names(dump: Dump) -> None:
    """HTML of results has no element and no attribute that a name brought along."""
    snapshot = dump.snapshot()
    found = escalations(snapshot, direct=True)
    shown = [can(snapshot, who, "get", "secrets") for who in SUBJECTS]
    pages = [one._repr_html_() for one in shown]
    pages += [found._repr_html_(), cut(snapshot, direct=True)._repr_html_(), audit(snapshot)._repr_html_()]
    pages += [one._repr_html_() for one in list(found)[:50]]
    pages.append(simkit.Cluster.of(dump)._repr_html_())
    page = Elements("".join(pages))
    assert not {"script", "img", "a", "x"} & set(page.names)
    assert page.attributes <= {"style", "class", "border", "open"}


@pytest.mark.filterwarnings("ignore:Glyph")
def test_figures_show_names_as_names(dump: Dump, tmp_path: Path) -> None:
    """A dollar sign in a name begins no formula, which may fail."""
    snapshot = dump.snapshot()
    figures = [
        access_drift(
            compare(load("{apiVersion: v1, kind: List, items: []}", captured=["*"]).snapshot(), snapshot), top=60
        ),
        binding_graph(access_graph(snapshot)),
        blast_radius(snapshot, SUBJECTS[0]).plot(),
    ]
    for at, axes in enumerate(figures):
        figure = axes.get_figure(root=True)
        assert figure is not None
        figure.savefig(tmp_path / f"{at}.png")


def test_a_redacted_dump_can_be_read_again(
    tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """``redact`` keeps the objects, and pseudonyms replace every chosen name of a subject."""
    target = tmp_path / "shared.json"
    _run(("redact", HOSTILE, "--pseudonyms", "--to", str(target)), files, capsys)
    assert len(load(target)) == len(load(HOSTILE))


def test_a_page_shows_names_as_names(tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The report of an audit has no element, attribute or address that a name brought along."""
    page = tmp_path / "report.html"
    _run((*COMMANDS["audit"], "--html", str(page)), files, capsys)
    shown = Elements(page.read_text(encoding="utf-8"))
    assert not {"iframe", "object", "embed", "x", "base"} & set(shown.names)
    assert shown.names.count("form") == 1  # the filters of the findings
    assert not {name for name in shown.attributes if name.startswith("on")}
