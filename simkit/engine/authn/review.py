"""Token reviews: the identity of a token, and the audiences it is valid for.

References
----------
k8s.io/kubernetes/pkg/registry/authentication/tokenreview/storage.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simkit.engine.authn.token_authenticator import InvalidToken, TokenAuthenticator, TokenResponse
from simkit.engine.authn.union import authenticated
from simkit.engine.seams import Authenticator
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

_UNKNOWN = "invalid bearer token"


@dataclass(frozen=True, slots=True)
class TokenReviewStatus:
    """The identity of a token with its valid audiences; without identity, ``error`` is the reason."""

    identity: Identity | None
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReviewer:
    """Reviews bearer tokens for other servers.

    Parameters
    ----------
    tokens
        Authenticators of bearer tokens. Those of tokens that name no audience are good for this server's audiences;
        some ask for whom a token is (a ``TokenAuthenticator``).
    accounts
        The verifier of service account tokens, which name theirs.
    audiences
        This server's own audiences.
    """

    def __init__(
        self, tokens: Sequence[Authenticator], accounts: TokenAuthenticator | None, audiences: Sequence[str]
    ) -> None:
        self._tokens, self._accounts, self._audiences = tuple(tokens), accounts, tuple(audiences)

    def review(self, token: str, audiences: Sequence[str] = ()) -> TokenReviewStatus:
        """The identity of a token. ``audiences`` are those for which it must be valid; by default this server's."""
        wanted = tuple(audiences) or self._audiences
        try:
            verified = self._accounts.verify(token, wanted) if self._accounts else None
        except InvalidToken as refusal:
            return TokenReviewStatus(None, (), f"[{_UNKNOWN}, {refusal}]")
        if verified is not None:
            return TokenReviewStatus(authenticated(verified.identity), verified.audiences)
        return self._by_others(token, wanted)

    def _by_others(self, token: str, wanted: Sequence[str]) -> TokenReviewStatus:
        """The review by outside services, which see only tokens that are not our own."""
        error = ""
        for authenticator in self._tokens:
            try:
                found = self._verified(authenticator, token, wanted)
            except (StatusError, InvalidToken) as refusal:
                error = error or str(refusal)
                continue
            if found is not None:
                return TokenReviewStatus(authenticated(found.identity), found.audiences)
        return TokenReviewStatus(None, (), error or _UNKNOWN)

    def _verified(self, authenticator: Authenticator, token: str, wanted: Sequence[str]) -> TokenResponse | None:
        if isinstance(authenticator, TokenAuthenticator):
            return authenticator.verify(token, wanted)
        common = tuple(audience for audience in wanted if audience in self._audiences)
        identity = authenticator.authenticate(Credentials(bearer=token)) if common else None
        return None if identity is None else TokenResponse(identity, common)
