"""Strategy of MutatingAdmissionPolicy: defaulting, and validation of its CEL expressions.

Follows ``pkg/registry/admissionregistration/mutatingadmissionpolicy/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.admissionregistration.validatingadmissionpolicy import POLICY_HEAD, param_kind
from simkit.kinds.parts.admission.expressions import MUTATION_FIELDS, PolicyReader
from simkit.kinds.parts.admission.rules import MATCH, default_match
from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.printers.cells import columns, count
from simkit.kinds.rules import REQUIRED, at_root, by, must, placed, row, table
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.objects import Draft, Object

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATION: Final = row("reinvocationPolicy", REQUIRED, must.be_one_of("IfNeeded", "Never"))


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec, "matchConstraints")


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from at_root([*POLICY_HEAD(behaviour, obj), *_CONSTRAINTS(behaviour, obj)])
    reader = PolicyReader(behaviour, spec, old.get("spec") if old is not None else None, composed=True)
    yield from reader.validate_match_condition("spec.matchConditions")
    yield from reader.validate_variable("spec.variables")
    if not spec.get("mutations"):
        yield required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(spec.get("mutations") or ()):
        yield from _validate_mutation(reader, f"spec.mutations[{index}]", mutation)
    yield from placed("spec", _REINVOCATION(behaviour, spec))


def _validate_operations(behaviour: ServedBehaviour, path: str, rules: Sequence[Object]) -> Iterator[FieldError]:
    """The errors of rules for requests that leave no object to change."""
    for rule in rules:
        for operation in rule.get("operations") or ():
            if operation not in _OPERATIONS:
                yield unsupported(f"{path}.operations", operation, _OPERATIONS)


OPERATIONS: Final = row("resourceRules", by(_validate_operations))
"""The row of the operations that a policy may match."""
_CONSTRAINTS: Final = row(
    "spec.matchConstraints",
    must.be_given(pointer=True),
    table(MATCH, row("resourceRules", REQUIRED), OPERATIONS),
)


def _validate_mutation(reader: PolicyReader, path: str, mutation: Object) -> Iterator[FieldError]:
    """The errors of a mutation: the part of its type, with an expression, and no other."""
    kind = mutation.get("patchType") or ""
    if not kind:
        yield required(f"{path}.patchType")
        return
    if kind not in MUTATION_FIELDS:
        yield unsupported(f"{path}.patchType", kind, tuple(MUTATION_FIELDS))
        return
    wanted = MUTATION_FIELDS[kind]
    part = mutation.get(wanted)
    if part is None:
        yield required(f"{path}.{wanted}", f"must be specified when patchType is {kind}")
    elif not (part.get("expression") or "").strip():
        yield required(f"{path}.{wanted}.expression")
    else:
        yield from reader.validate_mutation(kind, part["expression"], f"{path}.{wanted}.expression")
    for other in MUTATION_FIELDS.values():
        if other != wanted and mutation.get(other) is not None:
            yield invalid_value(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {kind}")


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    unqualified_finalizers=True,
    default=_default,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=columns(count("spec.mutations"), param_kind),
    allow_unconditional_update=False,
)
