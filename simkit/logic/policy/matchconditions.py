"""Match conditions: expressions that must all be true before a policy or a webhook is called.

k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go, release 1.30; KEP-3716.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.language.cel.limits import MATCH_BUDGET
from simkit.logic.policy.variables import BudgetSpent, Expression, evaluate
from simkit.meta.fielderror import aggregate_errors


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
