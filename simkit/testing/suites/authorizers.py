"""The suite of the Authorizer protocol: subclass AuthorizerSuite, say how one is made, and pytest runs it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest

from simkit.meta.attributes import ALLOW, DENY, NO_OPINION, Attributes
from simkit.meta.identity import Identity, administrator
from simkit.seams import Authorizer

IDENTITIES: Final = (
    Identity("ann"),
    Identity("ann", ("system:authenticated", "team")),
    Identity("system:node:n", ("system:nodes",)),
    Identity("system:node:", ("system:nodes",)),
    Identity("", ()),
    administrator(),
)
_TEXTS: Final = ("", "pods", "*", "é\n", "x" * 300)


def questions() -> Iterator[Attributes]:
    """Sensible questions, and such as nobody should ask."""
    for identity, text in itertools.product(IDENTITIES, _TEXTS):
        yield Attributes(identity, "get", resource=text, namespace="x", name="p")
        yield Attributes(identity, text, "apps", "v1", "deployments", text, "x", text)
        yield Attributes(identity, "get", path=f"/{text}", is_resource=False)


class AuthorizerSuite:
    """The promises of the Authorizer protocol, one test each."""

    def make(self) -> Authorizer:
        """An authorizer that nobody else uses."""
        raise NotImplementedError

    @pytest.fixture
    def authorizer(self) -> Authorizer:
        return self.make()

    def test_answers_every_question(self, authorizer: Authorizer) -> None:
        """A question that makes no sense gets a decision too; nothing is raised."""
        for ask in questions():
            decision = authorizer.authorize(ask)
            assert decision.verdict in (ALLOW, DENY, NO_OPINION)
            assert decision.allowed is (decision.verdict is ALLOW)

    def test_answers_the_same_again(self, authorizer: Authorizer) -> None:
        """The same question gets the same decision as long as nothing changes."""
        for ask in questions():
            first, second = authorizer.authorize(ask), authorizer.authorize(ask)
            assert (first.verdict, first.reason) == (second.verdict, second.reason)

    def test_lists_rules(self, authorizer: Authorizer) -> None:
        """Listed rules have verbs, and say what they are about."""
        for identity in IDENTITIES:
            listed = authorizer.rules_for(identity, "x")
            assert all(rule["verbs"] and "resources" in rule for rule in listed.resource_rules)
            assert all(rule["verbs"] and rule["nonResourceURLs"] for rule in listed.path_rules)

    def test_allows_what_it_lists(self, authorizer: Authorizer) -> None:
        """A listed rule without names is a rule by which the authorizer allows."""
        for identity in IDENTITIES:
            for rule in authorizer.rules_for(identity, "x").resource_rules:
                if rule.get("resourceNames"):
                    continue
                verb, group, what = (_one(rule[name]) for name in ("verbs", "apiGroups", "resources"))
                resource, _, subresource = what.partition("/")
                ask = Attributes(identity, verb, group, "v1", resource, subresource, "x", "p")
                assert authorizer.authorize(ask).allowed, rule

    def test_declares_whether_it_leaves_the_process(self, authorizer: Authorizer) -> None:
        """The declaration is a plain truth value, so that the HTTP layer need not guess."""
        assert authorizer.leaves_process in (True, False)


def _one(values: object) -> str:
    """A value that a list of a rule covers."""
    assert isinstance(values, (list, tuple))
    return "pods" if values[0] == "*" else str(values[0])
