"""Several authorizers in order, and the small ones: RBAC over an index, privileged groups, AlwaysAllow and AlwaysDeny.

k8s.io/apiserver/pkg/authorization, union and authorizerfactory, and plugin/pkg/auth/authorizer/rbac, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.logic.rbac.binding import missing_text
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Authorizer, Decision, RuleList
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.identity import MASTERS, Identity

_SILENT: Final = Decision(NO_OPINION)


class UnionAuthorizer:
    """The first ALLOW or DENY; if there is none, no opinion with the reasons of all, one per line.

    Examples
    --------
    >>> from simkit.logic.authorizers.union import AlwaysAllow, AlwaysDeny
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


_EVERY_RESOURCE = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH = {"verbs": ["*"], "nonResourceURLs": ["*"]}


class AlwaysAllow:
    """Allows everything."""

    leaves_process: Final = False

    def authorize(self, ask: Attributes) -> Decision:
        return Decision(ALLOW)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return RuleList([_EVERY_RESOURCE], [_EVERY_PATH])


class AlwaysDeny:
    """Allows nothing. As in kube-apiserver it has no opinion, so that a later authorizer may still allow."""

    leaves_process: Final = False

    def authorize(self, ask: Attributes) -> Decision:
        return Decision(NO_OPINION, "Everything is forbidden.")

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return RuleList()


_ALLOWED = Decision(ALLOW)
_NO_OPINION = Decision(NO_OPINION)


class PrivilegedGroups:
    """Allows everything to the members of system:masters, without a reason; precedes all other authorizers."""

    leaves_process: Final = False

    def authorize(self, ask: Attributes) -> Decision:
        return _ALLOWED if MASTERS in ask.identity.groups else _NO_OPINION

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """No rules: in kube-apiserver this authorizer does not take part in rules reviews."""
        return RuleList()


class IndexAuthorizer:
    """Allows what a bound role allows; has no opinion otherwise."""

    leaves_process: Final = False

    def __init__(self, index: AccessIndex) -> None:
        self.index = index

    def authorize(self, ask: Attributes) -> Decision:
        return self.index.authorize(ask.without_selectors())

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        held = self.index.rules_for(identity, namespace)
        resource_rules, path_rules = [], []
        for rule in held.rules:
            entry = rule.entry()
            if rule.resources:
                resource_rules.append({name: entry[name] for name in entry if name != "nonResourceURLs"})
            if rule.paths:
                path_rules.append({"verbs": entry["verbs"], "nonResourceURLs": entry["nonResourceURLs"]})
        return RuleList(resource_rules, path_rules, error=aggregate_errors(map(missing_text, held.missing)))
