"""Distributed claims: groups outside of a token, fetched from the endpoint that it names.

References
----------
k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go (``claimResolver``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from simkit.engine.authn.claim_mapping import TokenRefused
from simkit.engine.egress.call import CallFailed

NAMES, SOURCES = "_claim_names", "_claim_sources"
_LARGEST: Final = 1024 * 1024


class Fetch(Protocol):
    """A function that fetches a document from a URL, with a bearer token if given. Raises CallFailed."""

    def __call__(self, url: str, token: str = "") -> bytes: ...


class ClaimResolver:
    """Fetches a claim from the source that a token names.

    Parameters
    ----------
    claim
        Which.
    ask
        How documents are got.
    verified
        The claims of a token by whoever issued it, if it is good for us. Raises TokenRefused.

    References
    ----------
    OpenID Connect Core 1.0, section 5.6.2.
    """

    def __init__(self, claim: str, ask: Fetch, verified: Callable[[str], Mapping[str, Any]]) -> None:
        self._claim, self._ask, self._verified = claim, ask, verified

    def completed(self, claims: Mapping[str, Any]) -> Mapping[str, Any]:
        """The claims with the distributed one added. Raises TokenRefused if it is missing.

        A claim that the token carries itself counts, whatever else it names.
        """
        source = self._source(claims)
        if source is None:
            return claims
        address, token = source.get("endpoint"), source.get("access_token") or ""
        if not address:
            return claims  # an aggregated claim, which kube-apiserver passes over too
        if not isinstance(address, str) or not address.startswith("https://") or not isinstance(token, str):
            raise TokenRefused("oidc: could not expand distributed claims: the endpoint is no https address")
        found = self._verified(self._fetched(address, token))
        if self._claim not in found:
            raise TokenRefused(f'oidc: could not expand distributed claims: claim "{self._claim}" does not exist')
        return {**claims, self._claim: found[self._claim]}

    def _source(self, claims: Mapping[str, Any]) -> Mapping[str, Any] | None:
        names, sources = claims.get(NAMES), claims.get(SOURCES)
        if self._claim in claims or not isinstance(names, Mapping) or self._claim not in names:
            return None
        named = names[self._claim]
        source = sources.get(named) if isinstance(sources, Mapping) and isinstance(named, str) else None
        if not isinstance(source, Mapping):
            raise TokenRefused(f"oidc: could not expand distributed claims: {SOURCES} lacks the source that is named")
        return source

    def _fetched(self, address: str, token: str) -> str:
        try:
            content = self._ask(address, token)
        except CallFailed as error:
            raise TokenRefused(f"oidc: could not expand distributed claims: {error}") from error
        if len(content) > _LARGEST:
            raise TokenRefused("oidc: could not expand distributed claims: the answer is too large")
        return content.decode("utf-8", "replace").strip()
