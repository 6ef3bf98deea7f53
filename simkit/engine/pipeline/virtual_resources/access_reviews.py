"""Resources that are not stored: reviews of access and of tokens, and component statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import managed_fields_tracker
from simkit.engine.pipeline.verbs.read import selection
from simkit.engine.pipeline.verbs.request_object import create_attributes
from simkit.engine.registry.metadata import wipe_system_fields
from simkit.kinds.parts.go_printing.structures import structure
from simkit.meta.attributes import ALLOW, DENY, Attributes, Decision
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.errors import bad_request, invalid, unexplained
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.identity import Identity
from simkit.meta.message import Response
from simkit.meta.name_validation import label_value, qualified_name
from simkit.meta.names import GroupKind, GroupResource, Key, Revision
from simkit.meta.objects import Draft, Object, name_of, null_creation
from simkit.meta.selector_requirements import reviewed_fields, reviewed_labels
from simkit.meta.user_info import user_info
from simkit.meta.wording import Written
from simkit.seams import Entry, Review

# Resources that are not stored: reviews of access and of tokens

# The parts that all reviews share: reading the body of a review, and answering with its status.
# Upstream: pkg/registry/authorization/subjectaccessreview/rest.go, release 1.30.


class ReceivedReview(NamedTuple):
    """The body of a review, with its admission attributes; validating admission follows once the body is valid."""

    draft: Draft
    review: Review


def receive_review(engine: Engine, context: RequestContext, scope: RequestScope) -> ReceivedReview:
    """The body of a review after mutating admission, with its managed fields."""
    options = request_object.create_options(engine.behaviour, context.request)
    draft = request_object.read(engine, context, scope.resource.gvk, scope.schema, options.validation)
    request_object.check_address(context, scope, draft, named=False)
    wipe_system_fields(engine.behaviour, draft)
    given = draft["metadata"]
    tracked = managed_fields_tracker(engine, scope, options, "")(None, draft)
    metadata = {**given, "managedFields": tracked["metadata"].get("managedFields")}
    draft = {**draft, "metadata": {name: value for name, value in metadata.items() if value}}
    review = create_attributes(context, scope, scope.resource.gvk, name_of(draft), draft, options)
    mutated = engine.admission.mutate(review)
    if mutated is draft:
        return ReceivedReview(draft, review)
    draft = dict(mutated)
    return ReceivedReview(draft, review.with_object(draft))


def review_response(context: RequestContext, scope: RequestScope, draft: Draft) -> Response:
    """The review with its status as the answer to a create."""
    metadata = {**null_creation(scope.catalogue.behaviour), **draft["metadata"]}
    made = scope.ordered({**draft, "metadata": metadata})
    return responses.made_response(scope, made, context.output_media_type)


# Validation of the field and label selectors in access reviews.
# Upstream: pkg/apis/authorization/validation/validation.go, release 1.36; KEP-4601.

_PATH: Final = "spec.resourceAttributes"
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def selector_errors(attributes: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of both selectors of resource attributes. Unknown operators are allowed, for newer clients."""
    for name in ("fieldSelector", "labelSelector"):
        selector = attributes.get(name)
        if selector is not None:
            yield from _errors(selector, f"{_PATH}.{name}", labels=name == "labelSelector")


