"""Several authorizers in order.

Upstream: k8s.io/apiserver/pkg/authorization/union, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.meta.attributes import NO_OPINION, Attributes, Authorizer, Decision, RuleList
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.identity import Identity

_SILENT: Final = Decision(NO_OPINION)


class UnionAuthorizer:
    """The first ALLOW or DENY; if there is none, no opinion with the reasons of all, one per line.

    Examples
    --------
    >>> from simkit.logic.authorizers.always import AlwaysAllow, AlwaysDeny
    >>> UnionAuthorizer([AlwaysDeny(), AlwaysAllow()]).authorize(Attributes(Identity("ann"), "get", path="/")).allowed
    True
    """

    def __init__(self, authorizers: Iterable[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    @property
    def leaves_process(self) -> bool:
        """True if one of them may wait for another process."""
        return any(authorizer.leaves_process for authorizer in self._authorizers)

    def authorize(self, ask: Attributes) -> Decision:
        undecided: list[Decision] = []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(ask)
            if decision.verdict is not NO_OPINION:
                return decision
            if decision.reason or decision.error:
                undecided.append(decision)
        if not undecided:
            return _SILENT
        reason = "\n".join([decision.reason for decision in undecided if decision.reason])
        errors = [decision.error for decision in undecided if decision.error]
        return Decision(NO_OPINION, reason, error=aggregate_errors(errors) if errors else "")

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        lists = [authorizer.rules_for(identity, namespace) for authorizer in self._authorizers]
        return RuleList(
            [rule for one in lists for rule in one.resource_rules],
            [rule for one in lists for rule in one.path_rules],
            any(one.incomplete for one in lists),
            aggregate_errors(one.error for one in lists if one.error),
        )
