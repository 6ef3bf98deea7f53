"""Evaluation by celpy (the distribution cel-python), the reference implementation in Python.

celpy interprets the syntax tree, checks no types and counts no costs. Its answers are a second opinion: tests put
the same expressions to both, and ``simkit.cel(..., compare_with="celpy")`` shows both side by side. Where they
differ, cel-go 0.17 decides, which kube-apiserver 1.30 uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from simkit.language.cel.operations import equals
from simkit.language.cel.values import CelType, Duration, Timestamp, UInt

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES: Final = {
    "BoolType": "bool",
    "BytesType": "bytes",
    "DoubleType": "double",
    "IntType": "int",
    "ListType": "list",
    "MapType": "map",
    "NoneType": "null_type",
    "StringType": "string",
    "UintType": "uint",
}
"""The type values of the language by celpy's classes."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One result of celpy: a value, or the text of an error.

    Attributes
    ----------
    value
        The value in this package's types; None where there is an error.
    error
        Empty, or what celpy says is wrong.
    """

    value: Any = None
    error: str = ""

    def agrees(self, value: Any, error: str) -> bool:
        """True if both evaluations failed, or both came to equal values. The texts of errors are not compared."""
        if self.error or error:
            return bool(self.error and error)
        return type(value) is type(self.value) and bool(equals(value, self.value))


def reference(expression: str, bindings: Mapping[str, Any]) -> Reference:
    """The result of celpy for an expression.

    Parameters
    ----------
    expression
        The source.
    bindings
        Values of variables, plain as in JSON.

    Returns
    -------
    Reference
        Also for an expression that celpy cannot parse: optional syntax and later functions are unknown to it.

    Notes
    -----
    Imports celpy, which takes some tenths of a second the first time.
    """
    import celpy
    from celpy.adapter import json_to_cel
    from celpy.celparser import CELParseError
    from celpy.evaluation import CELEvalError

    environment = celpy.Environment()
    try:
        program = environment.program(environment.compile(expression))
        found = program.evaluate({name: json_to_cel(value) for name, value in bindings.items()})
    except (CELParseError, CELEvalError, ValueError, TypeError) as error:
        text = str(error.args[0]) if error.args else type(error).__name__
        return Reference(error=text.partition(" (in activation")[0].strip())
    return Reference(_own(found))


def _own(value: Any) -> Any:
    """A value of celpy in this package's types."""
    from celpy import celtypes

    if isinstance(value, type):
        return CelType(_NAMES.get(value.__name__, value.__name__))
    if isinstance(value, celtypes.BoolType):
        return bool(value)
    if isinstance(value, celtypes.UintType):
        return UInt(value)
    if isinstance(value, timedelta):
        return Duration(value // timedelta(microseconds=1) * 1000)
    if isinstance(value, datetime):
        return Timestamp((value - _EPOCH) // timedelta(microseconds=1) * 1000)
    if isinstance(value, Mapping):
        return {_own(key): _own(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_own(item) for item in value]
    plain = next((kind for kind in (int, float, str, bytes) if isinstance(value, kind)), None)
    return value if plain is None else plain(value)
