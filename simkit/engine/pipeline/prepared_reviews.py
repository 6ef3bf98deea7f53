"""Access reviews that are answered without the handler chain, since such ones went through it before.

Whoever asks an API server what users may do, asks about the same ones again and again, and about others in the same
form. Of a form that was seen twice, what the chain found out is kept, and of a review that was sent twice, what its
body means: the attributes for the authorizer, and the answer but for its status and its time. The authorizer is asked
each time, about the sender and about the review, and the seats are looked at each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final, TypeVar

import orjson

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.prepared_reads import Caller, Moment, PreparedReads
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.bodies import NONE
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.virtual_resources.access_reviews import question, review_status, reviewed_identity
from simkit.engine.storage.derived import DerivedValue
from simkit.meta import go_json
from simkit.meta.attributes import ALLOW, Attributes
from simkit.meta.clock import timestamp
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Draft
from simkit.schema.strict_json import may_repeat

# The forms of access reviews: what of a review decides about all of its answer but its status and its texts.
# Two reviews have one form if they differ in texts of their ``spec`` alone, none of which is empty: a verb, a user, a
# group. Every such text is taken as it is, so that one goes through the same checks with the same result as the
# other.

Asked = TypeVar("Asked")
Known = TypeVar("Known")
_SPEC: Final = b'"spec":'
_LIST, _INSIDE, _END = 0, 1, 2

Form = tuple[bytes, tuple[str | int, ...]]
"""The JSON of a review outside of its spec; the names in its spec, with marks for lists and objects."""


def read(body: bytes) -> Any:
    """The value of a body; None for one that is no JSON object, or may have duplicate keys."""
    try:
        value = orjson.loads(body)
        return None if value.__class__ is not dict or may_repeat(body, value) else value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # the handler chain says what is wrong
        return None


def form_of(value: Mapping[str, Any]) -> Form | None:
    """The form of a review; None if its spec has more than texts, lists of texts, and objects of these.

    Examples
    --------
    >>> ann, bob = ({"kind": "K", "spec": {"user": name, "groups": [name]}} for name in ("ann", "bob"))
    >>> form_of(ann) == form_of(bob), form_of(ann), form_of({"spec": {"user": ""}})
    (True, (b'{"kind":"K"}', ('user', 'groups', 0)), None)
    """
    spec = value.get("spec")
    found: list[str | int] = []
    if spec.__class__ is not dict or not _collect(spec, found, inside=False):
        return None
    return orjson.dumps({name: each for name, each in value.items() if name != "spec"}), tuple(found)


def _collect(fields: Mapping[str, Any], found: list[str | int], *, inside: bool) -> bool:
    for name, value in fields.items():
        found.append(name)
        kind = value.__class__
        if not value:
            return False
        if kind is list:
            if {*map(type, value)} != {str}:
                return False
            found.append(_LIST)
        elif kind is dict and not inside:
            found.append(_INSIDE)
            if not _collect(value, found, inside=True):
                return False
            found.append(_END)
        elif kind is not str:
            return False
    return True


class ReviewForm:
    """The meaning of a form of reviews for an identity, learned from an answer of the handler chain.

    Attributes
    ----------
    order
        The names in the answer's spec, each with those inside of it.
    """

    __slots__ = ("_sender", "after", "ask", "before", "catalogue", "durations", "flow", "headers", "order")

    def __init__(self, engine: Engine, context: RequestContext, before: bytes, after: bytes, spec: Draft) -> None:
        self.catalogue, self.flow = engine.catalogue, context.flow
        actor = context.actor()
        self.ask = context.info.asks(engine.behaviour, actor)
        self._sender: Identity | None = actor if context.info.resource.startswith("self") else None
        self.before, self.after = before, after
        self.headers = list(context.flow.headers) if context.flow is not None else []
        self.durations = engine.metrics.durations(context, 201)
        self.order = tuple((name, tuple(each) if each.__class__ is dict else ()) for name, each in spec.items())

    @classmethod
    def learned(cls, engine: Engine, context: RequestContext, body: bytes, now: str) -> PreparedReview | None:
        """The review that was answered at a time, with its form; None if that time is not in the answer, once."""
        head, mark, _ = body.partition(_SPEC)
        head += mark
        if head.count(now.encode()) != 1:
            return None
        before, _, after = head.partition(now.encode())
        spec = orjson.loads(body)["spec"]
        return cls(engine, context, before, after, spec).review(spec)

    def arranged(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The spec of a review of this form, in the order of answers."""
        return {name: {each: spec[name][each] for each in inner} if inner else spec[name] for name, inner in self.order}

    def review(self, spec: Mapping[str, Any]) -> PreparedReview:
        """The review with a spec, as answers show it."""
        asks = self._sender if self._sender is not None else reviewed_identity(spec)
        return PreparedReview(self, question(spec, asks), spec)


class PreparedReview:
    """The meaning of a body for an identity."""

    __slots__ = ("_question", "_text", "form", "spec")

    def __init__(self, form: ReviewForm, asked: Attributes, spec: Mapping[str, Any]) -> None:
        self.form, self._question, self.spec = form, asked, spec
        self._text = go_json.encode(spec)

    def answer(self, engine: Engine, now: str) -> bytes:
        """The body of the answer at a time."""
        status = review_status(engine.authorizer.authorize(self._question), self.spec)
        form, shown = self.form, go_json.encode(status)
        return b"".join((form.before, now.encode(), form.after, self._text, b',"status":', shown, b"}\n"))


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
        self._known: dict[tuple[Identity, Body], PreparedReview] = {}
        self._forms: dict[tuple[Identity, Kind], ReviewForm] = {}
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
        review = self._known.get((caller.identity, key)) or self._of_form(caller.identity, key)
        if review is None:
            return None
        engine, form, began = self._engine, review.form, perf_counter()
        if not self._reads.holds(request, caller, form.catalogue) or not self._unasked.now():
            return None
        if engine.authorizer.authorize(form.ask).verdict is not ALLOW or not engine.limits.passes(form.flow):
            return None
        body = review.answer(engine, timestamp(engine.clock.now()))
        engine.settle()
        engine.metrics.repeat(form.durations, perf_counter() - began)
        return Response(201, body, headers=form.headers.copy())

    def _of_form(self, identity: Identity, key: Body) -> PreparedReview | None:
        """A review of a form that was prepared; one that was sent before is kept."""
        path, agent, body = key
        value = read(body) if len(body) <= _LONGEST else None
        told = form_of(value) if value is not None else None
        form = self._forms.get((identity, (path, agent, told))) if told is not None else None
        if value is None or form is None:
            return None
        review = form.review(form.arranged(value["spec"]))
        if self._was_seen(hash((identity.user, key))):
            _keep(self._known, self._most, (identity, key), review)
        return review

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
            _keep(self._forms, _FORMS, (context.identity, kind), made.form)
        else:
            _keep(self._known, self._most, (context.identity, key), made)
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


def _keep(table: dict[Asked, Known], most: int, asked: Asked, known: Known) -> None:
    """Add something to a table; at its limit all else is forgotten, and learned anew."""
    if len(table) >= most and asked not in table:
        table.clear()
    table[asked] = known


def _key(request: Request) -> Body:
    return request.path, request.header("user-agent"), request.body
