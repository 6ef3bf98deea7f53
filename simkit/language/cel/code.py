"""A piece of generated Python, and the protocol of the generator for writers of single constructs.

Imports go one way: this module, then ``branches``, ``inlined_calls`` and ``runtime_cost``, then ``generate``, whose
Generator is the one Writer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.tree import Call, Node


class Code(NamedTuple):
    """A Python expression; ``declared`` is set if its value is still JSON of that declared type."""

    text: str
    declared: DeclType | None = None


class Writer(Protocol):
    """Writes one variant of one expression, construct by construct.

    Implementations must keep the order of evaluation: statements are appended where ``line`` is called, and a text that
    is given back is evaluated after them.
    """

    fast: bool
    """True if errors may be Python's own exceptions; the careful variant gives them their text."""
    counting: bool
    """True if costs are added up."""
    strict: bool
    """True if library functions are charged for the sizes of their arguments."""
    tracing: bool
    """True if the value of every part is recorded."""
    locals: dict[int, str]
    """Python names of loop variables, by the identity of their declaration."""
    declared: dict[int, DeclType | None]
    """Declared types of loop variables whose values are still JSON."""

    def line(self, text: str) -> None:
        """Append a statement."""
        ...

    def indented(self, *, blocks: int = 0) -> AbstractContextManager[None]:
        """Indent the statements of a block; ``blocks`` of them count against CPython's limit."""
        ...

    def fresh(self) -> str:
        """An unused Python name."""
        ...

    def kept(self, text: str) -> str:
        """A Python name for the value of an expression."""
        ...

    def constant(self, value: Any) -> str:
        """A Python name for a constant."""
        ...

    def spend(self, amount: int) -> None:
        """Add to the cost."""
        ...

    def flush(self) -> None:
        """Write the statement for the cost added so far."""
        ...

    def checkpoint(self) -> None:
        """Write a comparison of the cost with the limit."""
        ...

    def value(self, node: Node) -> str:
        """A Python expression for the node's value."""
        ...

    def truth(self, node: Node) -> str:
        """A Python expression for a node that must be a bool."""
        ...

    def code(self, node: Node) -> Code:
        """A Python expression for the node, perhaps still JSON of a declared type."""
        ...

    def applied(self, node: Call, arguments: list[Node], texts: list[str]) -> str:
        """A Python expression for a call whose arguments are written already."""
        ...

    def dispatcher(self, node: Call) -> str:
        """The Python name of a function that picks the overload by its arguments."""
        ...

    def pattern(self, node: Node) -> str | None:
        """The Python name of the matcher of a constant pattern; None if the pattern is not constant."""
        ...

    def as_expression(self, write: Callable[[], str]) -> str | None:
        """The result of ``write``; None if it needs statements."""
        ...
