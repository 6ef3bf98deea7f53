"""The cost of evaluating each part of an expression, in the units of cel-go.

Costs that the expression alone decides are added up while it is compiled; the others are reckoned from the values'
sizes while it runs. What follows a failed operand inside one call is not charged.

cel-go 0.17, interpreter/runtimecost.go; for library functions CallCost in k8s.io/apiserver/pkg/cel/library/cost.go,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from simkit.language.cel.conversions import CONVERSIONS, TYPE_NAMES
from simkit.language.cel.tree import Call, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from simkit.language.cel.values import CelType

if TYPE_CHECKING:
    from simkit.language.cel.declarations import Overload
    from simkit.language.cel.generate import Generator

_ATTRIBUTES: Final = frozenset({"_[_]", "_[?_]", "_?._"})


def denoted(found: CelType) -> CelType:
    """The type value that a name stands for."""
    return CelType(TYPE_NAMES.get(found.name, found.name))


def is_constant(node: Node) -> bool:
    """True if cel-go folds the node into a constant before it runs, so that it costs nothing."""
    if isinstance(node, Literal) or (isinstance(node.reference, CelType) and not isinstance(node, StructNode)):
        return True
    if isinstance(node, ListNode):
        return not node.optional and all(map(is_constant, node.elements))
    if isinstance(node, MapNode):
        return all(not entry.optional and is_constant(entry.key) and is_constant(entry.value) for entry in node.entries)
    return (
        isinstance(node, Call)
        and node.function in CONVERSIONS
        and len(node.arguments) == 1
        and node.target is None
        and is_constant(node.arguments[0])
    )


def _is_attribute(node: Node) -> bool:
    """True for variables and what fields and indexes reach from any value; also for a choice between two such."""
    if isinstance(node, Ident):
        return not isinstance(node.reference, CelType)
    return isinstance(node, Select) or (
        isinstance(node, Call) and (node.function in _ATTRIBUTES or node.function == "_?_:_")
    )


def selection(node: Select) -> int:
    """The cost of ``.field`` and of has(), without their operand."""
    base = 0 if _is_attribute(node.operand) else 1
    return base if node.test else base + 1


def free_branch(node: Node) -> int:
    """The cost that is saved if an attribute is a branch of a choice or an index, and not evaluated for itself."""
    whole = _is_attribute(node) and not (isinstance(node, Call) and node.function == "_?_:_")
    return 1 if whole and not (isinstance(node, Select) and node.test) else 0


def indexing(node: Call) -> int:
    """The cost of ``[key]``, without its operand; a key that is an attribute costs less than elsewhere."""
    operand, key = node.arguments
    return (1 if _is_attribute(operand) else 2) - free_branch(key)


def charge(writer: Generator, node: Call, arguments: Sequence[Node], texts: list[str]) -> list[str]:
    """Write the charge for a call and return its arguments, in Python names if their sizes are needed."""
    if is_constant(node):
        return texts
    if node.function == "@in" and is_constant(arguments[1]) and _is_set(arguments[1]):
        return texts
    formula = _formula(node, arguments, strict=writer.strict)
    if formula is None:
        writer.spend(1)
        return texts
    if formula.isdigit():
        writer.spend(int(formula))
        return texts
    names = [writer.kept(text) for text in texts]
    if "{result}" in formula:
        # join is charged by what it makes, so it is made here already; its text stays short.
        result = writer.kept(writer.applied(node, list(arguments), names))
        writer.line(f"cost += {formula.format(*names, result=result)}")
        return names
    writer.line(f"cost += {formula.format(*names)}")
    return names


def _is_set(node: Node) -> bool:
    """True if cel-go turns the constant list into a set."""
    return isinstance(node, ListNode) and all(
        isinstance(each, Literal) and each.value is not None for each in node.elements
    )


_SIZE_0: Final = "ceiling(size_of({0}), 0.1)"
_SEARCH: Final = "ceiling(1 + size_of({0}), 0.1) * ceiling(size_of({1}), 0.25)"
_LIBRARY: Final[dict[str, str]] = {
    "check": "350000",
    **dict.fromkeys(
        ("fieldSelector", "labelSelector"), "10 + ceiling(size_of({1}), 0.1) + 50 * ceiling(size_of({1}), 0.5)"
    ),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), "traversal({0})"),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "quantity", "isQuantity"), _SIZE_0),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _SIZE_0),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), "ceiling(size_of({0}) * 2, 0.1)"),
    **dict.fromkeys(("find", "findAll"), _SEARCH),
    **dict.fromkeys(("semver", "isSemver"), _SIZE_0),
    "validate": "ceiling(1 + size_of({1}), 0.1) * ceiling({0}.pattern_size, 0.25)",
    **dict.fromkeys(("slice", "reverse", "lists.range"), "size_of({result}) + 11"),
    "flatten": "size_of({0}) + 11",
    "distinct": "ceiling(size_of({0}) * size_of({0}), 0.1) + 11",
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), "ceiling(size_of({0}) * size_of({0}).bit_length(), 0.1) + 11"),
    "join": "ceiling(size_of({result}) * 2, 0.1)",
    "sets.contains": "1 + size_of({0}) * size_of({1})",
    "sets.intersects": "1 + size_of({0}) * size_of({1})",
    "sets.equivalent": "1 + size_of({0}) * size_of({1}) * 2",
    "containsIP": "ceiling(size_of({0}) * 2, 0.1)",
    "containsCIDR": "ceiling(size_of({0}) * 2, 0.1) + ceiling(size_of({0}), 0.1) + 1",
}
"""Library functions whose cost is more than 1, over the sizes of their arguments."""
_SMALLER: Final = "ceiling(min(size_of({0}), size_of({1})), 0.1)"
_BY_OVERLOAD: Final[dict[str, str]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string"), _SIZE_0),
    **dict.fromkeys(("strings_quote", "string_format"), _SIZE_0),
    "in_list": "size_of({1})",
    **{
        f"{name}_{kind}": _SMALLER
        for name in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
    "add_string": "ceiling(size_of({0}) + size_of({1}), 0.1)",
    "add_bytes": "ceiling(size_of({0}) + size_of({1}), 0.1)",
    "matches": _SEARCH,
    "matches_string": _SEARCH,
    "contains_string": "ceiling(size_of({0}), 0.1) * ceiling(size_of({1}), 0.1)",
}
_SCALARS: Final = frozenset({"bool", "int", "uint", "double", "null", "duration", "timestamp", "type"})


def _formula(node: Call, arguments: Sequence[Node], *, strict: bool) -> str | None:
    """The cost of a call as a function of its arguments; None means 1."""
    if node.function in ("_==_", "_!=_"):
        return None if any(each.type.kind in _SCALARS for each in arguments) else _SMALLER
    overloads: tuple[Overload, ...] = node.reference or ()
    if strict and node.function in _LIBRARY:
        formula = _LIBRARY[node.function]
        if overloads and overloads[0].id.endswith(("contains_ip_string", "contains_cidr_string")):
            formula += " + ceiling(size_of({1}), 0.1)"
        return formula
    if strict and node.function == "ip":
        return None if node.target is not None else _SIZE_0
    return _BY_OVERLOAD.get(overloads[0].id) if len(overloads) == 1 else None
