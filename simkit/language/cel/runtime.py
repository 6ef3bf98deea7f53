"""The functions that generated code calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from simkit.language.cel import containers, operations
from simkit.language.cel.containers import plain_key
from simkit.language.cel.errors import BudgetExceeded, EvaluationError, no_key, no_overload
from simkit.language.cel.patch_values import LiteralList, LiteralMap, made_message
from simkit.language.cel.values import NONE, Optional, kind_of


def ceiling(size: int, factor: float) -> int:
    """The product rounded up, with the rounding errors of doubles.

    Examples
    --------
    >>> ceiling(30, 0.1), ceiling(71, 0.1)
    (3, 8)
    """
    return math.ceil(size * factor)


def traversal(value: Any) -> int:
    """The cost of visiting a value with all its contents."""
    kind = kind_of(value)
    if kind == "string":
        return int(len(value.encode("utf-8", "surrogatepass")) * 0.1)
    if kind == "bytes":
        return int(len(value) * 0.1)
    if kind == "list":
        return sum(map(traversal, value))
    if isinstance(value, Mapping):
        return sum(traversal(plain_key(key)) + traversal(inner) for key, inner in value.items())
    return 1


NATIVE: Final = (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError)
"""The exceptions of Python's own operators for which the careful ones raise EvaluationError."""
FAILURES: Final = (EvaluationError, *NATIVE)


def called(run: Callable[..., Any], *arguments: Any) -> Any:
    """The function's value; arguments that it does not support are an evaluation error."""
    try:
        return run(*arguments)
    except NATIVE:
        raise no_overload() from None


def failed(failure: Exception, cost: int) -> EvaluationError:
    """The error that ends an evaluation, with the cost until then."""
    error = failure if isinstance(failure, EvaluationError) else no_overload()
    error.cost = cost
    return error


def variable(bindings: Mapping[str, Any], name: str) -> Any:
    """The value bound to a variable."""
    try:
        return bindings[name]
    except KeyError:
        raise EvaluationError(f"no such attribute(s): {name}") from None


def unresolved(name: str) -> Any:
    """The error of evaluating an undeclared name."""
    raise EvaluationError(f"undeclared reference to '{name.lstrip('.')}' (in container '')")


def unbound(name: str) -> Any:
    """The error of calling an unknown function."""
    raise EvaluationError(f"unbound function: {name}")


def field(value: Any, name: str, spelled: str) -> Any:
    """A field of declared JSON; ``spelled`` is its name as expressions write it."""
    if not isinstance(value, Mapping) or name not in value:
        raise no_key(spelled)
    return value[name]


def holds(value: Any, name: str) -> bool:
    """True if declared JSON has the field; a null counts as absent."""
    return isinstance(value, Mapping) and value.get(name) is not None


def optional_field(value: Any, name: str, adapt: Callable[[Any], Any] | None) -> Optional:
    """A field of declared JSON as an optional."""
    if not holds(value, name):
        return NONE
    return Optional(True, value[name] if adapt is None else adapt(value[name]))


def as_optional(found: Any) -> Optional:
    """The optional on which ``or`` or ``orValue`` is called; one of the value itself where that is no optional."""
    return found if type(found) is Optional else Optional(True, found)


def listed(found: Any) -> tuple[Any, ...]:
    """The elements that ``[?x]`` adds to a list."""
    if type(found) is not Optional:
        raise no_overload()
    return (found.value,) if found.present else ()


def paired(key: Any, found: Any) -> Iterable[tuple[Any, Any]]:
    """The entries that ``{?k: x}`` adds to a map."""
    return [(key, value) for value in listed(found)]


def int_overflow() -> Any:
    """Raise the error of an integer outside 64 bits."""
    raise EvaluationError("integer overflow")


def out_of_bounds(position: int) -> Any:
    """Raise the error of a position before the start of a list."""
    raise EvaluationError(f"index out of bounds: {position}")


GLOBALS: Final[Mapping[str, Any]] = {
    **{
        work.__name__: work
        for work in (
            called,
            failed,
            variable,
            unresolved,
            unbound,
            field,
            holds,
            optional_field,
            as_optional,
            listed,
            paired,
            int_overflow,
            out_of_bounds,
            made_message,
            operations.truth,
            containers.elements,
            containers.watched,
            containers.pairs,
            containers.insert,
            containers.key_of,
            containers.mapping_of,
            containers.index,
            containers.select,
            containers.present,
            containers.optional_index,
            operations.add,
            operations.joined,
            operations.subtract,
            operations.multiply,
            operations.divide,
            operations.divide_int,
            operations.modulo,
            operations.modulo_int,
            operations.negate,
            operations.negation,
            operations.less,
            operations.less_equal,
            operations.greater,
            operations.greater_equal,
            operations.equals,
            operations.differs,
            operations.contained,
            operations.unordered,
            containers.size,
            ceiling,
            traversal,
        )
    },
    "LiteralList": LiteralList,
    "LiteralMap": LiteralMap,
    "size_of": containers.size_or_one,
    "SIZED": frozenset({str, list, dict}),
    "PLAIN": frozenset({list, dict}),
    "FAILURES": FAILURES,
    "BudgetExceeded": BudgetExceeded,
    "ENDED": object(),
}
