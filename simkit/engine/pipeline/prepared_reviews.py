"""Access reviews that are answered without the handler chain, since equal ones went through it before.

Whoever asks an API server what users may do, asks about the same ones again and again. Of a review that was sent
twice, what its body means is kept: the attributes for the authorizer, and the answer but for its status and its
time. The authorizer is asked each time, about the sender and about the review, and the seats are looked at each time.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

import orjson

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.prepared_reads import Caller, Moment, PreparedReads
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.forms import NONE, PLAIN
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.virtual_resources.access_reviews import question, review_status, reviewed_identity
from simkit.meta import go_json
from simkit.meta.attributes import ALLOW, Attributes
from simkit.meta.clock import timestamp
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource

_RESOURCES: Final = ("subjectaccessreviews", "selfsubjectaccessreviews")
_LONGEST: Final = 2048
"""Bytes of a body."""
_BODIES: Final = 2048
"""The limits of what is kept, since clients choose it."""
_INDIFFERENT: Final = frozenset({"NamespaceLifecycle", "ResourceQuota"})
"""Admission plugins that let whatever has no namespace pass."""
_CONFIGURED: Final = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicybindings",
    "MutatingAdmissionWebhook": "mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicybindings",
    "ValidatingAdmissionWebhook": "validatingwebhookconfigurations",
}
"""Admission plugins that let everything pass unless there are such objects."""
_KNOWN_PLUGINS: Final = _INDIFFERENT | _CONFIGURED.keys()
_CONFIGURATIONS: Final = tuple(GroupResource(ADMISSION_GROUP, plural) for plural in _CONFIGURED.values())
_STATUS: Final = b'"status":'

Body = tuple[str, str, bytes]
"""A path, a user agent, which the answer names, and a body."""


class PreparedReview:
    """The meaning of a body for an identity."""

    __slots__ = ("after", "ask", "before", "catalogue", "counted", "flow", "headers", "question", "spec", "sums")

    def __init__(
        self, engine: Engine, context: RequestContext, asked: Attributes, spec: dict[str, object], head: bytes, now: str
    ) -> None:
        self.catalogue, self.flow = engine.catalogue, context.flow
        self.ask, self.question, self.spec = context.info.asks(context.actor()), asked, spec
        self.before, self.after = head.split(now.encode())
        assert context.flow is not None
        self.headers = list(context.flow.headers)
        self.counted = tuple(context.counted)
        self.sums = engine.metrics.sums_of(context, 201)

    def answer(self, engine: Engine, now: str) -> bytes:
        """The body of the answer at a time."""
        status = review_status(engine.authorizer.authorize(self.question), self.spec)
        return b"".join((self.before, now.encode(), self.after, _STATUS, go_json.encode(status), b"}\n"))


class PreparedReviews:
    """The prepared reviews of one engine.

    Parameters
    ----------
    reads
        Knows the callers.
    most
        How many reviews are kept.
    """

    def __init__(self, engine: Engine, reads: PreparedReads, most: int = _BODIES) -> None:
        self._engine, self._reads, self._most = engine, reads, most
        self._known: dict[Identity, dict[Body, PreparedReview]] = {}
        self._count = 0
        self._seen: set[int] = set()
        """The hashes of bodies that were sent once."""

    def answer(self, request: Request) -> Response | None:
        """The answer to a review that was prepared; None: the handler chain has to answer."""
        caller: Caller | None = request.sender.caller if request.sender is not None else None
        if caller is None or request.query or (self._engine.shared_store and not request.refreshed):
            return None
        reviews = self._known.get(caller.identity)
        review = reviews.get(_key(request)) if reviews else None
        if review is None or request.headers.get("content-type", NONE)[0] not in PLAIN:
            return None
        engine, began = self._engine, perf_counter()
        if not self._reads.holds(request, caller, review.catalogue) or not self._passes_admission():
            return None
        if engine.authorizer.authorize(review.ask).verdict is not ALLOW or not engine.limits.passes(review.flow):
            return None
        body = review.answer(engine, timestamp(engine.clock.now()))
        engine.settle()
        engine.metrics.repeat(review.counted, review.sums, len(body), perf_counter() - began)
        return Response(201, body, headers=review.headers.copy())

    def learn_of_known(self, context: RequestContext, response: Response) -> None:
        """The same as ``learn`` for a review of a caller that was known."""
        caller: Caller | None = context.request.sender.caller if context.request.sender is not None else None
        if caller is not None:
            self.learn(context, response, (caller.changes, caller.second))

    def learn(self, context: RequestContext, response: Response, began: Moment) -> None:
        """Prepare a review that was sent before, if it is plain; ``began`` is from before its authentication."""
        request, info = context.request, context.info
        sender, body = request.sender, request.body
        if sender is None or info.resource not in _RESOURCES or len(body) > _LONGEST or response.status != 201:
            return
        if request.query or context.flow is None or context.identity is None or not self._reads.is_plain(context):
            return
        key = _key(request)
        if (mark := hash((context.identity.user, key))) not in self._seen:
            self._see(mark)
            return
        made = self._made(context, response)
        if made is not None and began[0] == self._reads.changes:
            self._keep(context.identity, key, made)
            self._reads.know(sender, context.identity, began)

    def _see(self, mark: int) -> None:
        if len(self._seen) >= self._most:
            self._seen.clear()
        self._seen.add(mark)

    def _keep(self, identity: Identity, key: Body, review: PreparedReview) -> None:
        if self._count >= self._most:
            self._known, self._count = {}, 0
        reviews = self._known.setdefault(identity, {})
        self._count += key not in reviews
        reviews[key] = review

    def _made(self, context: RequestContext, response: Response) -> PreparedReview | None:
        """The prepared review; None if its answer is not what would be made of it now, as in the next second."""
        engine, info = self._engine, context.info
        plugins = engine.admission.concerned("CREATE", info.group_resource)
        if any(plugin.name not in _KNOWN_PLUGINS for plugin in plugins) or not self._passes_admission():
            return None
        now, head = timestamp(engine.clock.now()), response.body.rpartition(_STATUS)[0]
        if head.count(now.encode()) != 1 or responses.wants_pretty(context.request, context.output_media_type):
            return None
        spec = orjson.loads(response.body).get("spec") or {}
        asks = context.actor() if info.resource.startswith("self") else reviewed_identity(spec)
        review = PreparedReview(engine, context, question(spec, asks), spec, head, now)
        return review if review.answer(engine, now) == response.body else None

    def _passes_admission(self) -> bool:
        """True if no webhook and no policy wants to see a review."""
        count = self._engine.store.count
        return not any(map(count, _CONFIGURATIONS))


def _key(request: Request) -> Body:
    return request.path, request.header("user-agent"), request.body
