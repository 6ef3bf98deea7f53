"""Authenticators of bootstrap tokens, of token files and of token webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from simkit.client.resources import SECRETS
from simkit.engine.authn.bearer import TokenResponse
from simkit.engine.egress.call import Poster, review_status, status_fields, with_exponential_backoff
from simkit.engine.egress.policy import RememberedAnswers, Unreachable
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock
from simkit.meta.domain import AUTHENTICATION_GROUP, SYSTEM_NAMESPACE, label
from simkit.meta.errors import SimkitError, unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, metadata, null_creation

# Access to live objects for authenticators, and the decoding of secrets

ObjectGetter = Callable[[GroupResource, str, str], Object | None]
"""The live object of a resource, namespace and name, or None."""


def secret_value(secret: Object, key: str) -> str:
    """One decoded entry of a secret's data; empty if it is missing or no text.

    Examples
    --------
    >>> secret_value({"data": {"token": "eA=="}}, "token")
    'x'
    """
    raw: Any = at(secret, "data", key)
    try:
        return base64.b64decode(raw, validate=True).decode() if isinstance(raw, str) else ""
    except ValueError:
        return ""


# Bootstrap tokens: short-lived tokens of joining nodes, kept as secrets.
# References: k8s.io/kubernetes/plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go, release 1.30.

SECRET_TYPE: Final = label("token", "bootstrap")
USER_PREFIX: Final = "system:bootstrap:"
BOOTSTRAPPERS: Final = "system:bootstrappers"
_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_EXTRA_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapTokens:
    """Authenticates bearer tokens of the form ``<id>.<secret>`` against the token secrets of the system namespace.

    Parameters
    ----------
    lookup
        How to read a secret as it is now.
    clock
        On which tokens expire.
    """

    leaves_process: Final = False

    def __init__(self, lookup: ObjectGetter, clock: Clock) -> None:
        self._lookup, self._clock = lookup, clock

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity ``system:bootstrap:<id>``; None for anything but a valid bootstrap token."""
        match = _TOKEN.fullmatch(credentials.bearer)
        if match is None:
            return None
        identifier, secret = match.groups()
        stored = self._lookup(SECRETS, SYSTEM_NAMESPACE, f"bootstrap-token-{identifier}")
        if stored is None or not self._usable(stored, identifier, secret):
            return None
        groups = extra_groups(stored)
        return None if groups is None else Identity(USER_PREFIX + identifier, groups)

    def _usable(self, stored: Object, identifier: str, secret: str) -> bool:
        return (
            not metadata(stored).get("deletionTimestamp")
            and stored.get("type") == SECRET_TYPE
            and hmac.compare_digest(secret_value(stored, "token-secret").encode(), secret.encode())
            and secret_value(stored, "token-id") == identifier
            and not expired(stored, self._clock.now())
            and secret_value(stored, "usage-bootstrap-authentication") == "true"
        )


def expiration(secret: Object) -> float | None:
    """The expiration time of a token secret; None if it has none. One that cannot be read has passed."""
    text = secret_value(secret, "expiration")
    if not text:
        return None
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return end.timestamp() if end.tzinfo is not None else 0.0


def expired(secret: Object, now: float) -> bool:
    """True if a token secret is past its expiration."""
    end = expiration(secret)
    return end is not None and end <= now


def extra_groups(secret: Object) -> tuple[str, ...] | None:
    """The groups of a token's identity in order of their names; None if a group is not allowed."""
    text = secret_value(secret, "auth-extra-groups")
    named = set(text.split(",")) if text else set()
    if any(_EXTRA_GROUP.fullmatch(group) is None for group in named):
        return None
    return tuple(sorted({BOOTSTRAPPERS, *named}))


# The static token file: bearer tokens of users, read once at the start.
# References: k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go, release 1.30.


