"""The least and the greatest cost of an expression, over the sizes that a schema allows.

The rules are cel-go's, with their quirks: a value that no path of fields leads to has any size, and a path
of one step stands for the whole object.

cel-go 0.17, checker/cost.go, and the size estimator of k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from simkit.language.cel.cost_functions import LARGEST, NOTHING, ONE, UNKNOWN, Operands, Range, Value, estimated
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.tree import (
    Bind,
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
)
from simkit.language.cel.types import SCALARS
from simkit.language.cel.values import CelType

_SAME: Final = "="
"""The step from a value to itself."""


class Estimator:
    """Estimates one expression. ``root`` bounds the sizes of what is reached from variables."""

    def __init__(self, root: DeclType | None) -> None:
        self.root = root
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Range] = {}
        self._loops: list[tuple[str, Node, str]] = []

    def cost(self, node: Node) -> Range:
        """The least and greatest cost of evaluating the node."""
        found: Range = _COSTS[type(node)](self, node)
        return found

    # -- sizes -----------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Value:
        return Value(self._paths.get(id(node), ()), node.type, node, self._computed(node))

    def _computed(self, node: Node) -> Range | None:
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        size: int | None = None
        if isinstance(node, Literal):
            size = len(node.value) if isinstance(node.value, str | bytes) else 1
        elif isinstance(node, ListNode):
            size = len(node.elements)
        elif isinstance(node, MapNode):
            size = len(node.entries)
        return None if size is None else Range(size, size)

    def declared_size(self, path: Sequence[str]) -> Range | None:
        """The size that the schema allows at a path."""
        found = self.root
        if not path or found is None:
            return None
        for step in path[1:]:
            if step == "@keys":
                return NOTHING if found.type.kind == "map" and step == path[-1] else None
            if step in ("@items", "@values"):
                inner = found.element if found.type.kind in ("list", "map") else None
            else:
                inner = found.member(step)
            if inner is None:
                return None
            found = inner
        return Range(0, found.max_elements)

    def size(self, value: Value) -> Range:
        """The size of an operand; scalars without a path count as 1."""
        if value.size is not None:
            return value.size
        found = self.declared_size(value.path)
        if found is not None:
            return found
        return ONE if value.type.kind in SCALARS else UNKNOWN

    def library_size(self, value: Value) -> Range:
        """The size in the estimates of library functions: scalars are not special."""
        if value.size is not None:
            return value.size
        found = self.declared_size(value.path)
        return found if found is not None else UNKNOWN

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _literal(self, node: Literal) -> Range:
        return NOTHING

    def _ident(self, node: Ident) -> Range:
        for name, source, step in reversed(self._loops):
            if name == node.name:
                if step == _SAME:
                    self._be_as(node, source)
                elif step:
                    self._paths[id(node)] = (*self._paths.get(id(source), ()), step)
                return ONE
        self._paths[id(node)] = (node.name,)
        return ONE

    def _be_as(self, node: Node, value: Node) -> None:
        """Give a node the path and the size of another one."""
        if id(value) in self._paths:
            self._paths[id(node)] = self._paths[id(value)]
        if id(value) in self._sizes:
            self._sizes[id(node)] = self._sizes[id(value)]

    def _select(self, node: Select) -> Range:
        if isinstance(node.reference, str | CelType):
            self._paths[id(node)] = (str(node.reference),)
            return ONE
        total = self.cost(node.operand)
        if node.test:
            return total
        if node.operand.type.kind in ("map", "object", "param"):
            total = total.plus(ONE)
        self._paths[id(node)] = (*self._paths.get(id(node.operand), ()), node.field)
        return total

    def _call(self, node: Call) -> Range:
        costs = [self.cost(argument) for argument in node.arguments]
        if not node.reference and node.function != "_?._":
            return NOTHING
        total = NOTHING if node.target is None else self.cost(node.target)
        target = None if node.target is None else self.value(node.target)
        values = [self.value(argument) for argument in node.arguments]
        found = Range(LARGEST, 0)
        size: Range | None = None
        for overload in [each.id for each in node.reference or ()] or [""]:
            cost, result = self._overload(node, overload, target, values, costs)
            found = found.union(cost)
            if result is not None:
                size = result if size is None else size.union(result)
            step = {"index_list": "@items", "index_map": "@values"}.get(overload)
            if step is not None:
                self._paths[id(node)] = (*self._paths.get(id(node.arguments[0]), ()), step)
        if size is not None:
            self._sizes[id(node)] = size
        return total.plus(found)

    def _overload(
        self, node: Call, overload: str, target: Value | None, values: Sequence[Value], costs: Sequence[Range]
    ) -> tuple[Range, Range | None]:
        """The cost (with arguments) and the size of the result of one overload."""
        if overload in ("logical_and", "logical_or"):
            return Range(costs[0].low, costs[0].plus(costs[1]).high), None
        if overload == "conditional":
            size = self.size(values[1]).union(self.size(values[2]))
            return costs[0].plus(costs[1].union(costs[2])), size
        cost, size_or_none = estimated(Operands(self, overload, target, values), node.function)
        for each in costs:
            cost = cost.plus(each)
        return cost, size_or_none

    def _list(self, node: ListNode) -> Range:
        return self._sum(node.elements).plus(Range(10, 10))

    def _map(self, node: MapNode) -> Range:
        return self._sum(node.children()).plus(Range(30, 30))

    def _struct(self, node: StructNode) -> Range:
        return self._sum(node.children()).plus(Range(40, 40))

    def _sum(self, nodes: Sequence[Node]) -> Range:
        total = NOTHING
        for node in nodes:
            total = total.plus(self.cost(node))
        return total

    def _comprehension(self, node: Comprehension) -> Range:
        around = self.cost(node.source)
        loops = len(self._loops)
        self._loops += _bound(node)
        condition = NOTHING if node.condition is None else self.cost(node.condition)
        transform = ONE if node.transform is None else self.cost(node.transform)
        del self._loops[loops:]
        count = self._sizes[id(node)] = self.size(self.value(node.source))
        step, rest = _LOOP_COSTS[node.macro](condition, transform, node.condition is not None)
        return around.plus(rest).plus(count.times(step))

    def _bind(self, node: Bind) -> Range:
        # cel-go writes this as a loop over an empty list literal, which costs 10 to make.
        value = self.cost(node.value)
        if node.written:
            self._loops.append((node.variable, node.value, _SAME))
        body = self.cost(node.body)
        if node.written:
            self._loops.pop()
            self._be_as(node, node.body)
        return value.plus(body).plus(Range(10, 10))


def _bound(node: Comprehension) -> list[tuple[str, Node, str]]:
    """The variables of a loop, with the path step from the iterated value to their sizes."""
    kind = node.source.type.kind
    if not node.key:
        return [(node.variable, node.source, {"list": "@items", "map": "@keys"}.get(kind, ""))]
    return [
        (node.key, node.source, "@keys" if kind == "map" else ""),
        (node.variable, node.source, {"list": "@items", "map": "@values"}.get(kind, "")),
    ]


Loop = Callable[[Range, Range, bool], tuple[Range, Range]]


def _quantifier(test: int) -> Loop:
    def cost(condition: Range, transform: Range, filtered: bool) -> tuple[Range, Range]:
        return Range(1, 1 + condition.high).plus(Range(test, test)), ONE

    return cost


def _exactly_one(condition: Range, transform: Range, filtered: bool) -> tuple[Range, Range]:
    return condition.plus(Range(1, 2)), Range(2, 2)


def _collection(condition: Range, transform: Range, filtered: bool) -> tuple[Range, Range]:
    appended = transform.plus(Range(12, 12))
    step = condition.plus(appended.union(ONE)) if filtered else appended
    return step, Range(11, 11)


def _map(condition: Range, transform: Range, filtered: bool) -> tuple[Range, Range]:
    inserted = transform.plus(Range(3, 3))
    return (condition.plus(inserted.union(ONE)) if filtered else inserted), Range(31, 31)


_LOOP_COSTS: Final[dict[str, Loop]] = {
    "all": _quantifier(2),
    "exists": _quantifier(3),
    "exists_one": _exactly_one,
    "map": _collection,
    "filter": _collection,
    "transformList": _collection,
    "transformMap": _map,
    "transformMapEntry": _map,
}
_COSTS: Final[dict[type, Any]] = {
    Literal: Estimator._literal,
    Ident: Estimator._ident,
    Select: Estimator._select,
    Call: Estimator._call,
    ListNode: Estimator._list,
    MapNode: Estimator._map,
    StructNode: Estimator._struct,
    Comprehension: Estimator._comprehension,
    Bind: Estimator._bind,
}
