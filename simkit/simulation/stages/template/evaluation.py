"""Execution of templates on plain data.

Upstream: Go, src/text/template/exec.go, release 1.22: a field of what is absent is absent too, a field of null is an
error, and both are written as ``<no value>``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from simkit.meta.go_fmt import format_value
from simkit.simulation.stages.template.syntax import (
    Branch,
    Call,
    Command,
    Jump,
    Node,
    Operand,
    Pipeline,
    Template,
    TemplateError,
    Text,
    Write,
    parse,
)

Functions = Mapping[str, Callable[..., Any]]
_NO_VALUE: Final = "<no value>"
_LONGEST: Final = 4 * 1024 * 1024
"""The most letters that a template may write."""
_DEEPEST: Final = 100
_MOST_TURNS: Final = 100_000
"""The most turns of all ranges of one execution."""


class _Absent:
    """The value of a field that is not there."""

    def __repr__(self) -> str:
        return _NO_VALUE


_ABSENT: Final = _Absent()
parsed: Final = lru_cache(maxsize=512)(parse)
"""The trees of templates, remembered."""


class _Jump(Exception):
    def __init__(self, word: str) -> None:
        self.word = word


def render(text: str, data: Any, functions: Functions) -> str:
    """The text that a template makes of some data.

    Parameters
    ----------
    functions
        What it may call, besides ``and`` and ``or``.

    Raises
    ------
    TemplateError
        For a template that is wrong, or that does not fit the data.

    Examples
    --------
    >>> render("{{ range $i, $each := .names }}{{ if $i }}, {{ end }}{{ $each }}{{ end }}", {"names": ["a", "b"]}, {})
    'a, b'
    """
    template = parsed(text.strip())
    return _Execution(template, functions).run(data)


def truth(value: Any) -> bool:
    """True for what is not empty: Go's templates take 0, "", empty lists and maps, and nothing for false."""
    return False if isinstance(value, _Absent) else bool(value)


