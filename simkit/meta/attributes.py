"""Authorization attributes, decisions, and the protocol of authorizers.

Follows ``k8s.io/apiserver/pkg/authorization/authorizer/interfaces.go``, release 1.30.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from simkit.meta.fields import Term
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.labels import Requirement
from simkit.meta.names import Key
from simkit.meta.visible_text import html_text


@quickly_made
@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one authorization request. ``path`` is set for non-resource requests only.

    ``resource`` is the plural, ``subresource`` is apart from it, the core group and "all namespaces" are empty
    strings. A list or watch limited to one name by a field selector carries that name. The selectors are those parts
    that could be read; they only narrow what is asked for, so that an authorizer may ignore them.
    """

    identity: Identity
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True
    field_selector: tuple[Term, ...] = ()
    label_selector: tuple[Requirement, ...] = ()

    @property
    def resource_path(self) -> str:
        """``pods`` or ``pods/log``: the form in which rules name resources."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def without_selectors(self) -> Attributes:
        """The same question about all objects, for authorizers that do not look at selectors."""
        if not self.field_selector and not self.label_selector:
            return self
        return replace(self, field_selector=(), label_selector=())


class Verdict(enum.Enum):
    """The three answers of an authorizer. NO_OPINION leaves it to the next one; at the end it means no."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of a decision: the binding, the role it names, and the index of the rule in that role."""

    binding: Key
    role: Key
    rule: int


@quickly_made
@dataclass(frozen=True, slots=True)
class Decision:
    """An authorizer's answer: ``reason`` in kube-apiserver's words, ``error`` for failures during the evaluation."""

    verdict: Verdict
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    error: str = ""

    @property
    def allowed(self) -> bool:
        return self.verdict is Verdict.ALLOW

    def _repr_html_(self) -> str:
        """The verdict with its reason, and the binding, role and rule that spoke."""
        told = f"<p><b>{self.verdict.value}</b> {html_text(self.reason or self.error)}</p>"
        spoke = [f"{each.binding}, {each.role}, rule {each.rule}" for each in self.evidence]
        return told + (f"<ul>{''.join(f'<li>{html_text(line)}</li>' for line in spoke)}</ul>" if spoke else "")


@dataclass(frozen=True, slots=True)
class RuleList:
    """Answer to a rules review: resource rules, non-resource rules, and whether the list may be incomplete."""

    resource_rules: Sequence[Mapping[str, Any]] = ()
    path_rules: Sequence[Mapping[str, Any]] = ()
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    """Decisions on requests, as ``Authorizer`` of k8s.io/apiserver/pkg/authorization/authorizer makes them.

    An implementation must not raise for attributes that it does not understand: it has no opinion then.
    """

    @property
    def leaves_process(self) -> bool:
        """True if a call may wait for another process."""
        ...

    def authorize(self, ask: Attributes) -> Decision:
        """Allow, deny or no opinion, with the reason and the evidence."""
        ...

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        """The rules of an identity in a namespace, as far as this authorizer can list them."""
        ...


ALLOW, DENY, NO_OPINION = Verdict.ALLOW, Verdict.DENY, Verdict.NO_OPINION
