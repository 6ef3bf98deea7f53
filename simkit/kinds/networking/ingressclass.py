"""Strategy of IngressClass: defaulting, validation, printer columns.

Follows ``pkg/registry/networking/ingressclass/strategy.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.parts.copy_on_write import own_copy, prepared
from simkit.kinds.parts.printers.cells import NONE, columns
from simkit.kinds.parts.validation.fields import validate_domain_path
from simkit.kinds.parts.validation.object_meta import validate_local_reference
from simkit.kinds.rules import by, fields, fixed, last, must, row, table, validation, whole
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Draft, Object, at


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if at(draft, "spec", "parameters") is not None:
        own_copy(draft, "spec", "parameters").setdefault("scope", "Cluster")


_IN_NAMESPACE: Final = fields.equal("scope", "Namespace")
_NAMESPACED: Final = must.be_given("`parameters.scope` is set to 'Namespace'", pointer=True)
_FIELDS: Final = table(
    row("spec.controller", must.be_no_longer_than(250)),
    row("spec.controller", by(validate_domain_path), zero=""),
    row(
        "spec.parameters",
        table(
            by(validate_local_reference),
            row("scope", must.be_one_of("Cluster", "Namespace"), empty=True),
            row(
                "namespace",
                must.be_absent("`parameters.scope` is set to 'Cluster'", pointer=True),
                when=fields.equal("scope", "Cluster"),
                empty=True,
            ),
            row("namespace", _NAMESPACED, must.be(dns_label), when=_IN_NAMESPACE),
        ),
    ),
)


def _parameters(obj: Object) -> str:
    reference = at(obj, "spec", "parameters")
    if reference is None:
        return NONE
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind', '')}{group}/{reference.get('name', '')}"


STRATEGY = Strategy(
    default=_default,
    prepare=prepared(spec=True),
    metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
    validate=validation(created=(_FIELDS,), changed=fixed("spec.controller", zero="")),
    validate_last=last(whole(_FIELDS)),
    raises_generation=spec_differs,
    print_row=columns("spec.controller", _parameters),
)
