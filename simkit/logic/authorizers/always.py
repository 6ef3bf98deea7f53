"""The authorizers AlwaysAllow and AlwaysDeny.

Upstream: k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision, RuleList
from simkit.meta.identity import Identity

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
