"""The part of a policy that validating and mutating ones share: what it matches, its parameters, its failure policy.

Match conditions are expressions that must all be true before a policy or a webhook is called.
k8s.io/apiserver/pkg/admission/plugin/policy/generic/accessor.go, release 1.36, and plugin/webhook/matchconditions,
release 1.30; KEP-3716.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.language.cel.errors import MATCH_BUDGET
from simkit.logic.policy.matching import Constraints
from simkit.logic.policy.variables import BudgetSpent, Expression, evaluate
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, name_of


class PolicyDefinition:
    """A policy without its expressions.

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


class MatchConditionsFailed(Exception):
    """Match conditions that could not be evaluated while none was false; the text is kube-apiserver's."""


def bindings_of_conditions(bindings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variables as the match conditions of a policy see them: the resource of the request, and no namespace."""
    request = {**bindings["request"], "resource": bindings["request"]["requestResource"]}
    return {**bindings, "request": request, "namespaceObject": None}


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
