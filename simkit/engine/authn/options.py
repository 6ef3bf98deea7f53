"""All authenticators of a server, built from its flags.

References
----------
k8s.io/kubernetes/pkg/kubeapiserver/authenticator/config.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from simkit.engine.authn.oidc import OIDCOptions, tokens_by_flags
from simkit.engine.authn.serviceaccount import DEFAULT_ISSUER, Issuer, ServiceAccountTokens
from simkit.engine.authn.token_sources import BootstrapTokens, ObjectGetter, ReviewVersion, WebhookTokens, read_tokens
from simkit.engine.authn.union import EXTRA_PREFIXES, GROUP_HEADERS, USER_HEADERS, RequestHeaders, TokenReviewer, Union
from simkit.engine.authn.x509 import Authorities, ClientCertificates, DynamicAuthorities
from simkit.engine.egress.call import Caller
from simkit.engine.egress.files import load_kubeconfig as read_client
from simkit.engine.egress.files import read_file
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.seams import Authenticator, Meter, TokenIssuer

if TYPE_CHECKING:
    from simkit.engine.authn.jws import Signer
    from simkit.engine.authn.signing_keys import VerificationKey


@dataclass(frozen=True, slots=True)
class AuthenticationOptions:
    """The authenticators of a server. Names follow kube-apiserver's flags; bundles are PEM texts."""

    anonymous_auth: bool = True
    client_authorities: bytes = b""
    proxy_authorities: bytes = b""
    client_authorities_file: Path | None = None
    proxy_authorities_file: Path | None = None
    """Further authorities, whose file is reloaded."""
    proxy_names: Sequence[str] = ()
    proxy_user_headers: Sequence[str] = USER_HEADERS
    proxy_group_headers: Sequence[str] = GROUP_HEADERS
    proxy_extra_prefixes: Sequence[str] = EXTRA_PREFIXES
    proxy_uid_headers: Sequence[str] = ()
    token_auth_file: Path | None = None
    enable_bootstrap_token_auth: bool = False
    service_account_issuer: Sequence[str] = (DEFAULT_ISSUER,)
    api_audiences: Sequence[str] = ()
    service_account_key_file: Sequence[Path] = ()
    service_account_signing_key_file: Path | None = None
    signing_key_is_checked: bool = False
    """The signing key file is known to hold a key; so it is read for the first token, not at the start."""
    service_account_lookup: bool = True
    service_account_max_token_expiration: int = 0
    """Seconds; 0 for no limit."""
    service_account_extend_token_expiration: bool = True
    service_account_jwks_uri: str = ""
    oidc: OIDCOptions | None = None
    authentication_config: Path | None = None
    authentication_token_webhook_config_file: Path | None = None
    authentication_token_webhook_version: ReviewVersion = "v1beta1"
    authentication_token_webhook_cache_ttl: float = 120.0


@dataclass(frozen=True, slots=True)
class Authentication:
    """The parts of authentication that a server uses."""

    authenticator: Union
    """The authenticator of every request."""
    reviewer: TokenReviewer
    """The reviewer of TokenReviews."""
    issuer: TokenIssuer | None
    """Makes service account tokens; None without a signing key."""
    keys: Callable[[], Sequence[VerificationKey]]
    """The keys by which relying parties verify service account tokens."""
    audiences: Sequence[str]
    """The default audiences of tokens."""
    longest: int = 0
    """The longest lifetime of service account tokens in seconds; 0 for no limit."""
    extends: bool = True
    """True if mounted tokens get a year."""
    issuer_url: str = ""
    """The issuer of tokens (``iss``)."""
    jwks_uri: str = ""
    """The URL of the keys for relying parties, if it is not this server."""
    published: Mapping[str, str] = field(default_factory=dict)
    """The settings by which aggregated servers recognize clients and this server's proxy."""


def build(
    behaviour: ServedBehaviour,
    settings: AuthenticationOptions,
    lookup: ObjectGetter,
    clock: Clock,
    counters: Meter | None = None,
) -> Authentication:
    """The authenticators in kube-apiserver's order. Raises SimkitError for files that cannot be used.

    ``counters`` count reloads of the configuration file, for which they are needed, and tokens and certificates.
    """
    issuers = tuple(settings.service_account_issuer) or (DEFAULT_ISSUER,)
    audiences = tuple(settings.api_audiences) or issuers
    issuer = _issuer(settings, issuers[0])
    keys = _keys(settings, issuer)
    accounts = None
    if keys:
        readable = lookup if settings.service_account_lookup else None
        accounts = ServiceAccountTokens(keys, readable, clock, issuers=issuers, audiences=audiences)
    tokens: list[Authenticator] = [read_tokens(settings.token_auth_file)] if settings.token_auth_file else []
    if settings.enable_bootstrap_token_auth:
        tokens.append(BootstrapTokens(lookup, clock))
    tokens += _from_outside(behaviour, settings, clock, issuers, audiences, counters)
    members = [*_by_certificate(behaviour, settings, clock), *([accounts] if accounts else []), *tokens]
    return Authentication(
        Union(members, anonymous=settings.anonymous_auth),
        TokenReviewer(tokens, accounts, audiences),
        issuer,
        keys or list,
        audiences,
        settings.service_account_max_token_expiration,
        settings.service_account_extend_token_expiration,
        issuers[0],
        settings.service_account_jwks_uri,
        _published(settings),
    )


