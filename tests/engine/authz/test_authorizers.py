"""Authorizers alone and one after another."""

from __future__ import annotations

from typing import Final

import pytest

from simkit.engine.authz.rbac import RBACAuthorizer, forbidden_error, forbidden_message
from simkit.logic.authorizers.union import AlwaysAllow, AlwaysDeny, PrivilegedGroups, UnionAuthorizer
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.attributes import DENY, NO_OPINION, Attributes, Decision
from simkit.meta.identity import Identity, administrator
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.seams import Authorizer, Change, Entry, RuleList
from tests.logic.rbac.worlds import World, binding, role, rule

ASK = Attributes(Identity("ann"), "get", resource="pods", namespace="x", name="p")


class Saying:
    """An authorizer that always says the same."""

    leaves_process: Final = False

    def __init__(self, decision: Decision, rules: RuleList | None = None) -> None:
        self.decision, self.rules = decision, rules or RuleList()

    def authorize(self, ask: Attributes) -> Decision:
        return self.decision

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self.rules


def test_s7_masters_need_no_binding() -> None:
    """Members of system:masters may do everything, without a reason; a user of that name may nothing."""
    empty = UnionAuthorizer([PrivilegedGroups(), RBACAuthorizer(AccessIndex())])
    decision = empty.authorize(Attributes(administrator(), "delete", resource="nodes"))
    assert (decision.allowed, decision.reason) == (True, "")
    assert not empty.authorize(Attributes(Identity("system:masters"), "get", resource="pods")).allowed
    assert empty.rules_for(administrator(), "x") == RuleList([], [])


@pytest.mark.parametrize(("authorizer", "allowed"), [(AlwaysAllow(), True), (AlwaysDeny(), False)])
def test_always(authorizer: Authorizer, allowed: bool) -> None:
    """Two authorizers do not look at the question; the one that refuses leaves it open to others."""
    decision = authorizer.authorize(ASK)
    assert decision.allowed is allowed
    assert decision.reason == ("" if allowed else "Everything is forbidden.")
    assert bool(authorizer.rules_for(ASK.identity, "x").resource_rules) is allowed
    assert UnionAuthorizer([authorizer, AlwaysAllow()]).authorize(ASK).allowed


def test_first_decision_counts() -> None:
    """A DENY ends the search; without any decision all reasons are told."""
    refusing = Saying(Decision(DENY, "never"))
    assert (
        UnionAuthorizer([Saying(Decision(NO_OPINION, "a")), refusing, AlwaysAllow()]).authorize(ASK)
        == refusing.decision
    )
    undecided = UnionAuthorizer(
        [Saying(Decision(NO_OPINION, "a", error="e")), Saying(Decision(NO_OPINION)), Saying(Decision(NO_OPINION, "b"))]
    ).authorize(ASK)
    assert (undecided.verdict, undecided.reason, undecided.error) == (NO_OPINION, "a\nb", "e")


def test_rules_of_all() -> None:
    """Rules reviews put the lists of all authorizers together."""
    one = RuleList([{"verbs": ["get"]}], [], True, "first")
    other = RuleList([], [{"verbs": ["*"]}], False, "second")
    union = UnionAuthorizer([Saying(Decision(NO_OPINION), one), Saying(Decision(NO_OPINION), other)])
    answer = union.rules_for(ASK.identity, "x")
    assert answer == RuleList([{"verbs": ["get"]}], [{"verbs": ["*"]}], True, "[first, second]")


def test_rules_of_roles() -> None:
    """A rule shows under resources or under paths, without fields that are empty."""
    index = AccessIndex.of(
        World(
            [
                role("r", rule("get", "-", "pods", names="p"), rule("get", paths="/x")),
                binding("b", "clusterrole r", "user ann"),
            ]
        )
    )
    answer = RBACAuthorizer(index).rules_for(ASK.identity, "x")
    assert answer.resource_rules == [rule("get", "-", "pods", names="p")]
    assert answer.path_rules == [rule("get", paths="/x")]


def change(kind: str, obj: Object, resource: GroupResource) -> Change:
    """A step of a store's history."""
    entry = Entry(Key(resource, "", obj["metadata"]["name"]), Revision(1), obj)
    return Change("DELETED" if kind == "DELETED" else "ADDED", entry, None)


def test_follows_a_store() -> None:
    """The listener keeps the index in step, and a fork goes its own way."""
    authorizer = RBACAuthorizer(AccessIndex())
    bound = binding("b", "clusterrole r", "user ann")
    authorizer.follow(
        [
            change("ADDED", role("r", rule("get", "-", "pods")), CLUSTER_ROLES),
            change("ADDED", {"metadata": {"name": "p"}}, GroupResource("", "pods")),
            change("ADDED", bound, CLUSTER_ROLE_BINDINGS),
        ]
    )
    fork = authorizer.fork()
    authorizer.follow([change("DELETED", bound, CLUSTER_ROLE_BINDINGS)])
    assert not authorizer.authorize(ASK).allowed
    assert fork.authorize(ASK).allowed


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            Attributes(Identity("ann"), "get", resource="pods", subresource="log", namespace="x", name="p"),
            'pods "p" is forbidden: User "ann" cannot get resource "pods/log" in API group "" in the namespace "x"',
        ),
        (
            Attributes(Identity("ann"), "list", "apps", resource="deployments"),
            'deployments.apps is forbidden: User "ann" cannot list resource "deployments" in API group "apps" '
            "at the cluster scope",
        ),
        (
            Attributes(Identity("<b>&"), "get", path="/x", is_resource=False),
            'forbidden: User "&lt;b&gt;&amp;" cannot get path "/x"',
        ),
    ],
)
def test_wording(ask: Attributes, message: str) -> None:
    """The 403 says who may not do what, where."""
    assert forbidden_error(ask).message == message
    assert forbidden_message(ask, "because").endswith(": because")


def test_details_of_a_refusal() -> None:
    """Paths leave the details empty, requests without a name have none in them."""
    assert forbidden_error(Attributes(Identity("ann"), "get", path="/x", is_resource=False)).details == {}
    assert forbidden_error(Attributes(Identity("ann"), "list", resource="pods")).details == {"kind": "pods"}


def test_cached_decisions_end_with_a_change_of_roles() -> None:
    """A decision is made anew after a role was changed, also one that was under way meanwhile."""
    roles = RBACAuthorizer(AccessIndex())
    reader, other = role("r", rule("get", "-", "pods")), role("r", rule("get", "-", "nodes"))
    bound = change("ADDED", binding("b", "clusterrole r", "user ann"), CLUSTER_ROLE_BINDINGS)
    roles.follow([change("ADDED", reader, CLUSTER_ROLES), bound])
    assert roles.authorize(ASK).allowed
    before = roles._decided
    roles.follow([change("MODIFIED", other, CLUSTER_ROLES)])
    before[ASK] = Decision(DENY)  # what another thread found out before the change, and keeps now
    assert roles.authorize(ASK).verdict is NO_OPINION
    roles.follow([change("MODIFIED", reader, CLUSTER_ROLES)])
    assert roles.authorize(ASK).allowed
    roles.follow([change("DELETED", bound.entry.object, CLUSTER_ROLE_BINDINGS)])
    assert not roles.authorize(ASK).allowed
