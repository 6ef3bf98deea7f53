"""Flags of ``simkit serve`` for authentication and authorization.

Upstream: pkg/kubeapiserver/options/authentication.go, release 1.30.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from simkit.cli.flag_types import flag, seconds, words
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import quoted

if TYPE_CHECKING:
    from simkit.engine.authn.options import AuthenticationOptions
    from simkit.engine.http.server import ServingOptions

_PROXY_HEADERS: Final = {
    "username-headers": "X-Remote-User",
    "group-headers": "X-Remote-Group",
    "extra-headers-prefix": "X-Remote-Extra-",
}
DEFAULT_ISSUER: Final = "https://kubernetes.default.svc"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SHORTEST, _LONGEST = 3600, 2**32
"""The limits of ``--service-account-max-token-expiration``, in seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags, in groups."""
    _add_authentication(parser.add_argument_group("authentication and authorization"))
    _add_providers(parser.add_argument_group("identity providers"))


def _add_authentication(group: Any) -> None:
    group.add_argument(
        "--client-ca-file", type=Path, metavar="FILE", help="the CA certificates of client certificates (PEM)"
    )
    group.add_argument(
        "--requestheader-client-ca-file", type=Path, metavar="FILE", help="the CA certificates of front proxies"
    )
    group.add_argument(
        "--requestheader-allowed-names",
        type=words,
        default=(),
        metavar="A,B",
        help="allowed common names of front proxies",
    )
    for what, usual in _PROXY_HEADERS.items():
        flag_name = f"--requestheader-{what}"
        group.add_argument(flag_name, type=words, default=(usual,), metavar="A,B", help=f"default {usual}")
    group.add_argument(
        "--requestheader-uid-headers", type=words, default=(), metavar="A,B", help="such as X-Remote-Uid (from 1.32 on)"
    )
    group.add_argument("--token-auth-file", type=Path, metavar="FILE", help="CSV: token, user, uid, groups")
    group.add_argument(
        "--anonymous-auth", type=flag, default=True, nargs="?", const=True, metavar="BOOL", help="default true"
    )
    group.add_argument("--enable-bootstrap-token-auth", type=flag, default=False, nargs="?", const=True, metavar="BOOL")
    group.add_argument("--authorization-mode", type=words, metavar="A,B", help="default RBAC")
    group.add_argument(
        "--authorization-config",
        type=Path,
        metavar="FILE",
        help="a configuration file instead of the other authorization flags",
    )
    group.add_argument(
        "--authorization-policy-file", type=Path, metavar="FILE", help="for ABAC: a file with one policy on each line"
    )
    group.add_argument(
        "--authorization-webhook-config-file", type=Path, metavar="FILE", help="the kubeconfig of the webhook"
    )
    group.add_argument("--authorization-webhook-version", choices=("v1", "v1beta1"), help="default v1beta1")
    for name, usual in (("authorized", "5m"), ("unauthorized", "30s")):
        group.add_argument(
            f"--authorization-webhook-cache-{name}-ttl", type=seconds, metavar="DURATION", help=f"default {usual}"
        )
    group.add_argument(
        "--service-account-issuer", action="append", default=[], metavar="URL", help=f"default {DEFAULT_ISSUER}"
    )
    group.add_argument(
        "--service-account-key-file", action="append", default=[], type=Path, metavar="FILE", help="may be repeated"
    )
    group.add_argument("--service-account-signing-key-file", type=Path, metavar="FILE", help="default: a generated key")
    group.add_argument(
        "--service-account-lookup", type=flag, default=True, nargs="?", const=True, metavar="BOOL", help="default true"
    )
    group.add_argument(
        "--service-account-max-token-expiration",
        type=seconds,
        default=0,
        metavar="DURATION",
        help="the longest lifetime of a token, such as 24h",
    )
    group.add_argument(
        "--service-account-extend-token-expiration",
        type=flag,
        default=True,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="default true",
    )
    group.add_argument("--service-account-jwks-uri", default="", metavar="URL", help="default: on this server")
    group.add_argument("--api-audiences", type=words, default=(), metavar="A,B", help="default: the issuers")


def _add_providers(group: Any) -> None:
    """Add the flags for tokens of other issuers."""
    group.add_argument("--oidc-issuer-url", default="", metavar="URL", help="the https URL of the identity provider")
    group.add_argument(
        "--oidc-client-id", default="", metavar="ID", help="the client ID that tokens must be issued for"
    )
    group.add_argument("--oidc-username-claim", default="sub", metavar="CLAIM", help="default sub")
    group.add_argument("--oidc-username-prefix", default="", metavar="TEXT", help='default "<issuer>#"; "-": none')
    group.add_argument("--oidc-groups-claim", default="", metavar="CLAIM")
    group.add_argument("--oidc-groups-prefix", default="", metavar="TEXT")
    group.add_argument("--oidc-required-claim", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    group.add_argument("--oidc-ca-file", type=Path, metavar="FILE", help="the CA certificates of the provider (PEM)")
    group.add_argument("--oidc-signing-algs", type=words, default=("RS256",), metavar="A,B", help="default RS256")
    group.add_argument(
        "--authentication-config", type=Path, metavar="FILE", help="a configuration file instead of the flags --oidc-*"
    )
    hook = "--authentication-token-webhook"
    group.add_argument(
        f"{hook}-config-file", type=Path, metavar="FILE", help="the kubeconfig of the webhook for tokens"
    )
    group.add_argument(f"{hook}-version", choices=("v1", "v1beta1"), default="v1beta1", help="default v1beta1")
    group.add_argument(f"{hook}-cache-ttl", type=seconds, default=120.0, metavar="DURATION", help="default 2m")


def settings(args: argparse.Namespace, serving: ServingOptions, *, anonymous_auth: bool) -> AuthenticationOptions:
    """The authenticators that the flags configure, with anonymous requests as the cluster allows them. Raises
    SimkitError."""
    from simkit.engine.authn.options import AuthenticationOptions
    from simkit.engine.pipeline.non_resource.documents import KEYS

    gate = "StructuredAuthenticationConfiguration"
    if args.authentication_config is not None and not args.feature_gates.get(gate, True):
        raise SimkitError(f"set --feature-gates={gate}=true to use authentication-config file")
    _check_issuers(args.service_account_issuer)
    _check_tokens(args.service_account_max_token_expiration, args.service_account_jwks_uri)
    made = serving.identities()
    keys = [*args.service_account_key_file] or ([args.tls_private_key_file] if args.tls_private_key_file else [])
    if keys and args.service_account_signing_key_file is None:
        keys.append(made.token_key)  # whoever names no key to sign with means the made one to be good
    return AuthenticationOptions(
        anonymous_auth=anonymous_auth,
        client_authorities=made.authority.read_bytes(),
        client_authorities_file=args.client_ca_file,
        proxy_authorities_file=args.requestheader_client_ca_file,
        proxy_names=args.requestheader_allowed_names,
        proxy_user_headers=args.requestheader_username_headers,
        proxy_group_headers=args.requestheader_group_headers,
        proxy_extra_prefixes=args.requestheader_extra_headers_prefix,
        proxy_uid_headers=args.requestheader_uid_headers,
        token_auth_file=args.token_auth_file,
        enable_bootstrap_token_auth=args.enable_bootstrap_token_auth,
        service_account_issuer=args.service_account_issuer or (DEFAULT_ISSUER,),
        api_audiences=args.api_audiences,
        service_account_key_file=keys,
        service_account_signing_key_file=args.service_account_signing_key_file or made.token_key,
        signing_key_is_checked=args.service_account_signing_key_file is None,
        service_account_lookup=args.service_account_lookup,
        service_account_max_token_expiration=int(args.service_account_max_token_expiration),
        service_account_jwks_uri=args.service_account_jwks_uri or serving.address_of(KEYS),
        oidc=_oidc(args),
        authentication_config=args.authentication_config,
        authentication_token_webhook_config_file=args.authentication_token_webhook_config_file,
        authentication_token_webhook_version=args.authentication_token_webhook_version,
        authentication_token_webhook_cache_ttl=args.authentication_token_webhook_cache_ttl,
        service_account_extend_token_expiration=args.service_account_extend_token_expiration,
    )


def _check_issuers(issuers: Sequence[str]) -> None:
    for number, issuer in enumerate(issuers):
        if not issuer:
            raise SimkitError("service-account-issuer should not be an empty string")
        if issuer in issuers[:number]:
            raise SimkitError(f"service-account-issuer {quoted(issuer)} is already specified")
        if ":" in issuer and not _is_url(issuer):
            raise SimkitError(f"service-account-issuer {quoted(issuer)} contained a ':' but was not a valid URL")


def _is_url(text: str) -> bool:
    """True if a text with a colon before the first slash has a scheme and a valid address."""
    if ":" in text.partition("/")[0] and not _SCHEME.match(text):
        return False
    try:
        urlsplit(text).port  # noqa: B018 - read for its error
    except ValueError:
        return False
    return True


def _check_tokens(longest: float, keys: str) -> None:
    if longest and not _SHORTEST <= longest <= _LONGEST:
        raise SimkitError("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")
    if keys and urlsplit(keys).scheme != "https":
        raise SimkitError(f"service-account-jwks-uri requires https scheme, parsed as: {keys}")


def _oidc(args: argparse.Namespace) -> Any:
    from simkit.engine.authn.oidc import OIDCOptions
    from simkit.engine.authn.options import read_file

    required = [item.partition("=") for item in args.oidc_required_claim]
    wrong = [claim for claim, equals, _ in required if not equals or not claim]
    if wrong:
        raise SimkitError(f"--oidc-required-claim: {wrong[0]!r} is not of the form key=value")
    return OIDCOptions(
        args.oidc_issuer_url,
        args.oidc_client_id,
        args.oidc_username_claim,
        args.oidc_username_prefix,
        args.oidc_groups_claim,
        args.oidc_groups_prefix,
        {claim: value for claim, _, value in required},
        read_file(args.oidc_ca_file) if args.oidc_ca_file else b"",
        args.oidc_signing_algs,
    )


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The authorization options of the flags; flags that were not given keep their defaults."""
    names = ("mode", "policy_file", "webhook_config_file", "webhook_version")
    ttls = ("webhook_cache_authorized_ttl", "webhook_cache_unauthorized_ttl")
    given = {f"authorization_{name}": getattr(args, f"authorization_{name}") for name in (*names, *ttls)}
    given = {name: value for name, value in given.items() if value is not None}
    if args.authorization_config is not None and given:
        flags = "--authorization-mode or --authorization-webhook-* flags are defined"
        raise SimkitError(f"--authorization-config can not be specified when {flags}")
    return {**given, "authorization_config": args.authorization_config}
