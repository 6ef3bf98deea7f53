"""Random conversations with two servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from simkit.schema.catalogue import Catalogue
from tests.conformance import inprocess
from tests.conformance.conversation import Answer, Server, Step, recorded
from tests.conformance.explore import Explorer, case_of, signature
from tests.conformance.random_access import RandomAccess
from tests.conformance.random_custom import RandomCustom
from tests.conformance.random_edits import RandomEdits
from tests.conformance.random_reads import KINDS, RandomReads
from tests.conformance.random_recorded import RandomRecorded
from tests.conformance.random_steps import RandomSteps

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b", "c": "d"}}
CATALOGUE = Catalogue.for_release("1.30")


class Quiet:
    """A server that leaves one letter out of what it says of one key."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def wait(self, seconds: float) -> None:
        self._server.wait(seconds)

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, user: str) -> Answer:
        answer = self._server.send(method, path, headers, body, user=user)
        return answer._replace(body=answer.body.replace(b'"c":"d"', b'"c":""'))


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    with ExitStack() as stack:
        folders = [tmp_path / "one", tmp_path / "other"]
        for folder in folders:
            folder.mkdir()
        one, other = (stack.enter_context(inprocess.serving(folder, "1.30", "explore")) for folder in folders)
        yield one, other


def test_the_same_seed_gives_the_same_conversation() -> None:
    """Another one gives another."""
    made = [list(RandomSteps(CATALOGUE, CONFIG_MAP, seed).steps()) for seed in ("a", "a", "b")]
    assert made[0] == made[1] != made[2]


def test_two_servers_of_a_release_agree(servers: tuple[Server, Server]) -> None:
    """Whatever it is asked."""
    explorer = Explorer(*servers)
    for seed in range(12):
        assert explorer.difference(list(RandomSteps(CATALOGUE, CONFIG_MAP, str(seed)).steps())) is None
        assert explorer.difference(list(RandomEdits(CATALOGUE, CONFIG_MAP, [CONFIG_MAP], str(seed)).steps())) is None


@pytest.mark.slow
@pytest.mark.parametrize("resource", KINDS)
def test_two_servers_agree_about_the_past(servers: tuple[Server, Server], resource: str) -> None:
    """Lists and watches as of any moment of some writes, each server at its own revisions."""
    explorer = Explorer(*servers)
    asked = list(RandomReads(resource, resource).steps())
    assert asked == list(RandomReads(resource, resource).steps())
    assert explorer.difference(asked) is None
    assert explorer.requests == len(asked)


def test_two_servers_agree_about_access(servers: tuple[Server, Server]) -> None:
    """What a user with random roles may grant, ask and do."""
    explorer = Explorer(*servers)
    for seed in range(5):
        asked = list(RandomAccess(str(seed)).steps())
        assert asked == list(RandomAccess(str(seed)).steps())
        assert explorer.difference(asked) is None


def test_two_servers_agree_about_custom_kinds(servers: tuple[Server, Server]) -> None:
    """Definitions with random schemas, and objects that fit them or do not."""
    explorer = Explorer(*servers)
    for seed in range(5):
        asked = list(RandomCustom(str(seed)).steps())
        assert asked == list(RandomCustom(str(seed)).steps())
        assert explorer.difference(asked) is None


def test_a_difference_is_made_short(servers: tuple[Server, Server]) -> None:
    """A shortened case has only the steps that matter, and the answers of the other server."""
    explorer = Explorer(servers[0], Quiet(servers[1]))
    path = "/api/v1/namespaces/{{unique}}/configmaps"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{{unique}}"}}
    steps: list[Step] = [
        {"method": "POST", "path": "/api/v1/namespaces", "body": namespace},
        {"method": "GET", "path": path},
        {"method": "POST", "path": f"{path}?fieldManager=x", "body": CONFIG_MAP},
        {"method": "GET", "path": f"{path}/a"},
    ]
    found = explorer.difference(steps)
    assert found is not None
    assert found.number == 2
    short = explorer.shrunk(found)
    assert signature(short) == signature(found)
    assert [step["method"] for step in short.steps] == ["POST", "POST"]
    assert short.steps[-1]["path"] == path
    assert short.steps[-1]["body"]["data"] == {"c": "d"}
    assert case_of(short)["steps"][-1]["expect"]["body"]["data"] == {"c": "d"}


def test_changed_recordings_are_held_with_both_servers(servers: tuple[Server, Server]) -> None:
    """The same seed changes a recorded conversation in the same way."""
    cases = [case for area in ("patch", "negotiation") for case in recorded("1.30")[area]]
    explorer = Explorer(*servers)
    for case in cases[:6]:
        steps = list(RandomRecorded(case, "a").steps())
        assert steps == list(RandomRecorded(case, "a").steps())
        assert explorer.difference(steps) is None
    assert explorer.requests > 6
