"""The decision of all policies on a write.

k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import orjson

from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes, ClusterReader
from simkit.logic.policy.matching import Constraints, missing_namespace
from simkit.logic.policy.params import Misconfigured, param_resource, params_of
from simkit.logic.policy.policy import Policy, PolicyDecision, ValidateResult, VersionedAttributes
from simkit.meta.domain import api_group
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object, name_of
from simkit.schema.catalogue import Resource

_FAILURE_KEY: Final = f"{api_group('validation.policy.admission')}/validation_failure"
_LONGEST_NOTE: Final = 10 * 1024


class Binding:
    """A ValidatingAdmissionPolicyBinding, parsed once: its match resources and validation actions."""

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


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy with its bindings, at least one."""

    policy: Policy
    bindings: Sequence[Binding]


@dataclass(frozen=True, slots=True)
class Denial:
    """One refusal of a write; ``binding`` is empty where the policy itself is misconfigured."""

    policy: str
    binding: str
    message: str
    reason: str = "Invalid"

    @property
    def text(self) -> str:
        """The message for the client."""
        via = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{via} denied request: {self.message}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answers of all policies: denials in order (the client gets the first), warnings, audit annotations."""

    denials: list[Denial] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)


def bind_policies(policies: Iterable[Policy], bindings: Iterable[Binding]) -> list[BoundPolicy]:
    """The policies with bindings, by name; bindings without a policy are ignored."""
    by_policy: dict[str, list[Binding]] = {}
    for binding in sorted(bindings, key=lambda each: each.name):
        by_policy.setdefault(binding.policy, []).append(binding)
    known = sorted(policies, key=lambda each: each.name)
    return [BoundPolicy(policy, by_policy[policy.name]) for policy in known if policy.name in by_policy]


def decide(attributes: AdmissionAttributes, policies: Iterable[BoundPolicy], reader: ClusterReader) -> Outcome:
    """The outcome of the policies for a write.

    Raises
    ------
    StatusError
        404 where the write's namespace is missing and must be looked at.
    """
    outcome, versions = Outcome(), _Versions(attributes, reader)
    for bound in policies:
        matched = bound.policy.constraints.match(attributes, reader)
        if matched is not None:
            _PolicyEvaluation(attributes, bound.policy, matched, versions, outcome).evaluate(bound.bindings)
    return outcome


class _Versions:
    """One write in the versions of the policies, each converted on demand."""

    def __init__(self, attributes: AdmissionAttributes, reader: ClusterReader) -> None:
        self._attributes, self.reader = attributes, reader
        self._converted: dict[GroupVersionResource, VersionedAttributes] = {}

    def of(self, matched: Resource) -> VersionedAttributes:
        found = self._converted.get(matched.gvr)
        if found is None:
            found = self._converted[matched.gvr] = VersionedAttributes(
                self._attributes, matched, self.reader, self._namespace
            )
        return found

    @cached_property
    def _namespace(self) -> Object | None:
        attributes = self._attributes
        if attributes.is_namespace or not attributes.namespace:
            return None
        found = self.reader.get(NAMESPACES, attributes.namespace)
        if found is None:
            raise missing_namespace(attributes.namespace)
        return found


class _PolicyEvaluation:
    """One policy's evaluation of one write."""

    def __init__(
        self, attributes: AdmissionAttributes, policy: Policy, matched: Resource, versions: _Versions, outcome: Outcome
    ) -> None:
        self._attributes, self._policy, self._matched = attributes, policy, matched
        self._reader, self._versions, self._outcome = versions.reader, versions, outcome
        self._notes: dict[str, list[str]] = {}

    def evaluate(self, bindings: Sequence[Binding]) -> None:
        policy, reader = self._policy, self._reader
        try:
            param_resource(policy, reader)
        except Misconfigured as error:
            self._refuse(None, f"failed to configure policy: {error}")
            return
        for binding in bindings:
            if binding.match(self._attributes, reader):
                self._apply(binding)
        for key, values in self._notes.items():
            self._outcome.annotations.setdefault(f"{policy.name}/{key}", ", ".join(values))

    def _refuse(self, binding: Binding | None, message: str) -> None:
        if self._policy.fails:
            self._outcome.denials.append(Denial(self._policy.name, binding.name if binding else "", message))

    def _apply(self, binding: Binding) -> None:
        attributes = self._attributes
        try:
            params = params_of(self._policy, binding.param_ref, attributes.namespace, self._reader)
        except Misconfigured as error:
            self._refuse(binding, f"failed to configure binding: {error}")
            return
        for param in params:
            self._draw(binding, self._policy.validate(self._versions.of(self._matched), param))

    def _draw(self, binding: Binding, result: ValidateResult) -> None:
        for finding in result.findings:
            if not finding.admits:
                self._act(binding, finding)
        for note in result.notes:
            if note.kind == "publish":
                kept = self._notes.setdefault(note.key, [])
                text = note.text.encode()[:_LONGEST_NOTE].decode(errors="ignore")
                if text not in kept:
                    kept.append(text)
            elif note.kind == "error":
                self._outcome.denials.append(Denial(self._policy.name, binding.name, note.text))

    def _act(self, binding: Binding, finding: PolicyDecision) -> None:
        policy, outcome = self._policy.name, self._outcome
        for action in binding.actions:
            if action == "Deny":
                reason = finding.reason or "Invalid"
                outcome.denials.append(Denial(policy, binding.name, finding.message, reason))
            elif action == "Warn":
                outcome.warnings.append(
                    f"Validation failed for ValidatingAdmissionPolicy '{policy}' "
                    f"with binding '{binding.name}': {finding.message}"
                )
            elif action == "Audit":
                outcome.annotations.setdefault(_FAILURE_KEY, _failure(policy, binding, finding))


def _failure(policy: str, binding: Binding, finding: PolicyDecision) -> str:
    entry = {
        "message": finding.message,
        "policy": policy,
        "binding": binding.name,
        "expressionIndex": finding.index,
        "validationActions": list(binding.actions),
    }
    return orjson.dumps([entry]).decode()
