"""Evaluation of a policy's expressions together, with shared variables and a shared budget.

k8s.io/apiserver/pkg/admission/plugin/cel, compile.go and composition.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.kinds.parts.admission_expressions import environment, explained, variable_type
from simkit.language.cel.environment import Environment, Program
from simkit.language.cel.errors import CALL_LIMIT, BudgetExceeded, CompileError, EvaluationError
from simkit.language.cel.types import DYN, Type
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object

Bindings = Mapping[str, Any]
SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class BudgetSpent(Exception):
    """The error of a policy whose expressions exceed their budget together; the text is kube-apiserver's."""

    def __init__(self) -> None:
        super().__init__(SPENT)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression with its program, or with the reason why it has none."""

    source: str
    program: Program | None
    error: str = ""


def compiled(source: str, reader: Environment, expected: Type | Sequence[Type] | None = None) -> Expression:
    """An expression; one that does not compile keeps the reason."""
    try:
        return Expression(source, reader.compile(source, expected=expected))
    except CompileError as error:
        return Expression(source, None, explained(error, reader.behaviour))


def compiled_variables(
    rows: Sequence[Object], behaviour: ServedBehaviour, *, params: bool
) -> tuple[dict[str, Expression], dict[str, Type]]:
    """The variables of a policy by name, each of which may use those before it, and their types."""
    found: dict[str, Expression] = {}
    types: dict[str, Type] = {}
    for row in rows:
        name = row.get("name") or ""
        made = compiled(row.get("expression") or "", environment(behaviour, params=params, variables=types))
        found[name] = made
        types[name] = variable_type(made.program.type) if made.program is not None else DYN
    return found, types


class Variables(Mapping[str, Any]):
    """The values of a policy's variables, each computed on demand.

    Attributes
    ----------
    cost
        What working them out has cost.
    """

    def __init__(self, expressions: Mapping[str, Expression], bindings: Bindings) -> None:
        self._expressions = expressions
        self._bindings = {**bindings, "variables": self}
        self._known: dict[str, Any] = {}
        self.cost = 0

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            expression = self._expressions[name]
            self._known[name] = self._value(name, expression)
        value = self._known[name]
        if isinstance(value, EvaluationError):
            raise value
        return value

    def _value(self, name: str, expression: Expression) -> Any:
        if expression.program is None:
            return EvaluationError(f'composited variable "{name}" fails to compile: {expression.error}')
        try:
            found = expression.program.evaluate(self._bindings, budget=CALL_LIMIT)
        except EvaluationError as error:
            self.cost += error.cost
            return EvaluationError(f'composited variable "{name}" fails to evaluate: {error}')
        except BudgetExceeded as error:
            self.cost += CALL_LIMIT
            return EvaluationError(f'composited variable "{name}" fails to evaluate: {error}')
        self.cost += found.cost
        return found.value

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


@dataclass(frozen=True, slots=True)
class Value:
    """The result of an expression: a value, or the text of its error."""

    expression: Expression
    value: Any = None
    error: str = ""


def evaluate(
    expressions: Sequence[Expression | None], variables: Mapping[str, Expression], bindings: Bindings, budget: int
) -> tuple[list[Value | None], int]:
    """The values of expressions, and the rest of the budget. Raises BudgetSpent.

    A place without an expression has no value.
    """
    lazy = Variables(variables, bindings) if variables else None
    bound = {**bindings, "variables": lazy} if lazy is not None else bindings
    found: list[Value | None] = []
    spent = 0
    for expression in expressions:
        if expression is None:
            found.append(None)
            continue
        value, cost = _one(expression, bound)
        spent += cost
        if spent + (lazy.cost if lazy is not None else 0) > budget:
            raise BudgetSpent
        found.append(value)
    return found, budget - spent - (lazy.cost if lazy is not None else 0)


def _one(expression: Expression, bindings: Bindings) -> tuple[Value, int]:
    if expression.program is None:
        return Value(expression, error=f"compilation error: {expression.error}"), 0
    try:
        found = expression.program.evaluate(bindings, budget=CALL_LIMIT)
    except EvaluationError as error:
        return _failed(expression, error), error.cost
    except BudgetExceeded as error:
        return _failed(expression, error), CALL_LIMIT
    return Value(expression, found.value), found.cost


def _failed(expression: Expression, error: Exception) -> Value:
    text = f"expression '{expression.source}' resulted in error: {error}"
    return Value(expression, error=text)
