"""The part of a policy that validating and mutating ones share: what it matches, its parameters, its failure policy.

Match conditions are expressions that must all be true before a policy or a webhook is called.
k8s.io/apiserver/pkg/admission/plugin/policy/generic/accessor.go, release 1.36, and plugin/webhook/matchconditions,
release 1.30; KEP-3716.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from simkit.kinds.parts.admission_expressions import environment
from simkit.language.cel.environment import Environment
from simkit.language.cel.errors import MATCH_BUDGET
from simkit.language.cel.types import BOOL, Type
from simkit.logic.policy.matching import Constraints
from simkit.logic.policy.variables import BudgetSpent, Expression, compiled, compiled_variables, evaluate
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, name_of


class PolicyDefinition:
    """A policy, whose expressions are compiled on demand. It never changes, and forks may share it.

    Parameters
    ----------
    obj
        The ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
    behaviour
        That of the server whose policy it is.
    """

    def __init__(self, obj: Object, behaviour: ServedBehaviour) -> None:
        self.object, self.name, self.behaviour = obj, name_of(obj), behaviour
        self.spec: Object = obj.get("spec") or {}
        self.constraints = Constraints(self.spec.get("matchConstraints"))
        self.fails = (self.spec.get("failurePolicy") or "Fail") != "Ignore"
        """True if an expression that cannot be evaluated refuses the write."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def param_kind(self) -> GroupVersionKind | None:
        """The kind of the parameters, if there are any."""
        given = self.spec.get("paramKind")
        if given is None:
            return None
        return GroupVersionKind(*GroupVersion.parse(given.get("apiVersion") or ""), given.get("kind") or "")

    @cached_property
    def _variables(self) -> tuple[dict[str, Expression], dict[str, Type]]:
        rows = self.spec.get("variables") or ()
        return compiled_variables(rows, self.behaviour, params=self.spec.get("paramKind") is not None)

    @property
    def variables(self) -> dict[str, Expression]:
        """Its variables by name."""
        return self._variables[0]

    def environment(self, *, authorizer: bool = True, patches: bool = False) -> Environment:
        """What its expressions may use."""
        types, params = self._variables[1], self.spec.get("paramKind") is not None
        return environment(self.behaviour, params=params, variables=types, authorizer=authorizer, patches=patches)

    @cached_property
    def conditions(self) -> Sequence[Expression]:
        """Its match conditions, in order."""
        rows, asking = self.spec.get("matchConditions") or (), self.environment()
        return [compiled(row.get("expression") or "", asking, BOOL) for row in rows]

    def concerned(self, bindings: Mapping[str, Any]) -> bool:
        """True if its match conditions hold, which see the resource of the request, and no namespace.

        Raises MatchConditionsFailed.
        """
        if not self.conditions:
            return True
        request = {**bindings["request"], "resource": bindings["request"]["requestResource"]}
        seen = {**bindings, "request": request, "namespaceObject": None}
        return conditions_hold(self.conditions, seen, fails=self.fails, variables=self.variables)


class MatchConditionsFailed(Exception):
    """Match conditions that could not be evaluated while none was false; the text is kube-apiserver's."""


def conditions_hold(
    conditions: Sequence[Expression],
    bindings: Mapping[str, Any],
    *,
    fails: bool,
    variables: Mapping[str, Expression] | None = None,
) -> bool:
    """True if all conditions hold.

    Parameters
    ----------
    fails
        Whether a condition that cannot be evaluated is an error; otherwise it does not hold.

    Raises
    ------
    MatchConditionsFailed
    """
    try:
        values, _ = evaluate(conditions, variables or {}, bindings, MATCH_BUDGET)
    except BudgetSpent as error:
        if fails:
            raise MatchConditionsFailed(str(error)) from None
        return False
    known = [value for value in values if value is not None]
    refusing = next((index for index, each in enumerate(known) if not each.error and each.value is False), None)
    failed = [value.error for value in known[:refusing] if value.error]
    if refusing is not None:
        return False
    errors = aggregate_errors(failed)
    if errors and fails:
        raise MatchConditionsFailed(errors)
    return not errors
