"""Strategy of ValidatingAdmissionPolicy: defaulting, validation of its CEL expressions, printer columns.

Follows ``pkg/registry/admissionregistration/validatingadmissionpolicy/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.admission.expressions import PolicyReader, validate_validation
from simkit.kinds.parts.admission.rules import FAILURE_POLICIES, default_match, validate_match
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy
from simkit.kinds.parts.printers.cells import UNSET, created
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.domain import api_group
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_subdomain, kind_name
from simkit.meta.objects import Draft, Object, at, name_of

_GROUP: Final = api_group("admissionregistration")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def _default(draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec, "matchConstraints")


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"], old.get("spec") if old is not None else None, name_of(obj)))


def _validate_fields(spec: Object, old: Object | None, name: str) -> Iterator[FieldError]:
    if spec["failurePolicy"] not in FAILURE_POLICIES:
        yield unsupported("spec.failurePolicy", spec["failurePolicy"], FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        yield from validate_param_kind("spec.paramKind", spec["paramKind"])
    if spec.get("matchConstraints") is None:
        yield required("spec.matchConstraints")
    else:
        yield from validate_match("spec.matchConstraints", spec["matchConstraints"])
        if not spec["matchConstraints"].get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    reader = PolicyReader(spec, old)
    yield from reader.validate_match_condition("spec.matchConditions")
    yield from reader.validate_variable("spec.variables")
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for part in ("validations", "auditAnnotations"):
            yield required(f"spec.{part}", "validations or auditAnnotations must contain at least one item")
    for index, validation in enumerate(spec.get("validations") or ()):
        yield from validate_validation(reader, validation, f"spec.validations[{index}]")
        reason = validation.get("reason")
        if reason is not None and reason not in _REASONS:
            yield unsupported(f"spec.validations[{index}].reason", reason, _REASONS)
    yield from reader.validate_annotation(name, "spec.auditAnnotations")


def validate_param_kind(path: str, kind: Object) -> Iterator[FieldError]:
    """The errors of paramKind: any kind is allowed, existing or not."""
    given = kind.get("apiVersion") or ""
    if not given:
        yield required(f"{path}.apiVersion")
    elif given.count("/") > 1:
        yield invalid_value(f"{path}.apiVersion", given, f"unexpected GroupVersion string: {given}")
    else:
        group, _, version = given.rpartition("/")
        wrong = dns_subdomain(group) if group else ()
        if wrong:
            yield invalid_value(f"{path}.apiVersion", group, ",".join(wrong))
        wrong = dns1035_label(version)
        if not version:
            yield invalid_value(f"{path}.apiVersion", given, "version must be specified")
        elif wrong:
            yield invalid_value(f"{path}.apiVersion", version, ",".join(wrong))
    name = kind.get("kind") or ""
    if not name:
        yield required(f"{path}.kind")
    elif error := kind_name(name):
        yield invalid_value(f"{path}.kind", name, error)


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return [*_validate_warning(obj), *validate_conditions("status.conditions", at(obj, "status", "conditions") or ())]


def _validate_warning(obj: Object) -> Iterator[FieldError]:
    """The errors of a type checking warning: field reference and text must not be empty."""
    for index, row in enumerate(at(obj, "status", "typeChecking", "expressionWarnings") or ()):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not row.get("warning"):
            yield required(f"{path}.warning")
        if not (row.get("fieldRef") or "").strip():
            yield required(f"{path}.fieldRef")


def _row(obj: Object, now: float) -> Sequence[Any]:
    kind = at(obj, "spec", "paramKind")
    shown = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [name_of(obj), len(at(obj, "spec", "validations") or ()), shown, created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), part=()),
    unqualified_finalizers=True,
    default=_default,
    prepare=_prepare,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
)
