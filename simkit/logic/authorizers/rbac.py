"""The RBAC authorizer over an index.

Upstream: plugin/pkg/auth/authorizer/rbac, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.logic.rbac.binding import missing_text
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.attributes import Attributes, Decision, RuleList
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.identity import Identity


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
