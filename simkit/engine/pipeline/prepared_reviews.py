"""Access reviews that are answered without the handler chain, since such ones went through it before.

Whoever asks an API server what users may do, asks about the same ones again and again, and about others in the same
form. Of a form that was seen twice, what the chain found out is kept, and of a review that was sent twice, what its
body means: the attributes for the authorizer, and the answer but for its status and its time. The authorizer is asked
each time, about the sender and about the review, and the seats are looked at each time.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.known_by_identity import KnownByIdentity
from simkit.engine.pipeline.prepared_reads import Caller, Moment, PreparedReads
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.forms import NONE
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.review_forms import Form, PreparedReview, ReviewForm, form_of, read
from simkit.engine.storage.derived import DerivedValue
from simkit.meta.attributes import ALLOW
from simkit.meta.clock import timestamp
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource

_RESOURCES: Final = ("subjectaccessreviews", "selfsubjectaccessreviews")
_LONGEST: Final = 2048
"""Bytes of a body."""
_BODIES: Final = 2048
_FORMS: Final = 256
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
_JSON: Final = frozenset({"", "application/json"})
"""Media types of bodies."""

Body = tuple[str, str, bytes]
"""A path, a user agent, which the answer names, and a body."""
Kind = tuple[str, str, Form]
"""A path, a user agent and a form of bodies."""


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
        self._known = KnownByIdentity[Body, PreparedReview](most)
        self._forms = KnownByIdentity[Kind, ReviewForm](_FORMS)
        self._seen: set[int] = set()
        """The hashes of bodies and of forms that were sent once."""
        self._unasked = DerivedValue(engine.store, _CONFIGURATIONS, self._find_unasked)
        """True if no webhook and no policy wants to see a review."""

    def answer(self, request: Request) -> Response | None:
        """The answer to a review that was prepared; None: the handler chain has to answer."""
        caller: Caller | None = request.sender.caller if request.sender is not None else None
        if caller is None or request.query or (self._engine.shared_store and not request.refreshed):
            return None
        if request.headers.get("content-type", NONE)[0] not in _JSON:
            return None
        key = _key(request)
        review = self._known.of(caller.identity).get(key) or self._of_form(caller.identity, key)
        if review is None:
            return None
        engine, form, began = self._engine, review.form, perf_counter()
        if not self._reads.holds(request, caller, form.catalogue) or not self._unasked.now():
            return None
        if engine.authorizer.authorize(form.ask).verdict is not ALLOW or not engine.limits.passes(form.flow):
            return None
        body = review.answer(engine, timestamp(engine.clock.now()))
        engine.settle()
        engine.metrics.repeat(form.counted, form.sums, len(body), perf_counter() - began, received=len(request.body))
        return Response(201, body, headers=form.headers.copy())

    def _of_form(self, identity: Identity, key: Body) -> PreparedReview | None:
        """A review of a form that was prepared; one that was sent before is kept."""
        forms, (path, agent, body) = self._forms.of(identity), key
        if not forms or len(body) > _LONGEST:
            return None
        value = read(body)
        told = form_of(value) if value is not None else None
        form = forms.get((path, agent, told)) if told is not None else None
        if form is None:
            return None
        review = form.review(form.arranged(value["spec"]))
        if self._was_seen(hash((identity.user, key))):
            self._known.keep(identity, key, review)
        return review

    def learn_of_known(self, context: RequestContext, response: Response) -> None:
        """The same as ``learn`` for a review of a caller that was known."""
        caller: Caller | None = context.request.sender.caller if context.request.sender is not None else None
        if caller is not None:
            self.learn(context, response, (caller.changes, caller.second))

    def learn(self, context: RequestContext, response: Response, began: Moment) -> None:
        """Prepare a form of reviews, or a review without one, that was sent before, if it is plain.

        ``began`` is from before its authentication.
        """
        request, info = context.request, context.info
        sender, body = request.sender, request.body
        if sender is None or info.resource not in _RESOURCES or len(body) > _LONGEST or response.status != 201:
            return
        if request.query or context.identity is None or not self._reads.is_plain(context):
            return
        if request.header("content-type") not in _JSON or (value := read(body)) is None:
            return
        form = form_of(value)
        key = _key(request)
        kind = (*key[:2], form) if form is not None else None
        if not self._was_seen(hash((context.identity.user, kind or key))):
            return
        made = self._made(context, response)
        if made is None or began[0] != self._reads.changes:
            return
        if kind is not None and made.spec == value["spec"]:
            self._forms.keep(context.identity, kind, made.form)
        else:
            self._known.keep(context.identity, key, made)
        self._reads.know(sender, context.identity, began)

    def _was_seen(self, mark: int) -> bool:
        """True for what was sent before; from now on, this was."""
        if mark in self._seen:
            return True
        if len(self._seen) >= self._most:
            self._seen.clear()
        self._seen.add(mark)
        return False

    def _made(self, context: RequestContext, response: Response) -> PreparedReview | None:
        """The prepared review; None if its answer is not what would be made of it now, as in the next second."""
        engine, info = self._engine, context.info
        plugins = engine.admission.concerned("CREATE", info.group_resource)
        if any(plugin.name not in _KNOWN_PLUGINS for plugin in plugins) or not self._unasked.now():
            return None
        now = timestamp(engine.clock.now())
        if responses.wants_pretty(context.request, context.output_media_type):
            return None
        review = ReviewForm.learned(engine, context, response.body, now)
        return review if review is not None and review.answer(engine, now) == response.body else None

    def _find_unasked(self) -> bool:
        return not any(map(self._engine.store.count, _CONFIGURATIONS))


def _key(request: Request) -> Body:
    return request.path, request.header("user-agent"), request.body
