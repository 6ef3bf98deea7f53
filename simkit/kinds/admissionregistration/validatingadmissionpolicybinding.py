"""Strategy of ValidatingAdmissionPolicyBinding: defaulting, validation, printer columns.

Follows ``pkg/registry/admissionregistration/validatingadmissionpolicybinding/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from simkit.kinds.parts.admission.rules import MATCH, default_match
from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.printers.cells import UNSET, columns, selector_structure
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import REQUIRED, Check, distinct, fields, must, row, validation
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Draft, Object, at

_GROUP: Final = api_group("admissionregistration")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    default_match(own_copy(draft, "spec"), "matchResources")


def _default_first(behaviour: ServedBehaviour, draft: Draft) -> None:
    """The defaults of the first version of policy bindings, which has one more."""
    _default(behaviour, draft)
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
        default=_default,
        validate=validation(*rules),
        raises_generation=spec_differs,
        print_row=columns("spec.policyName", param_cell),
        allow_unconditional_update=False,
    )
    return replace(stable, older_versions={f"{_GROUP}/v1alpha1": replace(stable, default=_default_first)})


STRATEGY = binding_strategy(*_SPEC)
