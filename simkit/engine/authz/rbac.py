"""The RBAC authorizer.

Upstream: plugin/pkg/auth/authorizer/rbac, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.engine.seams import Change, RuleList
from simkit.logic.rbac.binding import missing_text
from simkit.logic.rbac.index import AccessIndex, is_access_resource
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.identity import Identity

_REMEMBERED: Final = 4096
_LONGEST: Final = 1024
"""The limits of cached decisions and of the texts in their questions, since clients choose them."""


class RBACAuthorizer:
    """Allows what a bound role allows; has no opinion otherwise.

    ``follow`` is the listener that keeps its index in step with a store. Decisions are cached until an RBAC object
    changes.
    """

    leaves_process: Final = False

    def __init__(self, index: AccessIndex) -> None:
        self.index = index
        self._decided: dict[Attributes, Decision] = {}

    def authorize(self, ask: Attributes) -> Decision:
        ask = ask.without_selectors()
        decided = self._decided  # the present one: what is decided while a role changes goes into the old one
        known = decided.get(ask)
        if known is None:
            known = self.index.authorize(ask)
            if _length(ask) <= _LONGEST:
                if len(decided) >= _REMEMBERED:
                    decided.clear()
                decided[ask] = known
        return known

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

    def follow(self, changes: Sequence[Change]) -> None:
        """Apply the changes of a store to the index. Most are of other resources and cost nothing."""
        for change in changes:
            key = change.entry.key
            if not is_access_resource(key.resource):
                continue
            if change.type == "DELETED":
                self.index.remove(key)
            else:
                self.index.put(key, change.entry.object)
            self._decided = {}

    def fork(self) -> RBACAuthorizer:
        """An authorizer for a fork of the store; it has to listen to that one."""
        return RBACAuthorizer(self.index.fork())


def _length(ask: Attributes) -> int:
    named = (ask.identity.user, *ask.identity.groups, ask.verb, ask.group, ask.version, ask.namespace, ask.name)
    return sum(map(len, named)) + len(ask.resource) + len(ask.subresource) + len(ask.path)
