"""Bearer tokens that a service outside knows: asked by token reviews."""

from __future__ import annotations

import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Final, Literal

import orjson

from simkit.engine.outside.call import CallFailed, Poster, insist, review_status
from simkit.meta.clock import Clock
from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.errors import unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

_LOG: Final = logging.getLogger("simkit.authn")
REMEMBERED: Final = 4096
ReviewVersion = Literal["v1", "v1beta1"]


class WebhookTokens:
    """Asks a service whose token it is, and remembers the answer for a while.

    Parameters
    ----------
    poster
        How the service is reached.
    version
        Of the review that is sent.
    audiences
        For which a token must be good.
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
        self._poster, self._clock, self._version = poster, clock, version
        self._audiences, self._ttl, self._backoff, self._sleep = tuple(audiences), ttl, backoff, sleep
        self._kept: OrderedDict[bytes, tuple[float, Identity | None]] = OrderedDict()
        self._lock = Lock()

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity that the service knows, None for a token that it does not. Raises 401 where it fails."""
        token = credentials.bearer
        if not token:
            return None
        key, now = hashlib.sha256(token.encode()).digest(), self._clock.now()
        known = self._kept.get(key)
        if known is not None and now < known[0]:
            return known[1]
        try:
            identity = self._identity(self._asked(token))
        except CallFailed as error:
            _LOG.warning("the token webhook failed: %s", error)
            raise unauthorized() from error
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (now + self._ttl, identity)
            while len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        return identity

    def _asked(self, token: str) -> Mapping[str, Any]:
        spec: dict[str, Any] = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        head = {"kind": "TokenReview", "apiVersion": f"{AUTHENTICATION_GROUP}/{self._version}"}
        body = orjson.dumps(
            {**head, "metadata": {"creationTimestamp": None}, "spec": spec, "status": {"user": {}}},
        )
        return review_status(insist(self._poster, body, backoff=self._backoff, sleep=self._sleep), "TokenReview")

    def _identity(self, status: Mapping[str, Any]) -> Identity | None:
        if status.get("authenticated") is not True:
            return None
        named = status.get("audiences") or self._audiences
        if self._audiences and not set(self._audiences).intersection(named):
            return None
        user = status.get("user") or {}
        extra = {str(name): tuple(map(str, values)) for name, values in (user.get("extra") or {}).items()}
        groups = tuple(map(str, user.get("groups") or ()))
        return Identity(str(user.get("username") or ""), groups, str(user.get("uid") or ""), extra)
