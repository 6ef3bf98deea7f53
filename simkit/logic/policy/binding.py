"""Bindings of policies, and the policies that have any.

k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.logic.policy.definition import PolicyDefinition
from simkit.logic.policy.matching import Constraints
from simkit.meta.objects import Object, name_of

Bound = TypeVar("Bound", bound=PolicyDefinition)


class Binding:
    """A binding of a validating or mutating policy, read once: its match resources and validation actions."""

    def __init__(self, obj: Object) -> None:
        self.object, self.name = obj, name_of(obj)
        spec: Object = obj.get("spec") or {}
        self.policy: str = spec.get("policyName") or ""
        self.actions: Sequence[str] = spec.get("validationActions") or ()
        self.param_ref: Object | None = spec.get("paramRef")
        given = spec.get("matchResources")
        self.constraints = Constraints(given) if given is not None else None

    def match(self, attributes: AdmissionAttributes, reader: ClusterReader) -> bool:
        """True if the binding applies to a write that its policy matches."""
        return self.constraints is None or self.constraints.match(attributes, reader) is not None

    def __repr__(self) -> str:
        return f"<Binding {self.name} of {self.policy}>"


@dataclass(frozen=True)
class BoundPolicy(Generic[Bound]):
    """A policy with its bindings, at least one."""

    policy: Bound
    bindings: Sequence[Binding]


def bind_policies(policies: Iterable[Bound], bindings: Iterable[Binding]) -> list[BoundPolicy[Bound]]:
    """The policies with bindings, by name; bindings without a policy are ignored."""
    by_policy: dict[str, list[Binding]] = {}
    for binding in sorted(bindings, key=lambda each: each.name):
        by_policy.setdefault(binding.policy, []).append(binding)
    known = sorted(policies, key=lambda each: each.name)
    return [BoundPolicy(policy, by_policy[policy.name]) for policy in known if policy.name in by_policy]
