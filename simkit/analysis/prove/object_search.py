"""The search for an object that meets a formula: none exists, one was found, or it was not decided."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.prove.formulas import Formula, Untranslated, plain_text, z3
from simkit.analysis.prove.symbols import (
    Bounds,
    Either,
    Listed,
    Mapped,
    Record,
    Scalar,
    Universe,
)
from simkit.meta.objects import Object
from simkit.schema.structural import Schema

Build = Callable[[Universe, Record], Formula]
"""A function that makes the formula of the objects that are looked for."""
EFFORT: Final = 10_000_000
"""The solver's own count of steps after which it gives up, for one check and for a goal: the same on every machine."""
MEMORY: Final = 2000
"""The memory that the solver may take, in megabytes."""
MOST_ROUNDS: Final = 500
"""The models that are ruled out because no text passes their tests, before the search ends."""
_MOST_CONFLICTS: Final = 60
"""The preferences that are given up before all of them are."""


@dataclass(frozen=True)
class Searched:
    """The outcome of a search.

    Attributes
    ----------
    found
        The object, with those fields alone about which the formula says something; None if there is none.
    none
        True if it is proven that there is none.
    reason
        The reason for which it is not decided.
    root
        The fields that the formula speaks of.
    """

    found: Object | None = None
    none: bool = False
    reason: str = ""
    root: Record | None = field(default=None, compare=False)


class ObjectSearch:
    """A question about the objects of a schema.

    Parameters
    ----------
    schema
        The schema of the kind.
    build
        Makes the formula.
    """

    def __init__(self, schema: Schema, build: Build) -> None:
        self._facts: list[Formula] = []
        self._links: list[Formula] = []
        self.problem = ""
        """The reason for which there is no formula; empty if there is."""
        self._last: _Model | None = None
        self._before = 0
        """The solver's steps before the search for a small object."""
        try:
            bounds = Bounds()
            universe = Universe(bounds)
            build(universe, Record(universe, schema, ""))
            self._bounds = Bounds(bounds.uses, counting=False)
            self._universe = Universe(self._bounds)
            self._root = Record(self._universe, schema, "")
            self._formula = build(self._universe, self._root)
        except Untranslated as part:
            self.problem = f"There is no formula for {part}."

    def run(self) -> Searched:
        """Search for an object that meets the formula; objects that servers are likely to take are preferred."""
        if self.problem:
            return Searched(reason=self.problem)
        engine = z3.Solver()
        engine.set("random_seed", 0)
        engine.set("rlimit", EFFORT)
        engine.set("max_memory", MEMORY)
        universe = self._universe
        told = (*universe.known, self._formula, *self._facts)
        preferred = (*universe.likely, *universe.usual)
        self._links += universe.texts.links((*told, *preferred))
        engine.add(*self._links, *universe.texts.constants(), *told)
        texts: Mapping[str, str] = {}
        answer = engine.check()
        self._before = int(engine.statistics().get_key_value("rlimit count"))
        if answer == z3.sat:
            answer, texts = self._preferred(engine, preferred)
        if answer == z3.sat:
            self._last = self._smallest(engine, texts)
            return Searched(_json(self._root, self._last), root=self._root)
        if answer == z3.unknown:
            return Searched(reason="The solver gave up within its limit of steps.")
        if self._facts:
            return Searched(reason="The server changes or refuses each object that was found.")
        if self._bounds.reasons:
            return Searched(reason=f"No such object was found, but {'; '.join(self._bounds.reasons)}.")
        return Searched(none=True)

    def _preferred(self, engine: Any, preferred: Sequence[Formula]) -> tuple[Any, Mapping[str, str]]:
        """The answer with as many preferences as go together; of those that exclude each other, the first count."""
        marks = [z3.Bool(f"preference {number}") for number in range(len(preferred))]
        engine.push()
        engine.add(*(z3.Implies(mark, formula) for mark, formula in zip(marks, preferred)))
        kept, numbers = marks, {mark.get_id(): number for number, mark in enumerate(marks)}
        for _ in range(_MOST_CONFLICTS):
            answer, texts = self._checked(engine, kept)
            if answer == z3.sat:
                engine.add(*kept)
                return answer, texts
            core = [mark for mark in engine.unsat_core() if mark.get_id() in numbers] if answer == z3.unsat else []
            if not core:
                break
            last = max(core, key=lambda mark: numbers[mark.get_id()])
            kept = [mark for mark in kept if not mark.eq(last)]
        engine.pop()
        return (answer, {}) if answer == z3.unsat and not core else self._checked(engine)

    def _steps(self, engine: Any) -> int:
        """The solver's steps since the first answer."""
        return int(engine.statistics().get_key_value("rlimit count")) - self._before

    def _smallest(self, engine: Any, texts: Mapping[str, str]) -> _Model:
        """The model without what can be left out, one field after the other."""
        found = _Model(engine.model(), texts)
        for flag in self._universe.flags:
            if found.holds(flag):
                engine.push()
                engine.add(z3.Not(flag))
                answer, fewer = self._checked(engine)
                if answer == z3.sat:
                    found = _Model(engine.model(), fewer)
                else:
                    engine.pop()
        return found

    def _checked(self, engine: Any, assumed: Sequence[Formula] = ()) -> tuple[Any, Mapping[str, str]]:
        """The solver's answer, with the texts of a model; models for which there are no texts are ruled out."""
        for _ in range(MOST_ROUNDS):
            answer = engine.check(*assumed)
            if answer != z3.sat or self._steps(engine) > EFFORT:
                return (z3.unknown if answer == z3.sat else answer), {}
            texts, lemmas = self._universe.texts.texts(engine.model())
            if lemmas and self._universe.texts.undecided:
                return z3.unknown, {}
            if not lemmas:
                return answer, texts
            engine.add(*lemmas)
        return z3.unknown, {}

    def learn(self, stored: Object) -> bool:
        """Look for objects that are as the server made the one that was found; False if nothing is to be learned."""
        return self._take(_as_stored(self._object, stored, self._universe))

    @property
    def _object(self) -> Any:
        return self._root.fields["object"][1]

    def repair(self, faults: Iterable[tuple[str, str]]) -> bool:
        """Look for objects without faults that a server finds in fields, ``spec.containers[0].image``.

        Parameters
        ----------
        faults
            The fields, each with the reason: ``FieldValueRequired`` and others.

        Returns
        -------
        bool
            False if the formula speaks of none of them.
        """
        found = (self._mended(re.findall(r"[^.\[\]]+", path), reason) for path, reason in faults)
        return self._take([formula for formula in found if formula is not None])

    def _mended(self, path: Sequence[str], reason: str) -> Formula | None:
        """The formula of objects that a fault of a field is not true of; None where the claim does not speak of it."""
        place = _place(self._object, path)
        if place is None or self._last is None:
            return None
        present, value = place
        if reason == "FieldValueRequired":
            return z3.And(present, self._universe.nonzero(value))
        options = value.options if isinstance(value, Either) else ((z3.BoolVal(True), value),)
        others = [z3.And(guard, z3.Not(self._is_last(one))) for guard, one in options if isinstance(one, Scalar)]
        return z3.Or([z3.Not(present), *([] if reason == "FieldValueForbidden" else others)])

    def _is_last(self, value: Scalar) -> Formula:
        """The formula that a scalar is what it was in the last object."""
        assert self._last is not None
        plain = self._last.scalar(value)
        return self._universe.is_text(value.term, plain) if isinstance(plain, str) else value.term == plain

    def _take(self, facts: Sequence[Formula]) -> bool:
        self._facts += facts
        return bool(facts)


