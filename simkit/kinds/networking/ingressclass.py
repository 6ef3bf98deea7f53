"""Strategy of IngressClass: defaulting, validation, printer columns.

Follows ``pkg/registry/networking/ingressclass/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.fields import validate_domain_path, validate_immutable_field, validate_text
from simkit.kinds.parts.validation.object_references import validate_local_reference
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, spec_differs
from simkit.meta.fielderror import FieldError, forbidden_field, required, too_long, unsupported
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Draft, Object, at, name_of

_LONGEST: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


def _default(draft: Draft) -> None:
    if at(draft, "spec", "parameters") is not None:
        own_copy(draft, "spec", "parameters").setdefault("scope", "Cluster")


def _prepare(draft: Draft, old: Object | None) -> None:
    draft["spec"] = draft.get("spec") or {}


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    if old is None:
        return list(_validate_fields(obj["spec"]))
    controller = obj["spec"].get("controller") or ""
    return list(validate_immutable_field("spec.controller", controller, at(old, "spec", "controller") or ""))


def _validate_whole(obj: Object, old: Object) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"]))


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    controller = spec.get("controller") or ""
    if len(controller) > _LONGEST:
        yield too_long("spec.controller", _LONGEST)
    yield from validate_domain_path("spec.controller", controller)
    parameters = spec.get("parameters")
    if parameters is None:
        return
    path = "spec.parameters"
    yield from validate_local_reference(path, parameters)
    scope, namespace = parameters["scope"], parameters.get("namespace")
    if scope not in _SCOPES:
        yield unsupported(f"{path}.scope", scope, _SCOPES)
    elif scope == "Cluster" and namespace is not None:
        yield forbidden_field(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace" and namespace is None:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace":
        yield from validate_text(f"{path}.namespace", namespace, dns_label)


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    return [name_of(obj), spec.get("controller") or "", _parameters(spec.get("parameters")), created(obj, now)]


def _parameters(reference: Object | None) -> str:
    if reference is None:
        return NONE
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind', '')}{group}/{reference.get('name', '')}"


STRATEGY = Strategy(
    default=_default,
    prepare=_prepare,
    metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
    validate=_validate,
    validate_last=_validate_whole,
    raises_generation=spec_differs,
    print_row=_row,
)
