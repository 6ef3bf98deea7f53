"""The suite of the Authorizer protocol over each implementation."""

from __future__ import annotations

from typing import Final

from simkit.engine.authz.rbac import RBACAuthorizer
from simkit.engine.authz.webhook import Settings, WebhookAuthorizer
from simkit.logic.authorizers.abac import PolicyFile, parse
from simkit.logic.authorizers.node import NodeAuthorizer
from simkit.logic.authorizers.node_graph import NodeGraph
from simkit.logic.authorizers.union import AlwaysAllow, AlwaysDeny, PrivilegedGroups, UnionAuthorizer
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.clock import SimulatedClock
from simkit.seams import Authorizer
from simkit.testing.suites.authorizers import AuthorizerSuite
from tests.releases import BASE

POLICIES: Final = (
    b'{"user": "ann", "namespace": "x", "resource": "pods", "apiGroup": "*", "readonly": true}',
    b'{"group": "team", "nonResourcePath": "/healthz"}',
)


class TestAlwaysAllow(AuthorizerSuite):
    """Everything is allowed."""

    def make(self) -> Authorizer:
        return AlwaysAllow()


class TestAlwaysDeny(AuthorizerSuite):
    """The authorizer that allows no request."""

    def make(self) -> Authorizer:
        return AlwaysDeny()


class TestPrivilegedGroups(AuthorizerSuite):
    """Members of system:masters may do everything."""

    def make(self) -> Authorizer:
        return PrivilegedGroups()


class TestRBAC(AuthorizerSuite):
    """Roles and bindings; here there are none."""

    def make(self) -> Authorizer:
        return RBACAuthorizer(AccessIndex())


class TestABAC(AuthorizerSuite):
    """A policy file of two lines."""

    def make(self) -> Authorizer:
        return PolicyFile(parse(POLICIES))


class TestNode(AuthorizerSuite):
    """Nodes without pods."""

    def make(self) -> Authorizer:
        return NodeAuthorizer(NodeGraph(), "1.30")


class TestUnion(AuthorizerSuite):
    """One after the other."""

    def make(self) -> Authorizer:
        return UnionAuthorizer([PrivilegedGroups(), PolicyFile(parse(POLICIES)), AlwaysDeny()])


class Refusing:
    """A service that cannot be used: its answers are empty."""

    def post(self, body: bytes) -> bytes:
        return b"{}"


class TestWebhook(AuthorizerSuite):
    """A service outside that gives no useful answer."""

    def make(self) -> Authorizer:
        return WebhookAuthorizer(BASE, Refusing(), Settings(version="v1"), SimulatedClock(), sleep=lambda _: None)


def test_only_the_webhook_leaves_the_process() -> None:
    """A union leaves the process if one of its members does."""
    inside, outside = TestUnion().make(), TestWebhook().make()
    assert (inside.leaves_process, outside.leaves_process) == (False, True)
    assert UnionAuthorizer([inside, outside]).leaves_process
