"""The decision of all policies on a write.

k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.logic.policy.binding import Binding, BoundPolicy, Misconfigured, param_resource, params_of
from simkit.logic.policy.policy import Policy, PolicyDecision, ValidateResult, VersionedWrites
from simkit.meta.domain import api_group
from simkit.schema.catalogue import Resource

_FAILURE_KEY: Final = f"{api_group('validation.policy.admission')}/validation_failure"
_LONGEST_NOTE: Final = 10 * 1024


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


def decide(attributes: AdmissionAttributes, policies: Iterable[BoundPolicy[Policy]], reader: ClusterReader) -> Outcome:
    """The outcome of the policies for a write.

    Raises
    ------
    StatusError
        404 where the write's namespace is missing and must be looked at.
    """
    outcome, versions = Outcome(), VersionedWrites(attributes, reader)
    for bound in policies:
        matched = bound.policy.constraints.match(attributes, reader)
        if matched is not None:
            _PolicyEvaluation(attributes, bound.policy, matched, versions, outcome).evaluate(bound.bindings)
    return outcome


class _PolicyEvaluation:
    """One policy's evaluation of one write."""

    def __init__(
        self,
        attributes: AdmissionAttributes,
        policy: Policy,
        matched: Resource,
        versions: VersionedWrites,
        outcome: Outcome,
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
