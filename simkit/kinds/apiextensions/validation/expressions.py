"""Validation of the CEL rules of a schema: they must compile and stay below the cost limits.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from simkit.kinds.apiextensions.cel_compilation import CompiledRule, Rule, cardinality, compiled, declared_node
from simkit.kinds.apiextensions.internal_rule import printed_rule
from simkit.language.cel.limits import RULE_ESTIMATE, SCHEMA_ESTIMATE, excess
from simkit.meta.fielderror import FieldError, forbidden_field, internal_error, invalid_value
from simkit.schema.structural import Schema

_GREATEST: Final = 2**64 - 1
_TOLD: Final = 4


@dataclass(slots=True)
class Costs:
    """The estimated costs of all rules of one schema."""

    known: frozenset[str] = frozenset()
    """Stored expressions, which are compiled as such."""
    each: bool = True
    """True if single rules have a limit too."""
    total: int = 0
    most: list[tuple[int, str]] = field(default_factory=list)

    def observe(self, path: str, cost: int) -> None:
        """Add the cost of one expression; the four most expensive are kept for the error."""
        self.total = min(_GREATEST, self.total + cost)
        if cost >= SCHEMA_ESTIMATE // 100:
            self.most.append((cost, path))
            self.most.sort(key=lambda each: -each[0])
            del self.most[_TOLD:]

    def errors(self, path: str) -> Iterator[FieldError]:
        """The errors of a total cost above the limit."""
        if self.total <= SCHEMA_ESTIMATE:
            return
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        for _, place in self.most:
            yield forbidden_field(place, detail)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden_field(path, excess(what, self.total, SCHEMA_ESTIMATE))


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The position of a rule: path, schema node, number of possible values, and why ``oldSelf`` may be unavailable."""

    path: str
    node: Schema
    root: bool
    cardinality: int | None
    uncorrelated: str


def validate_rule(rules: Sequence[Rule], place: RuleScope, costs: Costs) -> Iterator[FieldError]:
    """The errors of the rules of one node."""
    path = f"{place.path}.x-kubernetes-validations"
    node = declared_node(place.node, root=place.root)
    if node is None:
        yield internal_error(
            path,
            "internal error: failed to construct type information for x-kubernetes-validations rules: "
            "unable to convert structural schema to CEL declarations",
        )
        return
    times = cardinality(node) if place.cardinality is None else place.cardinality
    for index, rule in enumerate(rules):
        made = compiled(rule, place.node, node, stored=_is_known(rule, costs))
        yield from _one(made, f"{path}[{index}]", times, costs)
        yield from _old_value(made, f"{path}[{index}]", place.uncorrelated)


def _is_known(rule: Rule, costs: Costs) -> bool:
    return bool(costs.known) and (rule.get("rule") or "") in costs.known


def _one(made: CompiledRule, path: str, times: int, costs: Costs) -> Iterator[FieldError]:
    cost = min(_GREATEST, made.program.estimate()[1] * times) if made.program is not None else 0
    if costs.each and cost > RULE_ESTIMATE:
        yield forbidden_field(f"{path}.rule", excess("estimated rule cost", cost, RULE_ESTIMATE))
    costs.observe(f"{path}.rule", cost)
    if made.error:
        yield invalid_value(f"{path}.rule", printed_rule(made.rule), made.error)
    if made.message_error:
        yield invalid_value(f"{path}.messageExpression", printed_rule(made.rule), made.message_error)
    elif made.message is not None:
        worth = made.message.estimate()[1]
        if costs.each and worth > RULE_ESTIMATE:
            text = excess("estimated messageExpression cost", worth, RULE_ESTIMATE)
            yield forbidden_field(f"{path}.messageExpression", text)
        costs.observe(f"{path}.messageExpression", worth)


def _old_value(made: CompiledRule, path: str, uncorrelated: str) -> Iterator[FieldError]:
    if made.uses_old:
        if uncorrelated:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            yield invalid_value(f"{path}.rule", made.rule["rule"], detail)
    elif made.rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid_value(f"{path}.optionalOldSelf", made.rule["optionalOldSelf"], detail)
