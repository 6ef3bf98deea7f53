"""An admission policy as a formula, on one write, and on a fork."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.analysis.admission.simulated_writes import SnapshotReader
from simkit.analysis.catalogue import binding_object, catalogue_of, policy_object
from simkit.analysis.prove.formulas import Formula, Untranslated, constant, z3
from simkit.analysis.prove.operators import same_values
from simkit.analysis.prove.symbols import Mapped, Null, Record, Scalar, Term
from simkit.analysis.prove.translate import EVERYTHING, Facts, Translator
from simkit.analysis.prove.write import PARAMETER, UnknownWrite, Write, known_value
from simkit.language.cel.environment import Program
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.logic.policy.binding import Binding, BoundPolicy, Misconfigured, params_of
from simkit.logic.policy.decide import decide
from simkit.logic.policy.matching import Constraints, in_scope, names
from simkit.logic.policy.policy import Policy
from simkit.meta import labels
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Snapshot

CREATE: Final = "CREATE"
"""The operation that claims are about."""


class CheckedPolicy:
    """A ValidatingAdmissionPolicy whose expressions are compiled.

    Parameters
    ----------
    obj
        The policy.
    snapshot
        The cluster that knows the kinds of parameters.
    binding
        The binding that puts it in force; one without conditions unless given, with parameters if the policy takes any.

    Raises
    ------
    SimkitError
        For an expression that does not compile.
    """

    def __init__(self, obj: Object, snapshot: Snapshot, binding: Object | None = None) -> None:
        self.object, self.name = _with_defaults(obj, "matchConstraints"), name_of(obj)
        self._snapshot, self._given = snapshot, binding and _with_defaults(binding, "matchResources")
        self._policy = Policy(self.object, snapshot.behaviour)
        self._programs: dict[str, list[Program]] = {"matchConditions": [], "variables": [], "validations": []}
        for path, expression in self._policy.expressions():
            if expression.program is None:
                raise SimkitError(f"{self.name}: {expression.error}")
            part, _, field = path.removeprefix("spec.").partition("[")
            if field.endswith("].expression"):
                self._programs[part].append(expression.program)

    @property
    def validations(self) -> Sequence[Program]:
        """The validations, in order."""
        return self._programs["validations"]

    @property
    def _constraints(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._policy.spec.get("matchConstraints") or {}
        return found

    @property
    def resources(self) -> Iterator[GroupResource]:
        """The resources that the policy names for creations; a star stands for any."""
        for rule in self._constraints.get("resourceRules") or ():
            if {CREATE, "*"}.intersection(rule.get("operations") or ()):
                for group in rule.get("apiGroups") or ():
                    yield from (GroupResource(group, resource) for resource in rule.get("resources") or ())

    def facts(self, *, passes: bool) -> Facts:
        """What counts of validations where an object is to pass, or to be refused."""
        if self._policy.fails:
            return frozenset({"true" if passes else "not true"})
        return frozenset({"not false" if passes else "false"})

    def accepted(self, write: UnknownWrite, *, kept: Facts = EVERYTHING) -> Formula:
        """The formula of writes that the policy lets pass.

        Parameters
        ----------
        kept
            What counts of the validations, where it is known that the formula is to hold, or not to hold.
        """
        matched = self._matched(write)
        if z3.is_false(matched):
            return z3.BoolVal(True)
        passing = [self._passing(write, param, kept) for param in self._params(write)]
        return z3.Or(z3.Not(matched), z3.And(passing))

    def _passing(self, write: UnknownWrite, param: Any, kept: Facts) -> Formula:
        """The formula of writes that pass with one parameter."""
        fails = self._policy.fails
        asked = self._translator(write, param, of_conditions=True)
        conditions = [asked.truth(each.node) for each in self._programs["matchConditions"]]
        translator = self._translator(write, param)
        rules = [translator.condition(each.node, kept) for each in self.validations]
        skipped = z3.Or([z3.And(z3.Not(error), z3.Not(value)) for value, error in conditions] or [z3.BoolVal(False)])
        unclear = z3.Or([error for _, error in conditions] or [z3.BoolVal(False)])
        passes = [z3.And(z3.Not(error), value) if fails else z3.Or(error, value) for value, error in rules]
        decided = z3.If(unclear, z3.BoolVal(not fails), z3.And(passes or [z3.BoolVal(True)]))
        return z3.Or(skipped, decided)

    def _translator(self, write: UnknownWrite, param: Any, *, of_conditions: bool = False) -> Translator:
        known: dict[str, Callable[[], Term]] = {
            "object": lambda: Term(write.object),
            "oldObject": lambda: Term(Null()),
            "request": lambda: Term(write.request()),
            "namespaceObject": lambda: Term(Null() if of_conditions else write.namespace()),
            "params": lambda: Term(param),
        }
        names = (each["name"] for each in self._policy.spec.get("variables") or ())
        variables = {name: program.node for name, program in zip(names, self._programs["variables"])}
        return Translator(write.universe, known, variables)

    # What it matches

    def _matched(self, write: UnknownWrite) -> Formula:
        """The formula of writes that the policy and its binding match."""
        translator = self._translator(write, Null())
        narrowed = (self._constraints, at(self._given or {}, "spec", "matchResources"))
        return z3.simplify(z3.And([_matched(write, translator, spec) for spec in narrowed if spec is not None]))

    # Its parameters

    def _params(self, write: UnknownWrite) -> list[Any]:
        """The values of ``params``, for each of which the policy is asked; unknown ones unless a binding names them."""
        kind, ref = self._policy.param_kind, at(self._given or {}, "spec", "paramRef")
        if kind is None or (self._given is not None and ref is None):
            return [Null()]
        if self._given is None:
            return [write.params(kind)]
        found = catalogue_of(self._snapshot).kind(kind)
        if found is not None and found.namespaced and not ref.get("namespace"):
            raise Untranslated(f"parameters of the namespace of the object, as {self.name} takes them")
        try:
            params = params_of(self._policy, ref, "", Write({}).reader(self._snapshot))
        except Misconfigured as error:
            raise Untranslated(f"the binding of {self.name}: {error}") from None
        return [known_value(param) for param in params]

    # On one write

    def binding(self) -> Object:
        """The binding that is given, or one that puts the policy in force everywhere."""
        name = f"proof-{name_of(self._given) if self._given else self.name}"[:60].lower().strip("-.")
        given = at(self._given or {}, "spec")
        bound: dict[str, Any] = {"validationActions": ["Deny"], **(given or {}), "policyName": name}
        kind = self._policy.param_kind
        if given is None and kind is not None:
            bound["paramRef"] = {"name": PARAMETER, "parameterNotFoundAction": "Deny"}
            found = catalogue_of(self._snapshot).kind(kind)
            if found is not None and found.namespaced:
                bound["paramRef"]["namespace"] = DEFAULT_NAMESPACE
        return binding_object(name, bound)

    def accepts(self, write: Write, resource: Resource) -> bool:
        """The decision on one write, by evaluating the expressions."""
        return self._admits(write.attributes(resource), write.reader(self._snapshot))

    def admits_attributes(self, attributes: AdmissionAttributes | None) -> bool:
        """The decision on a write that admission sees in this way; what it does not see passes."""
        return attributes is None or self._admits(attributes, SnapshotReader(self._snapshot))

    def _admits(self, attributes: AdmissionAttributes, reader: SnapshotReader) -> bool:
        bound = BoundPolicy(self._policy, [Binding(self.binding())])
        return not decide(attributes, [bound], reader).denials

    def manifests(self) -> Iterator[Object]:
        """The policy, and its binding."""
        binding = self.binding()
        failure, rules = "Fail" if self._policy.fails else "Ignore", self.object["spec"].get("validations")
        spec = {**self.object["spec"], "failurePolicy": failure, "validations": rules or [{"expression": "true"}]}
        yield policy_object(binding["spec"]["policyName"], spec)
        yield binding


def _with_defaults(obj: Object, field: str) -> Object:
    """A policy or binding whose rules match other versions of what they name, unless they say otherwise."""
    spec = obj.get("spec") or {}
    if not spec.get(field):
        return obj
    return {**obj, "spec": {**spec, field: {"matchPolicy": "Equivalent", **spec[field]}}}


def _matched(write: UnknownWrite, translator: Translator, spec: Mapping[str, Any]) -> Formula:
    """The formula of writes that rules and selectors match."""
    rules = spec.get("resourceRules")
    named = z3.BoolVal(True) if not rules else z3.Or([_named(write, rule) for rule in rules])
    if z3.is_false(z3.simplify(named)):
        reader = Write({}).reader(write.snapshot)
        if Constraints(spec).may_match(reader, CREATE, write.resource.gvr, ""):
            raise Untranslated(f"another version of {write.resource.resource}, which a policy names")
        return z3.BoolVal(False)
    excluded = z3.Or([_named(write, rule) for rule in spec.get("excludeResourceRules") or ()] or [z3.BoolVal(False)])
    return z3.And(named, z3.Not(excluded), *_selected(write, translator, spec))


def _named(write: UnknownWrite, rule: Mapping[str, Any]) -> Formula:
    """The formula of writes that a rule names."""
    resource = write.resource
    place = DEFAULT_NAMESPACE if resource.namespaced else ""
    some = AdmissionAttributes(administrator(), CREATE, resource.gvr, resource.gvk, namespace=place)
    if not in_scope(rule, some) or not names(rule, CREATE, resource.gvr, ""):
        return z3.BoolVal(False)
    if not rule.get("resourceNames"):
        return z3.BoolVal(True)
    name = write.object.field("metadata")[1].field("name")[1].term
    return z3.Or([write.universe.is_text(name, each) for each in rule["resourceNames"]])


def _selected(write: UnknownWrite, translator: Translator, spec: Mapping[str, Any]) -> Iterator[Formula]:
    """The formulas of writes that the selectors select."""
    objects, namespaces = (labels.of_object(spec.get(name) or {}) for name in ("objectSelector", "namespaceSelector"))
    if objects:
        yield _labelled(translator, write.object, objects)
    if namespaces and write.resource.resource == "namespaces":
        yield _labelled(translator, write.object, namespaces)
    elif namespaces and write.resource.namespaced:
        yield _labelled(translator, write.namespace(), namespaces)


def _labelled(translator: Translator, obj: Record, selector: labels.LabelSelector) -> Formula:
    """The formula that the labels of an object match a selector."""
    parts = []
    present, found = obj.field("metadata")[1].field("labels")
    assert isinstance(found, Mapped)
    for requirement in selector.requirements:
        inside, value = translator.looked_up(found, constant(requirement.key))
        there = z3.And(present, inside)
        if requirement.operator in ("exists", "!"):
            parts.append(there if requirement.operator == "exists" else z3.Not(there))
            continue
        texts = [Scalar("string", constant(each)) for each in requirement.values]
        hits = [same_values(translator, value, text) for text in texts]
        listed = z3.And(there, z3.Or(hits or [z3.BoolVal(False)]))
        parts.append(listed if requirement.operator == "in" else z3.Not(listed))
    return z3.And(parts)


def policy_of_expressions(name: str, expressions: Sequence[str], resource: GroupResource) -> Object:
    """A policy with these validations for new objects of a resource."""
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": ["*"],
        "resources": [resource.resource],
        "operations": [CREATE],
    }
    validations = [{"expression": expression} for expression in expressions]
    return policy_object(name, {"matchConstraints": {"resourceRules": [rule]}, "validations": validations})
