"""The syntax tree of an expression with macros expanded; every node has its position in the source.

Upstream: github.com/google/cel-go/common/ast/ast.go, version 0.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.language.cel.types import DYN, Type


class Node:
    """A part of an expression. ``position`` is the offset for errors."""

    __slots__ = ("position", "reference", "start", "type")

    def __init__(self, position: int) -> None:
        self.position = position
        self.type: Type = DYN
        """The type that the checker found."""
        self.reference: Any = None
        """The resolved declaration: candidate overloads of a call, or the variable or type of a name."""
        self.start = position
        """Offset of the node's first character, for showing sub-expressions."""

    def children(self) -> Sequence[Node]:
        """The parts that are evaluated for this one, in the order of the source."""
        return ()


class Literal(Node):
    """A constant. ``value`` is a Python value of the language's kind."""

    __slots__ = ("value",)

    def __init__(self, position: int, value: Any) -> None:
        super().__init__(position)
        self.value = value


class Ident(Node):
    """A name; a leading dot (the root container) is kept."""

    __slots__ = ("name",)

    def __init__(self, position: int, name: str) -> None:
        super().__init__(position)
        self.name = name


class Select(Node):
    """``operand.field``, or ``has(operand.field)`` when ``test`` is set."""

    __slots__ = ("field", "operand", "test")

    def __init__(self, position: int, operand: Node, field: str, *, test: bool = False) -> None:
        super().__init__(position)
        self.operand, self.field, self.test = operand, field, test
        self.start = operand.start

    def children(self) -> Sequence[Node]:
        return (self.operand,)


class Call(Node):
    """A function, operator or member call."""

    __slots__ = ("arguments", "function", "target")

    def __init__(self, position: int, function: str, arguments: Sequence[Node], target: Node | None = None) -> None:
        super().__init__(position)
        self.function, self.arguments, self.target = function, list(arguments), target
        if target is not None:
            self.start = target.start
        elif self.arguments:
            self.start = min(position, self.arguments[0].start)

    def children(self) -> Sequence[Node]:
        return self.arguments if self.target is None else [self.target, *self.arguments]


class ListNode(Node):
    """A list literal; ``optional`` holds the indexes of elements written as ``?element``."""

    __slots__ = ("elements", "optional")

    def __init__(self, position: int, elements: Sequence[Node], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(position)
        self.elements, self.optional = list(elements), optional

    def children(self) -> Sequence[Node]:
        return self.elements


class Entry:
    """A key (or a field's name) with its value in a map or message literal; ``position`` is that of the colon."""

    __slots__ = ("key", "optional", "position", "value")

    def __init__(self, key: Any, value: Node, *, optional: bool = False, position: int = 0) -> None:
        self.key, self.value, self.optional, self.position = key, value, optional, position


class MapNode(Node):
    """A map literal; the keys of its entries are nodes."""

    __slots__ = ("entries",)

    def __init__(self, position: int, entries: Sequence[Entry]) -> None:
        super().__init__(position)
        self.entries = list(entries)

    def children(self) -> Sequence[Node]:
        return [node for entry in self.entries for node in (entry.key, entry.value)]


class StructNode(Node):
    """A message literal; the keys of its entries are field names."""

    __slots__ = ("entries", "name")

    def __init__(self, position: int, name: str, entries: Sequence[Entry]) -> None:
        super().__init__(position)
        self.name, self.entries = name, list(entries)

    def children(self) -> Sequence[Node]:
        return [entry.value for entry in self.entries]


class Comprehension(Node):
    """The macros all, exists, exists_one, map and filter over a list or the keys of a map.

    ``condition`` is the predicate (of a map: the optional filter), ``transform`` what map makes of an element. Where
    there is a ``key``, a second variable stands for the position in the list, or for the key in the map, and
    ``variable`` for the element or the value; ``key_reference`` is then what ``reference`` is for ``variable``.
    """

    __slots__ = ("condition", "key", "key_reference", "macro", "source", "transform", "variable")

    def __init__(
        self,
        position: int,
        macro: str,
        source: Node,
        variable: str,
        condition: Node | None,
        transform: Node | None,
        *,
        key: str = "",
    ) -> None:
        super().__init__(position)
        self.macro, self.source, self.variable, self.key = macro, source, variable, key
        self.condition, self.transform = condition, transform
        self.key_reference: Any = None
        self.start = source.start

    def children(self) -> Sequence[Node]:
        return [node for node in (self.source, self.condition, self.transform) if node is not None]


class Bind(Node):
    """``body`` evaluated with ``variable`` bound to ``value``: the expansion of cel.bind, optMap and optFlatMap.

    ``written`` tells whether it is one of cel.bind, where the cost of what uses the variable is that of the value.
    """

    __slots__ = ("body", "value", "variable", "written")

    def __init__(self, position: int, variable: str, value: Node, body: Node, *, written: bool = False) -> None:
        super().__init__(position)
        self.variable, self.value, self.body, self.written = variable, value, body, written

    def children(self) -> Sequence[Node]:
        return (self.value, self.body)


def qualified_name(node: Node) -> str | None:
    """The dotted name of a chain of selects, or None."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None
