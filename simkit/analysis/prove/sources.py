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


def native_policy(engine: str, policy: Object, binding: Object) -> tuple[Object, ...]:
    """A policy and its binding in the form of ``kubernetes``, ``kyverno`` or ``gatekeeper``.

    Raises
    ------
    SimkitError
        For another engine.
    """
    spec, name = policy["spec"], name_of(policy)
    if engine == "kubernetes":
        return policy, binding
    if engine == "kyverno":
        actions = at(binding, "spec", "validationActions")
        header = {"apiVersion": "policies.kyverno.io/v1alpha1", "kind": "ValidatingPolicy"}
        return ({**header, "metadata": {"name": name}, "spec": {**spec, "validationActions": actions}},)
    if engine != "gatekeeper":
        raise SimkitError(f"engine {engine!r}: there are kubernetes, kyverno and gatekeeper")
    kind = "".join(word.capitalize() for word in name.split("-"))
    rules = at(spec, "matchConstraints", "resourceRules") or ()
    source = {"failurePolicy": "Fail", "matchCondition": spec["matchConditions"], "validations": spec["validations"]}
    code = [{"engine": "K8sNativeValidation", "source": source}]
    target = {"target": "admission.k8s.gatekeeper.sh", "code": code}
    template = {"crd": {"spec": {"names": {"kind": kind}}}, "targets": [target]}
    resources = sorted({word.partition("/")[0] for rule in rules for word in rule["resources"]})
    kinds = [{"apiGroups": rule["apiGroups"], "kinds": resources} for rule in rules]
    return (
        {
            "apiVersion": "templates.gatekeeper.sh/v1",
            "kind": "ConstraintTemplate",
            "metadata": {"name": kind.lower()},
            "spec": template,
        },
        {
            "apiVersion": "constraints.gatekeeper.sh/v1beta1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": {"match": {"kinds": kinds}},
        },
    )
