"""Runs programs of awk: statements and expressions, one step after the other.

References
----------
POSIX.1-2017, awk; ``systime``, ``strftime``, ``length ARRAY`` and ``nextfile`` as in busybox.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from simkit.simulation.shell.awk_arrays import arrays_of
from simkit.simulation.shell.awk_extensions import in_order
from simkit.simulation.shell.awk_input import Input
from simkit.simulation.shell.awk_output import Outputs
from simkit.simulation.shell.awk_record import Record
from simkit.simulation.shell.awk_syntax import Node, Program
from simkit.simulation.shell.awk_tokens import AwkError
from simkit.simulation.shell.awk_values import (
    Given,
    Value,
    compared,
    computed,
    formatted,
    is_true,
    matcher,
    number_of,
    text_of,
    whole_of,
)
from simkit.simulation.shell.effects import ELEMENT, Budget
from simkit.simulation.shell.machine import Effect, Machine, Run, tick

Steps = Generator[Effect, bytes, Value]
_DEEPEST: Final = 60


class _Next(Exception):
    """``next``, or ``nextfile``."""


class _Exit(Exception):
    """``exit``."""


class _Return(Exception):
    """``return``, with a value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _Loop(Exception):
    """``break`` or ``continue``."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word


_SIGNS: Final = {"<": (-1,), "<=": (-1, 0), "==": (0,), "!=": (-1, 1), ">=": (0, 1), ">": (1,)}


class Awk:
    """A program that runs.

    Parameters
    ----------
    program
        What it does.
    variables
        The values that variables have from the start.
    names
        The files to read, with assignments among them; none for the standard input.
    """

    def __init__(self, machine: Machine, program: Program, variables: Mapping[str, str], names: Sequence[str]) -> None:
        self.machine, self._program, self._arrays_of = machine, program, arrays_of(program)
        self.budget, self.outputs = Budget(), Outputs(machine)
        self.variables: dict[str, Value] = {
            "FS": " ", "OFS": " ", "ORS": "\n", "RS": "\n", "NF": 0.0, "NR": 0.0, "FNR": 0.0, "SUBSEP": "\x1c",
            "CONVFMT": "%.6g", "OFMT": "%.6g", "RSTART": 0.0, "RLENGTH": -1.0, "FILENAME": "",
            "ARGC": float(len(names) + 1),
        }  # fmt: skip
        self.arrays: dict[str, dict[str, Value]] = {
            "ENVIRON": {name: Given(text) for name, text in machine.environment.items() if name not in machine.local},
            "ARGV": {str(number): Given(each) for number, each in enumerate(["awk", *names])},
        }
        self.variables |= {name: Given(text) for name, text in variables.items()}
        self.input = Input(machine, names, self)
        self.record = Record(self.variables, self.budget)
        self._frames: list[dict[str, Any]] = []
        self._within: set[int] = set()
        """The numbers of rules with two patterns that have begun."""
        self.code = 0

    # The program

    def run(self) -> Run:
        """Run all of it. Raises AwkError, and TooMuch."""
        try:
            for block in self._program.begin:
                yield from self._do(block)
            if self._program.rules or self._program.end:
                while (record := (yield from self.input.next(self.variables))) is not None:
                    self.record.set(record)
                    yield from self._rules()
        except _Exit:
            pass
        try:
            for block in self._program.end:
                yield from self._do(block)
        except _Exit:
            pass
        yield from self.outputs.close_all()
        return self.code or self.input.code

    def _rules(self) -> Generator[Effect, bytes, None]:
        try:
            for number, rule in enumerate(self._program.rules):
                if rule.first is None or (yield from self._concerned(number, rule.first, rule.last)):
                    yield from self._do(rule.body)
        except _Next:
            return

    def _concerned(self, number: int, first: Node, last: Node | None) -> Generator[Effect, bytes, bool]:
        if last is None:
            return is_true((yield from self.value(first)))
        if number not in self._within:
            if not is_true((yield from self.value(first))):
                return False
            self._within.add(number)
        if is_true((yield from self.value(last))):
            self._within.discard(number)
        return True

    # Statements

    def _do(self, node: Node) -> Generator[Effect, bytes, None]:
        self.budget.spend(1)
        match node:
            case ("block", parts):
                for part in parts:
                    yield from self._do(part)
            case ("expression", inner):
                yield from self.value(inner)
            case ("print", words, led, target):
                values = yield from self.texts(words, text_of(self.variables["OFMT"]))
                text = text_of(self.variables["OFS"]).join(values) if words else self.record.text
                yield from self._written(text + text_of(self.variables["ORS"]), led, target)
            case ("printf", words, led, target):
                form, *given = yield from self.values(words or (("value", ""),))
                yield from self._written(formatted(text_of(form), given), led, target)
            case ("if", condition, yes, no):
                if is_true((yield from self.value(condition))):
                    yield from self._do(yes)
                elif no is not None:
                    yield from self._do(no)
            case ("while", condition, body):
                yield from self._loop(condition, None, body)
            case ("do", condition, body):
                if (yield from self._turn(body)):
                    yield from self._loop(condition, None, body)
            case ("for", first, condition, step, body):
                if first is not None:
                    yield from self._do(first)
                yield from self._loop(condition, step, body)
            case ("for in", name, array, body):
                for key in self._keys(array):
                    self._set_variable(name, Given(key))
                    if not (yield from self._turn(body)):
                        break
            case ("delete", name, None):
                self.array(name).clear()
            case ("delete", name, subscript):
                self.array(name).pop((yield from self._key(subscript)), None)
            case ("next",):
                raise _Next
            case ("nextfile",):
                self.input.skip_file()
                raise _Next
            case ("break",) | ("continue",):
                raise _Loop(node[0])
            case ("exit", inner):
                if inner is not None:
                    self.code = whole_of((yield from self.value(inner))) % 256
                raise _Exit
            case ("return", inner):
                raise _Return(None if inner is None else (yield from self.value(inner)))

    def _written(self, text: str, led: str, target: Node | None) -> Generator[Effect, bytes, None]:
        self.budget.spend(len(text))
        name = "" if target is None else text_of((yield from self.value(target)))
        yield from self.outputs.write(text.encode(), led, name)

    def _loop(self, condition: Node | None, step: Node | None, body: Node) -> Generator[Effect, bytes, None]:
        while condition is None or is_true((yield from self.value(condition))):
            if not (yield from self._turn(body)):
                return
            if step is not None:
                yield from self._do(step)

    def _turn(self, body: Node) -> Generator[Effect, bytes, bool]:
        """One turn of a loop: whether others may follow."""
        yield from tick(self.machine)
        try:
            yield from self._do(body)
        except _Loop as loop:
            return loop.word == "continue"
        return True

    # Variables

    def array(self, name: str) -> dict[str, Value]:
        """The array of a name, which is made where there is none."""
        if self._frames and name in self._frames[-1]:
            frame = self._frames[-1]
            if frame[name] is None:
                frame[name] = {}
            if not isinstance(frame[name], dict):
                raise AwkError(f"{name} is not an array")
            found: dict[str, Value] = frame[name]
            return found
        return self.arrays.setdefault(name, {})

    def _keys(self, name: str) -> list[str]:
        """The subscripts of an array, in the order that ``PROCINFO["sorted_in"]`` tells."""
        found = self.array(name)
        how = self.arrays["PROCINFO"].get("sorted_in") if "PROCINFO" in self.arrays else None
        return list(found) if how is None else [key for key, _ in in_order(list(found.items()), text_of(how))]

    def _variable(self, name: str) -> Value:
        if self._frames and name in self._frames[-1]:
            found = self._frames[-1][name]
            return None if isinstance(found, dict) else found
        if name == "NF":
            self.record.fields()
        return self.variables.get(name)

    def _set_variable(self, name: str, value: Value) -> None:
        if self._frames and name in self._frames[-1]:
            self._frames[-1][name] = value
            return
        if name == "NF":
            self.record.set_count(whole_of(value))
            return
        self.variables[name] = value

    def _key(self, subscript: Sequence[Node]) -> Generator[Effect, bytes, str]:
        parts = yield from self.texts(subscript, text_of(self.variables["CONVFMT"]))
        return text_of(self.variables["SUBSEP"]).join(parts)

    def _put(self, name: str, key: str, value: Value) -> None:
        """Set an element of an array. Raises TooMuch."""
        array = self.array(name)
        if key not in array:
            self.budget.spend(len(key) + ELEMENT)
        array[key] = value

    def assign(self, place: Node, value: Value) -> Generator[Effect, bytes, None]:
        """Set a variable, an element of an array, or a field."""
        match place:
            case ("name", name):
                self._set_variable(name, value)
            case ("item", name, subscript):
                self._put(name, (yield from self._key(subscript)), value)
            case ("field", inner):
                self.record.set_field(whole_of((yield from self.value(inner))), text_of(value))
            case ("group", inner):
                yield from self.assign(inner, value)
            case _:
                raise AwkError("assignment to something that is no variable")

    # Expressions

    def value(self, node: Node) -> Steps:
        """The value of an expression."""
        self.budget.spend(1)
        match node:
            case ("value", known):
                return known  # type: ignore[no-any-return]
            case ("name", name):
                return self._variable(name)
            case ("field", inner):
                return self.record.field(whole_of((yield from self.value(inner))))
            case ("item", name, subscript):
                key = yield from self._key(subscript)
                array = self.array(name)
                if key not in array:
                    self._put(name, key, None)
                return array[key]
            case ("group", inner):
                return (yield from self.value(inner))
            case ("ere", text):
                return float(matcher(text).search(self.record.text) is not None)
            case ("join", left, right):
                form = text_of(self.variables["CONVFMT"])
                text = text_of((yield from self.value(left)), form) + text_of((yield from self.value(right)), form)
                self.budget.spend(len(text))
                return text
            case ("number", sign, left, right):
                first = number_of((yield from self.value(left)))
                return computed(sign, first, number_of((yield from self.value(right))))
            case ("compare", sign, left, right):
                first_value = yield from self.value(left)
                return float(compared(first_value, (yield from self.value(right))) in _SIGNS[sign])
            case ("assign", place, sign, inner):
                found = yield from self.value(inner)
                if sign:
                    before = number_of((yield from self.value(place)))
                    found = computed(sign, before, number_of(found))
                yield from self.assign(place, found)
                return found
            case ("step", sign, first_of, place):
                before = number_of((yield from self.value(place)))
                after = before + (1.0 if sign == "++" else -1.0)
                yield from self.assign(place, after)
                return after if first_of else before
            case ("unary", sign, inner):
                found = yield from self.value(inner)
                return float(not is_true(found)) if sign == "!" else number_of(found) * (-1.0 if sign == "-" else 1.0)
        return (yield from self._rarer(node))

    def _rarer(self, node: Node) -> Steps:
        match node:
            case ("or", left, right):
                return float(is_true((yield from self.value(left))) or is_true((yield from self.value(right))))
            case ("and", left, right):
                return float(is_true((yield from self.value(left))) and is_true((yield from self.value(right))))
            case ("choice", condition, yes, no):
                return (yield from self.value(yes if is_true((yield from self.value(condition))) else no))
            case ("in", subscript, name):
                return float((yield from self._key(subscript)) in self.array(name))
            case ("match", wanted, left, right):
                text = text_of((yield from self.value(left)))
                found = matcher((yield from self.pattern(right))).search(text)
                return float((found is not None) is wanted)
            case ("getline", source, inner, place):
                return (yield from self._getline(source, inner, place))
            case ("call", name, arguments):
                return (yield from self._call(name, arguments))
            case ("builtin", name, arguments):
                from simkit.simulation.shell.awk_functions import called  # which asks for the values of its arguments

                return (yield from called(self, name, arguments))
        raise AwkError(f"unexpected {node[0]}")

    def values(self, nodes: Sequence[Node]) -> Generator[Effect, bytes, list[Value]]:
        """The values of expressions."""
        found: list[Value] = []
        for node in nodes:
            found += ((yield from self.value(node)),)
        return found

    def texts(self, nodes: Sequence[Node], form: str) -> Generator[Effect, bytes, list[str]]:
        """The values of expressions as texts."""
        return [text_of(each, form) for each in (yield from self.values(nodes))]

    def pattern(self, node: Node) -> Generator[Effect, bytes, str]:
        """The text of a pattern: what stands between slashes, or a value."""
        return str(node[1]) if node[0] == "ere" else text_of((yield from self.value(node)))

    def _getline(self, source: str, inner: Node | None, place: Node | None) -> Steps:
        name = "" if inner is None else text_of((yield from self.value(inner)))
        if not source:
            found = yield from self.input.next(self.variables)
        else:
            found = yield from self.input.next_of(source, name, text_of(self.variables["RS"]))
            if found is None and self.input.missing:
                return -1.0
            if found is not None and source == "|":
                self.variables["NR"] = number_of(self.variables["NR"]) + 1
        if found is None:
            return 0.0
        yield from self.assign(place or ("field", ("value", 0.0)), Given(found))
        return 1.0

    def _call(self, name: str, arguments: Sequence[Node]) -> Steps:
        if name not in self._program.functions:
            raise AwkError(f"function {name} never defined")
        parameters, body = self._program.functions[name]
        if len(self._frames) >= _DEEPEST:
            raise AwkError("function calls are nested too deep")
        frame: dict[str, Any] = dict.fromkeys(parameters)
        for place, (parameter, argument) in enumerate(zip(parameters, arguments, strict=False)):
            is_array = place in self._arrays_of[name] and argument[0] == "name"
            frame[parameter] = self.array(argument[1]) if is_array else (yield from self.value(argument))
        self._frames.append(frame)
        try:
            yield from self._do(body)
        except _Return as end:
            return end.value
        finally:
            self._frames.pop()
        return None
