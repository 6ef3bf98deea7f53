"""Chunked lists: the content of a continue token, and the revision that a list reads.

Upstream: k8s.io/apiserver/pkg/storage/continue.go, release 1.30.
"""

from __future__ import annotations

import base64
import posixpath
from dataclasses import dataclass
from typing import Any, Final

import orjson

from simkit.meta import go_json
from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError, bad_request, expired
from simkit.meta.names import GroupResource, Key, Revision

_VERSION: Final = f"{META_GROUP}/v1"
INCONSISTENT: Final = Revision(-1)
"""The revision of a token that continues at the current state."""

_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_\r\n")
_FIELDS: Final[dict[str, type]] = {"v": str, "rv": int, "start": str}
"""The content of a token."""
_TOO_LARGE: Final = 2**63

_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Continuation:
    """The position at which a list continues: a key and a revision."""

    revision: Revision
    after: str
    """The last key of the chunk before: ``name``, or ``namespace/name`` in a list over namespaces."""

    def key(self, resource: GroupResource, namespace: str | None) -> Key:
        """The key after which the next chunk starts."""
        if namespace:
            return Key(resource, namespace, self.after)
        head, slash, tail = self.after.partition("/")
        return Key(resource, head, tail) if slash else Key(resource, "", head)


def encode(revision: Revision, key: Key, namespace: str | None, *, rooted: bool = False) -> str:
    """The token after a chunk that ended with a key; ``rooted`` tokens are those of lists from the watch cache."""
    after = key.name if namespace or not key.namespace else f"{key.namespace}/{key.name}"
    return _token(revision, f"/{after}" if rooted else after)


def _token(revision: Revision, after: str) -> str:
    raw = orjson.dumps({"v": _VERSION, "rv": revision, "start": f"{after}\0"})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _refusal(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def decode(token: str) -> Continuation:
    """The position in a token. Raises kube-apiserver's 400 for an invalid token."""
    text = token.replace("\r", "").replace("\n", "")
    position = next((index for index, letter in enumerate(token) if letter not in _LETTERS), None)
    if position is None and len(text) % 4 == 1:
        position = len(token) - 1
    if position is not None:
        raise _refusal(f"illegal base64 data at input byte {position}")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        value = go_json.read(raw)
    except go_json.Malformed as error:
        raise _refusal(str(error)) from None
    if value is not None and not isinstance(value, dict):
        raise _refusal(f"json: cannot unmarshal {go_json.go_kind(value)} into Go value of type storage.continueToken")
    return _checked(value or {})


def _checked(value: dict[str, Any]) -> Continuation:
    version, revision, start = (_field(value, name, of) for name, of in _FIELDS.items())
    if version != _VERSION:
        raise _refusal(f"server does not recognize this encoded version {version}")
    if not revision:
        raise _refusal(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _refusal(f"encoded start key empty (version {_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(rooted) != rooted:  # no way out of the resource by way of ``..``
        raise _refusal(start)
    return Continuation(Revision(revision), rooted[1:].rstrip("\0"))


def _field(value: dict[str, Any], name: str, of: type) -> Any:
    given = value.get(name)
    if given is None:
        return of()
    whole = type(given) is int and -_TOO_LARGE <= given < _TOO_LARGE
    if whole if of is int else type(given) is of:
        return given
    shown = f"number {given}" if of is int and go_json.go_kind(given) == "number" else go_json.go_kind(given)
    expected = {int: "int64", str: "string"}[of]
    raise _refusal(f"json: cannot unmarshal {shown} into Go struct field continueToken.{name} of type {expected}")


def too_old(continuation: Continuation) -> StatusError:
    """410 of a token whose revision is gone, with a token that goes on inconsistently."""
    return expired(_TOO_OLD, continue_token=_token(INCONSISTENT, continuation.after))
