"""The types of expressions: scalars, lists and maps with parameters, optionals, opaque library types, type parameters.

cel-go 0.17, common/types/types.go and checker/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol


class Typed(Protocol):
    """Anything that has a type."""

    @property
    def type(self) -> Type: ...


class HasFields(Protocol):
    """The fields of an object: their JSON names and declarations, by their names in expressions."""

    @property
    def fields(self) -> Mapping[str, tuple[str, Typed]]: ...


@dataclass(frozen=True, slots=True)
class Type:
    """One type: a kind, a name where the kind has several members, and parameters.

    Examples
    --------
    >>> str(map_of(STRING, list_of(INT)))
    'map(string, list(int))'
    """

    kind: str
    """bool, int, uint, double, string, bytes, null, dyn, error, type, duration, timestamp, list, map, object, opaque
    or param."""
    name: str
    parameters: tuple[Type, ...] = ()
    declared: HasFields | None = field(default=None, compare=False, repr=False)
    """Of an object: its fields."""

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        if is_optional(self):
            return f"optional_type({self.parameters[0]})"
        return f"{self.name}({', '.join(map(str, self.parameters))})"


def _scalar(kind: str, name: str = "") -> Type:
    return Type(kind, name or kind)


BOOL: Final = _scalar("bool")
INT: Final = _scalar("int")
UINT: Final = _scalar("uint")
DOUBLE: Final = _scalar("double")
STRING: Final = _scalar("string")
BYTES: Final = _scalar("bytes")
NULL: Final = _scalar("null")
DYN: Final = _scalar("dyn")
ERROR: Final = _scalar("error", "!error!")
TYPE: Final = _scalar("type")
DURATION: Final = _scalar("duration")
TIMESTAMP: Final = _scalar("timestamp")

SCALARS: Final = frozenset({"bool", "int", "uint", "double", "duration", "timestamp"})
"""Kinds with values of a fixed size."""


def list_of(element: Type) -> Type:
    """The list type with that element type."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The map type with those key and value types."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of an optional value."""
    return Type("opaque", "optional", (value,))


def object_type(name: str, declared: HasFields) -> Type:
    """The type of an object with declared fields, known by its name."""
    return Type("object", name, (), declared)


@dataclass(frozen=True, slots=True)
class Member:
    """A field of an object that no schema describes."""

    type: Type


@dataclass(frozen=True, slots=True)
class Members:
    """The fields of such an object."""

    fields: Mapping[str, tuple[str, Member]]


def object_of(name: str, fields: Mapping[str, Type]) -> Type:
    """The type of an object with these fields, such as the variables of a policy."""
    return object_type(name, Members({field: (field, Member(found)) for field, found in fields.items()}))


def opaque(name: str) -> Type:
    """A type whose values only a library's functions can read, such as ``kubernetes.Quantity``."""
    return Type("opaque", name)


def parameter(name: str) -> Type:
    """A type parameter of an overload, or a type variable of the checker."""
    return Type("param", name)


def type_of_type(inner: Type) -> Type:
    """The type of a type value."""
    return Type("type", "type", (inner,))


def is_open(found: Type) -> bool:
    """True if any type fits: dyn, or the type of an erroneous part."""
    return found.kind in ("dyn", "error")


def is_fieldless_message(found: Type) -> bool:
    """True if the type is declared as a message without a definition, as Kubernetes' own types are.

    Examples
    --------
    >>> is_fieldless_message(parsed("Quantity")), is_fieldless_message(parsed("IP"))
    (True, False)
    """
    return found.kind == "opaque" and found.name.startswith("kubernetes.")


def is_optional(found: Type) -> bool:
    """True if values of the type are optionals."""
    return found.kind == "opaque" and found.name == "optional"


def unwrapped(found: Type) -> Type:
    """The type inside an optional; any other type unchanged."""
    return found.parameters[0] if is_optional(found) else found


def parameters_in(found: Type) -> frozenset[str]:
    """Names of the type parameters that occur in a type."""
    if found.kind == "param":
        return frozenset({found.name})
    return frozenset().union(*(parameters_in(inner) for inner in found.parameters))


def applied(arguments: Sequence[Type], *, member: bool) -> str:
    """Argument types in compile errors: ``(int, string)``, or ``string.(int)`` for a member call."""
    if member:
        return f"{arguments[0]}.({', '.join(map(str, arguments[1:]))})"
    return f"({', '.join(map(str, arguments))})"


