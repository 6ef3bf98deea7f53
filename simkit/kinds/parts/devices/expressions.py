"""Expressions that select devices: whether they compile, what they give, and what they may cost.

Follows ``k8s.io/dynamic-resource-allocation/cel/compile.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import Environment, Program, own_version, type_named, written_version
from simkit.language.cel.errors import CompileError, InstantiationError
from simkit.language.cel.types import BOOL, STRING, Type, map_of, object_type
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.schema.structural import Schema

MOST_COST: Final = 1_000_000
"""The cost of evaluating one expression for one device."""
_MOST_ENTRIES: Final = 32
_LONGEST_DRIVER, _LONGEST_VALUE = 63, 64
_ANY: Final = Type("dyn", "google.protobuf.Any")
"""The type of an attribute: a number, a text, a version or yes and no."""


class _Declared(DeclType):
    """A declaration without a schema."""

    def __init__(
        self,
        of: Type,
        max_elements: int,
        *,
        element: DeclType | None = None,
        fields: Mapping[str, DeclType] | None = None,
        named: DeclType | None = None,
    ) -> None:
        super().__init__(Schema({"type": "boolean"}, _no_definition), "")
        self.type, self.max_elements = of, max_elements
        self.element, self._named = element, named
        self.fields = {name: (name, each) for name, each in (fields or {}).items()}
        if fields is not None:
            self.type = object_type(of.name, self)

    def member(self, name: str) -> DeclType | None:
        """The declaration of a field, or of what any name leads to."""
        return super().member(name) or self._named


def _no_definition(name: str) -> Schema:
    raise LookupError(name)


def _by_domain(value: _Declared, *, named: bool) -> _Declared:
    """Values by domain and name."""
    inner = _Declared(map_of(STRING, value.type), _MOST_ENTRIES, element=value, named=value if named else None)
    return _Declared(map_of(STRING, inner.type), _MOST_ENTRIES, element=inner)


@lru_cache(maxsize=8)
def _device(shared: bool) -> DeclType:
    """The variable ``device``; ``shared`` tells whether several claims may have one device."""
    fields = {
        "driver": _Declared(STRING, _LONGEST_DRIVER),
        "attributes": _by_domain(_Declared(_ANY, _LONGEST_VALUE), named=True),
        "capacity": _by_domain(_Declared(type_named("Quantity"), 0), named=False),
    }
    if shared:
        fields["allowMultipleAllocations"] = _Declared(BOOL, 1)
    return _Declared(Type("object", "kubernetes.DRADevice"), 0, fields=fields)


@lru_cache(maxsize=256)
def _fault(source: str, version: str, shared: bool) -> str | None:
    """The fault of an expression; empty if it only costs too much, None if nothing is."""
    device = _device(shared)
    try:
        program = _program(source, version, shared)
    except InstantiationError as error:
        return f"program instantiation failed: {error}"
    except CompileError as error:
        return f"compilation failed: {error}"
    if program.type not in (BOOL, _ANY):
        return f"must evaluate to bool or the unknown type, not {program.type}"
    return "" if program.estimate(device)[1] > MOST_COST else None


@lru_cache(maxsize=256)
def _program(source: str, version: str, shared: bool) -> Program:
    return Environment({"device": _device(shared)}, version=version, bindings=True).compile(source)


def device_program(source: str) -> Program:
    """The program of a stored expression, whose variable is ``device``. Raises CompileError."""
    return _program(source, own_version(), applies("devices-of-several-claims"))


def validate_expression(path: str, source: str, *, stored: bool) -> Iterator[FieldError]:
    """The error of an expression; ``stored`` tells whether it was there before."""
    version = own_version() if stored else written_version()
    fault = _fault(source, version, applies("devices-of-several-claims"))
    if fault:
        yield invalid_value(path, source, fault)
    elif fault is not None:
        yield forbidden_field(path, "too complex, exceeds cost limit")
