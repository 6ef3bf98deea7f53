"""Chunked lists: what a continue token says, and which revision a list reads."""

from __future__ import annotations

import base64
import posixpath
from dataclasses import dataclass
from typing import Final

import orjson

from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError, bad_request, expired
from simkit.meta.names import GroupResource, Key, Revision

_VERSION: Final = f"{META_GROUP}/v1"
INCONSISTENT: Final = Revision(-1)
"""The revision of a token that goes on with whatever is there now."""

_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where a list goes on: after which key, at which revision."""

    revision: Revision
    after: str
    """The last key of the chunk before: ``name``, or ``namespace/name`` in a list over namespaces."""

    def key(self, resource: GroupResource, namespace: str | None) -> Key:
        """The key after which the next chunk starts."""
        if namespace:
            return Key(resource, namespace, self.after)
        head, slash, tail = self.after.partition("/")
        return Key(resource, head, tail) if slash else Key(resource, "", head)


def encode(revision: Revision, key: Key, namespace: str | None) -> str:
    """The token after a chunk that ended with a key."""
    after = key.name if namespace or not key.namespace else f"{key.namespace}/{key.name}"
    return _token(revision, after)


def _token(revision: Revision, after: str) -> str:
    raw = orjson.dumps({"v": _VERSION, "rv": revision, "start": f"{after}\0"})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _refusal(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def decode(token: str) -> Continuation:
    """What a token says. Raises the 400 of the real server for a token that it did not make."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:  # also letters outside ASCII
        allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        position = next((index for index, letter in enumerate(token) if letter not in allowed), len(token) // 4 * 4)
        raise _refusal(f"illegal base64 data at input byte {position}") from None
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        if not raw:
            raise _refusal("unexpected end of JSON input") from None
        first = repr(raw[:1].decode("latin-1")).replace("\\x", "\\u00")
        raise _refusal(f"invalid character {first} looking for beginning of value") from None
    if not isinstance(value, dict) or value.get("v") != _VERSION:
        version = value.get("v", "") if isinstance(value, dict) else ""
        raise _refusal(f"server does not recognize this encoded version {version}")
    start, revision = value.get("start", ""), value.get("rv", 0)
    if not isinstance(revision, int) or not isinstance(start, str) or revision == 0:
        raise _refusal(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _refusal(f"encoded start key empty (version {_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(rooted) != rooted:  # no way out of the resource by way of ``..``
        raise _refusal(start)
    return Continuation(Revision(revision), start.rstrip("\0"))


def too_old(continuation: Continuation) -> StatusError:
    """410 of a token whose revision is gone, with a token that goes on inconsistently."""
    return expired(_TOO_OLD, continue_token=_token(INCONSISTENT, continuation.after))
