"""Strategy of MutatingAdmissionPolicyBinding: defaulting and validation.

Follows ``pkg/registry/admissionregistration/mutatingadmissionpolicybinding/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.admissionregistration.mutatingadmissionpolicy import validate_operations
from simkit.kinds.admissionregistration.validatingadmissionpolicybinding import (
    default_first,
    param_cell,
    validate_param,
)
from simkit.kinds.parts.admission.rules import default_match, validate_match
from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import validate_required_name
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, spec_differs
from simkit.meta.domain import api_group
from simkit.meta.fielderror import FieldError
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of


def _default(draft: Draft) -> None:
    default_match(own_copy(draft, "spec"), "matchResources")


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"]))


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    yield from validate_required_name("spec.policyName", spec.get("policyName") or "", dns_subdomain)
    if spec.get("paramRef") is not None:
        yield from validate_param("spec.paramRef", spec["paramRef"])
    if spec.get("matchResources") is not None:
        yield from validate_match("spec.matchResources", spec["matchResources"])
        yield from validate_operations("spec.matchResources", spec["matchResources"])


def _row(obj: Object, now: float) -> Sequence[Any]:
    cells = at(obj, "spec", "policyName") or "", param_cell(at(obj, "spec", "paramRef"))
    return [name_of(obj), *cells, created(obj, now)]


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
