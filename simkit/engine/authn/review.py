"""What a token review answers: whose token is this, and for which audiences?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from simkit.engine.authn.serviceaccount import InvalidToken, Verified
from simkit.engine.authn.union import authenticated
from simkit.engine.seams import Authenticator
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

_UNKNOWN = "invalid bearer token"


@dataclass(frozen=True, slots=True)
class TokenVerdict:
    """The identity behind a token with the audiences that it is good for; without identity, ``error`` says why."""

    identity: Identity | None
    audiences: tuple[str, ...] = ()
    error: str = ""


class Verifier(Protocol):
    """Knows tokens that name their audiences. None: not my kind of token. Raises InvalidToken: mine, and bad."""

    def verify(self, token: str, audiences: Sequence[str] = ()) -> Verified | None: ...


class TokenReviewer:
    """Judges bearer tokens that others were shown.

    Parameters
    ----------
    tokens
        Authenticators of bearer tokens that name no audience: such a token is good for this server's audiences.
    accounts
        The verifier of service account tokens, which name theirs.
    audiences
        This server's own audiences.
    """

    def __init__(self, tokens: Sequence[Authenticator], accounts: Verifier | None, audiences: Sequence[str]) -> None:
        self._tokens, self._accounts, self._audiences = tuple(tokens), accounts, tuple(audiences)

    def review(self, token: str, audiences: Sequence[str] = ()) -> TokenVerdict:
        """Whose token it is. ``audiences`` are those for which it must be good; by default this server's."""
        wanted = tuple(audiences) or self._audiences
        try:
            verified = self._accounts.verify(token, wanted) if self._accounts else None
        except InvalidToken as refusal:
            return TokenVerdict(None, (), f"[{_UNKNOWN}, {refusal}]")
        if verified is not None:
            return TokenVerdict(authenticated(verified.identity), verified.audiences)
        return self._by_others(token, tuple(audience for audience in wanted if audience in self._audiences))

    def _by_others(self, token: str, common: tuple[str, ...]) -> TokenVerdict:
        """Asked after our own tokens have been recognized, so that none of those is shown to a service outside."""
        error = ""
        for authenticator in self._tokens if common else ():
            try:
                identity = authenticator.authenticate(Credentials(bearer=token))
            except StatusError as refusal:
                error = error or refusal.message
                continue
            if identity is not None:
                return TokenVerdict(authenticated(identity), common)
        return TokenVerdict(None, (), error or _UNKNOWN)
