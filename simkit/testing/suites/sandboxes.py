"""The suite of every sandbox: subclass SandboxSuite, say how a sandbox is made, and pytest runs it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.seams.snapshot import Sandbox

MAPS = GroupResource("", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"
ADMIN = Identity("root", groups=("system:masters", "system:authenticated"))
NOBODY = Identity("nobody", groups=("system:authenticated",))


def create(sandbox: Sandbox, name: str, identity: Identity = ADMIN) -> Response:
    """The answer to the creation of a config map."""
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    headers = {"content-type": ["application/json"]}
    return sandbox.perform(Request("POST", PATH, headers=headers, body=orjson.dumps(body)), identity=identity)


def names(sandbox: Sandbox) -> set[str]:
    """The names of the config maps in the default namespace that the suite made."""
    found = sandbox.snapshot().scan(MAPS, "default")
    return {obj["metadata"]["name"] for obj in found} - {"kube-root-ca.crt"}


class SandboxSuite:
    """The promises of the Sandbox protocol, one test each."""

    def make(self) -> Sandbox:
        """A sandbox that authorizes by RBAC and holds a namespace ``default``."""
        raise NotImplementedError

    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return self.make()

    def test_perform_acts_as_the_identity(self, sandbox: Sandbox) -> None:
        """A request runs through authorization: who may not is refused, and nothing is written."""
        assert create(sandbox, "a").status == 201
        assert create(sandbox, "b", NOBODY).status == 403
        assert names(sandbox) == {"a"}

    def test_a_snapshot_does_not_change(self, sandbox: Sandbox) -> None:
        """A later write is in the next snapshot, not in one that was taken before."""
        before = sandbox.snapshot()
        create(sandbox, "late")
        assert before.get(MAPS, "late", "default") is None
        assert sandbox.snapshot().get(MAPS, "late", "default") is not None

    def test_a_fork_starts_from_its_origin(self, sandbox: Sandbox) -> None:
        """A fork holds what its origin holds."""
        create(sandbox, "a")
        assert names(sandbox.fork()) == {"a"}

    def test_forks_are_apart(self, sandbox: Sandbox) -> None:
        """Changes on a fork are seen neither by its origin nor by its siblings, and the other way round."""
        one, other = sandbox.fork(), sandbox.fork()
        create(one, "one")
        create(sandbox, "origin")
        assert (names(one), names(other), names(sandbox)) == ({"one"}, set(), {"origin"})

    def test_forks_of_forks(self, sandbox: Sandbox) -> None:
        """A fork can be forked like its origin."""
        middle = sandbox.fork()
        create(middle, "middle")
        last = middle.fork()
        create(last, "last")
        assert (names(last), names(middle), names(sandbox)) == ({"last", "middle"}, {"middle"}, set())

    def test_a_fork_may_serve_another_release(self, sandbox: Sandbox) -> None:
        """The objects stay; the snapshot of the fork names the other release."""
        create(sandbox, "a")
        fork = sandbox.fork(release="1.31")
        assert (fork.snapshot().release, sandbox.snapshot().release) == ("1.31", "1.30")
        assert names(fork) == {"a"}
