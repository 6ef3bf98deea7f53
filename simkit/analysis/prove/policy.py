"""An admission policy as a formula, as a decision on one object, and in force on a fork."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from simkit.analysis.prove.operators import Term
from simkit.analysis.prove.symbols import Formula, Null, Record, Scalar, Universe, Untranslated
from simkit.analysis.prove.translate import EVERYTHING, Facts, Translator
from simkit.kinds.parts.admission.expressions import environment, variable_type
from simkit.language.cel.environment import Program
from simkit.language.cel.errors import CompileError, EvaluationError
from simkit.language.cel.types import BOOL
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of

CREATE: Final = "CREATE"
_GROUP: Final = api_group("admissionregistration")
_NARROWED: Final = ("namespaceSelector", "objectSelector", "excludeResourceRules")


class CheckedPolicy:
    """A ValidatingAdmissionPolicy whose expressions are compiled, for objects that are created.

    Parameters
    ----------
    obj
        The policy.
    behaviour
        That of the server.

    Raises
    ------
    SimkitError
        For an expression that does not compile.
    """

    def __init__(self, obj: Object, behaviour: ServedBehaviour) -> None:
        self.object, self.name, self._behaviour = obj, name_of(obj), behaviour
        spec = obj.get("spec") or {}
        self._fails = (spec.get("failurePolicy") or "Fail") != "Ignore"
        self._types = {}
        self._variables: dict[str, Program] = {}
        for variable in spec.get("variables") or ():
            program = self._compiled(variable["expression"])
            self._variables[variable["name"]] = program
            self._types[variable["name"]] = variable_type(program.type)
        self.conditions = [self._compiled(each["expression"], BOOL) for each in spec.get("matchConditions") or ()]
        self.validations = [self._compiled(each["expression"], BOOL) for each in spec.get("validations") or ()]

    def _compiled(self, source: str, expected: Any = None) -> Program:
        try:
            params = bool((self.object.get("spec") or {}).get("paramKind"))
            known = environment(self._behaviour, params=params, variables=dict(self._types))
            return known.compile(source.strip(), expected=expected)
        except CompileError as error:
            raise SimkitError(f"{self.name}: {error}") from None

    @property
    def resources(self) -> Iterator[GroupResource]:
        """The resources that the policy names for CREATE; a star stands for any."""
        for rule in self._constraints.get("resourceRules") or ():
            if {CREATE, "*"}.intersection(rule.get("operations") or ()):
                for group in rule.get("apiGroups") or ():
                    yield from (GroupResource(group, resource) for resource in rule.get("resources") or ())

    @property
    def _constraints(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (self.object.get("spec") or {}).get("matchConstraints") or {}
        return found

    def concerns(self, resource: GroupResource) -> bool:
        """True if the policy is asked about new objects of a resource."""
        return any(
            each.group in ("*", resource.group) and each.resource in ("*", "*/*", resource.resource)
            for each in self.resources
        )

    def facts(self, *, passes: bool) -> Facts:
        """What counts of validations where an object is to pass, or to be refused."""
        if self._fails:
            return frozenset({"true" if passes else "not true"})
        return frozenset({"not false" if passes else "false"})

    def without(self, index: int) -> CheckedPolicy:
        """The policy without one of its validations."""
        spec = self.object["spec"]
        kept = [each for number, each in enumerate(spec["validations"]) if number != index]
        return CheckedPolicy({**self.object, "spec": {**spec, "validations": kept}}, self._behaviour)

    def accepted(
        self, universe: Universe, root: Record, resource: GroupResource, *, kept: Facts = EVERYTHING
    ) -> Formula:
        """The formula of objects of a resource that the policy lets pass.

        Parameters
        ----------
        kept
            What counts of the validations, where it is known that the formula is to hold, or not to hold.
        """
        z3 = universe.z3
        if not self.concerns(resource):
            return z3.BoolVal(True)
        self._refuse_narrowed()
        translator = self._translator(universe, root)
        conditions = [translator.truth(each.node) for each in self.conditions]
        rules = [translator.condition(each.node, kept) for each in self.validations]
        skipped = z3.Or([z3.And(z3.Not(error), z3.Not(value)) for value, error in conditions] or [z3.BoolVal(False)])
        unclear = z3.Or([error for _, error in conditions] or [z3.BoolVal(False)])
        passes = [z3.And(z3.Not(error), value) if self._fails else z3.Or(error, value) for value, error in rules]
        decided = z3.If(unclear, z3.BoolVal(not self._fails), z3.And(passes or [z3.BoolVal(True)]))
        return z3.Or(skipped, decided)

    def _refuse_narrowed(self) -> None:
        """Raise Untranslated where the policy is not for all objects of its resources."""
        spec, rules = self.object["spec"], self._constraints.get("resourceRules") or ()
        narrowed = [name for name in _NARROWED if self._constraints.get(name)]
        narrowed += ["resourceNames" for rule in rules if rule.get("resourceNames")]
        narrowed += ["scope" for rule in rules if rule.get("scope") not in (None, "*")]
        narrowed += ["matchPolicy"] if self._constraints.get("matchPolicy") == "Exact" else []
        narrowed += [name for name in ("paramKind", "auditAnnotations") if spec.get(name)]
        if narrowed:
            raise Untranslated(f"the field {narrowed[0]} of the policy {self.name}")

    def _translator(self, universe: Universe, root: Record) -> Translator:
        false = universe.z3.BoolVal(False)
        known: dict[str, Callable[[], Term]] = {
            "object": lambda: Term(root, false),
            "oldObject": lambda: Term(Null(), false),
            "request.operation": lambda: Term(Scalar("string", universe.z3.StringVal(CREATE)), false),
        }
        translator = Translator(universe, known)
        for name, program in self._variables.items():
            known[f"variables.{name}"] = partial(translator.term, program.node)
        return translator

    def accepts(self, obj: Object, resource: GroupResource) -> bool:
        """The decision on one new object, by evaluating the expressions."""
        if not self.concerns(resource):
            return True
        bindings: dict[str, Any] = {"object": obj, "oldObject": None, "request": {"operation": CREATE}}
        variables: dict[str, Any] = {}
        for name, program in self._variables.items():
            answer = _evaluated(program, {**bindings, "variables": variables})
            if not isinstance(answer, EvaluationError):
                variables[name] = answer
        bindings["variables"] = variables
        conditions = [_evaluated(each, bindings) for each in self.conditions]
        if any(each is False for each in conditions):
            return True
        if any(each is not True for each in conditions):
            return not self._fails
        answers = [_evaluated(each, bindings) for each in self.validations]
        return all(each is True or (isinstance(each, EvaluationError) and not self._fails) for each in answers)

    def manifests(self) -> Iterator[Object]:
        """The policy, and a binding that puts it in force everywhere."""
        name = f"simkit-{self.name}"[:60]
        failure, rules = "Fail" if self._fails else "Ignore", self.object["spec"].get("validations")
        spec = {**self.object["spec"], "failurePolicy": failure, "validations": rules or [{"expression": "true"}]}
        version = f"{_GROUP}/v1"
        yield {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
        bound = {"policyName": name, "validationActions": ["Deny"]}
        kind = "ValidatingAdmissionPolicyBinding"
        yield {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": bound}


def policy_of_expressions(name: str, expressions: Sequence[str], resource: GroupResource) -> Object:
    """A policy with these validations for new objects of a resource."""
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": ["*"],
        "resources": [resource.resource],
        "operations": [CREATE],
    }
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression} for expression in expressions],
        },
    }


def all_accepted(
    policies: Iterable[CheckedPolicy], universe: Universe, root: Record, resource: GroupResource, *, passes: bool
) -> Formula:
    """The formula of objects that all of some policies let pass.

    Parameters
    ----------
    passes
        Whether it is to hold; otherwise one of the policies is to refuse the object.
    """
    z3 = universe.z3
    each = [policy.accepted(universe, root, resource, kept=policy.facts(passes=passes)) for policy in policies]
    return z3.And(each or [z3.BoolVal(True)])


def _evaluated(program: Program, bindings: Mapping[str, Any]) -> Any:
    """The value of an expression, or its error."""
    try:
        return program.evaluate(bindings).value
    except EvaluationError as error:
        return error