def _errors(selector: Mapping[str, Any], path: str, *, labels: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
    if raw and requirements:
        yield invalid_value(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        yield required(f"{path}.requirements", detail)
    for index, requirement in enumerate(requirements):
        yield from _requirement(requirement, f"{path}.requirements[{index}]", labels=labels)


def _requirement(requirement: Mapping[str, Any], path: str, *, labels: bool) -> Iterator[FieldError]:
    key, operator = requirement.get("key") or "", requirement.get("operator") or ""
    values = requirement.get("values") or ()
    if not key and not labels:
        yield required(f"{path}.key", "must be specified")
    if operator in _WITH_VALUES and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES and values:
        yield forbidden_field(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    if labels:
        yield from (invalid_value(f"{path}.key", key, text) for text in qualified_name(key))
        for number, value in enumerate(values):
            yield from (invalid_value(f"{path}.values[{number}]", value, text) for text in label_value(value))


# Access reviews, answered by the authorizer, and SelfSubjectReview.
# References: ``pkg/registry/authorization`` and ``pkg/registry/authentication/selfsubjectreview``, release 1.30.
# pkg/apis/authorization/validation/validation.go, release 1.30.

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
    _refuse(
        engine.behaviour,
        draft,
        [*errors, *_metadata_errors(draft, detail), *(_local_errors(context, spec) if local else ())],
    )
    engine.admission.validate(review)
    return _answered(engine, context, scope, draft, reviewed_identity(spec), spec)


def self_access_review(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer to a SelfSubjectAccessReview: whether the sender may do something."""
    draft, review = receive_review(engine, context, scope)
    spec = draft.get("spec") or {}
    selectors = selector_errors(spec.get("resourceAttributes") or {})
    _refuse(engine.behaviour, draft, [*_attribute_errors(spec), *selectors, *_metadata_errors(draft, "must be empty")])
    engine.admission.validate(review)
    return _answered(engine, context, scope, draft, context.actor(), spec)


def _metadata_errors(draft: Draft, detail: str) -> list[FieldError]:
    given = {name: value for name, value in draft["metadata"].items() if name not in ("managedFields", "namespace")}
    if not given:
        return []
    return [invalid_value("metadata", structure("v1.ObjectMeta", draft["metadata"]), detail)]


def _refuse(behaviour: ServedBehaviour, draft: Draft, errors: list[FieldError]) -> None:
    if errors:
        raise invalid(behaviour, GroupKind(AUTHORIZATION_GROUP, ""), "", errors)


def _attribute_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    of_resource, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_resource is not None and of_path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", _shown(of_path), detail)]
    if of_resource is None and of_path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_value("spec.resourceAttributes", None, detail)]
    return []


def _shown(of_path: Mapping[str, Any]) -> Written:
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


# TokenReview: the identity of a token, from the authenticators.
# References: ``pkg/registry/authentication/tokenreview/storage.go``, release 1.30.


def token_review(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The answer to a TokenReview. Raises 400 for one without a token."""
    draft, review = receive_review(engine, context, scope)
    spec = draft.get("spec") or {}
    token, audiences = spec.get("token") or "", spec.get("audiences") or ()
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    engine.admission.validate(review)
    verdict = engine.authentication.reviewer.review(token, audiences)
    status: dict[str, Any] = {"user": {}}
    if verdict.identity is not None:
        user, named = user_info(verdict.identity), list(verdict.audiences)
        status = {"authenticated": True, "user": user, **({"audiences": named} if named else {})}
    elif verdict.error:
        status["error"] = verdict.error
    return review_response(context, scope, {**draft, "status": status})


# get and list of component statuses, which are computed and not stored

_NOBODY: Final = 'Get "https://127.0.0.1:{port}/healthz": dial tcp 127.0.0.1:{port}: connect: connection refused'
_WELL: Final = ("True", "ok")
_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "controller-manager": _WELL,
    "etcd-0": _WELL,
    "scheduler": ("False", _NOBODY.format(port=10259)),
}
"""Controllers and store are parts of this server.

The scheduler is one too where there are simulated nodes; else it is unreachable, in kube-apiserver's words.
"""


def answer(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """One of them, or all that are selected. Raises a 500 without a reason for an unknown one."""
    name, now = context.info.name, engine.clock.now()
    if name:
        if name not in _PARTS:
            raise unexplained(f"Component not found: {name}")
        return responses.object_response(scope, _found(engine, scope, name), context.output_media_type, now=now)
    chosen = selection(scope, opt.list_options(engine.behaviour, context.request, watch=False))
    entries = [entry for entry in (_found(engine, scope, each) for each in _PARTS) if chosen.matches(entry)]
    return responses.list_response(scope, entries, {}, context.output_media_type, now=now)


def _found(engine: Engine, scope: RequestScope, name: str) -> Entry:
    status, message = _PARTS[name] if engine.connections is None else _WELL
    obj: Object = {
        "kind": scope.resource.kind,
        "apiVersion": scope.resource.api_version,
        "metadata": {"name": name, **null_creation(engine.behaviour)},
        "conditions": [{"type": "Healthy", "status": status, "message": message}],
    }
    return Entry(Key(scope.resource.storage, "", name), Revision(0), obj)
