"""The decision of all policies on a write.

k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import orjson

from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.logic.policy.binding import Binding, BoundPolicy, invocations
from simkit.logic.policy.policy import Policy, PolicyDecision, VersionedWrites
from simkit.meta.domain import api_group

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
    notes: dict[str, list[str]] = {}

    def refuse(policy: Policy, binding: str, message: str) -> None:
        if policy.fails:
            outcome.denials.append(Denial(policy.name, binding, message))

    for policy, binding, matched, param in invocations(attributes, policies, reader, refuse):
        result = policy.validate(versions.of(matched), param)
        for finding in result.findings:
            if not finding.admits:
                _act(outcome, policy.name, binding, finding)
        for note in result.notes:
            if note.kind == "publish":
                kept = notes.setdefault(f"{policy.name}/{note.key}", [])
                text = note.text.encode()[:_LONGEST_NOTE].decode(errors="ignore")
                if text not in kept:
                    kept.append(text)
            elif note.kind == "error":
                outcome.denials.append(Denial(policy.name, binding.name, note.text))
    for key, values in notes.items():
        outcome.annotations.setdefault(key, ", ".join(values))
    return outcome


def _act(outcome: Outcome, policy: str, binding: Binding, finding: PolicyDecision) -> None:
    """Do what a binding says about a write that a validation does not admit."""
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
