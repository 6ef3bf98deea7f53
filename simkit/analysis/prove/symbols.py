"""Values that are not known: one for each shape that a schema declares, made of variables of the solver.

Objects have a field only if it is asked for. Lists and maps have a number of slots, each of which holds an element or
none. How many slots are enough is counted by ``Bounds``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.prove.formulas import Formula, Untranslated, choices, constant, pattern_of, z3
from simkit.analysis.prove.texts import TextTests
from simkit.language.cel.decl_types import escaped
from simkit.schema.structural import NO_DEFAULT, Schema

MOST_SLOTS: Final = 24
"""The slots of a list or a map. Where more would be needed, no proof is claimed."""
MOST_STEPS: Final = 60_000
"""The parts of expressions that are translated for one question, each as often as lists have slots."""
_LONGEST: Final = 1000
"""The letters up to which lengths are patterns."""
_INT: Final = (-(2**63), 2**63 - 1)
_INT32: Final = (-(2**31), 2**31 - 1)
EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "date": ("2024-01-01",),
    "date-time": ("2024-01-01T00:00:00Z", "2034-01-01T00:00:00Z"),
    "duration": ("1s", "1h", "1000h"),
    "byte": ("YQ==",),
    "quantity": ("1", "100m", "64Mi", "1Gi", "0", "500", "1Ti"),
}
"""Texts of each format that servers take as they are."""
_USUAL: Final[Mapping[str, str]] = {
    "host": "example.com",
    "path": "/a",
    "mountPath": "/a",
    "externalIPs": "10.0.0.1",
    "kind": "User",
}
"""Texts that servers take in fields of some names."""
_NAME: Final = "^[a-z0-9]+([-.][a-z0-9]+)*$"
_KEY: Final = "^([a-z0-9]+([-.][a-z0-9]+)*/)?[a-zA-Z0-9]+([-._][a-zA-Z0-9]+)*$"
"""The patterns of names and of keys of labels."""
_USUAL_MOST: Final = 30000
"""A number that servers take nearly everywhere, as a port or otherwise."""


@dataclass(frozen=True)
class Scalar:
    """A bool, an int, a double or a string."""

    kind: str
    term: Formula


@dataclass(frozen=True)
class Maybe:
    """An optional value."""

    present: Formula
    value: Any


@dataclass(frozen=True)
class Either:
    """One of several values; exactly one of the conditions holds."""

    options: tuple[tuple[Formula, Any], ...]


@dataclass(frozen=True)
class Term:
    """The value of a part of an expression, and the formula of its error; without one there is none."""

    value: Any
    error: Formula = field(default_factory=lambda: z3.BoolVal(False))


def bool_term(formula: Formula, *error: Formula) -> Term:
    """The term of a bool."""
    return Term(Scalar("bool", formula), *error)


@dataclass(frozen=True)
class Null:
    """The value null."""


@dataclass(frozen=True)
class Slot:
    """A place in a list or a map: whether it holds anything, and what; in a map under which key."""

    present: Formula
    value: Any
    key: Formula = None


@dataclass(frozen=True)
class Listed:
    """A list. Empty slots may be between others, unless it is a list of the object itself.

    ``origins`` are the paths of the lists that it is made of.
    """

    slots: Sequence[Slot]
    origins: frozenset[str] = frozenset()
    contiguous: bool = True


@dataclass(frozen=True)
class Mapped:
    """A map from strings to values."""

    slots: Sequence[Slot]
    origins: frozenset[str] = frozenset()


@dataclass
class Bounds:
    """How many elements of each list and map of an object the expressions can tell apart.

    Nothing that is said with quantifiers changes when elements are left out that no quantifier needs as its witness. So
    a list needs as many slots as there are such witnesses; ``uses`` counts them by path. ``exact`` becomes False where
    this does not hold, as where sizes are compared with each other.
    """

    uses: dict[str, int] = field(default_factory=dict)
    counting: bool = True
    """True in the first pass, in which each list has a single slot, so that each quantifier is met once."""
    reasons: list[str] = field(default_factory=list)
    """The reasons for which the slots may not be enough."""

    def need(self, origins: frozenset[str], witnesses: int = 1) -> None:
        """Count the witnesses of a quantifier over lists of these paths."""
        if self.counting:
            for path in origins:
                self.uses[path] = self.uses.get(path, 0) + witnesses

    def slots(self, path: str) -> int:
        """The slots of the list at a path."""
        if self.counting:
            return 1
        wanted = max(1, self.uses.get(path, 0))
        if wanted > MOST_SLOTS:
            self.inexact(f"{path} would need {wanted} elements, and {MOST_SLOTS} are looked at")
        return min(wanted, MOST_SLOTS)

    def inexact(self, reason: str) -> None:
        """Note that the slots may not be enough."""
        if reason not in self.reasons:
            self.reasons.append(reason)


class Record:
    """An object whose fields a schema declares. Fields are made when they are first asked for."""

    def __init__(self, universe: Universe, schema: Schema, path: str) -> None:
        self.universe, self.schema, self.path = universe, schema, path
        self.fields: dict[str, tuple[Formula, Any]] = {}

    def field(self, name: str) -> tuple[Formula, Any]:
        """Whether a field is there, and its value; the name is as JSON has it."""
        if name not in self.fields:
            node = self.schema.fields.get(name)
            if node is None and (self.schema.preserve_unknown or not self.schema.fields):
                raise Untranslated(f"{self.path}.{name}, which no schema describes")
            self.fields[name] = (z3.BoolVal(False), None) if node is None else self._made(name, node)
        return self.fields[name]

    def settled(self, name: str, value: Any = None) -> Any:
        """The value of a field that is there for certain: its own, or the one that it is given."""
        self.fields[name] = z3.BoolVal(True), self.field(name)[1] if value is None else value
        return self.fields[name][1]

    def named(self, spelled: str) -> tuple[Formula, Any]:
        """The same for the name that expressions use."""
        return self.field(self.universe.names_of(self.schema).get(spelled, spelled))

    def _made(self, name: str, node: Schema) -> tuple[Formula, Any]:
        path = f"{self.path}.{name}".lstrip(".")
        value = self.universe.value(node, path)
        if name in self.schema.required and isinstance(value, Listed):
            self.universe.likely.append(value.slots[0].present)
        go = node.row.get("go")
        always = name in self.schema.required or go in ("always", "nil") or node.default is not NO_DEFAULT
        if always:
            return z3.BoolVal(True), value
        present = self.universe.flag(path)
        if go is None and path.partition(".")[0] not in self.universe.custom:
            self.universe.require(z3.Implies(present, self.universe.nonzero(value)))
        return present, value


class Universe:
    """All variables of one question, and what is known of them.

    Parameters
    ----------
    bounds
        The numbers of slots.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.custom: set[str] = set()
        """The parts of a write that are custom resources, whose empty fields are written."""
        self.texts = TextTests()
        self.known: list[Formula] = []
        """What holds for every valid object."""
        self.likely: list[Formula] = []
        """What holds for objects that a server takes: lists that must not be empty have elements, texts letters."""
        self.usual: list[Formula] = []
        """Names that a server takes."""
        self.flags: list[Formula] = []
        """The variables that say whether something is there."""
        self._number = self._steps = 0
        self._names: dict[int, tuple[Schema, Mapping[str, str]]] = {}

    def require(self, formula: Formula) -> None:
        """Note what holds for every valid object."""
        self.known.append(formula)

    def names_of(self, schema: Schema) -> Mapping[str, str]:
        """The fields of a schema by the names that expressions use."""
        if id(schema) not in self._names:
            self._names[id(schema)] = schema, {escaped(name) or name: name for name in schema.fields}
        return self._names[id(schema)][1]

    def count_step(self) -> None:
        """Count a part of an expression that is translated. Raises Untranslated where there are too many."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Untranslated(f"so long expressions, of more than {MOST_STEPS} parts for all elements")

    def fresh(self, path: str) -> str:
        """A name that no other variable has."""
        self._number += 1
        return f"{path}#{self._number}"

    def flag(self, path: str) -> Formula:
        """A variable that says whether something is there."""
        self.flags.append(z3.Bool(self.fresh(f"{path}?")))
        return self.flags[-1]

    def is_text(self, term: Formula, text: str) -> Formula:
        """The formula that a text is this one."""
        return self.texts.test(term, f"is {text!r}", z3.Re(constant(text)))

    def is_shorter(self, term: Formula, letters: int) -> Formula:
        """The formula that a text has fewer letters than so many."""
        if letters > _LONGEST:
            return z3.Length(term) < letters
        pattern = z3.Loop(z3.AllChar(z3.ReSort(z3.StringSort())), 0, letters - 1)
        return self.texts.test(term, f"shorter than {letters}", pattern) if letters > 0 else z3.BoolVal(False)

    def is_like(self, term: Formula, pattern: str) -> Formula:
        """The formula that a part of a text matches a pattern. Raises Untranslated for some patterns."""
        known = [pattern_of(each) for each in choices(pattern)]
        return self.texts.test(term, f"matches {pattern!r}", z3.Union(*known) if len(known) > 1 else known[0])

    def value(self, node: Schema, path: str) -> Any:
        """An unknown value of a schema."""
        if node.nullable:
            null = self.flag(f"{path} is null")
            self.likely.append(z3.Not(null))
            inner = Schema({**node.row, "nullable": False}, node.definition)
            return Either(((null, Null()), (z3.Not(null), self.value(inner, path))))
        if node.int_or_string:
            number, shapes = self.flag(f"{path} is a number"), ({"type": "integer"}, {"type": "string"})
            one, other = (self.value(Schema(shape, node.definition), path) for shape in shapes)
            return Either(((number, one), (z3.Not(number), other)))
        if node.type == "string" or node.format == "quantity":
            return self._text(node, path)
        if node.type in ("boolean", "integer", "number"):
            return self._number_or_bool(node, path)
        if node.type == "array" and node.items is not None:
            return self._list(node.items, path)
        if node.type == "object" and node.values is not None:
            return self._map(node.values, path)
        if node.type == "object":
            return Record(self, node, path)
        return Opaque(f"{path}, which no schema describes")

    def _text(self, node: Schema, path: str) -> Scalar:
        term = z3.String(self.fresh(path))
        if node.enum:
            self.require(z3.Or([self.is_text(term, str(each)) for each in node.enum]))
        checks: Mapping[str, Any] = node.row.get("checks", {})
        if "minLength" in checks:
            self.require(z3.Not(self.is_shorter(term, int(checks["minLength"]))))
        if "maxLength" in checks:
            self.require(self.is_shorter(term, int(checks["maxLength"]) + 1))
        if "pattern" in checks:
            with suppress(Untranslated):
                self.require(self.is_like(term, checks["pattern"]))
        self.likely.append(z3.Not(self.is_text(term, "")))
        if node.format in EXAMPLES:
            self.usual.append(z3.Or([self.is_text(term, example) for example in EXAMPLES[node.format]]))
        self._prefer_usual(term, path)
        return Scalar("string", term)

    def _prefer_usual(self, term: Formula, path: str) -> None:
        """Prefer a text that servers take in a field."""
        name = path.removesuffix("[]").rpartition(".")[2]
        if name == "name":
            self.usual.append(self.is_text(term, f"n{self._number}"))
        if name in _USUAL:
            self.usual.append(self.is_text(term, _USUAL[name]))
        is_key = path.endswith(".key")
        pattern = pattern_of(choices(_KEY if is_key else _NAME)[0])
        self.usual.append(self.texts.test(term, f"usual {'key' if is_key else 'name'}", pattern))

    def _number_or_bool(self, node: Schema, path: str) -> Scalar:
        name = self.fresh(path)
        if node.type == "boolean":
            return Scalar("bool", z3.Bool(name))
        term = z3.Int(name) if node.type == "integer" else z3.Real(name)
        if node.type == "integer":
            least, most = _INT32 if node.format == "int32" else _INT
            self.require(z3.And(term >= least, term <= most))
            self.usual.append(z3.And(term >= 1, term <= _USUAL_MOST))
        checks: Mapping[str, Any] = node.row.get("checks", {})
        if "minimum" in checks:
            self.require(term > checks["minimum"] if checks.get("exclusiveMinimum") else term >= checks["minimum"])
        if "maximum" in checks:
            self.require(term < checks["maximum"] if checks.get("exclusiveMaximum") else term <= checks["maximum"])
        return Scalar("int" if node.type == "integer" else "double", term)

    def _list(self, items: Schema, path: str) -> Listed:
        slots: list[Slot] = []
        for number in range(self.bounds.slots(path)):
            present = self.flag(f"{path}[{number}]")
            if slots:
                self.require(z3.Implies(present, slots[-1].present))
            slots.append(Slot(present, self.value(items, f"{path}[]")))
        return Listed(tuple(slots), frozenset({path}))

    def _map(self, values: Schema, path: str) -> Mapped:
        slots: list[Slot] = []
        for number in range(self.bounds.slots(path)):
            present, key = self.flag(f"{path}[{number}]"), z3.String(self.fresh(f"{path}.key"))
            self.likely.append(z3.Not(self.is_text(key, "")))
            self._prefer_usual(key, f"{path}.key")
            for other in slots:
                self.require(z3.Implies(z3.And(present, other.present), z3.Not(self.texts.same(key, other.key))))
            slots.append(Slot(present, self.value(values, f"{path}[]"), key))
        return Mapped(tuple(slots), frozenset({path}))

    def nonzero(self, value: Any) -> Formula:
        """The formula of a value that Go writes although the field may be left out."""
        if isinstance(value, Listed | Mapped):
            return z3.Or([slot.present for slot in value.slots])
        if isinstance(value, Either):
            return z3.Or([z3.And(guard, self.nonzero(option)) for guard, option in value.options])
        if not isinstance(value, Scalar):
            return z3.BoolVal(True)
        if value.kind == "bool":
            return value.term
        return z3.Not(self.is_text(value.term, "")) if value.kind == "string" else value.term != 0


@dataclass(frozen=True)
class Opaque:
    """A value about which there are no formulas; ``what`` names it."""

    what: str
