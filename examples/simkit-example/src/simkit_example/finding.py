"""A finding: bindings that name no owner."""

from collections.abc import Iterable

from simkit.analysis.findings import Check, Finding, Severity
from simkit.analysis.findings.survey import Survey
from simkit.meta.objects import annotations_of


def without_owner(survey: Survey, check: Check) -> Iterable[Finding]:
    """A finding for each binding without the annotation ``owner``. Unchanged default bindings are left out."""
    for binding in survey.bindings:
        key = binding.key
        obj = survey.snapshot.get(key.resource, key.name, key.namespace)
        if obj is not None and not annotations_of(obj).get("owner"):
            message = f"Nobody is named as the owner of {key.name}."
            yield check.finding(message, namespace=key.namespace, binding=key, role=binding.role)


BINDING_WITHOUT_OWNER = Check(
    "binding-without-owner",
    "Bindings without an owner",
    Severity.LOW,
    "Nobody can say whether the access is still needed.",
    "Add the annotation owner, or delete the binding.",
    without_owner,
)
