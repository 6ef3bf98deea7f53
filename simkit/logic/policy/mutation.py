"""One MutatingAdmissionPolicy, compiled, and the object that it makes of a write.

k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go and dispatcher.go, release 1.36; KEP-3962.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from simkit.kinds.parts.admission_expressions import MUTATION_FIELDS, MUTATION_TYPES, environment
from simkit.language.cel.environment import Environment
from simkit.language.cel.errors import OBJECT_BUDGET
from simkit.language.cel.types import BOOL
from simkit.logic.policy.application import MutationFailed, configured, patched
from simkit.logic.policy.definition import PolicyDefinition, bindings_of_conditions, conditions_hold
from simkit.logic.policy.variables import Bindings, BudgetSpent, Expression, compiled, compiled_variables, evaluate
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object
from simkit.schema.structural import Schema


class Mutation(NamedTuple):
    """One mutation of a policy: the type of its patch, and its expression."""

    kind: str
    expression: Expression


class MutatingPolicy(PolicyDefinition):
    """A MutatingAdmissionPolicy, with its expressions compiled on demand. It never changes, and forks may share it."""

    @property
    def again(self) -> bool:
        """True if the policy wants to see what others changed after it."""
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")

    @cached_property
    def _parts(self) -> _Parts:
        return _Parts(self.spec, self.behaviour)

    @property
    def mutations(self) -> Sequence[Mutation]:
        """Its mutations, in order."""
        return self._parts.mutations

    def concerned(self, bindings: Bindings) -> bool:
        """True if its match conditions hold. Raises MatchConditionsFailed."""
        parts = self._parts
        return not parts.conditions or conditions_hold(
            parts.conditions, bindings_of_conditions(bindings), fails=self.fails, variables=parts.variables
        )

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
            (found,), _ = evaluate([expression], self._parts.variables, bindings, OBJECT_BUDGET)
        except BudgetSpent as error:
            raise MutationFailed(str(error)) from None
        assert found is not None
        if found.error:
            raise MutationFailed(found.error)
        return found.value


class _Parts:
    """The compiled expressions of a policy."""

    def __init__(self, spec: Object, behaviour: ServedBehaviour) -> None:
        params = spec.get("paramKind") is not None
        self.variables, types = compiled_variables(spec.get("variables") or (), behaviour, params=params)
        asking = environment(behaviour, params=params, variables=types)
        making = environment(behaviour, params=params, variables=types, patches=True)
        self.conditions = [
            compiled(row.get("expression") or "", asking, BOOL) for row in spec.get("matchConditions") or ()
        ]
        self.mutations = [_mutation(row, making) for row in spec.get("mutations") or ()]


def _mutation(row: Mapping[str, Any], making: Environment) -> Mutation:
    kind = row.get("patchType") or ""
    given = row.get(MUTATION_FIELDS.get(kind, "")) or {}
    return Mutation(kind, compiled(given.get("expression") or "", making, MUTATION_TYPES.get(kind)))
