"""Match conditions of authorization webhooks: CEL expressions that must all be true.

Upstream: k8s.io/apiserver/pkg/authorization/cel, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    FieldError,
    aggregate_errors,
    duplicate,
    internal_error,
    invalid_value,
    required,
    too_many,
)

if TYPE_CHECKING:
    from simkit.language.cel.environment import Environment, Program
    from simkit.schema.structural import Schema

MOST: Final = 64
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_RESOURCE: Final = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_REQUIREMENT: Final = {"type": "object", "fields": {"key": _TEXT, "operator": _TEXT, "values": _TEXTS}}
_SELECTOR: Final = {
    "type": "object",
    "fields": {"rawSelector": _TEXT, "requirements": {"type": "array", "items": _REQUIREMENT}},
}


def _question(*, selectors: bool) -> Mapping[str, Any]:
    """The schema of the variable ``request``."""
    attributes = {
        **dict.fromkeys(_RESOURCE, _TEXT),
        **({"fieldSelector": _SELECTOR, "labelSelector": _SELECTOR} if selectors else {}),
    }
    fields = {
        "resourceAttributes": {"type": "object", "fields": attributes},
        "nonResourceAttributes": {"type": "object", "fields": {"path": _TEXT, "verb": _TEXT}},
        "user": _TEXT,
        "groups": _TEXTS,
        "extra": {"type": "object", "values": _TEXTS},
        "uid": _TEXT,
    }
    return {"type": "object", "fields": fields}


class ConditionsError(Exception):
    """No condition is false, and some could not be evaluated."""


class MatchConditions:
    """Compiled match conditions."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = tuple(programs)

    def hold(self, spec: Mapping[str, Any]) -> bool:
        """True if all are true. One that is false decides, whatever the others are; raises ConditionsError."""
        from simkit.language.cel.environment import CALL_LIMIT, BudgetExceeded, EvaluationError

        bindings = {"request": complete(spec)}
        errors = []
        for program in self._programs:
            try:
                if program.evaluate(bindings, budget=CALL_LIMIT).value is not True:
                    return False
            except (EvaluationError, BudgetExceeded) as error:
                errors.append(f"cel evaluation error: expression '{program.source}' resulted in error: {error}")
        if errors:
            raise ConditionsError(aggregate_errors(errors))
        return True


def complete(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a review with missing texts added, so that conditions may use them."""
    found = {"user": "", "groups": [], "uid": "", "extra": {}, **spec}
    if "resourceAttributes" in spec:
        found["resourceAttributes"] = {**dict.fromkeys(_RESOURCE, ""), **spec["resourceAttributes"]}
    return found


@cache
def environment(version: str, *, selectors: bool) -> Environment:
    """The environment with the one variable ``request``; made with the first condition."""
    from simkit.language.cel.decl_types import DeclType
    from simkit.language.cel.environment import Environment
    from simkit.schema.structural import Schema

    return Environment(
        {"request": DeclType(Schema(_question(selectors=selectors), _unnamed), "request")}, version=version
    )


def _unnamed(name: str) -> Schema:
    """The schema of a question refers to no other."""
    raise KeyError(name)


def compiled(expressions: Sequence[str], path: str) -> tuple[MatchConditions | None, list[FieldError]]:
    """The compiled conditions, or all errors; None if there are no conditions."""
    from simkit.language.cel.environment import CompileError, InstantiationError, ResultTypeError, own_version
    from simkit.language.cel.types import BOOL

    if len(expressions) > MOST:
        return None, [too_many(f"{path}.matchConditions", len(expressions), MOST)]
    programs, errors, seen = [], list[FieldError](), set[str]()
    for index, expression in enumerate(expressions):
        field = f"{path}.matchConditions[{index}].expression"
        if not expression.strip():
            errors.append(required(field))
        elif expression in seen:
            errors.append(duplicate(field, expression))
        else:
            seen.add(expression)
            try:
                known = environment(own_version(), selectors=applies("authorizers-see-selectors"))
                programs.append(known.compile(expression, expected=BOOL))
            except ResultTypeError as error:
                errors.append(invalid_value(field, expression, str(error)))
            except InstantiationError as error:
                errors.append(internal_error(field, f"program instantiation failed: {error}"))
            except CompileError as error:
                errors.append(invalid_value(field, expression, f"compilation failed: {error}"))
    return (MatchConditions(programs) if programs else None), errors
