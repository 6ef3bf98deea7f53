"""One MutatingAdmissionPolicy, compiled, and the object that it makes of a write.

k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go and dispatcher.go, release 1.36; KEP-3962.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from simkit.kinds.parts.admission_expressions import MUTATION_FIELDS, MUTATION_TYPES
from simkit.language.cel.environment import Environment
from simkit.language.cel.errors import OBJECT_BUDGET
from simkit.logic.policy.application import MutationFailed, configured, patched
from simkit.logic.policy.definition import PolicyDefinition
from simkit.logic.policy.variables import Bindings, BudgetSpent, Expression, compiled, evaluate
from simkit.meta.objects import Object
from simkit.schema.structural import Schema


class Mutation(NamedTuple):
    """One mutation of a policy: the type of its patch, and its expression."""

    kind: str
    expression: Expression


class MutatingPolicy(PolicyDefinition):
    """A MutatingAdmissionPolicy."""

    @property
    def again(self) -> bool:
        """True if the policy wants to see what others changed after it."""
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")

    @cached_property
    def mutations(self) -> Sequence[Mutation]:
        """Its mutations, in order."""
        making = self.environment(patches=True)
        return [_mutation(row, making) for row in self.spec.get("mutations") or ()]

    def applied(self, mutation: Mutation, obj: Object, bindings: Bindings, schema: Schema | None) -> Object:
        """The object after one of the mutations.

        Parameters
        ----------
        obj
            The object in the version that the policy matched.
        bindings
            The values of all variables but ``object``.

        Raises
        ------
        MutationFailed
            Where the expression or its patch fails.
        StatusError
            500 where the result is no object of the kind.
        """
        value = self._value(mutation.expression, {**bindings, "object": obj})
        if mutation.kind == "JSONPatch":
            return patched(self.behaviour, obj, value, schema)
        return configured(self.behaviour, obj, value, schema)

    def _value(self, expression: Expression, bindings: Bindings) -> Any:
        if expression.program is None:
            raise MutationFailed(expression.error)
        try:
            (found,), _ = evaluate([expression], self.variables, bindings, OBJECT_BUDGET)
        except BudgetSpent as error:
            raise MutationFailed(str(error)) from None
        assert found is not None
        if found.error:
            raise MutationFailed(found.error)
        return found.value


def _mutation(row: Mapping[str, Any], making: Environment) -> Mutation:
    kind = row.get("patchType") or ""
    given = row.get(MUTATION_FIELDS.get(kind, "")) or {}
    return Mutation(kind, compiled(given.get("expression") or "", making, MUTATION_TYPES.get(kind)))