class _Model:
    """A model of the solver, with the texts that were found apart from it."""

    def __init__(self, model: Any, texts: Mapping[str, str]) -> None:
        self._model, self._texts = model, texts

    def value(self, term: Formula) -> Any:
        """The constant that a term is."""
        return self._model.eval(term, model_completion=True)

    def holds(self, formula: Formula) -> bool:
        """True if a formula holds."""
        return str(self.value(formula)) == "True"

    def text(self, term: Formula) -> str:
        """The text that a term is."""
        found = self._texts.get(term.decl().name())
        return plain_text(self.value(term)) if found is None else found

    def scalar(self, value: Scalar) -> bool | int | float | str:
        """The plain value of a scalar."""
        if value.kind == "bool":
            return self.holds(value.term)
        if value.kind == "string":
            return self.text(value.term)
        found = self.value(value.term)
        return int(found.as_long()) if value.kind == "int" else float(found.as_fraction())


def _json(value: Any, model: _Model) -> Any:
    """The value in a model, as JSON."""
    if isinstance(value, Scalar):
        return model.scalar(value)
    if isinstance(value, Either):
        return next(_json(option, model) for guard, option in value.options if model.holds(guard))
    if isinstance(value, Record):
        fields = value.fields.items()
        return {name: _json(inner, model) for name, (present, inner) in fields if model.holds(present)}
    if isinstance(value, Listed):
        return [_json(slot.value, model) for slot in value.slots if model.holds(slot.present)]
    if isinstance(value, Mapped):
        slots = (slot for slot in value.slots if model.holds(slot.present))
        return {model.text(slot.key): _json(slot.value, model) for slot in slots}
    return None


def _as_stored(value: Any, stored: Any, universe: Universe) -> list[Formula]:
    """What holds of a stored object: which of the fields that the formula speaks of it has, and its bools."""
    found: list[Formula] = []
    if isinstance(value, Record) and isinstance(stored, Mapping):
        for name, (present, inner) in value.fields.items():
            found.append(present == z3.BoolVal(name in stored))
            if name in stored:
                found += _as_stored(inner, stored[name], universe)
    elif isinstance(value, Listed) and isinstance(stored, list):
        for number, slot in enumerate(value.slots):
            found.append(slot.present == z3.BoolVal(number < len(stored)))
            if number < len(stored):
                found += _as_stored(slot.value, stored[number], universe)
    elif isinstance(value, Scalar) and isinstance(stored, bool):
        found.append(value.term == z3.BoolVal(stored))
    return found


def _place(value: Any, path: Sequence[str]) -> tuple[Formula, Any] | None:
    """Whether the field at a path is there, and its value; None where the claim's formula does not speak of it."""
    present: Formula | None = None
    for step in path:
        if isinstance(value, Record) and step in value.fields:
            present, value = value.fields[step]
        elif isinstance(value, Listed) and step.isdigit() and int(step) < len(value.slots):
            present, value = value.slots[int(step)].present, value.slots[int(step)].value
        else:
            return None
    return None if present is None else (present, value)