class Substitutions:
    """The types that the checker found for type variables. Cheap to copy, since expressions are short."""

    __slots__ = ("known",)

    def __init__(self, known: dict[str, Type] | None = None) -> None:
        self.known = known if known is not None else {}

    def copy(self) -> Substitutions:
        return Substitutions(dict(self.known))

    def apply(self, found: Type, *, free_is_dyn: bool = False) -> Type:
        """The type with its variables replaced; free ones stay, or become dyn."""
        if found.kind == "param":
            known = self.known.get(found.name)
            if known is not None:
                return self.apply(known, free_is_dyn=free_is_dyn)
            return DYN if free_is_dyn else found
        if not found.parameters:
            return found
        inner = tuple(self.apply(each, free_is_dyn=free_is_dyn) for each in found.parameters)
        return Type(found.kind, found.name, inner)

    def assignable(self, wanted: Type, given: Type) -> bool:
        """True if a value of one type can be used as the other; may bind variables of either."""
        if given.kind == "param":
            fits, bound = self._bind(given, wanted)
            if fits:
                return True
            if bound:
                return False
        if wanted.kind == "param":
            return self._bind(wanted, given)[0]
        if is_open(wanted) or is_open(given):
            return True
        if wanted.kind == "null" or given.kind == "null":
            other = given if wanted.kind == "null" else wanted
            return other.kind in ("null", "object", "opaque", "duration", "timestamp")
        if wanted.kind != given.kind or wanted.name != given.name:
            return False
        if wanted.kind == "type":
            return True
        return self.all_assignable(wanted.parameters, given.parameters)

    def all_assignable(self, wanted: Sequence[Type], given: Sequence[Type]) -> bool:
        """True if each of several types is assignable, with one set of bindings."""
        if len(wanted) != len(given):
            return False
        return all(self.assignable(one, other) for one, other in zip(wanted, given))

    def _bind(self, variable: Type, found: Type) -> tuple[bool, bool]:
        """Try to bind a variable to a type: (fits, it was bound before)."""
        if variable == found:
            return True, True
        known = self.known.get(variable.name)
        if known is None:
            if self._occurs(variable.name, found):
                return False, False
            self.known[variable.name] = found
            return True, False
        if known == found:
            return True, True
        if not self.assignable(found, known):
            return False, True
        general = more_general(found, known)
        if not self._occurs(variable.name, general):
            self.known[variable.name] = general
        return True, True

    def _occurs(self, name: str, found: Type) -> bool:
        if found.kind == "param":
            if found.name == name:
                return True
            known = self.known.get(found.name)
            return known is not None and self._occurs(name, known)
        return any(self._occurs(name, inner) for inner in found.parameters)


def more_general(one: Type, other: Type) -> Type:
    """The more general of two compatible types; the first if they are equal."""
    return one if _says_no_more(one, other) else other


def _says_no_more(one: Type, other: Type) -> bool:
    if one.kind in ("dyn", "param"):
        return True
    if other.kind in ("dyn", "param") or one.kind != other.kind:
        return False
    if one.kind in ("list", "map", "opaque"):
        pairs = zip(one.parameters, other.parameters)
        return one.name == other.name and all(_says_no_more(left, right) for left, right in pairs)
    return one.kind == "type" or one == other


_NAMED: Final = {
    **{each.name: each for each in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TYPE, DURATION, TIMESTAMP)},
    "URL": opaque("kubernetes.URL"),
    "Quantity": opaque("kubernetes.Quantity"),
    "Authorizer": opaque("kubernetes.authorization.Authorizer"),
    "PathCheck": opaque("kubernetes.authorization.PathCheck"),
    "GroupCheck": opaque("kubernetes.authorization.GroupCheck"),
    "ResourceCheck": opaque("kubernetes.authorization.ResourceCheck"),
    "Decision": opaque("kubernetes.authorization.Decision"),
    "NamedFormat": opaque("kubernetes.NamedFormat"),
    "Semver": opaque("kubernetes.Semver"),
    "IP": opaque("net.IP"),
    "CIDR": opaque("net.CIDR"),
}


def _split(text: str) -> list[str]:
    """The parts between top-level commas."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def parsed(text: str) -> Type:
    """The type in a signature; single capital letters are type parameters.

    Examples
    --------
    >>> parsed("map(string, list(A))").parameters[1]
    Type(kind='list', name='list', parameters=(Type(kind='param', name='A', parameters=()),))
    """
    if text in _NAMED:
        return _NAMED[text]
    if len(text) == 1 and text.isupper():
        return parameter(text)
    outer, _, inner = text.partition("(")
    inside = tuple(parsed(part) for part in _split(inner[:-1]))
    if outer == "optional":
        return optional_of(*inside)
    if outer == "type":
        return type_of_type(*inside)
    return Type(outer, outer, inside)


def parsed_list(text: str) -> tuple[Type, ...]:
    """The types in a comma-separated list."""
    return tuple(parsed(part) for part in _split(text))
