"""The forms of access reviews: what of a review decides about all of its answer but its status and its texts.

Two reviews have one form if they differ in texts of their ``spec`` alone, none of which is empty: a verb, a user, a
group. Every such text is taken as it is, so that one goes through the same checks with the same result as the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.virtual_resources.access_reviews import question, review_status, reviewed_identity
from simkit.meta import go_json
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity
from simkit.meta.objects import Draft
from simkit.schema.strict_json import may_repeat

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

    __slots__ = ("_sender", "after", "ask", "before", "catalogue", "counted", "flow", "headers", "order", "sums")

    def __init__(self, engine: Engine, context: RequestContext, before: bytes, after: bytes, spec: Draft) -> None:
        self.catalogue, self.flow = engine.catalogue, context.flow
        actor = context.actor()
        self.ask = context.info.asks(actor)
        self._sender: Identity | None = actor if context.info.resource.startswith("self") else None
        self.before, self.after = before, after
        self.headers = list(context.flow.headers) if context.flow is not None else []
        self.counted = tuple(context.counted)
        self.sums = engine.metrics.sums_of(context, 201)
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