class StaticTokens:
    """Authenticates the tokens of a fixed table.

    Examples
    --------
    >>> tokens = StaticTokens(parse_tokens(['s3cret,ann,7,"devs,ops"']))
    >>> tokens.authenticate(Credentials(bearer="s3cret")).groups
    ('devs', 'ops')
    """

    leaves_process: Final = False

    def __init__(self, tokens: Mapping[str, Identity]) -> None:
        self._tokens = dict(tokens)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity of the bearer token; None for an unknown token."""
        return self._tokens.get(credentials.bearer) if credentials.bearer else None


def read_tokens(path: str | Path) -> StaticTokens:
    """The tokens in a file. Raises SimkitError for a file that cannot be read, or with the line of an error."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as lines:
            return StaticTokens(parse_tokens(lines, source=str(path)))
    except (OSError, UnicodeDecodeError) as error:
        raise SimkitError(f"the token file {path} cannot be read: {error}") from error


def parse_tokens(lines: Iterable[str], source: str = "the token file") -> dict[str, Identity]:
    """The identities by token, from lines of comma-separated columns: token, user, uid, and optionally groups.

    Raises
    ------
    SimkitError
        For a line with fewer than three columns, or broken quoting, naming source and line.

    Notes
    -----
    The fourth column holds several groups divided by commas; every further column is one more group. As on
    kube-apiserver, a line with an empty token is skipped and of a repeated token the last line counts, both with a
    warning in the log.
    """
    import csv  # for servers with such a file alone

    table: dict[str, Identity] = {}
    reader = csv.reader(lines, strict=True)
    try:
        for row in reader:
            if row:
                _enter(table, row, f"{source}, line {reader.line_num}")
    except csv.Error as error:
        raise SimkitError(f"{source}, line {reader.line_num}: {error}") from error
    return table


def _enter(table: dict[str, Identity], row: list[str], where: str) -> None:
    if len(row) < 3:
        raise SimkitError(f"{where}: must have at least 3 columns (token, user name, user uid), found {len(row)}")
    token, user, uid, *groups = row
    if not token:
        _LOG.warning("%s: the token is empty; the line is skipped", where)
        return
    if token in table:
        _LOG.warning("%s: the token was given before; this line replaces the earlier one", where)
    listed = [*(groups[0].split(",") if groups and groups[0] else ()), *groups[1:]]
    table[token] = Identity(user, tuple(listed), uid)


# Bearer tokens of an outside service, verified by TokenReviews.
# References: k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go, release 1.30.

_LOG: Final = logging.getLogger("simkit.authn")
REMEMBERED: Final = 4096
_KIND: Final = "TokenReview"
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
        behaviour: ServedBehaviour,
        poster: Poster,
        clock: Clock,
        *,
        version: ReviewVersion = "v1beta1",
        audiences: Sequence[str] = (),
        ttl: float = 120.0,
        backoff: float = 0.5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._behaviour, self._poster, self._version = behaviour, poster, version
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
            verified = self._verified(review_status(answer, _KIND), wanted)
        except Unreachable as error:
            _LOG.warning("the token webhook failed: %s", error)
            raise unauthorized() from error
        self._answers.keep(question, verified, seconds=self._ttl, size=len(answer) if verified else 0)
        return verified

    def _asked(self, token: str, audiences: Sequence[str]) -> bytes:
        """The answer of the service. Raises Unreachable."""
        spec: dict[str, Any] = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        head = {"kind": _KIND, "apiVersion": f"{AUTHENTICATION_GROUP}/{self._version}"}
        body = orjson.dumps(
            {**head, "metadata": null_creation(self._behaviour), "spec": spec, "status": {"user": {}}},
        )
        return with_exponential_backoff(self._poster, body, backoff=self._backoff, sleep=self._sleep)

    def _verified(self, status: Mapping[str, Any], wanted: Sequence[str]) -> TokenResponse | None:
        if status.get("authenticated") is not True:
            return None
        known = status_fields(status, _KIND, audiences=list, user=dict)
        named = frozenset(_texts(known.get("audiences")) or self._audiences)
        meant = tuple(audience for audience in wanted if audience in named)
        if wanted and not meant:
            return None
        user = status_fields(known.get("user") or {}, _KIND, username=str, uid=str, groups=list, extra=dict)
        extra = {name: _texts(values) for name, values in user.get("extra", {}).items()}
        identity = Identity(user.get("username", ""), _texts(user.get("groups")), user.get("uid", ""), extra)
        return TokenResponse(identity, meant)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | None) or not all(isinstance(each, str | None) for each in value or ()):
        raise Unreachable(f"the answer is a {_KIND} whose status cannot be read")
    return tuple(each or "" for each in value or ())
