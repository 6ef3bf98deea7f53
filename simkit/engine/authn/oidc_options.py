"""The flags ``--oidc-*`` of one identity provider, and the authenticator that they configure.

References
----------
k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.engine.authn.claim_mapping import ClaimMapping, ClaimSource, ClaimValidationRule
from simkit.engine.authn.oidc import Provider, ProviderTokens, over_https
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError

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
    fetch = over_https(flags.authority)
    provider = Provider(flags.issuer_url, fetch, clock)
    return ProviderTokens(provider, (flags.client_id,), mapping, clock, algorithms=flags.signing_algs, fetch=fetch)
