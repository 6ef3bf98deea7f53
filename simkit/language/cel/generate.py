"""Python source from a checked expression.

Three variants are made of one expression, each when it is first needed. The *fast* one goes straight to Python's
operations, lets Python's own exceptions fly and absorbs nothing. The *counted* one also adds up the cost. Whenever
one of them fails, the *careful* one runs: it looks at every value's kind, words every error as cel-go does
and absorbs errors in ``&&``, ``||``, ``all`` and ``exists``. So the common case pays nothing for the rare one.

Values stay the JSON they are, as long as an expression only walks through them; a declared date or set becomes a
value where something else is done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from simkit.language.cel import branches, inlined_calls, runtime_cost
from simkit.language.cel.branches import Code
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.declarations import Function, Overload
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.lib_strings import PatternError, tester
from simkit.language.cel.names import Local, Variables
from simkit.language.cel.runtime import GLOBALS, called
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
from simkit.language.cel.types import Type
from simkit.language.cel.values import CelType, UInt

_LONG: Final = 600
_MANY_BRACKETS: Final = 80
_DEEPEST: Final = 90
_MANY_BLOCKS: Final = 12
"""The most nested blocks in one function, of the 20 that CPython allows; deeper ones move to a function of their
own."""


def _unwieldy(text: str) -> bool:
    """True if an expression must be split, since Python limits the depth of brackets."""
    return len(text) > _LONG or (len(text) > _MANY_BRACKETS and text.count("(") + text.count("[") > _MANY_BRACKETS)


class _NeedsStatements(Exception):
    """A part that must be one Python expression needs statements."""


def _is_empty_list(node: Node) -> bool:
    return isinstance(node, ListNode) and not node.elements


_HEAD: Final = 3
"""The lines before the first statement of a careful variant."""


class Generator:
    """Writes one variant of one expression, construct by construct.

    The order of evaluation is kept: statements are appended where ``line`` is called, and a text that is given back is
    evaluated after them. ``fast`` lets errors be Python's own exceptions, ``counting`` adds up costs, ``strict``
    charges library functions for the sizes of their arguments, ``tracing`` records the value of every part, and
    ``marked`` tells lists and maps that the expression makes from those of objects.
    """

    def __init__(
        self,
        variables: Variables,
        functions: Mapping[str, Function],
        *,
        fast: bool,
        counting: bool,
        strict: bool = True,
        tracing: bool = False,
        marked: bool = False,
    ) -> None:
        self.variables, self.functions = variables, functions
        self.fast, self.counting, self.strict, self.tracing, self.marked = fast, counting, strict, tracing, marked
        self.globals: dict[str, Any] = dict(GLOBALS)
        self.traced: list[tuple[int, Node]] = []
        """The parts whose values are recorded, with the lines of ``source`` that compute them."""
        self._lines: list[str] = []
        self._indent = 2
        self._blocks = 0
        self._count = 0
        self._pending = 0
        self._in_expression = False
        self._names: dict[str, str] = {}
        self.locals: dict[int, str] = {}
        """Python names of loop variables, by the identity of their declaration."""
        self.declared: dict[int, DeclType | None] = {}
        """Declared types of loop variables whose values are still JSON."""
        self._patterns: dict[int, str] = {}

    def source(self, node: Node) -> str:
        """The text of a function ``evaluate(B, limit, R)`` that gives the value and the cost."""
        result = self.value(node)
        self.flush()
        if self.counting:
            self.line("if cost > limit: raise BudgetExceeded()")
        head = "def evaluate(B, limit, R):"
        loads = [f"  {local} = B[{name!r}]" for name, local in self._names.items()]
        if self.fast:
            return "\n".join([head, *loads, "  cost = 0", *self._lines, f"  return {result}, cost"])
        failed = [" except FAILURES as failure:", "  raise failed(failure, cost) from None"]
        return "\n".join([head, " cost = 0", " try:", *self._lines, f"  return {result}, cost", *failed])

    # -- writing ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Append a statement."""
        if self._in_expression:
            raise _NeedsStatements
        self._lines.append(" " * self._indent + text)

    @contextmanager
    def indented(self, *, blocks: int = 0) -> Iterator[None]:
        """An indented block; costs that are added inside stay inside."""
        if self._indent > _DEEPEST:
            raise EvaluationError("the expression is nested too deeply")
        self._indent += 1
        self._blocks += blocks
        length = len(self._lines)
        yield
        self.flush()
        if len(self._lines) == length:
            self.line("pass")
        self._indent -= 1
        self._blocks -= blocks

    def fresh(self) -> str:
        """An unused Python name."""
        self._count += 1
        return f"t{self._count}"

    def kept(self, text: str) -> str:
        """A Python name that holds the value of an expression."""
        if text.isidentifier():
            return text
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: Any) -> str:
        """A Python name that holds a constant."""
        name = f"K{len(self.globals)}"
        self.globals[name] = value
        return name

    def spend(self, amount: int) -> None:
        """Add to the cost; the careful variant writes it at once, since the next part may fail."""
        self._pending += amount
        if not self.fast:
            self.flush()

    def flush(self) -> None:
        """Write the statement for the cost added so far."""
        if self.counting and self._pending:
            self.line(f"cost += {self._pending}")
        self._pending = 0

    def checkpoint(self) -> None:
        """Write a comparison of the cost with the limit."""
        self.flush()
        if self.counting:
            self.line("if cost > limit: raise BudgetExceeded()")

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> str:
        """A Python expression for the node's value; the statements that it needs are written first."""
        text, declared = self.code(node)
        if declared is not None and declared.adapt is not None:
            text = f"{self.constant(declared.adapt)}({text})"
        if self.tracing and not isinstance(node, Literal):
            text = self._trace(node, text)
        return self.kept(text) if _unwieldy(text) or not (self.fast or isinstance(node, Literal)) else text

    def _trace(self, node: Node, text: str) -> str:
        name = self.kept(text)
        end = len(self._lines) + _HEAD
        self.flush()
        self.line(f"R.append(({len(self.traced)}, {name}, cost))")
        self.traced.append((end, node))
        return name

    def truth(self, node: Node) -> str:
        """A Python expression for a node that must be a bool."""
        text = self.value(node)
        return text if node.type.kind == "bool" and self.fast else f"truth({text})"

    def code(self, node: Node) -> Code:
        """A Python expression for the node, perhaps still JSON of a declared type."""
        if self._blocks >= _MANY_BLOCKS and isinstance(node, Call | Comprehension):
            return self._apart(node)
        found: Code = _WRITERS[type(node)](self, node)
        return Code(self.kept(found.text), found.declared) if _unwieldy(found.text) else found

    def _apart(self, node: Node) -> Code:
        """The node in a function of its own, so that blocks can nest further."""
        self.flush()
        name, blocks = self.fresh(), self._blocks
        self.line(f"def {name}():")
        self._blocks = 0
        with self.indented():
            if self.counting:
                self.line("nonlocal cost")
            found = _WRITERS[type(node)](self, node)
            self.flush()
            self.line(f"return {found.text}")
        self._blocks = blocks
        return Code(self.kept(f"{name}()"), found.declared)

    def _literal(self, node: Literal) -> Code:
        value = node.value
        plain = value is None or type(value) in (bool, int, str, bytes) or (type(value) is float and value == value)
        return Code(repr(value) if plain and type(value) is not UInt else self.constant(value))

    def _ident(self, node: Node) -> Code:
        reference = node.reference
        if isinstance(reference, Local):
            self.spend(1)
            return Code(self.locals[id(reference)], self.declared.get(id(reference)))
        if isinstance(reference, CelType):
            return Code(self.constant(runtime_cost.denoted(reference)))
        if reference is None:
            name = getattr(node, "name", None) or getattr(node, "field", "")
            return Code(f"unresolved({name!r})")
        self.spend(1)
        found = self.variables[reference]
        declared = found if isinstance(found, DeclType) else None
        if not self.fast:
            return Code(self.kept(f"variable(B, {reference!r})"), declared)
        return Code(self._names.setdefault(reference, f"v{len(self._names)}"), declared)

    def _select(self, node: Select) -> Code:
        if node.reference is not None:
            return self._ident(node)
        text, declared = self.code(node.operand)
        self.spend(runtime_cost.selection(node))
        if declared is None or declared.type.kind not in ("map", "object"):
            return Code(self._plain_select(text, node))
        if declared.type.kind == "map":
            return self._entry(text, declared.element, node.field, node.field, test=node.test)
        name, inner = declared.fields[node.field]
        return self._entry(text, inner, name, node.field, test=node.test)

    def _entry(self, text: str, inner: DeclType | None, name: str, spelled: str, *, test: bool) -> Code:
        """The code for a field of declared JSON."""
        if test:
            # A null in declared JSON counts as absent.
            return Code(f"({text}.get({name!r}) is not None)" if self.fast else f"holds({text}, {name!r})")
        if self.fast:
            return Code(f"{text}[{name!r}]", inner)
        return Code(self.kept(f"field({text}, {name!r}, {spelled!r})"), inner)

    def _plain_select(self, text: str, node: Select) -> str:
        if node.test:
            if not self.fast:
                return f"present({text}, {node.field!r})"
            name = self.fresh()
            return f"({node.field!r} in {name} if type({name} := {text}) is dict else present({name}, {node.field!r}))"
        if self.fast and node.operand.type.kind in ("map", "dyn", "object"):
            return f"{text}[{node.field!r}]"
        return f"select({text}, {node.field!r})"

    def _list(self, node: ListNode) -> Code:
        if not runtime_cost.is_constant(node):
            self.spend(10)
        parts = [
            f"*listed({self.value(each)})" if at in node.optional else self.value(each)
            for at, each in enumerate(node.elements)
        ]
        text = f"[{', '.join(parts)}]"
        return Code(f"LiteralList({text})" if self.marked else text)

    def _map(self, node: MapNode) -> Code:
        if not runtime_cost.is_constant(node):
            self.spend(30)
        parts = []
        for entry in node.entries:
            key, value = self.value(entry.key), self.value(entry.value)
            parts.append(f"*paired({key}, {value})" if entry.optional else f"({key}, {value})")
        text = f"mapping_of([{', '.join(parts)}])"
        return Code(f"LiteralMap({text})" if self.marked else text)

    def _struct(self, node: StructNode) -> Code:
        if not isinstance(node.reference, CelType):
            return Code(f"unresolved({node.name!r})")
        parts = []
        for entry in node.entries:
            value = self.value(entry.value)
            parts.append(f"*paired({entry.key!r}, {value})" if entry.optional else f"({entry.key!r}, {value})")
        self.spend(40)
        return Code(f"made_message({node.reference.name!r}, [{', '.join(parts)}])")

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Code:
        if node.function in ("_&&_", "_||_"):
            return branches.logical(self, node)
        if node.function == "_?_:_":
            return branches.conditional(self, node)
        if node.function in ("_[_]", "_[?_]", "_?._"):
            return self._index(node)
        if branches.is_alternative(node):
            return branches.alternative(self, node)
        if node.function == "@in" and _is_empty_list(node.arguments[1]):
            return Code("False")  # cel-go finds this out before it runs, and evaluates nothing
        arguments = node.arguments if node.target is None else [node.target, *node.arguments]
        if node.function == "size" and self.fast and arguments[0].type.kind in ("list", "map", "string", "dyn"):
            self.spend(1)
            text, kind = self.code(arguments[0]).text, arguments[0].type.kind
            return Code(f"len({text})" if kind != "dyn" else inlined_calls.dynamic_size(self, text))
        texts = [self.value(each) for each in arguments]
        if self.counting:
            texts = runtime_cost.charge(self, node, arguments, texts)
        return Code(self.applied(node, arguments, texts))

    def applied(self, node: Call, arguments: list[Node], texts: list[str]) -> str:
        """A Python expression for a call whose arguments are written already."""
        form = inlined_calls.form(self, node, arguments, texts) if self.fast else None
        if form is not None:
            return form
        if node.function in inlined_calls.GENERIC and node.target is None:
            return f"{inlined_calls.GENERIC[node.function]}({', '.join(texts)})"
        function = self.functions.get(node.function)
        if function is None:
            return f"unbound({node.function!r})"
        member = node.target is not None
        overloads: tuple[Overload, ...] = node.reference or ()
        if len(overloads) == 1 and all(map(_certain, overloads[0].arguments, arguments)):
            run = self.constant(overloads[0].run)
            return f"{run}({', '.join(texts)})" if self.fast else f"called({', '.join([run, *texts])})"
        run = self.constant(function.dispatch)
        return f"called({', '.join([run, str(member), *texts])})"

    def dispatcher(self, node: Call) -> str:
        """The name of a function that picks the overload of a call by its arguments."""
        dispatch, member = self.functions[node.function].dispatch, node.target is not None
        return self.constant(lambda *arguments: called(dispatch, member, *arguments))

    def pattern(self, node: Node) -> str | None:
        """The name of the matcher of a constant pattern."""
        if not isinstance(node, Literal) or not isinstance(node.value, str):
            return None
        try:
            return self.constant(tester(node.value))
        except PatternError:
            return None

    def _index(self, node: Call) -> Code:
        operand, key = node.arguments
        text, declared = self.code(operand)
        index = self.value(key)
        self.spend(runtime_cost.indexing(node))
        if node.function != "_[_]":
            if declared is not None and declared.type.kind == "object" and isinstance(key, Literal):
                name, inner = declared.fields[key.value]
                adapt = self.constant(inner.adapt) if inner.adapt is not None else "None"
                return Code(f"optional_field({text}, {name!r}, {adapt})")
            adapted = declared.adapt if declared is not None else None
            return Code(f"optional_index({text if adapted is None else f'{self.constant(adapted)}({text})'}, {index})")
        element = declared.element if declared is not None else None
        if not self.fast:
            return Code(self.kept(f"index({text}, {index})"), element)
        return Code(inlined_calls.indexed(self, operand, key, text, index), element)

    def as_expression(self, write: Callable[[], str]) -> str | None:
        """The result of the writer, unless it needs statements."""
        if self._in_expression:
            return write()
        self._in_expression = True
        try:
            text = write()
        except _NeedsStatements:
            return None
        finally:
            self._in_expression = False
        return None if _unwieldy(text) else text


def _certain(wanted: Type, argument: Node) -> bool:
    """True if the checked type guarantees that the argument fits."""
    return wanted.kind in ("param", "dyn") or argument.type.kind != "dyn"


_WRITERS: Final[dict[type, Any]] = {
    Literal: Generator._literal,
    Ident: Generator._ident,
    Select: Generator._select,
    Call: Generator._call,
    ListNode: Generator._list,
    MapNode: Generator._map,
    StructNode: Generator._struct,
    Comprehension: branches.comprehension,
    Bind: branches.bind,
}
