"""Strategies of admission policies, their bindings and webhook configurations.

Follows ``pkg/registry/admissionregistration`` and ``pkg/apis/admissionregistration/validation/validation.go``, release
1.30; mutating policies: release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from simkit.kinds.parts.admission_expressions import MUTATION_FIELDS, PolicyReader, validate_validation
from simkit.kinds.parts.admission_requests import FAILURE_POLICIES, MATCH, default_match, webhook_rules
from simkit.kinds.parts.cells import UNSET, columns, count, selector_structure
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy, prepared
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.validation.fields import CONDITIONS
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import REQUIRED, Check, at_root, by, distinct, fields, must, placed, row, table, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import Errors, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_subdomain, kind_name, path_segment
from simkit.meta.objects import Draft, Object, at, name_of

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def _default_policy(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec, "matchConstraints")


def _policy_strategy(
    constraints: Check, validate: Callable[[PolicyReader, Object], Errors], listed: str, *, composed: bool = False
) -> Strategy:
    """The strategy of one of the two kinds of policies, which differ in the check of what they list."""

    def validate_policy(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
        spec = obj["spec"]
        yield from at_root([*POLICY_HEAD(behaviour, obj), *constraints(behaviour, obj)])
        reader = PolicyReader(behaviour, spec, old.get("spec") if old is not None else None, composed=composed)
        yield from reader.validate_match_condition("spec.matchConditions")
        yield from reader.validate_variable("spec.variables")
        yield from validate(reader, obj)

    return Strategy(
        metadata_checks=MetadataChecks((WHOLE,)),
        unqualified_finalizers=True,
        default=_default_policy,
        validate=validate_policy,
        raises_generation=spec_differs,
        print_row=columns(count(listed), param_kind),
        allow_unconditional_update=False,
    )


def _validate_validations(reader: PolicyReader, obj: Object) -> Errors:
    spec = obj["spec"]
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for part in ("validations", "auditAnnotations"):
            yield required(f"spec.{part}", "validations or auditAnnotations must contain at least one item")
    for index, rule in enumerate(spec.get("validations") or ()):
        yield from validate_validation(reader, rule, f"spec.validations[{index}]")
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield unsupported(f"spec.validations[{index}].reason", reason, _REASONS)
    yield from reader.validate_annotation(name_of(obj), "spec.auditAnnotations")


def _validate_version(behaviour: ServedBehaviour, path: str, given: str) -> Errors:
    """The errors of the version of parameters: any is allowed, existing or not."""
    if given.count("/") > 1:
        yield invalid_value(path, given, f"unexpected GroupVersion string: {given}")
        return
    group, _, version = given.rpartition("/")
    wrong = dns_subdomain(group) if group else ()
    if wrong:
        yield invalid_value(path, group, ",".join(wrong))
    wrong = dns1035_label(version)
    if not version:
        yield invalid_value(path, given, "version must be specified")
    elif wrong:
        yield invalid_value(path, version, ",".join(wrong))


def _validate_reference(behaviour: ServedBehaviour, path: str, reference: str) -> Errors:
    if not reference.strip():
        yield required(path)


def _kind_texts(name: str) -> Sequence[str]:
    error = kind_name(name)
    return [error] if error else ()


def param_kind(obj: Object) -> str:
    """The column that shows the kind of a policy's parameters."""
    kind = at(obj, "spec", "paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


POLICY_HEAD: Final = row(
    "spec",
    row("failurePolicy", must.be_one_of(*FAILURE_POLICIES), empty=True),
    row(
        "paramKind",
        row("apiVersion", REQUIRED, by(_validate_version)),
        row("kind", REQUIRED, must.be(_kind_texts)),
    ),
)
"""The first rows of a policy of either kind."""
_CONSTRAINTS: Final = row(
    "spec.matchConstraints", must.be_given(pointer=True), table(MATCH, row("resourceRules", REQUIRED))
)
_STATUS: Final = validation(
    row(
        "status.typeChecking.expressionWarnings[]",
        row("warning", REQUIRED),
        row("fieldRef", by(_validate_reference), zero=""),
    ),
    row("status.conditions", CONDITIONS),
)


_GROUP: Final = api_group("admissionregistration")


def _default_validating_admission_policy_binding(behaviour: ServedBehaviour, draft: Draft) -> None:
    default_match(own_copy(draft, "spec"), "matchResources")


def _default_first(behaviour: ServedBehaviour, draft: Draft) -> None:
    """The defaults of the first version of policy bindings, which has one more."""
    _default_validating_admission_policy_binding(behaviour, draft)
    if at(draft, "spec", "paramRef") is not None:
        reference = own_copy(draft, "spec", "paramRef")
        reference["parameterNotFoundAction"] = reference.get("parameterNotFoundAction") or "Deny"


_EITHER: Final = must.be_absent("name and selector are mutually exclusive", pointer=True)
PARAMETERS: Final = row(
    "spec.paramRef",
    row("name", must.be(path_segment)),
    row("name", _EITHER, when=fields.present("selector")),
    row("selector", LABEL_SELECTOR),
    row("selector", _EITHER, when=fields.given("name")),
    row(
        "",
        must.be_set("one of name or selector must be specified"),
        unless=lambda reference: reference.get("name") or reference.get("selector") is not None,
    ),
    row("parameterNotFoundAction", REQUIRED, must.be_one_of("Deny", "Allow")),
)
"""The row of which parameters a binding names: by name, or by selector."""


POLICY_NAME: Final = row("spec.policyName", REQUIRED, must.be(dns_subdomain))
_SPEC: Final = (
    POLICY_NAME,
    PARAMETERS,
    row("spec.matchResources", MATCH, since="match-resources-spelled"),
    row("spec.matchResources", MATCH, told="spec.matchResouces", until="match-resources-spelled"),
    row("spec.validationActions[]", must.be_one_of("Audit", "Deny", "Warn"), distinct()),
    row(
        "spec.validationActions",
        must.hold(
            lambda actions: not {"Deny", "Warn"} <= set(actions),
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)",
            partial(texts, kind="admissionregistration.ValidationAction"),
        ),
    ),
    row("spec.validationActions", must.be_given("at least one validation action is required")),
)


