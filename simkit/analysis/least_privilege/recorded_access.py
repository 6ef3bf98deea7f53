"""Recorded access requests, as the authorizer saw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simkit.logic.rbac.rule import Rule
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity


class Action(NamedTuple):
    """A verb on a resource, a subresource, one object of them, or on a non-resource URL."""

    verb: str
    api_group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    url: str = ""

    @property
    def resource_path(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def ask(self, identity: Identity) -> Attributes:
        """The attributes for the authorizer."""
        if self.url:
            return Attributes(identity, self.verb, path=self.url, is_resource=False)
        what = (self.api_group, "", self.resource, self.subresource, self.namespace, self.name)
        return Attributes(identity, self.verb, *what)

    def rule(self, *, named: bool = True) -> Rule:
        """The rule that allows exactly this action."""
        if self.url:
            return Rule((self.verb,), paths=(self.url,))
        names = (self.name,) if named and self.name else ()
        return Rule((self.verb,), (self.api_group,), (self.resource_path,), names)

    def __str__(self) -> str:
        if self.url:
            return f"{self.verb} {self.url}"
        what = self.resource_path + (f".{self.api_group}" if self.api_group else "")
        return (
            f"{self.verb} {what}"
            + (f" {self.name!r}" if self.name else "")
            + (f" in {self.namespace}" if self.namespace else "")
        )


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """An action of an identity, and the recorded decision."""

    identity: Identity
    action: Action
    allowed: bool
    body: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
