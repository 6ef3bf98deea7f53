"""Proofs about custom resource definitions: whether every object that was valid is valid under a new definition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, NotReproduced, ProofAnswer
from simkit.analysis.prove.computed import Functions
from simkit.analysis.prove.formulas import Formula, Untranslated, conjunction, disjunction, negation
from simkit.analysis.prove.object_claim import ObjectCounterexample, created, faults
from simkit.analysis.prove.object_search import ObjectSearch
from simkit.analysis.prove.operators import count
from simkit.analysis.prove.symbols import Either, Listed, Mapped, Null, Record, Scalar, Term, Universe
from simkit.analysis.prove.translate import Translator
from simkit.analysis.prove.valid_object import valid_object
from simkit.analysis.prove.write import UnknownWrite, Write, schema_of, schema_of_writes
from simkit.analysis.rbac.tables import table
from simkit.language.cel.decl_types import schema_decl_type
from simkit.language.cel.environment import Environment, stored_version
from simkit.language.cel.errors import CompileError
from simkit.language.cel.types import BOOL
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request
from simkit.meta.objects import Object, at, name_of
from simkit.schema.structural import Schema
from simkit.seams.snapshot import Sandbox

COLUMNS: Final = ("case", "field", "constraint", "reason")
_DEFINITIONS: Final = f"/apis/{EXTENSIONS_GROUP}/v1/customresourcedefinitions"
_COMPARED: Final = (
    "maximum",
    "minimum",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
)
_OTHERS: Final = ("multipleOf", "not", "anyOf", "oneOf", "allOf", "uniqueItems", "exclusiveMaximum", "exclusiveMinimum")
_RULES: Final = "x-kubernetes-validations"
_MOST_ROUNDS: Final = 8
"""How often the search goes on where the old definition refuses the object."""


class Constraint(NamedTuple):
    """What a new definition asks of a field and the old one does not; ``formula`` is None where it has none."""

    field: str
    text: str
    formula: Formula | None


def still_valid(old: Object, new: Object, version: str, *, sandbox: Sandbox) -> ProofAnswer:
    """The proof that every object which an old definition takes is taken by a new one, too.

    Parameters
    ----------
    old, new
        The CustomResourceDefinitions.
    version
        The version whose schemas are compared.
    sandbox
        The cluster on forks of which the definitions are put in place and counterexamples are created.

    Returns
    -------
    ProofAnswer
        PASS, FAIL with an object that only the old definition takes, or UNKNOWN with the reason. ``to_frame()`` has one
        row per constraint that is new or changed: case (``refuses``, ``refuses nothing``, ``undecided``), field,
        constraint, reason.

    Raises
    ------
    SimkitError
        Where z3-solver is not installed, or a definition is not taken.
    NotReproduced
        Where the servers do not confirm a counterexample, which is a fault of simkit.

    Notes
    -----
    The claim is about creations. Rules that mention ``oldSelf`` are about updates, and are left out.
    """
    claim = f"Every new object of {name_of(old)} that is valid in {version}, as it is stored, stays valid"
    question = _Question(old, new, version, sandbox)
    rows, found = [], []
    for constraint, witness, reason in question.answers():
        case = "undecided" if witness is None and reason else "refuses nothing" if witness is None else "refuses"
        rows.append((case, constraint.field, constraint.text, reason))
        found += [] if witness is None else [witness]
    cases = table(rows, COLUMNS)
    undecided = [f"{row[1] or 'the object'}: {row[2]} ({row[3]})" for row in rows if row[0] == "undecided"]
    if found:
        why = f"The old definition takes an object that the new one refuses: {found[0]}."
        return ProofAnswer(claim, FAIL, f"{why} It was created on forks with each of them.", tuple(found), cases)
    if undecided:
        return ProofAnswer(claim, UNKNOWN, f"This was not decided: {'; '.join(undecided)}.", (), cases)
    told = "Each constraint that is new holds for all objects that were valid." if rows else "No constraint is new."
    return ProofAnswer(claim, PASS, told, (), cases)


def implies_definition(first: Object, second: Object, sandbox: Sandbox | None) -> ProofAnswer:
    """The proof that what one definition takes is taken by another one, in the version that both store.

    Raises
    ------
    SimkitError
        Without a sandbox, on whose forks the definitions are put in place.
    """
    if sandbox is None:
        raise SimkitError("a claim about definitions needs a cluster: simkit.Cluster().implies(...)")
    return still_valid(first, second, _stored(first), sandbox=sandbox)


def live_rules(definition: Object, sandbox: Sandbox | None) -> Iterator[tuple[str, ProofAnswer]]:
    """Each validation rule with the proof that the definition without it takes nothing more."""
    for path in _places(definition, ()):
        yield str(at(definition, *path)["rule"]), implies_definition(_without(definition, path), definition, sandbox)


def refused_by_all(definition: Object, sandbox: Sandbox | None) -> ProofAnswer:
    """The proof that a definition takes no object."""
    nothing = _edited(definition, lambda schema: {**schema, _RULES: [*schema.get(_RULES, ()), {"rule": "1 == 2"}]})
    return implies_definition(definition, nothing, sandbox)


def _stored(definition: Object) -> str:
    versions = at(definition, "spec", "versions") or ()
    return str(next((each["name"] for each in versions if each.get("storage")), ""))


def _edited(definition: Object, change: Callable[[Object], Object]) -> Object:
    """The definition with other schemas at the roots of its versions."""
    versions = [
        {**each, "schema": {"openAPIV3Schema": change(at(each, "schema", "openAPIV3Schema") or {"type": "object"})}}
        for each in at(definition, "spec", "versions") or ()
    ]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


def _places(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The paths of all rules."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        if name == _RULES and isinstance(inner, list):
            yield from ((*path, name, number) for number in range(len(inner)))
        else:
            yield from _places(inner, (*path, name))


def _without(value: Any, path: tuple[str | int, ...]) -> Any:
    """The value without what is at a path."""
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        kept = enumerate(value)
        return [_without(each, rest) if number == first else each for number, each in kept if rest or number != first]
    return {name: _without(inner, rest) if name == first else inner for name, inner in value.items()}


class _Question:
    """The question about one version of two definitions."""

    def __init__(self, old: Object, new: Object, version: str, sandbox: Sandbox) -> None:
        self._before, self._after = _with(sandbox, old), _with(sandbox, new)
        self._behaviour = sandbox.snapshot().behaviour
        snapshot = self._before.snapshot()
        group, plural = at(old, "spec", "group"), at(old, "spec", "names", "plural")
        catalogue = catalogue_of(snapshot)
        resource = catalogue.find(group, version, plural)
        if resource is None or catalogue_of(self._after.snapshot()).find(group, version, plural) is None:
            raise SimkitError(f"both definitions of {name_of(old)} must serve {version}")
        self._resource, self._snapshot = resource, snapshot
        self._old, self._new = (schema_of(each.snapshot(), resource) for each in (self._before, self._after))
        self._constraints: list[Constraint] = []
        self._write: list[UnknownWrite] = []

    def answers(self) -> Iterator[tuple[Constraint, ObjectCounterexample | None, str]]:
        """Each constraint with an object that it alone refuses, or the reason for which it is not decided."""
        schema = schema_of_writes(self._snapshot, self._resource)
        search = ObjectSearch(schema, self._formulas, self._behaviour, typed=True)
        number = 0
        if search.problem:
            yield Constraint("", "the validation rules", None), None, search.problem
            return
        for constraint in self._constraints:
            if constraint.formula is None:
                yield constraint, None, "There is no formula for it."
                continue
            search.forget()
            yield constraint, *self._answer(search, number)
            number += 1

    def _answer(self, search: ObjectSearch, number: int) -> tuple[ObjectCounterexample | None, str]:
        reason = ""
        for _ in range(_MOST_ROUNDS):
            searched = search.run(number)
            if searched.found is None:
                return None, "" if searched.none else reason or searched.reason
            root = self._write[-1].root.fields["object"][1]
            obj = valid_object(searched.found["object"], root, self._old, self._resource)
            write = Write("CREATE", obj)
            taken, refused = (created(fork.fork(), write, self._resource) for fork in (self._before, self._after))
            if taken.status < 400:
                if refused.status < 400:
                    if search.approximations:
                        return None, f"There is no exact formula for {search.approximations[0]}."
                    raise NotReproduced(f"the new definition takes what it is said to refuse: {obj}")
                told = str((refused.object or {}).get("message"))
                return ObjectCounterexample(self._resource.resource, write, told, executed=True), told
            reason = f"The old definition refuses what was found: {(taken.object or {}).get('message')}"
            if not search.repair(faults(taken)):
                break
        return None, reason

    def _formulas(self, universe: Universe, root: Record, functions: Functions) -> Iterator[Formula]:
        """What holds of objects that the old definition takes, and then the violation of each new constraint."""
        write = UnknownWrite(universe, root, self._snapshot, self._resource, "CREATE")
        self._write[:], self._constraints[:] = [write], []
        assert isinstance(write.object, Record)
        z3, true = universe.z3, universe.z3.BoolVal(True)
        rules = _Rules(universe, functions, self._behaviour)
        held = [negation(z3, fault) for _, _, fault in rules.faults(self._old, write.object, true, "")]
        yield conjunction(z3, held)
        known = {(field, text) for field, text in _written(self._old, "")}
        made = [Constraint(path, f"default {value}", None) for path, value in _new_defaults(self._old, self._new)]
        made += _changed(universe, self._old, self._new, write.object, true, "")
        made += [
            Constraint(field, text, fault)
            for field, text, fault in rules.faults(self._new, write.object, true, "", known=known)
        ]
        for constraint in made:
            self._constraints.append(constraint)
            if constraint.formula is not None:
                yield constraint.formula
        write.prefer()


def _with(sandbox: Sandbox, definition: Object) -> Sandbox:
    """A fork with a definition, in the place of one of its name."""
    fork, name = sandbox.fork(), name_of(definition)
    live = fork.perform(Request.of("GET", f"{_DEFINITIONS}/{name}"), identity=administrator())
    if live.status < 400:
        version = at(live.object, "metadata", "resourceVersion")
        wanted = {**definition, "metadata": {"name": name, "resourceVersion": version}}
        response = fork.perform(Request.of("PUT", f"{_DEFINITIONS}/{name}", wanted), identity=administrator())
    else:
        wanted = {**definition, "metadata": {"name": name}}
        response = fork.perform(Request.of("POST", _DEFINITIONS, wanted), identity=administrator())
    if response.status >= 400:
        raise SimkitError(f"{name}: {(response.object or {}).get('message')}")
    return fork


def _written(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    """The rules of a schema and of all below it, each with the path of its field."""
    for rule in schema.row.get("rules") or ():
        if "oldSelf" not in rule["rule"]:
            yield path, rule["rule"]
    for name, field in schema.fields.items():
        if name != "metadata" or path:
            yield from _written(field, f"{path}.{name}".lstrip("."))
    for node in (schema.items, schema.values):
        if node is not None:
            yield from _written(node, f"{path}[]")


def _new_defaults(old: Schema, new: Schema) -> list[tuple[str, Any]]:
    """The defaults that only one of two schemas has, which change what is validated."""
    before, after = list(_defaults(old, "")), list(_defaults(new, ""))
    return [each for each in after if each not in before] + [each for each in before if each not in after]


def _defaults(schema: Schema, path: str) -> Iterator[tuple[str, Any]]:
    if "default" in schema.row:
        yield path, schema.row["default"]
    for name, field in schema.fields.items():
        if path or name not in ("metadata", "kind", "apiVersion"):
            yield from _defaults(field, f"{path}.{name}".lstrip("."))
    for node in (schema.items, schema.values):
        if node is not None:
            yield from _defaults(node, f"{path}[]")


class _Rules:
    """The validation rules of schemas as formulas."""

    def __init__(self, universe: Universe, functions: Functions, behaviour: ServedBehaviour) -> None:
        self._universe, self._functions, self._behaviour = universe, functions, behaviour

    def faults(
        self,
        schema: Schema,
        value: Any,
        guard: Formula,
        path: str,
        *,
        known: Collection[tuple[str, str]] = (),
    ) -> Iterator[tuple[str, str, Formula]]:
        """The formula that a value violates each rule of its schema, with its path and text.

        Parameters
        ----------
        known
            Rules that are left out.
        """
        z3, wanted = self._universe.z3, [rule for rule in _written(schema, path) if rule not in known]
        if not wanted or isinstance(value, Null):
            return
        if isinstance(value, Either):
            for condition, option in value.options:
                yield from self.faults(schema, option, conjunction(z3, (guard, condition)), path, known=known)
            return
        for rule in schema.row.get("rules") or ():
            if (path, rule["rule"]) in wanted:
                yield path, rule["rule"], conjunction(z3, (guard, self._fault(rule["rule"], schema, value, not path)))
        if isinstance(value, Record):
            for name, node in schema.fields.items():
                if any(_written(node, "")) and (path or name != "metadata"):
                    present, inner = value.field(name)
                    below = conjunction(z3, (guard, present))
                    yield from self.faults(node, inner, below, f"{path}.{name}".lstrip("."), known=known)
        elif isinstance(value, Listed | Mapped):
            below_node = schema.items if isinstance(value, Listed) else schema.values
            if below_node is not None:
                yield from self._of_elements(below_node, value, guard, path, known)

    def _of_elements(
        self, node: Schema, value: Listed | Mapped, guard: Formula, path: str, known: Collection[tuple[str, str]]
    ) -> Iterator[tuple[str, str, Formula]]:
        """The same for elements: a rule is violated where some element violates it."""
        z3, found = self._universe.z3, dict[tuple[str, str], list[Formula]]()
        self._universe.bounds.need(value.origins)
        for slot in value.slots:
            inside = conjunction(z3, (guard, slot.present))
            for field, text, fault in self.faults(node, slot.value, inside, f"{path}[]", known=known):
                found.setdefault((field, text), []).append(fault)
        for (field, text), some in found.items():
            yield field, text, disjunction(z3, some)

    def _fault(self, source: str, schema: Schema, value: Any, root: bool) -> Formula:
        """The formula that a value violates a rule."""
        declared = schema_decl_type(schema, "selfType1", resource=root)
        if declared is None:
            raise Untranslated(f"the rule {source}")
        try:
            known = Environment(self._behaviour, {"self": declared}, version=stored_version(self._behaviour))
            node = known.compile(source, expected=BOOL).node
        except CompileError as error:
            raise Untranslated(f"the rule {source}: {error}") from None
        z3 = self._universe.z3
        term = Term(value, z3.BoolVal(False))
        held, failed = Translator(self._universe, {"self": lambda: term}, self._functions).truth(node)
        return disjunction(z3, (failed, negation(z3, held)))


def _changed(
    universe: Universe, old: Schema, new: Schema, value: Any, guard: Formula, path: str
) -> Iterator[Constraint]:
    """The constraints besides rules that a new schema has and the old one has not, for a value of the old one."""
    z3 = universe.z3
    if isinstance(value, Either):
        for condition, option in value.options:
            yield from _changed(universe, old, new, option, conjunction(z3, (guard, condition)), path)
        return
    if isinstance(value, Null):
        if not new.nullable:
            yield Constraint(path, "null is not valid any more", guard)
        return
    if old.type != new.type and new.type and (old.type, new.type) != ("integer", "number"):
        yield Constraint(path, f"type {new.type}", guard)
        return
    before, after = old.row.get("checks") or {}, new.row.get("checks") or {}
    for name in (*_COMPARED, "pattern", *_OTHERS):
        if name in after and before.get(name) != after[name]:
            fault = _violated(universe, name, after[name], value)
            told = f"{name} {after[name]}"
            yield Constraint(path, told, None if fault is None else conjunction(z3, (guard, fault)))
    if new.enum and set(map(str, new.enum)) != set(map(str, old.enum)):
        yield Constraint(path, f"one of {list(new.enum)}", conjunction(z3, (guard, _not_listed(universe, new, value))))
    if new.format != old.format and new.format:
        yield Constraint(path, f"format {new.format}", None)
    yield from _changed_below(universe, old, new, value, guard, path)


def _changed_below(
    universe: Universe, old: Schema, new: Schema, value: Any, guard: Formula, path: str
) -> Iterator[Constraint]:
    z3 = universe.z3
    if isinstance(value, Record):
        for name in sorted(new.required - old.required - {"metadata"}):
            if name in new.fields and name not in old.fields:
                yield Constraint(path, f"{name} is required", guard)
            elif name in new.fields and "default" not in new.fields[name].row:
                missing = negation(z3, value.field(name)[0])
                yield Constraint(path, f"{name} is required", conjunction(z3, (guard, missing)))
        for name, node in old.fields.items():
            if name in new.fields and (path or name not in ("metadata", "kind", "apiVersion")):
                if _same_row(node, new.fields[name]):
                    continue
                present, inner = value.field(name)
                below = conjunction(z3, (guard, present))
                yield from _changed(universe, node, new.fields[name], inner, below, f"{path}.{name}".lstrip("."))
    elif isinstance(value, Listed | Mapped):
        one, other = (old.items, new.items) if isinstance(value, Listed) else (old.values, new.values)
        if one is not None and other is not None and not _same_row(one, other):
            universe.bounds.need(value.origins)
            found: dict[tuple[str, str], list[Formula | None]] = {}
            for slot in value.slots:
                inside = conjunction(z3, (guard, slot.present))
                for field, text, formula in _changed(universe, one, other, slot.value, inside, f"{path}[]"):
                    found.setdefault((field, text), []).append(formula)
            for (field, text), some in found.items():
                yield Constraint(field, text, None if None in some else disjunction(z3, some))


def _same_row(one: Schema, other: Schema) -> bool:
    return one.row == other.row


def _violated(universe: Universe, name: str, limit: Any, value: Any) -> Formula | None:
    """The formula that a value violates a limit; None where there is none."""
    z3 = universe.z3
    if name == "pattern" and isinstance(value, Scalar) and value.kind == "string":
        try:
            return negation(z3, universe.is_like(value.term, limit))
        except Untranslated:
            return None
    if name not in _COMPARED:
        return None
    if name in ("maximum", "minimum") and isinstance(value, Scalar) and value.kind in ("int", "double"):
        bound = z3.RealVal(str(limit)) if value.kind == "double" else z3.IntVal(int(limit))
        return value.term > bound if name == "maximum" else value.term < bound
    if name.endswith("Length") and isinstance(value, Scalar) and value.kind == "string":
        short = universe.is_shorter(value.term, limit + 1 if name == "maxLength" else limit)
        return negation(z3, short) if name == "maxLength" else short
    if isinstance(value, Listed | Mapped) and name.endswith(("Items", "Properties")):
        universe.bounds.need(value.origins, int(limit) + 1)
        size = count(z3, value.slots)
        return size > limit if name.startswith("max") else size < limit
    return None


def _not_listed(universe: Universe, new: Schema, value: Any) -> Formula:
    """The formula that a value is none of those that a schema lists."""
    z3 = universe.z3
    if not isinstance(value, Scalar):
        raise Untranslated("an enumeration of other than scalars")
    if value.kind == "string":
        return conjunction(z3, [negation(z3, universe.is_text(value.term, str(each))) for each in new.enum])
    return z3.And([value.term != each for each in new.enum])
