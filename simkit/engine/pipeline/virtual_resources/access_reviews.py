"""Access reviews, answered by the authorizer, and SelfSubjectReview.

References
----------
``pkg/registry/authorization`` and ``pkg/registry/authentication/selfsubjectreview``, release 1.30.
pkg/apis/authorization/validation/validation.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.virtual_resources.reviews import receive_review, review_response
from simkit.engine.pipeline.virtual_resources.selector_attributes import selector_errors
from simkit.kinds.parts.go_printing.structures import structure
from simkit.meta.attributes import ALLOW, DENY, Attributes, Decision
from simkit.meta.clock import timestamp
from simkit.meta.domain import AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.errors import bad_request, invalid
from simkit.meta.fielderror import FieldError, Shown, invalid_value
from simkit.meta.identity import Identity
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource
from simkit.meta.objects import Draft
from simkit.meta.selector_requirements import reviewed_fields, reviewed_labels
from simkit.meta.user_info import user_info

Handler = Callable[[Engine, RequestContext, RequestScope], Response]


def access_review(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer to a SubjectAccessReview or LocalSubjectAccessReview: whether a user may do something."""
    draft, review = receive_review(engine, context, scope)
    spec = draft.get("spec") or {}
    errors = _attribute_errors(spec)
    if not spec.get("user") and not spec.get("groups"):
        errors.append(invalid_value("spec.user", "", "at least one of user or group must be specified"))
    errors += selector_errors(spec.get("resourceAttributes") or {})
    local = scope.resource.namespaced
    detail = "must be empty except for namespace" if local else "must be empty"
    _refuse(draft, [*errors, *_metadata_errors(draft, detail), *(_local_errors(context, spec) if local else ())])
    engine.admission.validate(review)
    return _answered(engine, context, scope, draft, reviewed_identity(spec), spec)


def self_access_review(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer to a SelfSubjectAccessReview: whether the sender may do something."""
    draft, review = receive_review(engine, context, scope)
    spec = draft.get("spec") or {}
    selectors = selector_errors(spec.get("resourceAttributes") or {})
    _refuse(draft, [*_attribute_errors(spec), *selectors, *_metadata_errors(draft, "must be empty")])
    engine.admission.validate(review)
    return _answered(engine, context, scope, draft, context.actor(), spec)


def _metadata_errors(draft: Draft, detail: str) -> list[FieldError]:
    given = {name: value for name, value in draft["metadata"].items() if name not in ("managedFields", "namespace")}
    if not given:
        return []
    return [invalid_value("metadata", structure("v1.ObjectMeta", draft["metadata"]), detail)]


def _refuse(draft: Draft, errors: list[FieldError]) -> None:
    if errors:
        raise invalid(GroupKind(AUTHORIZATION_GROUP, ""), "", errors)


def _attribute_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    of_resource, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_resource is not None and of_path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", _shown(of_path), detail)]
    if of_resource is None and of_path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_value("spec.resourceAttributes", None, detail)]
    return []


def _shown(of_path: Mapping[str, Any]) -> Shown:
    return structure("authorization.NonResourceAttributes", of_path)


def _local_errors(context: RequestContext, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    of_resource, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_resource is not None and (of_resource.get("namespace") or "") != context.info.namespace:
        detail = "must match metadata.namespace"
        yield invalid_value("spec.resourceAttributes.namespace", of_resource.get("namespace") or "", detail)
    if of_path is not None:
        yield invalid_value("spec.nonResourceAttributes", _shown(of_path), "disallowed on this kind of request")


def reviewed_identity(spec: Mapping[str, Any]) -> Identity:
    """The user that a review about somebody else names."""
    return Identity(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), spec.get("extra") or {})


def question(spec: Mapping[str, Any], identity: Identity) -> Attributes:
    """The attributes in a review."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec.get("nonResourceAttributes") or {}
        return Attributes(identity, path.get("verb", ""), path=path.get("path", ""), is_resource=False)
    get = resource.get
    fields, labels = get("fieldSelector"), get("labelSelector")
    return Attributes(
        identity,
        get("verb", ""),
        get("group", ""),
        get("version") or "*",
        get("resource", ""),
        get("subresource", ""),
        get("namespace", ""),
        get("name", ""),
        field_selector=reviewed_fields(fields)[0] if fields else (),
        label_selector=reviewed_labels(labels)[0] if labels else (),
    )


def _ignored(spec: Mapping[str, Any]) -> Iterator[str]:
    """The sentences about selectors that could not be read as a whole."""
    attributes = spec.get("resourceAttributes") or {}
    for name, read in (("fieldSelector", reviewed_fields), ("labelSelector", reviewed_labels)):
        given = attributes.get(name)
        found, whole = read(given) if given else ((), True)
        if not whole:
            yield f"spec.resourceAttributes.{name} {'partially ' if found else ''}ignored due to parse error"


def _answered(
    engine: Engine,
    context: RequestContext,
    scope: RequestScope,
    draft: Draft,
    identity: Identity,
    spec: Mapping[str, Any],
) -> Response:
    status = review_status(engine.authorizer.authorize(question(spec, identity)), spec)
    return review_response(context, scope, {**draft, "status": status})


def review_status(decision: Decision, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The status of a review with a specification, after the authorizer's decision."""
    status: dict[str, Any] = {"allowed": decision.verdict is ALLOW}
    if decision.verdict is DENY:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if errors := [error for error in (decision.error, *_ignored(spec)) if error]:
        status["evaluationError"] = "; ".join(errors)
    return status


def rules_review(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer to a SelfSubjectRulesReview: what the sender may do in a namespace."""
    draft, review = receive_review(engine, context, scope)
    namespace = (draft.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    engine.admission.validate(review)
    rules = engine.authorizer.rules_for(context.actor(), namespace)
    status: dict[str, Any] = {
        "resourceRules": [dict(rule) for rule in rules.resource_rules],
        "nonResourceRules": [dict(rule) for rule in rules.path_rules],
        "incomplete": rules.incomplete,
    }
    if rules.error:
        status["evaluationError"] = rules.error
    head = {"kind": draft["kind"], "apiVersion": draft["apiVersion"]}
    return review_response(context, scope, {**head, "metadata": {}, "spec": {}, "status": status})


def self_review(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer to a SelfSubjectReview: the user information of the sender."""
    draft, review = receive_review(engine, context, scope)
    engine.admission.validate(review)
    status = {"userInfo": user_info(context.actor())}
    metadata = {"creationTimestamp": timestamp(engine.clock.now())}
    head = {"kind": draft["kind"], "apiVersion": draft["apiVersion"]}
    made = scope.ordered({**head, "metadata": metadata, "status": status})
    return responses.made_response(scope, made, context.output_media_type)


HANDLERS: Final[Mapping[GroupResource, Handler]] = {
    GroupResource(AUTHORIZATION_GROUP, "subjectaccessreviews"): access_review,
    GroupResource(AUTHORIZATION_GROUP, "localsubjectaccessreviews"): access_review,
    GroupResource(AUTHORIZATION_GROUP, "selfsubjectaccessreviews"): self_access_review,
    GroupResource(AUTHORIZATION_GROUP, "selfsubjectrulesreviews"): rules_review,
    GroupResource(AUTHENTICATION_GROUP, "selfsubjectreviews"): self_review,
}
"""Reviews by resource."""
