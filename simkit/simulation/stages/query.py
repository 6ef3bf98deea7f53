"""Queries of the language jq, as selectors and delays of stages hold them: paths, pipes, ``select`` and comparisons.

The grammar covers what stages ask of one object; it has no definitions, no reduction and no assignment.

References
----------
The jq 1.7 manual, "Basic filters" to "Conditionals and Comparisons".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.errors import SimkitError
from simkit.simulation.stages.query_functions import FUNCTIONS, NotApplicable, calculated, items_of, order, truth

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

Filter = Callable[[Any], Iterator[Any]]
_MOST_RESULTS: Final = 10_000
_LONGEST: Final = 10_000
_GRAMMAR: Final = r"""
?start: pipe
?pipe: comma | comma "|" pipe -> chain
?comma: alternative | comma "," alternative -> both
?alternative: disjunction | disjunction "//" alternative -> otherwise
?disjunction: conjunction | disjunction "or" conjunction -> either
?conjunction: comparison | conjunction "and" comparison -> all_of
?comparison: sum | sum COMPARE sum -> compare
?sum: product | sum (PLUS | MINUS) product -> arithmetic
?product: postfix | product (TIMES | DIVIDE | MODULO) postfix -> arithmetic
?postfix: term
    | postfix FIELD -> field
    | postfix "." STRING -> text_field
    | postfix "."? "[" "]" -> each
    | postfix "."? "[" pipe "]" -> element
    | postfix "?" -> attempt
?term: "." -> identity
    | FIELD -> own_field
    | "." STRING -> own_text_field
    | ".." -> descend
    | STRING -> text
    | NUMBER -> number
    | MINUS postfix -> negative
    | "(" pipe ")"
    | "[" pipe? "]" -> list_of
    | "if" pipe "then" pipe ("elif" pipe "then" pipe)* ["else" pipe] "end" -> condition
    | NAME -> call
    | NAME "(" pipe (";" pipe)* ")" -> call
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">"
PLUS: "+"
MINUS: "-"
TIMES: "*"
DIVIDE: "/"
MODULO: "%"
FIELD: /\.[A-Za-z_]\w*/
NAME: /[A-Za-z_]\w*/
STRING: /"(\\.|[^"\\])*"/
NUMBER: /\d+(\.\d+)?/
%ignore /\s+/
"""


class QueryError(SimkitError):
    """A query that cannot be parsed."""


@lru_cache(maxsize=1)
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


class Query:
    """A query, compiled.

    Examples
    --------
    >>> pod = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    >>> Query('.status.conditions.[] | select( .type == "Ready" ) | .status').values(pod)
    ['True']
    >>> Query('.metadata.annotations["a/b"]').values({"metadata": {}}), Query(".a[]").values({"a": None})
    ([], None)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._filter = _compiled(text)

    def values(self, value: Any) -> list[Any] | None:
        """The results for a value, without nulls; None where the query cannot be applied to it."""
        try:
            return [each for each in islice(self._filter(value), _MOST_RESULTS) if each is not None]
        except NotApplicable:
            return None


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Filter:
    from lark.exceptions import LarkError

    if len(text) > _LONGEST:
        raise QueryError(f"a query of more than {_LONGEST:,} letters")
    try:
        return _build(_parser().parse(text))
    except (LarkError, RecursionError) as error:
        raise QueryError(f"{text!r} is not a query: {str(error).splitlines()[0]}") from error


def _build(tree: Tree[Token]) -> Filter:
    from lark import Tree as Branch

    parts: list[Any] = [_build(each) if isinstance(each, Branch) else str(each) for each in tree.children]
    kind = str(tree.data)
    if kind == "call":
        return _called(parts[0], parts[1:])
    if kind in ("text", "number"):
        return _constant(_text(parts[0]) if kind == "text" else float(parts[0]) if "." in parts[0] else int(parts[0]))
    return _BUILDERS[kind](*parts)


def _constant(value: Any) -> Filter:
    return lambda _: iter((value,))


def _text(literal: str) -> str:
    import orjson

    try:
        return str(orjson.loads(literal))
    except orjson.JSONDecodeError as error:
        raise QueryError(f"{literal} is not a text of JSON") from error


def _identity(value: Any) -> Iterator[Any]:
    yield value