def param_cell(obj: Object) -> str:
    """The column that shows which parameters a binding names."""
    reference = at(obj, "spec", "paramRef")
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return selector_structure(reference["selector"]) if reference.get("selector") is not None else UNSET


def binding_strategy(*rules: Check) -> Strategy:
    """The strategy of one of the two kinds of policy bindings."""
    stable = Strategy(
        metadata_checks=MetadataChecks((WHOLE,)),
        unqualified_finalizers=True,
        default=_default_validating_admission_policy_binding,
        validate=validation(*rules),
        raises_generation=spec_differs,
        print_row=columns("spec.policyName", param_cell),
        allow_unconditional_update=False,
    )
    return replace(
        stable,
        older_versions={f"{_GROUP}/v1alpha1": replace(stable, default=_default_first)},
    )


_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATION: Final = row("reinvocationPolicy", REQUIRED, must.be_one_of("IfNeeded", "Never"))


def _validate_mutations(reader: PolicyReader, obj: Object) -> Errors:
    spec = obj["spec"]
    if not spec.get("mutations"):
        yield required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(spec.get("mutations") or ()):
        yield from _validate_mutation(reader, f"spec.mutations[{index}]", mutation)
    yield from placed("spec", _REINVOCATION(reader.behaviour, spec))


def _validate_operations(behaviour: ServedBehaviour, path: str, rules: Sequence[Object]) -> Errors:
    """The errors of rules for requests that leave no object to change."""
    for rule in rules:
        for operation in rule.get("operations") or ():
            if operation not in _OPERATIONS:
                yield unsupported(f"{path}.operations", operation, _OPERATIONS)


OPERATIONS: Final = row("resourceRules", by(_validate_operations))
"""The row of the operations that a policy may match."""
_MUTATING_CONSTRAINTS: Final = row(
    "spec.matchConstraints",
    must.be_given(pointer=True),
    table(MATCH, row("resourceRules", REQUIRED), OPERATIONS),
)


def _validate_mutation(reader: PolicyReader, path: str, mutation: Object) -> Errors:
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


STRATEGIES: Final = {
    "ValidatingAdmissionPolicy": replace(
        _policy_strategy(_CONSTRAINTS, _validate_validations, "spec.validations"),
        metadata_checks=MetadataChecks((WHOLE,), part=()),
        prepare=prepared(status={}),
        subresources={"status": Subresource(keep_all_but_own_status, _STATUS)},
        status_reset_fields=(("metadata",),),
    ),
    "ValidatingAdmissionPolicyBinding": binding_strategy(*_SPEC),
    "MutatingAdmissionPolicy": _policy_strategy(
        _MUTATING_CONSTRAINTS, _validate_mutations, "spec.mutations", composed=True
    ),
    "MutatingAdmissionPolicyBinding": binding_strategy(
        POLICY_NAME, PARAMETERS, row("spec.matchResources", table(MATCH, OPERATIONS))
    ),
    "ValidatingWebhookConfiguration": webhook_rules(reinvoked=False),
    "MutatingWebhookConfiguration": webhook_rules(reinvoked=True),
}
