"""Bearer tokens of an outside service, verified by TokenReviews.

References
----------
k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go, release 1.30.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import orjson

from simkit.engine.authn.token_authenticator import TokenResponse
from simkit.engine.egress.call import CallFailed, Poster, review_status, with_exponential_backoff
from simkit.engine.egress.remembered_answers import RememberedAnswers
from simkit.meta.clock import Clock
from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.errors import unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.objects import null_creation

_LOG: Final = logging.getLogger("simkit.authn")
REMEMBERED: Final = 4096
ReviewVersion = Literal["v1", "v1beta1"]


class WebhookTokens:
    """Asks a service for a token's identity, and caches the answer.

    Parameters
    ----------
    poster
        How the service is reached.
    version
        Of the review that is sent.
    audiences
        This server's own, for which a token must be good that is used here.
    ttl
        Seconds for which an answer is remembered, whatever it was.

    Notes
    -----
    Tokens are remembered by their hash.
    """

    leaves_process: Final = True

    def __init__(
        self,
        poster: Poster,
        clock: Clock,
        *,
        version: ReviewVersion = "v1beta1",
        audiences: Sequence[str] = (),
        ttl: float = 120.0,
        backoff: float = 0.5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._poster, self._version = poster, version
        self._audiences, self._ttl, self._backoff, self._sleep = tuple(audiences), ttl, backoff, sleep
        self._answers = RememberedAnswers[TokenResponse | None](clock, REMEMBERED)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity from the service; None for a token that it does not know. Raises 401 if the call fails."""
        verified = self.verify(credentials.bearer) if credentials.bearer else None
        return None if verified is None else verified.identity

    def verify(self, token: str, audiences: Sequence[str] = ()) -> TokenResponse | None:
        """The identity and audiences of a token; None if the service does not know it. Raises 401."""
        wanted = tuple(audiences) or self._audiences
        question = hashlib.sha256(orjson.dumps([token, *wanted])).digest()
        known = self._answers.get(question)
        if known is not None:
            return known[0]
        try:
            answer = self._asked(token, wanted)
            verified = self._verified(review_status(answer, "TokenReview"), wanted)
        except CallFailed as error:
            _LOG.warning("the token webhook failed: %s", error)
            raise unauthorized() from error
        self._answers.keep(question, verified, seconds=self._ttl, size=len(answer) if verified else 0)
        return verified

    def _asked(self, token: str, audiences: Sequence[str]) -> bytes:
        """The answer of the service. Raises CallFailed."""
        spec: dict[str, Any] = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        head = {"kind": "TokenReview", "apiVersion": f"{AUTHENTICATION_GROUP}/{self._version}"}
        body = orjson.dumps(
            {**head, "metadata": null_creation(), "spec": spec, "status": {"user": {}}},
        )
        return with_exponential_backoff(self._poster, body, backoff=self._backoff, sleep=self._sleep)

    def _verified(self, status: Mapping[str, Any], wanted: Sequence[str]) -> TokenResponse | None:
        if status.get("authenticated") is not True:
            return None
        named = frozenset(_texts(status.get("audiences")) or self._audiences)
        meant = tuple(audience for audience in wanted if audience in named)
        if wanted and not meant:
            return None
        user = _mapping(status.get("user"))
        extra = {name: _texts(values) for name, values in _mapping(user.get("extra")).items()}
        name, uid = (_text(user.get(field)) for field in ("username", "uid"))
        return TokenResponse(Identity(name, _texts(user.get("groups")), uid, extra), meant)


def _mapping(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _unreadable()
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise _unreadable()
    return tuple(map(_text, value or ()))


def _text(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise _unreadable()
    return value or ""


def _unreadable() -> CallFailed:
    return CallFailed("the answer is a TokenReview whose status cannot be read")