def _get(value: Any, key: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if -len(value) <= key < len(value) else None
    raise NotApplicable(f"cannot index with {key!r}")


def _named(base: Filter, key: str) -> Filter:
    return lambda value: (_get(each, key) for each in base(value))


def _element(base: Filter, key: Filter) -> Filter:
    return lambda value: (_get(each, name) for each in base(value) for name in key(value))


def _each(base: Filter) -> Filter:
    return lambda value: (item for each in base(value) for item in items_of(each))


def _attempt(base: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        try:
            yield from base(value)
        except NotApplicable:
            return

    return run


def _descend(value: Any) -> Iterator[Any]:
    yield value
    for each in items_of(value) if isinstance(value, Mapping | list) else ():
        yield from _descend(each)


def _chain(first: Filter, second: Filter) -> Filter:
    return lambda value: (each for middle in first(value) for each in second(middle))


def _both(first: Filter, second: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        yield from first(value)
        yield from second(value)

    return run


def _otherwise(first: Filter, second: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        try:
            found = [each for each in first(value) if truth(each)]
        except NotApplicable:
            found = []
        yield from found or second(value)

    return run


def _logical(word: str) -> Callable[[Filter, Filter], Filter]:
    def build(first: Filter, second: Filter) -> Filter:
        def run(value: Any) -> Iterator[Any]:
            for left in first(value):
                if truth(left) is (word == "or"):
                    yield word == "or"
                else:
                    yield from (truth(right) for right in second(value))

        return run

    return build


_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": lambda left, right: order(left) == order(right),
    "!=": lambda left, right: order(left) != order(right),
    "<": lambda left, right: order(left) < order(right),
    "<=": lambda left, right: order(left) <= order(right),
    ">": lambda left, right: order(left) > order(right),
    ">=": lambda left, right: order(left) >= order(right),
}


def _compare(left: Filter, sign: str, right: Filter) -> Filter:
    compare = _COMPARE[sign]
    return lambda value: (compare(first, second) for second in right(value) for first in left(value))


def _arithmetic(left: Filter, sign: str, right: Filter) -> Filter:
    return lambda value: (calculated(first, sign, second) for second in right(value) for first in left(value))


def _condition(*parts: Filter) -> Filter:
    pairs, last = list(zip(parts[::2], parts[1::2])), parts[-1] if len(parts) % 2 else _identity

    def run(value: Any, start: int = 0) -> Iterator[Any]:
        if start == len(pairs):
            yield from last(value)
            return
        test, then = pairs[start]
        for held in test(value):
            yield from then(value) if truth(held) else run(value, start + 1)

    return run


_BUILDERS: Final[Mapping[str, Callable[..., Filter]]] = {
    "identity": lambda: _identity,
    "descend": lambda: _descend,
    "own_field": lambda name: _named(_identity, name[1:]),
    "own_text_field": lambda text: _named(_identity, _text(text)),
    "field": lambda base, name: _named(base, name[1:]),
    "text_field": lambda base, text: _named(base, _text(text)),
    "each": _each,
    "element": _element,
    "attempt": _attempt,
    "chain": _chain,
    "both": _both,
    "otherwise": _otherwise,
    "either": _logical("or"),
    "all_of": _logical("and"),
    "compare": _compare,
    "arithmetic": _arithmetic,
    "negative": lambda _, base: _arithmetic(_constant(0), "-", base),
    "list_of": lambda inner=None: lambda value: iter((list(inner(value)) if inner else [],)),
    "condition": _condition,
}


def _called(name: str, arguments: Sequence[Filter]) -> Filter:
    if name in ("true", "false", "null") and not arguments:
        return _constant({"true": True, "false": False, "null": None}[name])
    if name == "empty" and not arguments:
        return lambda _: iter(())
    if name in ("select", "map", "first", "any", "all") and len(arguments) == 1:
        return _HIGHER[name](arguments[0])
    function = FUNCTIONS.get((name, len(arguments)))
    if function is None:
        raise QueryError(f"{name}/{len(arguments)} is not a function of queries here")

    def run(value: Any) -> Iterator[Any]:
        try:
            yield function(value, *(next(each(value)) for each in arguments))
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, StopIteration, re.error) as error:
            raise NotApplicable(str(error)) from error

    return run


def _select(test: Filter) -> Filter:
    return lambda value: (value for held in test(value) if truth(held))


_HIGHER: Final[Mapping[str, Callable[[Filter], Filter]]] = {
    "select": _select,
    "map": lambda inner: lambda value: iter(([each for item in items_of(value) for each in inner(item)],)),
    "first": lambda inner: lambda value: islice(inner(value), 1),
    "any": lambda test: lambda value: iter((any(truth(held) for item in items_of(value) for held in test(item)),)),
    "all": lambda test: lambda value: iter((all(truth(held) for item in items_of(value) for held in test(item)),)),
}
