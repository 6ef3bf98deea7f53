"""The search for an object that meets a formula: none exists, one was found, or it was not decided."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.analysis.prove.symbols import (
    Bounds,
    Formula,
    Listed,
    Mapped,
    Opaque,
    Record,
    Scalar,
    Universe,
    Untranslated,
    solver,
)
from simkit.analysis.prove.texts import plain_text
from simkit.meta.objects import Object
from simkit.schema.structural import Schema

Build = Callable[[Universe, Record], Formula]
"""A function that makes the formula of the objects that are looked for."""
EFFORT: Final = 20_000_000
"""The solver's own count of steps after which it gives up: the same on every machine."""
MOST_ROUNDS: Final = 500
"""The models that are ruled out because no text passes their tests, before the search ends."""


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
    """One question about the objects of a schema.

    Parameters
    ----------
    schema
        The schema of the kind.
    build
        Makes the formula.
    variable
        The name of the object, for reasons.
    built_in
        Whether the kind is one of Kubernetes itself.
    """

    def __init__(self, schema: Schema, build: Build, *, variable: str = "object", built_in: bool) -> None:
        self._schema, self._build, self._variable, self._built_in = schema, build, variable, built_in
        self._facts: list[Formula] = []
        self._problem = ""
        try:
            bounds = Bounds()
            self._formula(bounds)
            self._bounds = Bounds(bounds.uses, counting=False)
            self._universe, self._root, self._wanted = self._formula(self._bounds)
        except Untranslated as part:
            self._problem = f"There is no formula for {part}."

    def _formula(self, bounds: Bounds) -> tuple[Universe, Record, Formula]:
        universe = Universe(bounds, built_in=self._built_in)
        root = Record(universe, self._schema, self._variable)
        return universe, root, self._build(universe, root)

    def run(self) -> Searched:
        """Search; objects that servers are likely to take are preferred."""
        if self._problem:
            return Searched(reason=self._problem)
        z3 = solver()
        engine = z3.Solver()
        engine.set("random_seed", 0)
        engine.set("rlimit", EFFORT)
        universe = self._universe
        told = (*universe.known, self._wanted, *self._facts)
        engine.add(*told, *universe.texts.links((*told, *universe.likely)))
        answer: Any = z3.unknown
        for preferred in ((*universe.likely, *universe.usual), universe.likely, ()):
            engine.push()
            engine.add(*preferred)
            answer, texts = self._checked(engine)
            if answer == z3.sat:
                return Searched(_json(self._root, self._smallest(engine, texts)), root=self._root)
            engine.pop()
        if answer == z3.unknown:
            return Searched(reason="The solver gave up within its limit of steps.")
        if self._facts:
            return Searched(reason="The server changes or refuses each object that was found.")
        if self._bounds.reasons:
            return Searched(reason=f"No such object was found, but {'; '.join(self._bounds.reasons)}.")
        return Searched(none=True)

    def _smallest(self, engine: Any, texts: Mapping[str, str]) -> _Model:
        """The model without what can be left out, one field after the other."""
        z3, found = solver(), _Model(engine.model(), texts)
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

    def _checked(self, engine: Any) -> tuple[Any, Mapping[str, str]]:
        """The solver's answer, with the texts of a model; models for which there are no texts are ruled out."""
        z3 = solver()
        for _ in range(MOST_ROUNDS):
            answer = engine.check()
            if answer != z3.sat:
                return answer, {}
            texts, lemmas = self._universe.texts.texts(engine.model())
            if not lemmas or self._universe.texts.undecided:
                return (z3.unknown, {}) if lemmas else (answer, texts)
            engine.add(*lemmas)
        return z3.unknown, {}

    def learn(self, stored: Object) -> bool:
        """Look for objects that are as the server made the one that was found; False if nothing is to be learned."""
        return self._take(_as_stored(self._root, stored, self._universe))

    def require(self, fields: Iterable[str]) -> bool:
        """Look for objects that have some fields, ``spec.containers[0].image``; False if none of them is known."""
        found = (_presence(self._root, re.findall(r"[^.\[\]]+", path), self._universe) for path in fields)
        return self._take([formula for formula in found if formula is not None])

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


def _json(value: Any, model: _Model) -> Any:
    """The value in a model, as JSON."""
    if isinstance(value, Scalar):
        return _scalar(value, model)
    if isinstance(value, Record):
        fields = value.fields.items()
        return {name: _json(inner, model) for name, (present, inner) in fields if model.holds(present)}
    if isinstance(value, Listed):
        return [_json(slot.value, model) for slot in value.slots if model.holds(slot.present)]
    if isinstance(value, Mapped):
        slots = (slot for slot in value.slots if model.holds(slot.present))
        return {model.text(slot.key): _json(slot.value, model) for slot in slots}
    return value.example if isinstance(value, Opaque) else None


def _scalar(value: Scalar, model: _Model) -> bool | int | float | str:
    if value.kind == "bool":
        return model.holds(value.term)
    if value.kind == "string":
        return model.text(value.term)
    found = model.value(value.term)
    return int(found.as_long()) if value.kind == "int" else float(found.as_fraction())


def _as_stored(value: Any, stored: Any, universe: Universe) -> list[Formula]:
    """What holds of a stored object: which of the fields that the formula speaks of it has, and its bools."""
    z3 = universe.z3
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


def _presence(value: Any, path: Sequence[str], universe: Universe) -> Formula | None:
    """The formula that a field is there and not empty; None where the claim's formula does not speak of it."""
    present: Formula | None = None
    for step in path:
        if isinstance(value, Record) and step in value.fields:
            present, value = value.fields[step]
        elif isinstance(value, Listed) and step.isdigit() and int(step) < len(value.slots):
            present, value = value.slots[int(step)].present, value.slots[int(step)].value
        else:
            return None
    return None if present is None else universe.z3.And(present, universe.nonzero(value))
