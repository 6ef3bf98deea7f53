"""Programs ask over the Model Context Protocol, through the client of its SDK."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import TextResourceContents

import simkit
from simkit.cli.answers_for_programs import ROWS, TOOLS, ClusterQuestions
from simkit.cli.mcp import server_of
from simkit.meta.visible_text import is_visible
from simkit.snapshot.load import load
from tests.security.hostile_cluster import HOSTILE
from tools.make_hostile_cluster import PAYLOADS

_CONFIG: Final = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}"
ASKED: Final[Mapping[str, dict[str, Any]]] = {
    "who_can": {"verb": "get", "resource": "secrets", "namespace": "billing"},
    "can": {"subject": "group:oidc:helpdesk", "verb": "create", "resource": "pods", "namespace": "billing"},
    "permissions": {"subject": "group:oidc:helpdesk"},
    "escalations": {"goal": "cluster-admin", "prove": True},
    "causes": {},
    "findings": {"severity": "high"},
    "plan": {"manifests": _CONFIG},
    "what_if_deleted": {"kind": "clusterrolebinding", "name": "pellowick:toolbox"},
    "upgrade": {"to": "1.33"},
    "explain": {"topic": "D5"},
}
"""An example of each tool."""


def ask(cluster: simkit.Cluster, tool: str, given: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether a call failed, and its answer; of a failed one its message."""

    async def asked() -> tuple[bool, dict[str, Any]]:
        async with Client(server_of(ClusterQuestions(cluster))) as client:
            answer = await client.call_tool(tool, dict(given))
            failed = bool(answer.is_error)
            return failed, {"message": str(answer.content)} if failed else dict(answer.structured_content or {})

    return asyncio.run(asked())


@pytest.fixture(scope="module")
def demo() -> simkit.Cluster:
    return simkit.demo(seed=1)


def test_questions_about_what_does_not_exist(demo: simkit.Cluster) -> None:
    """That a subject or a namespace is unknown reaches the client, so that a slip is not taken for a sure answer."""
    for tool, given, doubt in (
        ("can", {"subject": "sa:billing/typo", "verb": "get", "resource": "secrets"}, "no service account"),
        ("who_can", {"verb": "get", "resource": "secrets", "namespace": "bililng"}, "no namespace 'bililng'"),
        ("can", {"subject": "sa:billing/default", "verb": "get", "resource": "secrets"}, ""),
    ):
        failed, answer = ask(demo, tool, given)
        assert not failed
        assert doubt in "".join(answer["untrusted_doubts"])
        assert bool(doubt) == bool(answer["untrusted_doubts"])


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_answers(demo: simkit.Cluster, tool: str) -> None:
    """Counts and rows of a page fit together, and the answer fits the schema that clients are told."""
    failed, answer = ask(demo, tool, ASKED[tool])
    assert not failed, answer
    assert answer["untrusted_rows"]
    assert len(answer["untrusted_rows"]) == min(answer["total"], ROWS)
    assert answer["pages"] == max(1, -(-answer["total"] // ROWS))


def test_pages(demo: simkit.Cluster) -> None:
    """All pages together are the whole answer, and there is none behind the last."""
    _, first = ask(demo, "findings", {"severity": "low"})
    rows = [
        json.dumps(row, sort_keys=True)
        for page in range(1, first["pages"] + 1)
        for row in ask(demo, "findings", {"severity": "low", "page": page})[1]["untrusted_rows"]
    ]
    assert len(rows) == first["total"] == len(demo.audit(severity="low").to_frame())
    failed, answer = ask(demo, "findings", {"severity": "low", "page": first["pages"] + 1})
    assert failed
    assert f"the answer has {first['pages']}" in answer["message"]


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("who_can", {"verb": "get", "resource": "secretz"}, "did you mean 'secret' or 'secrets'"),
        ("plan", {"manifests": "/etc/hostname"}, "a line of text where an object should be"),
        ("plan", {"manifests": "https://example.com/a.yaml"}, "a line of text where an object should be"),
        ("what_if_deleted", {"kind": "clusterrolebinding", "name": "absent"}, "not found"),
        ("upgrade", {"to": "9.99"}, "9.99"),
        ("explain", {"topic": "nothing"}, "nothing is called 'nothing'"),
        ("findings", {"page": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_questions(demo: simkit.Cluster, tool: str, given: dict[str, Any], words: str) -> None:
    """A wrong question is told what is wrong with it; no path is opened."""
    failed, answer = ask(demo, tool, given)
    assert failed
    assert words in answer["message"]


def test_a_dump_without_roles_is_incomplete() -> None:
    """What the answer could not see is in it."""
    namespace = "{apiVersion: v1, kind: Node, metadata: {name: n, labels: {eks.amazonaws.com/nodegroup: a}}}"
    cluster = simkit.Cluster.of(load([namespace], captured=["*"]))
    _, answer = ask(cluster, "who_can", ASKED["who_can"])
    assert any("EKS" in text for text in answer["incomplete"])


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_hostile_names_are_data(tool: str) -> None:
    """Texts that somebody chose are in the rows alone, in visible letters."""
    cluster = simkit.Cluster.of(load(HOSTILE, captured=["*"]))
    given = {**ASKED[tool], **({"prove": False} if tool == "escalations" else {})}
    given |= {"kind": "clusterrolebinding", "name": "x;touch pwned"} if tool == "what_if_deleted" else {}
    failed, answer = ask(cluster, tool, given)
    assert not failed, answer
    rest = json.dumps({key: value for key, value in answer.items() if key != "untrusted_rows"})
    assert not [text for text in PAYLOADS.values() if text.strip(" */") and text in rest]
    assert _all_visible(answer["untrusted_rows"])


def _all_visible(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_all_visible, (*value, *value.values())))
    if isinstance(value, list):
        return all(map(_all_visible, value))
    return not isinstance(value, str) or all(is_visible(line) for line in value.split("\n"))


@pytest.mark.slow
def test_over_standard_streams() -> None:
    """The command answers a client that starts it, and its reports are resources."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "simkit.cli", "mcp", "--demo"])

    async def asked() -> tuple[list[str], str, dict[str, Any]]:
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            report = (await client.read_resource("simkit://reports/findings")).contents[0]
            answer = await client.call_tool("can", ASKED["can"])
            assert isinstance(report, TextResourceContents)
            return [tool.name for tool in tools], report.text, dict(answer.structured_content or {})

    names, report, answer = asyncio.run(asked())
    assert names == list(TOOLS)
    assert json.loads(report)["total"] > ROWS
    assert answer["summary"] in ("allowed", "not allowed")


_WATCHED = """
import asyncio, json, sys
from mcp.client.client import Client
import simkit
from simkit.cli.answers_for_programs import ClusterQuestions
from simkit.cli.mcp import server_of

async def ask():
    async with Client(server_of(ClusterQuestions(simkit.demo(seed=1)))) as client:
        for tool, given in json.loads(sys.argv[1]).items():
            await client.call_tool(tool, given)

seen = []
def hook(event, args):
    if event in ("socket.connect", "subprocess.Popen", "os.system"):
        seen.append(event)
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append(str(args[0]))
asyncio.run(ask())  # modules and tables are read
sys.addaudithook(hook)
asyncio.run(ask())
print(json.dumps([one for one in seen if "/dev/null" not in one]))
"""


@pytest.mark.slow
def test_no_network_and_no_file_is_opened() -> None:
    """No tool connects, starts a program or writes a file."""
    command = [sys.executable, "-c", _WATCHED, json.dumps(ASKED)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
