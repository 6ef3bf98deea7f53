"""The settings of a server by the flags of ``simkit serve``. Faults are worded as kube-apiserver words them.

Upstream: pkg/kubeapiserver/options/authentication.go, release 1.30.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from simkit.cli.server_flags import DEFAULT_ISSUER
from simkit.engine.controllers.node_lifecycle import EvictionRates
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import quoted

if TYPE_CHECKING:
    from simkit.engine.authn.options import AuthenticationOptions
    from simkit.engine.http.server import ServingOptions

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SHORTEST, _LONGEST = 3600, 2**32
"""The limits of ``--service-account-max-token-expiration``, in seconds."""
_AMOUNTS: Final = (
    "livez-grace-period",
    "max-requests-inflight",
    "max-mutating-requests-inflight",
    "request-timeout",
    "min-request-timeout",
    "shutdown-delay-duration",
)
"""Flags that may be 0 but not negative."""
_INSTEAD: Final = (
    "authorization_mode",
    "authorization_policy_file",
    "authorization_webhook_config_file",
    "authorization_webhook_version",
    "authorization_webhook_cache_authorized_ttl",
    "authorization_webhook_cache_unauthorized_ttl",
)
"""What ``--authorization-config`` takes the place of."""


def _of_same_names(kind: type[Any], args: argparse.Namespace) -> dict[str, Any]:
    """The values of flags that are named as the fields of a class; flags without a value keep its defaults."""
    given = {each.name: getattr(args, each.name, None) for each in fields(kind)}
    return {name: value for name, value in given.items() if value is not None}


def server_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of the cluster. Raises SimkitError for flags that do not fit."""
    from simkit.cluster.options import Options

    _check(args)
    servers = f"etcd:{','.join(args.etcd_servers)}" if args.etcd_servers else ""
    return {
        **_of_same_names(Options, args),
        "storage": args.storage or servers or "memory",
        "audit_policy": args.audit_policy_file,
        "audit_memory": 0,
        "audit_log_strict": args.audit_log_mode == "blocking-strict",
        "services": _services(args.service_address),
        "eviction_rates": EvictionRates(
            args.node_eviction_rate,
            args.secondary_node_eviction_rate,
            args.unhealthy_zone_threshold,
            args.large_cluster_size_threshold,
        ),
    }


def _check(args: argparse.Namespace) -> None:
    if args.storage and args.etcd_servers:
        raise SimkitError("--storage and --etcd-servers both name a store; use only one")
    if args.authorization_config is not None and any(getattr(args, name) is not None for name in _INSTEAD):
        flags = "--authorization-mode or --authorization-webhook-* flags are defined"
        raise SimkitError(f"--authorization-config can not be specified when {flags}")
    for name in _AMOUNTS:
        if getattr(args, name.replace("-", "_")) < 0:
            raise SimkitError(f"--{name} can not be negative value")
    if (args.proxy_client_cert_file is None) != (args.proxy_client_key_file is None):
        raise SimkitError("--proxy-client-cert-file and --proxy-client-key-file must be given together")


def _services(given: Sequence[str]) -> Mapping[str, str]:
    """The addresses of services by their names.

    Examples
    --------
    >>> _services(["ops/hook=127.0.0.1:8443"])
    {'ops/hook': '127.0.0.1:8443'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, separator, address = text.partition("=")
        if not separator or name.count("/") != 1 or not address:
            raise SimkitError(f"--service-address: {text!r} is not of the form namespace/name=host:port")
        found[name] = address
    return found


def serving_options(args: argparse.Namespace) -> ServingOptions:
    """The addresses and certificates of the server, and the time limits of requests."""
    from simkit.engine.egress.files import read_file
    from simkit.engine.http.server import ServingOptions

    return ServingOptions(
        host=args.bind_address,
        port=args.secure_port or None,
        insecure_port=args.insecure_port or None,
        certificate_folder=args.cert_dir,
        certificate_file=args.tls_cert_file,
        key_file=args.tls_private_key_file,
        client_authorities=read_file(args.client_ca_file) if args.client_ca_file else b"",
        proxy_authorities=read_file(args.requestheader_client_ca_file) if args.requestheader_client_ca_file else b"",
        kubeconfig=args.kubeconfig_out,
        request_timeout=args.request_timeout,
        shortest_watch=args.min_request_timeout,
        shutdown_delay=args.shutdown_delay_duration,
    )


def signing_options(args: argparse.Namespace, serving: ServingOptions) -> dict[str, Any]:
    """The authority for certificate requests: the given files, else that of the server's own certificate."""
    certificate, key = args.cluster_signing_cert_file, args.cluster_signing_key_file
    if (certificate is None) != (key is None):
        raise SimkitError("--cluster-signing-cert-file and --cluster-signing-key-file must be given together")
    root = args.root_ca_file or certificate or serving.certificate_file
    if certificate is None:
        certificate = serving.identities().authority
        key = certificate.with_suffix(".key")
    return {
        "cluster_signing_cert_file": certificate,
        "cluster_signing_key_file": key,
        "root_ca_file": root or certificate,
    }


def authentication_options(
    args: argparse.Namespace, serving: ServingOptions, *, anonymous_auth: bool
) -> AuthenticationOptions:
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
    given = {
        **_of_same_names(AuthenticationOptions, args),
        "anonymous_auth": anonymous_auth,
        "client_authorities": made.authority.read_bytes(),
        "client_authorities_file": args.client_ca_file,
        "proxy_authorities_file": args.requestheader_client_ca_file,
        "proxy_names": args.requestheader_allowed_names,
        "proxy_user_headers": args.requestheader_username_headers,
        "proxy_group_headers": args.requestheader_group_headers,
        "proxy_extra_prefixes": args.requestheader_extra_headers_prefix,
        "proxy_uid_headers": args.requestheader_uid_headers,
        "service_account_issuer": args.service_account_issuer or (DEFAULT_ISSUER,),
        "service_account_key_file": keys,
        "service_account_signing_key_file": args.service_account_signing_key_file or made.token_key,
        "signing_key_is_checked": args.service_account_signing_key_file is None,
        "service_account_max_token_expiration": int(args.service_account_max_token_expiration),
        "service_account_jwks_uri": args.service_account_jwks_uri or serving.address_of(KEYS),
        "oidc": _oidc(args),
    }
    return AuthenticationOptions(**given)


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
    from simkit.engine.egress.files import read_file

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
