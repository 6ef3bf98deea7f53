"""TokenReview: the identity of a token, from the authenticators.

References
----------
``pkg/registry/authentication/tokenreview/storage.go``, release 1.30.
"""

from __future__ import annotations

from typing import Any

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.virtual_resources.reviews import receive_review, review_response
from simkit.meta.errors import bad_request
from simkit.meta.message import Response
from simkit.meta.user_info import user_info


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
