"""CEL expressions over the claims of a token, and over the user that results from them.

References
----------
k8s.io/apiserver/pkg/authentication/cel, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from simkit.language.cel.environment import Environment, Program
    from simkit.schema.structural import Schema

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_USER: Final[Mapping[str, Any]] = {
    "type": "object",
    "fields": {
        "username": _TEXT,
        "uid": _TEXT,
        "groups": _TEXTS,
        "extra": {"type": "object", "values": _TEXTS},
    },
}


class BadExpression(ValueError):
    """An expression that does not compile, or is of the wrong type; the text is kube-apiserver's."""


class ExpressionFailed(Exception):
    """An expression that could not be evaluated."""


@cache
def _environment(variable: str) -> Environment:
    """The environment with ``claims``, or with ``user``; made with the first expression."""
    from simkit.language.cel.decl_types import DeclType
    from simkit.language.cel.environment import OWN_EXPRESSIONS, Environment, type_named
    from simkit.language.cel.types import Typed
    from simkit.schema.structural import Schema

    types: Mapping[str, Any] = {"claims": type_named("map(string, dyn)")}
    if variable == "user":
        user: Typed = DeclType(Schema(_USER, _unnamed), "user")
        types = {"user": user}
    return Environment(types, version=OWN_EXPRESSIONS)


def _unnamed(name: str) -> Schema:
    """The schema of a user refers to no other."""
    raise KeyError(name)


class Expression:
    """One compiled expression.

    Parameters
    ----------
    source
        The text. Raises BadExpression.
    variable
        ``claims`` or ``user``.
    condition
        Whether it must be true or false.
    """

    def __init__(self, source: str, variable: str = "claims", *, condition: bool = False) -> None:
        from simkit.language.cel.environment import CompileError, ResultTypeError
        from simkit.language.cel.types import BOOL

        self.source, self._variable = source, variable
        try:
            expected = BOOL if condition else None
            self._program: Program = _environment(variable).compile(source, expected=expected)
        except ResultTypeError as error:
            raise BadExpression(str(error)) from error
        except CompileError as error:
            raise BadExpression(f"compilation failed: {error}") from error

    def value(self, bound: Mapping[str, Any]) -> Any:
        """The value for some claims, or a user. Raises ExpressionFailed."""
        from simkit.language.cel.environment import CALL_LIMIT, BudgetExceeded, EvaluationError

        try:
            return self._program.evaluate({self._variable: bound}, budget=CALL_LIMIT).value
        except (EvaluationError, BudgetExceeded) as error:
            raise ExpressionFailed(f"expression '{self.source}' resulted in error: {error}") from error