def _published(settings: AuthenticationOptions) -> dict[str, str]:
    """The content of the config map extension-apiserver-authentication, which other servers trust."""
    found: dict[str, str] = {}
    clients = _bundle(settings.client_authorities_file, settings.client_authorities)
    proxies = _bundle(settings.proxy_authorities_file, settings.proxy_authorities)
    if clients:
        found["client-ca-file"] = clients.decode()
    if proxies:
        found["requestheader-client-ca-file"] = proxies.decode()
        for name, values in (
            ("allowed-names", settings.proxy_names),
            ("username-headers", settings.proxy_user_headers),
            ("group-headers", settings.proxy_group_headers),
            ("extra-headers-prefix", settings.proxy_extra_prefixes),
        ):
            found[f"requestheader-{name}"] = orjson.dumps(list(values)).decode()
        if settings.proxy_uid_headers:
            found["requestheader-uid-headers"] = orjson.dumps(list(settings.proxy_uid_headers)).decode()
    return found


def _bundle(file: Path | None, others: bytes) -> bytes:
    """All authorities as they are now, in one PEM text."""
    return b"\n".join(filter(None, (read_file(file) if file is not None else b"", others)))


def in_process(
    authenticators: Sequence[Authenticator],
    issuer: Issuer,
    lookup: ObjectGetter,
    clock: Clock,
    *,
    anonymous: bool = True,
) -> Authentication:
    """The authentication of a server in process: given authenticators, and tokens of a generated key.

    Nothing is made at the start: the key waits for the first token that is asked for.
    """
    audiences = (issuer.issuer,)

    def known_keys() -> list[VerificationKey]:
        return [issuer.public] if issuer.is_made else []

    accounts = ServiceAccountTokens(known_keys, lookup, clock, issuers=audiences)
    return Authentication(
        Union([*authenticators, accounts], anonymous=anonymous),
        TokenReviewer(authenticators, accounts, audiences),
        issuer,
        lambda: [issuer.public],
        audiences,
        issuer_url=issuer.issuer,
    )


def _from_outside(
    behaviour: ServedBehaviour,
    settings: AuthenticationOptions,
    clock: Clock,
    issuers: Sequence[str],
    audiences: Sequence[str],
    counters: Meter | None,
) -> list[Authenticator]:
    """The authenticators of tokens from other issuers or services."""
    found: list[Authenticator] = []
    if settings.authentication_config is not None:
        from simkit.engine.authn.authentication_configuration import StructuredTokens

        if settings.oidc is not None and settings.oidc.given:
            raise SimkitError("authentication-config file and oidc-* flags are mutually exclusive")
        if counters is None:
            raise SimkitError("an authentication configuration needs somebody who counts its reloads")
        path = settings.authentication_config
        found.append(StructuredTokens(path, clock, counters, disallowed=issuers))
    if settings.oidc is not None and settings.oidc.given:
        found.append(tokens_by_flags(settings.oidc, clock))
    if settings.authentication_token_webhook_config_file is not None:
        caller = Caller(read_client(settings.authentication_token_webhook_config_file))
        version, ttl = settings.authentication_token_webhook_version, settings.authentication_token_webhook_cache_ttl
        found.append(WebhookTokens(behaviour, caller, clock, version=version, audiences=audiences, ttl=ttl))
    return found


def _by_certificate(behaviour: ServedBehaviour, settings: AuthenticationOptions, clock: Clock) -> list[Authenticator]:
    found: list[Authenticator] = []
    clients = _authorities(settings.client_authorities_file, settings.client_authorities, clock)
    proxies = _authorities(settings.proxy_authorities_file, settings.proxy_authorities, clock)
    if proxies:
        found.append(
            RequestHeaders(
                proxies,
                clock,
                allowed_names=settings.proxy_names,
                user_headers=settings.proxy_user_headers,
                group_headers=settings.proxy_group_headers,
                extra_prefixes=settings.proxy_extra_prefixes,
                uid_headers=settings.proxy_uid_headers,
            )
        )
    if clients:
        found.append(ClientCertificates(behaviour, clients, clock))
    return found


def _authorities(file: Path | None, others: bytes, clock: Clock) -> Authorities:
    return DynamicAuthorities(file, others, clock) if file is not None else others


def _issuer(settings: AuthenticationOptions, name: str) -> Issuer | None:
    path = settings.service_account_signing_key_file
    if path is None:
        return None

    def load() -> Signer:
        from simkit.engine.authn.jws import Signer
        from simkit.engine.authn.signing_keys import load_private_key

        return Signer(load_private_key(read_file(path), str(path)))

    issuer = Issuer(load, name)
    if not settings.signing_key_is_checked:
        _ = issuer.public  # an error of the file is told at the start
    return issuer


def _keys(settings: AuthenticationOptions, issuer: Issuer | None) -> Callable[[], Sequence[VerificationKey]] | None:
    """Gives the keys in the key files; by default the public half of the signing key. None where there is no key."""
    if not settings.service_account_key_file:
        return (lambda: [issuer.public]) if issuer else None
    from simkit.engine.authn.signing_keys import load_verification_keys

    keys = [
        key for path in settings.service_account_key_file for key in load_verification_keys(read_file(path), str(path))
    ]
    return lambda: keys
