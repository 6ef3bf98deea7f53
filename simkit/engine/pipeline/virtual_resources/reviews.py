"""The parts that all reviews share: reading the body of a review, and answering with its status.

Upstream: pkg/registry/authorization/subjectaccessreview/rest.go, release 1.30.
"""

from __future__ import annotations

from typing import NamedTuple

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.admission_binding import managed_fields_tracker
from simkit.engine.pipeline.verbs.create_attributes import create_attributes
from simkit.engine.registry.metadata import wipe_system_fields
from simkit.engine.seams import Review
from simkit.meta.message import Response
from simkit.meta.objects import Draft, name_of, null_creation


class ReceivedReview(NamedTuple):
    """The body of a review, with its admission attributes; validating admission follows once the body is valid."""

    draft: Draft
    review: Review


def receive_review(engine: Engine, context: RequestContext, scope: RequestScope) -> ReceivedReview:
    """The body of a review after mutating admission, with its managed fields."""
    options = opt.write_options(context.request, "CreateOptions")
    draft = request_object.read(engine, context, scope.resource.gvk, scope.schema, options.validation)
    request_object.check_address(context, scope, draft, named=False)
    wipe_system_fields(draft)
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
    metadata = {**null_creation(), **draft["metadata"]}
    made = scope.ordered({**draft, "metadata": metadata})
    return responses.made_response(scope, made, context.output_media_type)