class _Execution:
    """One execution of a template."""

    def __init__(self, template: Template, functions: Functions) -> None:
        self._template, self._functions = template, functions
        self._out: list[str] = []
        self._length = self._depth = self._turns = 0
        self._variables: list[tuple[str, Any]] = []

    def run(self, data: Any) -> str:
        self._variables = [("$", data)]
        self._nodes(self._template.nodes, data)
        return "".join(self._out)

    def _nodes(self, nodes: Sequence[Node], dot: Any) -> None:
        for node in nodes:
            if isinstance(node, Text):
                self._write(node.text)
            elif isinstance(node, Write):
                value = self._pipeline(node.pipeline, dot)
                if not node.pipeline.variables:
                    self._write(shown(value))
            elif isinstance(node, Branch):
                self._branch(node, dot)
            elif isinstance(node, Call):
                self._call(node, dot)
            elif isinstance(node, Jump):
                raise _Jump(node.word)

    def _write(self, text: str) -> None:
        self._length += len(text)
        if self._length > _LONGEST:
            raise TemplateError(f"a template wrote more than {_LONGEST:,} letters")
        self._out.append(text)

    def _branch(self, node: Branch, dot: Any) -> None:
        mark = len(self._variables)
        if node.kind == "range":
            self._range(node, dot)
        else:
            value = self._pipeline(node.pipeline, dot)
            if truth(value):
                self._nodes(node.then, value if node.kind == "with" else dot)
            else:
                self._nodes(node.otherwise, dot)
        del self._variables[mark:]

    def _range(self, node: Branch, dot: Any) -> None:
        names, declares = node.pipeline.variables, node.pipeline.declares
        value = self._pipeline(Pipeline(node.pipeline.commands), dot)
        pairs = _pairs(value)
        if not pairs:
            self._nodes(node.otherwise, dot)
        for key, each in pairs:
            self._turns += 1
            if self._turns > _MOST_TURNS:
                raise TemplateError(f"ranges of more than {_MOST_TURNS:,} turns")
            mark = len(self._variables)
            values = (each,) if len(names) == 1 else (key, each)
            for name, bound in zip(names, values):
                self._set(name, bound, declares=declares)
            try:
                self._nodes(node.then, each)
            except _Jump as jump:
                if jump.word == "break":
                    break
            finally:
                del self._variables[mark:]

    def _call(self, node: Call, dot: Any) -> None:
        nodes = self._template.defined.get(node.name)
        if nodes is None:
            raise TemplateError(f"template {node.name!r} is not defined")
        value = self._pipeline(node.pipeline, dot) if node.pipeline is not None else None
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(f"templates call each other more than {_DEEPEST} levels deep")
        kept, self._variables = self._variables, [("$", value)]
        self._nodes(nodes, value)
        self._variables = kept
        self._depth -= 1

    def _set(self, name: str, value: Any, *, declares: bool) -> None:
        if declares:
            self._variables.append((name, value))
            return
        for index in range(len(self._variables) - 1, -1, -1):
            if self._variables[index][0] == name:
                self._variables[index] = (name, value)
                return
        raise TemplateError(f"undefined variable {name!r}")

    def _pipeline(self, pipeline: Pipeline, dot: Any) -> Any:
        value: Any = None
        for number, command in enumerate(pipeline.commands):
            value = self._command(command, dot, (value,) if number else ())
        for name in pipeline.variables:
            self._set(name, value, declares=pipeline.declares)
        return value

    def _command(self, command: Command, dot: Any, piped: tuple[Any, ...]) -> Any:
        first = command[0]
        if first.kind == "function":
            return _field_of(self._function(str(first.value), command[1:], dot, piped), first.fields)
        if len(command) > 1 or piped:
            raise TemplateError(f"can't give argument to non-function {_named(first)}")
        return self._value(first, dot)

    def _function(self, name: str, operands: Sequence[Operand], dot: Any, piped: tuple[Any, ...]) -> Any:
        if name in ("and", "or"):
            return self._logical(name, operands, dot, piped)
        function = self._functions.get(name)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        given = [*(self._value(each, dot) for each in operands), *piped]
        try:
            return function(*(None if isinstance(each, _Absent) else each for each in given))
        except (TypeError, ValueError, KeyError, IndexError, ArithmeticError, AttributeError) as error:
            raise TemplateError(f"error calling {name}: {error}") from error

    def _logical(self, name: str, operands: Sequence[Operand], dot: Any, piped: tuple[Any, ...]) -> Any:
        """The first argument that decides; later ones are not evaluated."""
        if not operands and not piped:
            raise TemplateError(f"wrong number of args for {name}: want at least 1 got 0")
        value: Any = None
        for each in operands:
            value = self._value(each, dot)
            if truth(value) is (name == "or"):
                return value
        return piped[0] if piped else value

    def _value(self, operand: Operand, dot: Any) -> Any:
        if operand.kind == "literal":
            return operand.value
        if operand.kind == "dot":
            return _field_of(dot, operand.fields)
        if operand.kind == "variable":
            return _field_of(self._variable(str(operand.value)), operand.fields)
        if operand.kind == "pipeline":
            return _field_of(self._pipeline(operand.value, dot), operand.fields)
        return _field_of(self._function(str(operand.value), (), dot, ()), operand.fields)

    def _variable(self, name: str) -> Any:
        for known, value in reversed(self._variables):
            if known == name:
                return value
        raise TemplateError(f"undefined variable {name!r}")


def _named(operand: Operand) -> str:
    return ".".join(["", *operand.fields]) if operand.kind == "dot" else str(operand.value)


def _field_of(value: Any, fields: Sequence[str]) -> Any:
    for name in fields:
        if isinstance(value, _Absent):
            return value
        if value is None:
            raise TemplateError(f"nil pointer evaluating interface {{}}.{name}")
        if not isinstance(value, Mapping):
            raise TemplateError(f"can't evaluate field {name} in {shown(value)[:40]!r}")
        value = value.get(name, _ABSENT)
    return value


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    if value is None or isinstance(value, _Absent):
        return []
    if isinstance(value, Mapping):
        return sorted(value.items())
    if isinstance(value, int) and not isinstance(value, bool):
        return [(number, number) for number in range(min(value, _MOST_TURNS + 1))]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(enumerate(value))
    raise TemplateError(f"range can't iterate over {shown(value)[:40]}")


def shown(value: Any) -> str:
    """A value as a template writes it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, _Absent):
        return _NO_VALUE
    return format_value(value)
