"""Checks of constants in expressions that type check, such as malformed durations and patterns.

Constant durations, moments and patterns are read when an expression is compiled, and a list or map literal must not
mix types, unless it is an argument of format.

cel-go 0.17, cel/validator.go, with the validators that k8s.io/apiserver/pkg/cel/environment/base.go of release 1.30
switches on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from simkit.language.cel.conversions import CONVERSIONS
from simkit.language.cel.errors import EvaluationError, Issue
from simkit.language.cel.lib_strings import PatternError, pattern
from simkit.language.cel.patch_values import is_patch_name
from simkit.language.cel.runtime_cost import is_constant
from simkit.language.cel.tree import Call, Ident, ListNode, Literal, MapNode, Node, Select
from simkit.language.cel.types import Type, unwrapped
from simkit.language.cel.values import CelType

_READ: Final = ("duration", "timestamp")


def validated(root: Node, *, literals: bool, homogeneous: bool = True) -> Iterator[Issue]:
    """The issues of a checked expression; ``literals`` for versions that look at constants (1.29 on)."""
    yield from _walk(root, literals, exempt=not homogeneous)


def _walk(node: Node, literals: bool, *, exempt: bool) -> Iterator[Issue]:
    if isinstance(node, Call):
        if literals:
            yield from _call(node)
        exempt = exempt or node.function == "format"
    elif not exempt and isinstance(node, ListNode):
        yield from _mixed([(each, _inside(each, at in node.optional)) for at, each in enumerate(node.elements)])
    elif not exempt and isinstance(node, MapNode):
        yield from _mixed([(entry.key, entry.key.type) for entry in node.entries])
        yield from _mixed([(entry.value, _inside(entry.value, entry.optional)) for entry in node.entries])
    for child in node.children():
        yield from _walk(child, literals, exempt=exempt)


def _inside(node: Node, optional: bool) -> Type:
    return unwrapped(node.type) if optional else node.type


def _mixed(elements: list[tuple[Node, Type]]) -> Iterator[Issue]:
    for element, found in elements[1:]:
        wanted = elements[0][1]
        if wanted != found:
            yield Issue(element.position, f"expected type '{wanted}' but found '{found}'")
            return


def _call(node: Call) -> Iterator[Issue]:
    argument = node.arguments[-1] if node.arguments else None
    if not isinstance(argument, Literal) or not isinstance(argument.value, str):
        return
    if node.function in _READ and len(node.arguments) == 1:
        try:
            CONVERSIONS[node.function](argument.value)
        except EvaluationError:
            yield Issue(argument.position, f"invalid {node.function} argument")
    elif node.function == "matches":
        try:
            pattern(argument.value)
        except PatternError:
            yield Issue(argument.position, "invalid matches argument")


def _conversion(node: Node) -> Any:
    """The value of a constant or of nested conversions of one; None for any other node.

    Lists and maps are taken for empty ones: no conversion accepts any.
    """
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, ListNode | MapNode):
        return [] if isinstance(node, ListNode) else {}
    if not isinstance(node, Call) or node.function not in CONVERSIONS or len(node.arguments) != 1 or node.target:
        return None
    if not is_constant(node.arguments[0]):
        return None
    return CONVERSIONS[node.function](_conversion(node.arguments[0]))


def instantiation_error(node: Node) -> str | None:
    """The error of preparing a checked expression: constants that cannot be converted, and malformed patterns."""
    for child in node.children():
        found = instantiation_error(child)
        if found is not None:
            return found
    if isinstance(node, Ident | Select) and isinstance(node.reference, CelType) and is_patch_name(node.reference.name):
        return f"reference to undefined type: {node.reference.name}"
    if not isinstance(node, Call):
        return None
    try:
        _conversion(node)
    except EvaluationError as error:
        return str(error)
    if node.function in ("find", "findAll", "matches") and node.arguments:
        expression = node.arguments[1 if node.target is None and len(node.arguments) > 1 else 0]
        if isinstance(expression, Literal) and isinstance(expression.value, str):
            try:
                pattern(expression.value)
            except PatternError as error:
                return str(error)
    return None
