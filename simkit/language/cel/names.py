"""The names in an expression: variables, types, and the variables of macros, resolved inside a container.

cel-spec, doc/langdef.md, "Name Resolution"; cel-go 0.17, checker/env.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.tree import Node
from simkit.language.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of_type,
)
from simkit.language.cel.values import CelType

TYPE_CONSTANTS: Final[Mapping[str, Type]] = {
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "null_type": NULL,
    "type": TYPE,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "optional_type": optional_of(DYN),
}
"""Names of types that are constants."""

Variables = Mapping[str, Type | DeclType]
"""The variables of an environment with their types."""
Messages = Callable[[str], Type | None]
"""A function from a name to the type of messages of that name, if there is one."""


class Local:
    """A variable that a macro of the expression introduces."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: Type) -> None:
        self.name, self.type = name, type


class Names:
    """Resolves the names in one expression.

    Parameters
    ----------
    types
        The types of libraries, by name.
    container
        The prefix that names may leave out, with dots.
    lenient
        Whether variables are only resolved, and not typed.
    messages
        The types of messages; without it there are none.
    """

    def __init__(
        self,
        variables: Variables,
        types: Mapping[str, Type],
        *,
        container: str,
        lenient: bool,
        messages: Messages | None = None,
    ) -> None:
        self._messages = messages
        self._variables, self._types, self.container, self._lenient = variables, types, container, lenient
        self.locals: list[Local] = []
        """The variables of the macros around the present node, innermost last."""

    def candidates(self, name: str) -> Sequence[str]:
        """The names that a name may mean inside the container, longest first."""
        if name.startswith("."):
            return (name[1:],)
        if not self.container:
            return (name,)
        parts = self.container.split(".")
        return [".".join([*parts[:length], name]) for length in range(len(parts), -1, -1)]

    def lookup(self, node: Node, name: str) -> Type | None:
        """The type of a name, or None; the node keeps the declaration that it refers to."""
        for local in reversed(self.locals):
            if local.name == name:
                node.reference = local
                return local.type
        for candidate in self.candidates(name):
            if candidate in self._variables:
                node.reference = candidate
                found = self._variables[candidate]
                declared = found.type if isinstance(found, DeclType) else found
                return DYN if self._lenient else declared
            constant = TYPE_CONSTANTS.get(candidate) or self._types.get(candidate)
            if constant is None and self._messages is not None:
                constant = self._messages(candidate)
            if constant is not None:
                node.reference = CelType(candidate)
                return type_of_type(constant)
        return None

    def is_local(self, name: str) -> bool:
        """True if a dotted name begins with a variable of a macro, which hides dotted names that begin as it does.

        So the language has it; the library of release 1.30 takes the dotted name, should there be one.
        """
        first = name.partition(".")[0]
        return any(local.name == first for local in self.locals)
