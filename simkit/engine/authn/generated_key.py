"""Service account tokens of a server without key files: the key is generated for the first token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from simkit.engine.authn.bearer import TokenResponse
from simkit.engine.authn.serviceaccount import DEFAULT_ISSUER, Issuer, ServiceAccountTokens
from simkit.engine.authn.token_sources import ObjectGetter
from simkit.meta.clock import Clock
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.seams import Token

if TYPE_CHECKING:
    from simkit.engine.authn.jws import VerificationKey


class GeneratedKey:
    """A signing key in memory. A server and its forks share one, so that their tokens are valid in each other.

    Parameters
    ----------
    issuer
        What tokens carry as ``iss``.

    Notes
    -----
    Making it imports cryptography, which costs more than all the rest of a start.
    """

    def __init__(self, issuer: str = DEFAULT_ISSUER) -> None:
        self.issuer = issuer
        self._made: Issuer | None = None
        self._lock = Lock()

    @property
    def is_made(self) -> bool:
        """True if anybody has asked for a token yet; before, no token can be good."""
        return self._made is not None

    def made(self) -> Issuer:
        """The issuer with its key, generated on demand."""
        with self._lock:
            if self._made is None:
                from cryptography.hazmat.primitives.asymmetric import ec

                from simkit.engine.authn.jws import Signer

                self._made = Issuer(Signer(ec.generate_private_key(ec.SECP256R1())), self.issuer)
            return self._made

    def issue(self, claims: Mapping[str, Any]) -> Token:
        """The signed token with the claims."""
        return self.made().issue(claims)

    @property
    def keys(self) -> Sequence[VerificationKey]:
        """The keys that verify the tokens; empty while there are no tokens."""
        return [self._made.public] if self._made is not None else []


class GeneratedKeyTokens:
    """Verifies the service account tokens of a generated key."""

    leaves_process: Final = False

    def __init__(
        self,
        key: GeneratedKey,
        lookup: ObjectGetter,
        clock: Clock,
        *,
        audiences: Sequence[str],
    ) -> None:
        self._key, self._lookup, self._clock, self._audiences = key, lookup, clock, tuple(audiences)
        self._tokens: ServiceAccountTokens | None = None

    def _verifier(self) -> ServiceAccountTokens | None:
        if self._tokens is None and self._key.is_made:
            issuers, audiences = (self._key.issuer,), self._audiences
            self._tokens = ServiceAccountTokens(
                lambda: self._key.keys,
                self._lookup,
                self._clock,
                issuers=issuers,
                audiences=audiences,
            )
        return self._tokens

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The service account of the bearer token; None for other tokens. Raises 401 for an invalid one."""
        verifier = self._verifier()
        return verifier.authenticate(credentials) if verifier is not None else None

    def verify(self, token: str, audiences: Sequence[str] = ()) -> TokenResponse | None:
        """The identity and audiences of a token; see ``ServiceAccountTokens.verify``."""
        verifier = self._verifier()
        return verifier.verify(token, audiences) if verifier is not None else None
