"""Objects of built-in kinds in the order of Go's encoder: fields as declared, keys of maps sorted.

References
----------
Go's encoding/json, ``Marshal``; the order of fields is that of the types of k8s.io/api and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta import datasets
from simkit.schema.structural import Schema

Ordering = Callable[[Any], Any]
"""A function from a value to the same value in order; the argument does not change."""

_Plan = tuple[tuple[str, Ordering | None], ...]
"""The fields of an object in order, with the orderings of their values."""
_LAST: Final = 1 << 20
_LONGEST: Final = 64
_MOST: Final = 64
"""The limits of the orders that are kept for a type: of their fields, and of their number."""


_declared: Final[Callable[[], Mapping[str, Mapping[str, list[str]]]]] = datasets.lazy("api/field-order.json.gz")


class _Ranks(dict[str, int]):
    """The position of each field; unknown ones come last."""

    def __missing__(self, name: str) -> int:
        return _LAST


class Fields:
    """The ordering of the fields of one type and their values."""

    __slots__ = ("_inner", "_known", "_node", "_rank")

    def __init__(self, node: Schema) -> None:
        package, _, name = node.name.rpartition(".")
        declared = _declared().get(package, {}).get(name, ())
        names = [field for field in ("kind", "apiVersion") if field not in declared] + list(declared)
        self._rank = _Ranks({field: number for number, field in enumerate(names)}).__getitem__
        self._node = node
        self._inner: dict[str, Ordering | None] = {}
        self._known: dict[tuple[str, ...], _Plan] = {}
        """The orders of objects with these fields, as they came."""

    def __call__(self, value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        given = tuple(value)
        plan = self._known.get(given)
        if plan is None:
            plan = self._found(given)
        out = {}
        for name, order in plan:
            item = value[name]
            out[name] = order(item) if order is not None else item
        return out

    def _found(self, given: tuple[str, ...]) -> _Plan:
        """The order of an object with these fields; it is kept for others."""
        inner = self._inner
        for name in given:
            if name not in inner:
                node = self._node.field(name)
                inner[name] = ordering(node) if node is not None else None
        plan = tuple((name, inner[name]) for name in sorted(given, key=self._rank))
        if len(given) <= _LONGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[given] = plan
        return plan


def ordering(node: Schema) -> Ordering | None:
    """The ordering of values of a schema node; None if there is nothing to order.

    What a field of any type holds stays as it was written.

    Examples
    --------
    >>> from simkit.schema.catalogue import Catalogue
    >>> order = ordering(Catalogue.for_release("1.30").definition("io.k8s.api.core.v1.ConfigMap"))
    >>> order({"data": {"b": "2", "a": "1"}, "immutable": True})
    {'immutable': True, 'data': {'a': '1', 'b': '2'}}
    """
    if node.preserve_unknown:
        return None
    if node.row.get("fields"):
        return Fields(node)
    if node.values is not None:
        return _of_map(node.values)
    items = ordering(node.items) if node.items is not None else None
    return _of_list(items) if items is not None else None


def _of_list(inner: Ordering) -> Ordering:
    def order(value: Any) -> Any:
        return [inner(item) for item in value] if value.__class__ is list else value

    return order


def _of_map(values: Schema) -> Ordering:
    inner = ordering(values)

    def order(value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        if inner is None:
            return {key: value[key] for key in sorted(value)}
        return {key: inner(value[key]) for key in sorted(value)}

    return order
