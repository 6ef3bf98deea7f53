"""Strategy of ValidatingAdmissionPolicyBinding: defaulting, validation, printer columns.

Follows ``pkg/registry/admissionregistration/validatingadmissionpolicybinding/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.parts.admission.rules import default_match, validate_match
from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.printers.cells import UNSET, created
from simkit.kinds.parts.printers.label_selector import selector_structure
from simkit.kinds.parts.validation.fields import validate_required_name, validate_text
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.parts.validation.repeats import repeats
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import applies
from simkit.meta.domain import api_group
from simkit.meta.fielderror import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported,
)
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Draft, Object, at, name_of

_GROUP: Final = api_group("admissionregistration")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Deny", "Allow")
_EITHER: Final = "name and selector are mutually exclusive"


def _default(draft: Draft) -> None:
    default_match(own_copy(draft, "spec"), "matchResources")


def default_first(draft: Draft) -> None:
    """The defaults of the first version of policy bindings, which has one more."""
    _default(draft)
    if at(draft, "spec", "paramRef") is not None:
        reference = own_copy(draft, "spec", "paramRef")
        reference["parameterNotFoundAction"] = reference.get("parameterNotFoundAction") or "Deny"


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"]))


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    yield from validate_required_name("spec.policyName", spec.get("policyName") or "", dns_subdomain)
    if spec.get("paramRef") is not None:
        yield from validate_param("spec.paramRef", spec["paramRef"])
    if spec.get("matchResources") is not None:
        path = "spec.matchResources" if applies("match-resources-spelled") else "spec.matchResouces"
        yield from validate_match(path, spec["matchResources"])
    yield from _validate_action("spec.validationActions", spec.get("validationActions") or ())


def validate_param(path: str, reference: Object) -> Iterator[FieldError]:
    """The errors of which parameters a binding names: by name, or by selector."""
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        yield from validate_text(f"{path}.name", name, path_segment)
        if selector is not None:
            yield forbidden_field(f"{path}.name", _EITHER)
    if selector is not None:
        yield from validate_label_selector(selector, f"{path}.selector")
        if name:
            yield forbidden_field(f"{path}.selector", _EITHER)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in _NOT_FOUND:
        yield unsupported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND)


def _validate_action(path: str, actions: Sequence[str]) -> Iterator[FieldError]:
    again = repeats(actions)
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield unsupported(f"{path}[{index}]", action, _ACTIONS)
        if index in again:
            yield duplicate(f"{path}[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        shown = texts(actions, "admissionregistration.ValidationAction")
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information "
            "in the API response and headers serves no purpose)"
        )
        yield invalid_value(path, shown, text)
    if not actions:
        yield required(path, "at least one validation action is required")


def _row(obj: Object, now: float) -> Sequence[Any]:
    reference = at(obj, "spec", "paramRef")
    return [name_of(obj), at(obj, "spec", "policyName") or "", param_cell(reference), created(obj, now)]


def param_cell(reference: Object | None) -> str:
    """The column that shows which parameters a binding names."""
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return selector_structure(reference["selector"]) if reference.get("selector") is not None else UNSET


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    unqualified_finalizers=True,
    default=_default,
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    allow_unconditional_update=False,
)
STRATEGY = replace(
    _STABLE, older_versions={f"{api_group('admissionregistration')}/v1alpha1": replace(_STABLE, default=default_first)}
)
