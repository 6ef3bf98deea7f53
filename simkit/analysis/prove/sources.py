"""Conditions of other objects as policies: match conditions of webhooks and of authorizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.domain import ADMISSION_GROUP, api_group
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at, name_of

DEFINITION: Final = "CustomResourceDefinition"
_AUTHORIZATION: Final = "AuthorizationConfiguration"
_REVIEW_RULE: Final = {
    "apiGroups": [api_group("authorization")],
    "apiVersions": ["*"],
    "operations": ["CREATE"],
    "resources": ["subjectaccessreviews"],
}


def policies_of(obj: Object) -> Iterator[Object]:
    """A policy for each list of conditions of an object; a write passes where the conditions hold.

    Raises
    ------
    SimkitError
        For an object that has no conditions.
    """
    kind = obj.get("kind")
    if kind == _AUTHORIZATION:
        for authorizer in obj.get("authorizers") or ():
            conditions = at(authorizer, "webhook", "matchConditions") or ()
            # The conditions call the review's spec request.
            sources = [f"[object.spec].all(request, {each['expression']})" for each in conditions]
            if sources:
                yield _policy(str(authorizer.get("name")), sources, [_REVIEW_RULE])
    elif kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for webhook in obj.get("webhooks") or ():
            sources = [each["expression"] for each in webhook.get("matchConditions") or ()]
            if sources:
                yield _policy(str(webhook.get("name")), sources, webhook.get("rules") or ())
    elif kind == "ValidatingAdmissionPolicy":
        yield obj
    else:
        raise SimkitError(f"{kind} {name_of(obj)} has no expressions to look at")


def _policy(name: str, expressions: list[str], rules: Any) -> Object:
    validations: list[Mapping[str, str]] = [{"expression": expression} for expression in expressions]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": validations}
    header = {"apiVersion": f"{ADMISSION_GROUP}/v1", "kind": "ValidatingAdmissionPolicy"}
    return {**header, "metadata": {"name": name}, "spec": spec}
