"""Tokens of OpenID Connect providers, verified with the keys that the provider publishes.

References
----------
k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go, release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import TIMEOUT_MAX, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from simkit.engine.authn.bearer import looks_signed
from simkit.engine.authn.claim_mapping import ClaimMapping, ClaimSource, ClaimValidationRule, TokenRefused
from simkit.engine.egress.call import Caller
from simkit.engine.egress.files import ClientConfig
from simkit.engine.egress.policy import Unreachable, parse_answer
from simkit.meta.clock import Clock
from simkit.meta.deadline import check_deadline, current_deadline
from simkit.meta.errors import SimkitError, unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

if TYPE_CHECKING:
    from simkit.engine.authn.jws import Parsed
    from simkit.engine.authn.signing_keys import PublishedKey

_DISTRIBUTED: Final = "_claim_names"
"""The claim that names claims outside of the token (OpenID Connect Core 1.0, section 5.6.2)."""
Fetch = Callable[[str], bytes]
"""A function that fetches a document from a URL. Raises Unreachable."""


_LOG: Final = logging.getLogger("simkit.authn")
WELL_KNOWN: Final = "/.well-known/openid-configuration"
WAIT: Final = 10.0
"""Seconds between attempts to reach a provider, and between fetches of new keys."""
_LEEWAY: Final = 300.0
"""Seconds by which a token may be from the future."""


class Provider:
    """The published keys of one issuer.

    Parameters
    ----------
    issuer
        What its documents must call themselves.
    fetch
        How documents are got.
    clock
        When the next attempt is due.
    discovery_url
        Where the first document is, unless at the usual place.

    Notes
    -----
    Nothing is fetched before the first token of the issuer. Keys are fetched again when a token fits none of them, at
    most every ten seconds, once for all who wait.
    """

    def __init__(self, issuer: str, fetch: Fetch, clock: Clock, *, discovery_url: str = "") -> None:
        self.issuer = issuer
        self._fetch, self._clock = fetch, clock
        self._discovery = discovery_url or issuer.rstrip("/") + WELL_KNOWN
        self._keys: Sequence[PublishedKey] = ()
        self._jwks_uri = ""
        self._tried: float | None = None
        self._fetching: Future[bool] | None = None
        """Done, with whether there are new keys, when they were fetched; None if nobody fetches."""
        self._lock = Lock()

    def verifies(self, token: Parsed, algorithms: Sequence[str]) -> bool:
        """True if the issuer signed the token, by one of these algorithms. Raises TokenRefused."""
        algorithm, identifier = token.header.get("alg"), token.header.get("kid") or ""
        if not isinstance(algorithm, str) or algorithm not in algorithms or token.header.get("crit"):
            raise TokenRefused("oidc: verify token: the signing algorithm is not accepted")
        known = self._keys
        if _verified(known, token, algorithm, identifier):
            return True
        return self._refreshed(known) and _verified(self._keys, token, algorithm, identifier)

    def _refreshed(self, known: Sequence[PublishedKey]) -> bool:
        """Have the keys fetched, unless that was tried a moment ago; True if there are others than the known ones.

        Whoever comes meanwhile waits for the same fetch. It does not end with the request that began it, since a
        client could keep everybody from the keys by requests that end early.
        """
        with self._lock:
            if self._keys is not known:  # fetched after the caller looked
                return True
            fetching = self._fetching
            if fetching is None:
                if self._tried is not None and self._clock.now() - self._tried < WAIT:
                    return False
                fetching = self._fetching = Future()
                Thread(target=self._refresh, args=(fetching,), name="simkit-keys", daemon=True).start()
        deadline = current_deadline()
        try:
            return fetching.result(None if deadline is None else min(deadline.left, TIMEOUT_MAX))
        except TimeoutError:
            check_deadline()
            return False

    def _refresh(self, fetching: Future[bool]) -> None:
        found = False
        try:
            self._fetch_keys()
            found = True
        except (Unreachable, ValueError) as error:
            _LOG.warning("the keys of %s cannot be had: %s", self.issuer, error)
        finally:
            with self._lock:
                self._tried, self._fetching = self._clock.now(), None
            fetching.set_result(found)

    def _fetch_keys(self) -> None:
        from simkit.engine.authn.signing_keys import read_key_set

        if not self._jwks_uri:
            self._jwks_uri = self._discovered()
        self._keys = read_key_set(self._fetch(self._jwks_uri))

    def _discovered(self) -> str:
        document = parse_answer(self._fetch(self._discovery))
        if not isinstance(document, dict) or document.get("issuer") != self.issuer:
            named = document.get("issuer") if isinstance(document, dict) else None
            raise ValueError(f"the document at {self._discovery} is of the issuer {named!r}")
        address = document.get("jwks_uri")
        if not isinstance(address, str) or not address.startswith("https://"):
            raise ValueError(f"the document at {self._discovery} names no https address of keys")
        return address


def _verified(keys: Sequence[PublishedKey], token: Parsed, algorithm: str, identifier: str) -> bool:
    from simkit.engine.authn.signing_keys import fitting

    return any(key.verifies(algorithm, token.signature, token.signed) for key in fitting(keys, algorithm, identifier))


class ProviderTokens:
    """Authenticates bearer tokens of one issuer.

    Parameters
    ----------
    provider
        Whose tokens.
    audiences
        For one of which a token must be.
    mapping
        How claims become an identity.
    algorithms
        By which tokens may be signed.
    fetch
        How a groups claim is got that a token says to be elsewhere; None: such tokens give no groups.
    """

    leaves_process: Final = True

    def __init__(
        self,
        provider: Provider,
        audiences: Sequence[str],
        mapping: ClaimMapping,
        clock: Clock,
        *,
        algorithms: Sequence[str],
    ) -> None:
        self.provider, self._audiences, self._mapping = provider, frozenset(audiences), mapping
        self._clock, self._algorithms = clock, tuple(algorithms)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity of a token of the issuer; None for any other credential. Raises a 401 StatusError."""
        try:
            return self.identify(credentials.bearer)
        except TokenRefused as error:
            _LOG.info("a token of %s was refused: %s", self.provider.issuer, error)
            raise unauthorized() from error

    def identify(self, token: str) -> Identity | None:
        """The identity of a token; None for a token of another issuer. Raises TokenRefused."""
        if not looks_signed(token):
            return None
        from simkit.engine.authn.jws import Malformed, parse

        try:
            parsed = parse(token)
        except Malformed:
            return None
        if parsed.claims.get("iss") != self.provider.issuer:
            return None
        self._verify(parsed, self.provider)
        groups, named = self._mapping.groups.claim, parsed.claims.get(_DISTRIBUTED)
        if groups and groups not in parsed.claims and isinstance(named, dict) and groups in named:
            raise TokenRefused("oidc: simkit does not fetch distributed claims, so the groups are not known")
        return self._mapping.identity(parsed.claims)

    def _verify(self, parsed: Parsed, provider: Provider) -> None:
        self._check_audience(parsed.claims)
        self._check_times(parsed.claims)
        if not provider.verifies(parsed, self._algorithms):
            raise TokenRefused("oidc: verify token: failed to verify signature")

    def _check_audience(self, claims: Mapping[str, Any]) -> None:
        named = claims.get("aud")
        found = [named] if isinstance(named, str) else named
        if not isinstance(found, list) or self._audiences.isdisjoint(each for each in found if isinstance(each, str)):
            raise TokenRefused(f"oidc: verify token: expected audience in {sorted(self._audiences)}")

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now, end, start = self._clock.now(), claims.get("exp"), claims.get("nbf")
        if not isinstance(end, int | float) or isinstance(end, bool):
            raise TokenRefused("oidc: verify token: the expiry is missing")
        if now > end:
            raise TokenRefused("oidc: verify token: oidc: token is expired")
        if start is not None and (not isinstance(start, int | float) or now + _LEEWAY < start):
            raise TokenRefused("oidc: verify token: the token is not valid yet")


