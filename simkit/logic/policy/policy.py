"""One ValidatingAdmissionPolicy, compiled, and its evaluation.

k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from simkit.kinds.parts.admission_expressions import AUDIT_TYPES
from simkit.language.cel.errors import MESSAGE_BYTES, OBJECT_BUDGET
from simkit.language.cel.lib_policies import AuthorizerValue, ResourceCheck
from simkit.language.cel.types import BOOL, STRING
from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes, ClusterReader
from simkit.logic.policy.definition import MatchConditionsFailed, PolicyDefinition
from simkit.logic.policy.variables import BudgetSpent, Expression, Value, compiled, evaluate
from simkit.meta.errors import not_found
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import METADATA_FIELDS, Object, metadata
from simkit.schema.catalogue import Resource

_INVALID: Final = "Invalid"
_HIDDEN_METADATA: Final = ("selfLink", "ownerReferences", "managedFields")
_SHOWN_METADATA: Final = tuple(name for name in METADATA_FIELDS if name not in _HIDDEN_METADATA)


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The decision of one validation; ``reason`` is empty if it could not be evaluated."""

    index: int
    admits: bool
    message: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PolicyAuditAnnotation:
    """One audit annotation: a value for the log, nothing, or an error that refuses the write."""

    key: str
    kind: Literal["publish", "exclude", "error"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class ValidateResult:
    """All decisions and audit annotations of a policy for one write with one parameter."""

    findings: Sequence[PolicyDecision] = ()
    notes: Sequence[PolicyAuditAnnotation] = ()


class VersionedAttributes:
    """A write as expressions see it, in the version that matched; policies share it.

    Parameters
    ----------
    namespace
        The namespace of the write; None for what belongs to the cluster.
    """

    def __init__(
        self, attributes: AdmissionAttributes, matched: Resource, reader: ClusterReader, namespace: Object | None
    ) -> None:
        self.bindings: Mapping[str, Any] = {
            "object": None if attributes.object is None else reader.convert(attributes.object, matched),
            "oldObject": None if attributes.old is None else reader.convert(attributes.old, matched),
            "request": attributes.request(matched),
            "namespaceObject": _shown_namespace(namespace),
            "authorizer": AuthorizerValue(attributes.identity, reader.ask),
            "authorizer.requestResource": ResourceCheck(attributes.asks(), reader.ask),
        }
        """All variables but parameters."""


class Policy(PolicyDefinition):
    """A ValidatingAdmissionPolicy."""

    @cached_property
    def _validations(self) -> tuple[Sequence[Expression], Sequence[Expression | None]]:
        """The validations, and their expressions of messages."""
        rows: Sequence[Object] = self.spec.get("validations") or ()
        asking, telling = self.environment(), self.environment(authorizer=False)
        return (
            [compiled(row.get("expression") or "", asking, BOOL) for row in rows],
            [
                compiled(row["messageExpression"], telling, STRING) if row.get("messageExpression") else None
                for row in rows
            ],
        )

    @cached_property
    def _annotations(self) -> Sequence[Expression]:
        rows, asking = self.spec.get("auditAnnotations") or (), self.environment()
        return [compiled(row.get("valueExpression") or "", asking, AUDIT_TYPES) for row in rows]

    def expressions(self) -> list[tuple[str, Expression]]:
        """Every expression with the path of its field."""
        validations, messages = self._validations
        parts: Sequence[tuple[str, str, Sequence[Expression | None]]] = (
            ("matchConditions", "expression", self.conditions),
            ("variables", "expression", list(self.variables.values())),
            ("validations", "expression", validations),
            ("validations", "messageExpression", messages),
            ("auditAnnotations", "valueExpression", self._annotations),
        )
        return [
            (f"spec.{part}[{index}].{field}", expression)
            for part, field, expressions in parts
            for index, expression in enumerate(expressions)
            if expression is not None
        ]

    def validate(self, versioned: VersionedAttributes, param: Object | None) -> ValidateResult:
        """The result of the policy for a write in some version, with one of its parameters."""
        bindings = {**versioned.bindings, "params": param}
        try:
            if not self.concerned(bindings):
                return ValidateResult()
            return ValidateResult(self._findings(bindings), self._notes(bindings))
        except (MatchConditionsFailed, BudgetSpent) as error:
            return ValidateResult((PolicyDecision(0, not self.fails, str(error)),))

    def _findings(self, bindings: Mapping[str, Any]) -> list[PolicyDecision]:
        validations, telling = self._validations
        values, left = evaluate(validations, self.variables, bindings, OBJECT_BUDGET)
        messages: Sequence[Value | None] = ()
        spent = ""
        if any(telling):
            try:
                messages, _ = evaluate(telling, self.variables, _unasked(bindings), left)
            except BudgetSpent as error:
                spent = f"failed messageExpression: {error}"
        return [self._finding(index, value, messages, spent) for index, value in enumerate(values) if value is not None]

    def _finding(self, index: int, value: Value, messages: Sequence[Value | None], spent: str) -> PolicyDecision:
        if value.error or spent:
            return PolicyDecision(index, not self.fails, value.error or spent)
        if value.value is True:
            return PolicyDecision(index, True)
        row = self.spec["validations"][index]
        message = _message(row, messages[index] if messages else None)
        return PolicyDecision(index, False, message, row.get("reason") or _INVALID)

    def _notes(self, bindings: Mapping[str, Any]) -> list[PolicyAuditAnnotation]:
        if not self._annotations:
            return []
        values, _ = evaluate(self._annotations, self.variables, _unasked(bindings), OBJECT_BUDGET)
        keys = [row.get("key") or "" for row in self.spec["auditAnnotations"]]
        return [self._note(key, value) for key, value in zip(keys, values) if value is not None]

    def _note(self, key: str, value: Value) -> PolicyAuditAnnotation:
        if value.error:
            return PolicyAuditAnnotation(key, "error" if self.fails else "exclude", value.error)
        text = value.value.strip() if isinstance(value.value, str) else ""
        return PolicyAuditAnnotation(key, "publish", text) if text else PolicyAuditAnnotation(key, "exclude")


def _unasked(bindings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The bindings without the authorizer, which message expressions and audit annotations do not get."""
    return {name: value for name, value in bindings.items() if not name.startswith("authorizer")}


def _shown_namespace(namespace: Object | None) -> Object | None:
    """The namespace for expressions: without owner references and managed fields."""
    if namespace is None:
        return None
    given = metadata(namespace)
    shown = {name: given[name] for name in _SHOWN_METADATA if name in given}
    return {"metadata": shown, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}


def _message(row: Object, computed: Value | None) -> str:
    """The text of a denial: the computed one if it can be used, else the fixed one, else the expression."""
    message = ""
    if computed is not None and not computed.error and isinstance(computed.value, str):
        message = computed.value.strip()
        if len(message.encode()) > MESSAGE_BYTES or "\n" in message:
            message = ""
    fixed: str = (row.get("message") or "").strip()
    return message or fixed or f"failed expression: {row['expression'].strip()}"


class VersionedWrites:
    """One write in the versions of the policies, each converted on demand."""

    def __init__(self, attributes: AdmissionAttributes, reader: ClusterReader) -> None:
        self._attributes, self.reader = attributes, reader
        self._converted: dict[GroupVersionResource, VersionedAttributes] = {}

    def of(self, matched: Resource) -> VersionedAttributes:
        """The write in the version of a resource."""
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
            raise not_found(NAMESPACES, attributes.namespace)
        return found
