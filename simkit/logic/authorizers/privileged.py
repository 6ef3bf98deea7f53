"""The authorizer of privileged groups.

Upstream: k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision, RuleList
from simkit.meta.identity import MASTERS, Identity

_ALLOWED = Decision(ALLOW)
_NO_OPINION = Decision(NO_OPINION)


class PrivilegedGroups:
    """Allows everything to the members of some groups, without a reason; precedes all other authorizers."""

    leaves_process: Final = False

    def __init__(self, groups: Iterable[str] = (MASTERS,)) -> None:
        self._groups = frozenset(groups)

    def authorize(self, ask: Attributes) -> Decision:
        return _NO_OPINION if self._groups.isdisjoint(ask.identity.groups) else _ALLOWED

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """No rules: in kube-apiserver this authorizer does not take part in rules reviews."""
        return RuleList()
