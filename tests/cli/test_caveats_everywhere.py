"""A dump of a managed cluster without its export: no answer about access goes without the caveat, in no output."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.analysis.history.follow import AccessFollower
from simkit.analysis.result import Result
from simkit.cli import main
from simkit.cli.answers_for_programs import ClusterQuestions
from simkit.cli.output import FORMATS
from simkit.cli.watch import ocsf
from simkit.snapshot.live_watch import ObjectChange
from tests.analysis.worlds import account, binding, namespace, role, rule

pytestmark = pytest.mark.slow

CAVEAT = "Lower bound: EKS access entries and AWS IAM also grant access to a cluster on EKS, and were not read."
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"eks.amazonaws.com/nodegroup": "a"}}}
OBJECTS: list[Any] = [
    *(NODE, namespace("dev"), account("dev", "app")),
    *(role("all", rule("*", "*", groups="*")), role("pods", rule("create", "pods"))),
    *(binding("admins", "all", "sa:dev/app"), binding("makers", "pods", "user:ann", namespace="dev")),
]
REPORTS = ("junit", "sarif")
"""The forms that only commands with findings have."""
COMMANDS: dict[str, list[str]] = {
    "audit": [],
    "causes": [],
    "exposure": [],
    "bindings": [],
    "diff": ["OTHER"],
    "who-can": ["get", "secrets", "-f"],
    "can-i": ["get", "secrets", "--as", "user:ann", "-f"],
    "can-i --list": ["--as", "user:ann", "-f"],
    "permissions": ["user:ann"],
    "escalations": [],
    "prove never": ["get secrets", "-f"],
    "check": ["SUITE"],
    "plan": ["-f", "MANIFEST"],
    "what-if delete": ["clusterrolebinding/admins", "-f"],
    "cut": [],
    "least-privilege": ["--audit-log", "LOG"],
    "fleet audit": ["--scheduler", "synchronous"],
}
"""The commands that answer about access, with what stands before the dump."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The dump, and what else commands read."""
    folder = tmp_path_factory.mktemp("caveats")
    every = [{"apiVersion": "v1", "kind": "List", "items": OBJECTS}]
    every += [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{kind}List", "items": []}
        for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    ]
    every += [{"apiVersion": "v1", "kind": f"{kind}List", "items": []} for kind in ("Pod", "Secret", "ConfigMap")]
    asked: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
    }
    asked |= {
        "auditID": "1",
        "requestURI": "/api/v1/namespaces/dev/pods",
        "verb": "create",
        "user": {"username": "ann"},
    }
    asked |= {
        "objectRef": {"resource": "pods", "namespace": "dev", "apiVersion": "v1"},
        "responseStatus": {"code": 201},
    }
    asked |= dict.fromkeys(("requestReceivedTimestamp", "stageTimestamp"), "2026-01-01T00:00:00.000000Z")
    suite = 'expectations:\n- {name: secrets, cannot: {subject: "user:ann", verb: get, resource: secrets}}\n'
    texts = {
        "DUMP": json.dumps(every),
        "OTHER": json.dumps([{**every[0], "items": OBJECTS[:-1]}, *every[1:]]),
        "SUITE": suite,
        "MANIFEST": json.dumps(binding("more", "all", "user:eve")),
        "LOG": json.dumps(asked) + "\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text)
    return {name: str(folder / f"{name}.json") for name in texts}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_form_of_a_command_tells_it(
    command: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """For programs in the output itself; beside a table on standard error, and there also with ``--quiet``."""
    words = [*command.split(), *(files.get(word, word) for word in COMMANDS[command]), files["DUMP"]]
    seen = 0
    for form in (*FORMATS, *REPORTS):
        for quiet in ([], ["--quiet"]):
            code = main([*words, "-o", form, *quiet])
            out, err = capsys.readouterr()
            if code == 2 and form in REPORTS and "invalid choice" in err:
                continue
            assert "usage:" not in err, (form, err)
            told = _plain(out + err if form in ("table", "wide") else out)
            assert _plain(CAVEAT) in told, (command, form, quiet, out, err)
            seen += 1
    assert seen >= 2 * len(FORMATS)


def _plain(text: str) -> str:
    """A text without line breaks, frames and escapes of formats."""
    return " ".join(text.replace("\\n", " ").replace("&gt;", " ").replace("> ", " ").split())


def test_files_with_reports_tell_it(files: dict[str, str], tmp_path: Path) -> None:
    """A page and a log of results for code scanning."""
    for option, name in (("--html", "page.html"), ("--sarif", "log.sarif")):
        assert main(["audit", files["DUMP"], option, str(tmp_path / name), "--quiet"]) in (0, 1)
        assert CAVEAT in (tmp_path / name).read_text(), option


def answers(cluster: simkit.Cluster) -> Iterator[tuple[str, Any]]:
    """What the methods of a cluster give back that answer about access."""
    yield "audit", cluster.audit()
    yield "causes", cluster.causes()
    yield "can", cluster.can("user:ann", "get", "secrets")
    yield "who_can", cluster.who_can("get", "secrets")
    yield "permissions", cluster.permissions("user:ann")
    yield "escalations", cluster.escalations()
    yield "never", cluster.never("get secrets")
    yield "bindings", cluster.bindings()
    yield "blast_radius", cluster.blast_radius("user:ann")


def test_every_answer_in_python_tells_it(files: dict[str, str]) -> None:
    """Printed, as HTML in a notebook, as a document, and as a table with its attributes."""
    cluster = simkit.load(files["DUMP"])
    for name, answer in answers(cluster):
        if isinstance(answer, Result):
            forms = [str(answer), answer._repr_html_(), json.dumps(answer.to_dict(), default=str)]
            forms.append(str(answer.to_frame().attrs.get("caveats")))
        else:
            forms = [str(answer.attrs.get("caveats"))]
        for form in forms:
            assert _plain(CAVEAT) in _plain(form), (name, form)


def test_programs_and_those_who_watch_are_told(files: dict[str, str]) -> None:
    """Each tool of the Model Context Protocol about access, and an event as JSON and of OCSF."""
    cluster = simkit.load(files["DUMP"])
    tools = ClusterQuestions(cluster)
    asked: dict[str, tuple[Any, ...]] = {
        "who_can": ("get", "secrets"),
        "can": ("user:ann", "get", "secrets"),
        "permissions": ("user:ann",),
        "escalations": (),
        "causes": (),
        "findings": (),
    }
    for name, arguments in asked.items():
        assert CAVEAT in json.dumps(getattr(tools, name)(*arguments), default=str), name
    follower = AccessFollower(OBJECTS, "1.30", cluster.snapshot().captured())
    for event in follower.take([ObjectChange(binding("more", "all", "user:eve"))]):
        assert CAVEAT in json.dumps(event.to_dict())
        assert CAVEAT in json.dumps(ocsf(event))


def test_every_command_that_reads_a_cluster_takes_an_export(capsys: pytest.CaptureFixture[str]) -> None:
    """So that the caveat can be answered everywhere."""
    for command in (*COMMANDS, "upgrade", "history", "rehearse", "watch", "serve", "mcp"):
        main([*command.split(" ")[:1], "--help"])
        assert "--cloud" in capsys.readouterr().out, command
    assert inspect.signature(simkit.load).parameters["cloud"].default is None