def over_https(authorities: bytes = b"") -> Fetch:
    """A function that fetches documents over HTTPS with these authorities (PEM), or the machine's."""

    return lambda url: Caller(ClientConfig(url, authorities)).get()


# The flags ``--oidc-*`` of one identity provider, and the authenticator that they configure.
# References: k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go, release 1.30.

_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")


@dataclass(frozen=True, slots=True)
class OIDCOptions:
    """The values of the flags ``--oidc-*``. The authority is a PEM text."""

    issuer_url: str = ""
    client_id: str = ""
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: Mapping[str, str] | None = None
    authority: bytes = b""
    signing_algs: Sequence[str] = ("RS256",)

    @property
    def given(self) -> bool:
        """True if a provider was named."""
        return bool(self.issuer_url or self.client_id)

    @property
    def prefix(self) -> str:
        """The prefix of user names: the issuer by default, none for email addresses."""
        if self.username_prefix == "-":
            return ""
        if self.username_prefix or self.username_claim == "email":
            return self.username_prefix
        return f"{self.issuer_url}#"


def tokens_by_flags(flags: OIDCOptions, clock: Clock) -> ProviderTokens:
    """The authenticator that the flags configure. Raises SimkitError for inconsistent flags."""
    if not flags.issuer_url or not flags.client_id:
        raise SimkitError("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")
    if not flags.issuer_url.startswith("https://"):
        raise SimkitError(f"--oidc-issuer-url {flags.issuer_url!r}: URL scheme must be https")
    unknown = sorted(set(flags.signing_algs) - set(_ALGORITHMS))
    if unknown:
        known = ", ".join(_ALGORITHMS)
        raise SimkitError(f"--oidc-signing-algs: {unknown[0]!r} is not an accepted algorithm; known are {known}")
    mapping = ClaimMapping(
        ClaimSource(flags.username_claim, flags.prefix),
        ClaimSource(flags.groups_claim, flags.groups_prefix),
        claim_rules=[ClaimValidationRule(claim, value) for claim, value in (flags.required_claims or {}).items()],
    )
    provider = Provider(flags.issuer_url, over_https(flags.authority), clock)
    return ProviderTokens(provider, (flags.client_id,), mapping, clock, algorithms=flags.signing_algs)
