"""Strategy of ValidatingAdmissionPolicy: defaulting, validation of its CEL expressions, printer columns.

Follows ``pkg/registry/admissionregistration/validatingadmissionpolicy/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.admission.expressions import PolicyReader, validate_validation
from simkit.kinds.parts.admission.rules import FAILURE_POLICIES, MATCH, default_match
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy, prepared
from simkit.kinds.parts.printers.cells import UNSET, columns, count
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.rules import REQUIRED, at_root, by, must, row, table, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_subdomain, kind_name
from simkit.meta.objects import Draft, Object, at, name_of

_GROUP: Final = api_group("admissionregistration")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec, "matchConstraints")


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from at_root([*POLICY_HEAD(behaviour, obj), *_CONSTRAINTS(behaviour, obj)])
    reader = PolicyReader(behaviour, spec, old.get("spec") if old is not None else None)
    yield from reader.validate_match_condition("spec.matchConditions")
    yield from reader.validate_variable("spec.variables")
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for part in ("validations", "auditAnnotations"):
            yield required(f"spec.{part}", "validations or auditAnnotations must contain at least one item")
    for index, rule in enumerate(spec.get("validations") or ()):
        yield from validate_validation(reader, rule, f"spec.validations[{index}]")
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield unsupported(f"spec.validations[{index}].reason", reason, _REASONS)
    yield from reader.validate_annotation(name_of(obj), "spec.auditAnnotations")


def _validate_version(behaviour: ServedBehaviour, path: str, given: str) -> Iterator[FieldError]:
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


def _validate_reference(behaviour: ServedBehaviour, path: str, reference: str) -> Iterator[FieldError]:
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
    row("status.conditions", by(validate_conditions)),
)
STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), part=()),
    unqualified_finalizers=True,
    default=_default,
    prepare=prepared(status={}),
    validate=_validate,
    raises_generation=spec_differs,
    print_row=columns(count("spec.validations"), param_kind),
    subresources={"status": Subresource(keep_all_but_own_status, _STATUS)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
)
