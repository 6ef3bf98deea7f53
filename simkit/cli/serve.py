"""``simkit serve``: an API server that kubectl, client libraries and controllers can talk to."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.cli import outside
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.cluster.assembly import Assembled
    from simkit.cluster.options import Options
    from simkit.engine.authn.config import Settings
    from simkit.engine.http.server import Serving

EXAMPLES: Final = """\
examples:
  simkit serve --kubeconfig-out kubeconfig
  kubectl --kubeconfig kubeconfig get namespaces

  simkit serve --load dump.yaml --token-auth-file tokens.csv --authorization-mode RBAC
  simkit serve --secure-port 0 --insecure-port 8080 --token-auth-file tokens.csv --controllers ""

tokens.csv holds lines such as: s3cret,alice,alice-uid,"devs,ops"
"""
DEFAULT_ISSUER: Final = "https://kubernetes.default.svc"
DEFAULT_RANGE: Final = "10.96.0.0/16"
_WORDS: Final = {"true": True, "false": False, "t": True, "f": False, "1": True, "0": False}


_SIGNING: Final = {
    "cluster-signing-cert-file": "authority that signs approved certificate requests (default: the made one)",
    "cluster-signing-key-file": "its key",
    "root-ca-file": "certificates that every namespace gets, to know the server by (default: those of the authority)",
}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others. Flags have the real server's names."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        help="run an API server",
        description="Runs an API server in memory until SIGINT or SIGTERM. All state is gone with it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_serving(parser.add_argument_group("serving"))
    _add_authentication(parser.add_argument_group("authentication and authorization"))
    _add_providers(parser.add_argument_group("identity providers"))
    _add_recording(parser.add_argument_group("audit and limits"))
    _add_behaviour(parser.add_argument_group("behaviour"))
    outside.add_arguments(parser.add_argument_group("servers that are called"))
    return parser


def _add_serving(group: Any) -> None:
    group.add_argument("--secure-port", type=_port, default=6443, metavar="PORT", help="HTTPS (default 6443; 0: off)")
    group.add_argument(
        "--insecure-port",
        type=_port,
        default=0,
        metavar="PORT",
        help="plain HTTP on 127.0.0.1, for tests (default: off)",
    )
    group.add_argument(
        "--bind-address", default="127.0.0.1", metavar="IP", help="for HTTPS (default 127.0.0.1; 0.0.0.0: everywhere)"
    )
    group.add_argument(
        "--cert-dir", type=Path, metavar="DIR", help="where made certificates are kept (default: per user)"
    )
    group.add_argument("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate instead of a made one")
    group.add_argument("--tls-private-key-file", type=Path, metavar="FILE", help="its key")
    group.add_argument(
        "--kubeconfig-out", type=Path, metavar="FILE", help="write a client configuration of an administrator"
    )


def _add_authentication(group: Any) -> None:
    group.add_argument("--client-ca-file", type=Path, metavar="FILE", help="authorities of client certificates (PEM)")
    group.add_argument("--requestheader-client-ca-file", type=Path, metavar="FILE", help="authorities of front proxies")
    group.add_argument(
        "--requestheader-allowed-names", type=_words, default=(), metavar="A,B", help="common names of front proxies"
    )
    group.add_argument("--token-auth-file", type=Path, metavar="FILE", help="CSV: token, user, uid, groups")
    group.add_argument(
        "--anonymous-auth", type=_flag, default=True, nargs="?", const=True, metavar="BOOL", help="default true"
    )
    group.add_argument(
        "--enable-bootstrap-token-auth", type=_flag, default=False, nargs="?", const=True, metavar="BOOL"
    )
    group.add_argument("--authorization-mode", type=_words, metavar="A,B", help="default RBAC")
    group.add_argument("--authorization-config", type=Path, metavar="FILE", help="instead of all other of its flags")
    group.add_argument("--authorization-policy-file", type=Path, metavar="FILE", help="for ABAC: one policy a line")
    group.add_argument("--authorization-webhook-config-file", type=Path, metavar="FILE", help="kubeconfig of a service")
    group.add_argument("--authorization-webhook-version", choices=("v1", "v1beta1"), help="default v1beta1")
    for name, usual in (("authorized", "5m"), ("unauthorized", "30s")):
        flag = f"--authorization-webhook-cache-{name}-ttl"
        group.add_argument(flag, type=_seconds, metavar="DURATION", help=f"default {usual}")
    group.add_argument(
        "--service-account-issuer", action="append", default=[], metavar="URL", help=f"default {DEFAULT_ISSUER}"
    )
    group.add_argument(
        "--service-account-key-file", action="append", default=[], type=Path, metavar="FILE", help="may be repeated"
    )
    group.add_argument("--service-account-signing-key-file", type=Path, metavar="FILE", help="default: a made one")
    group.add_argument(
        "--service-account-lookup", type=_flag, default=True, nargs="?", const=True, metavar="BOOL", help="default true"
    )
    group.add_argument(
        "--service-account-max-token-expiration",
        type=_seconds,
        default=0,
        metavar="DURATION",
        help="such as 24h; longer requests are shortened",
    )
    group.add_argument(
        "--service-account-extend-token-expiration",
        type=_flag,
        default=True,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="default true",
    )
    group.add_argument("--service-account-jwks-uri", default="", metavar="URL", help="default: on this server")
    group.add_argument("--api-audiences", type=_words, default=(), metavar="A,B", help="default: the issuers")


def _add_behaviour(group: Any) -> None:
    group.add_argument("--release", default="1.30", metavar="X.Y", help="behave as this release (default 1.30)")
    group.add_argument(
        "--storage", default="memory", metavar="WHERE", help="memory (default) or sqlite:PATH, a file that lasts"
    )
    group.add_argument("--load", type=Path, metavar="PATH", help="start with the objects of a dump (file or folder)")
    group.add_argument(
        "--allow-privileged",
        type=_flag,
        default=None,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="privileged containers (default: only with --load)",
    )
    group.add_argument(
        "--controllers",
        type=_words,
        default=("*",),
        metavar="A,-B",
        help='default "*"; "": none; "*,-name": all but one',
    )
    for name, text in _SIGNING.items():
        group.add_argument(f"--{name}", type=Path, metavar="FILE", help=text)
    group.add_argument("--enable-admission-plugins", type=_words, default=(), metavar="A,B")
    group.add_argument("--disable-admission-plugins", type=_words, default=(), metavar="A,B")
    group.add_argument(
        "--admission-control-config-file", type=Path, metavar="FILE", help="settings of admission plugins"
    )
    group.add_argument("--feature-gates", type=_switches, default={}, metavar="A=true,B=false")
    group.add_argument("--runtime-config", type=_switches, default={}, metavar="GROUP/VERSION=true")
    group.add_argument(
        "--service-cluster-ip-range", default=DEFAULT_RANGE, metavar="CIDR", help=f"default {DEFAULT_RANGE}"
    )


def _add_providers(group: Any) -> None:
    """Tokens that others issue or know."""
    group.add_argument("--oidc-issuer-url", default="", metavar="URL", help="https address of an identity provider")
    group.add_argument("--oidc-client-id", default="", metavar="ID", help="for whom its tokens must be")
    group.add_argument("--oidc-username-claim", default="sub", metavar="CLAIM", help="default sub")
    group.add_argument("--oidc-username-prefix", default="", metavar="TEXT", help='default "<issuer>#"; "-": none')
    group.add_argument("--oidc-groups-claim", default="", metavar="CLAIM")
    group.add_argument("--oidc-groups-prefix", default="", metavar="TEXT")
    group.add_argument("--oidc-required-claim", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    group.add_argument("--oidc-ca-file", type=Path, metavar="FILE", help="authorities of the provider (PEM)")
    group.add_argument("--oidc-signing-algs", type=_words, default=("RS256",), metavar="A,B", help="default RS256")
    group.add_argument("--authentication-config", type=Path, metavar="FILE", help="instead of the flags --oidc-*")
    hook = "--authentication-token-webhook"
    group.add_argument(f"{hook}-config-file", type=Path, metavar="FILE", help="kubeconfig of a service for tokens")
    group.add_argument(f"{hook}-version", choices=("v1", "v1beta1"), default="v1beta1", help="default v1beta1")
    group.add_argument(f"{hook}-cache-ttl", type=_seconds, default=120.0, metavar="DURATION", help="default 2m")


def _add_recording(group: Any) -> None:
    group.add_argument("--audit-policy-file", type=Path, metavar="FILE", help="what is recorded of which request")
    group.add_argument("--audit-log-path", metavar="FILE", help='one event a line; "-": standard output')
    for name in ("maxage", "maxbackup", "maxsize"):
        group.add_argument(f"--audit-log-{name}", type=int, metavar="N", help="taken, without effect: no rotation")
    group.add_argument("--audit-webhook-config-file", type=Path, metavar="FILE", help="kubeconfig of a service")
    group.add_argument("--max-requests-inflight", type=int, default=400, metavar="N", help="default 400; 0: no limit")
    group.add_argument(
        "--max-mutating-requests-inflight", type=int, default=200, metavar="N", help="default 200; 0: no limit"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop; gives back the exit code."""
    from simkit.cluster.assembly import live
    from simkit.engine.authn.config import build
    from simkit.engine.http.road import Road
    from simkit.engine.http.server import Server
    from simkit.meta.clock import SystemClock
    from simkit.meta.collector import resting_collector

    clock = SystemClock()
    with resting_collector():  # nothing of what a start makes is garbage
        serving = _serving(args)
        _tell_limits(args.release)
        made = _assembled(replace(_options(args), **_signing(args, serving)), args.load)
        authentication = build(_settings(args, serving), live(made.store), clock, made.engine.metrics)
        made.engine.authenticate_with(authentication)
        compress = args.feature_gates.get("APIResponseCompression", True)
        server = Server(Road(made.engine), serving, clock=clock, compress=compress)
        made.runner.start()
        gc.freeze()  # what is there now stays; the collector need not look at it again and again
    try:
        server.run(lambda: _announce(server, kubeconfig=args.kubeconfig_out))
    finally:
        made.runner.stop()
        if made.engine.audit is not None:
            made.engine.audit.close()
    return 0


def _tell_limits(release: str) -> None:
    """Say that a server of another release than 1.30 is not in everything as a real one."""
    from simkit.cluster.releases import limits

    if limits(release):
        text = f"how this differs from a real {release}: simkit releases {release} --limits"
        print(f"simkit: {text}", file=sys.stderr)


def _announce(server: Any, *, kubeconfig: Path | None) -> None:
    print(f"{server!r} is ready", flush=True)
    if server.kubeconfig is not None:
        print(f"kubectl --kubeconfig {server.kubeconfig} get namespaces", flush=True)


def _serving(args: argparse.Namespace) -> Serving:
    from simkit.engine.authn.config import read_file
    from simkit.engine.http.server import Serving

    if (args.tls_cert_file is None) != (args.tls_private_key_file is None):
        raise SimkitError("a serving certificate and its key must be given together")
    return Serving(
        host=args.bind_address,
        port=args.secure_port or None,
        insecure_port=args.insecure_port or None,
        certificate_folder=args.cert_dir,
        certificate_file=args.tls_cert_file,
        key_file=args.tls_private_key_file,
        client_authorities=read_file(args.client_ca_file) if args.client_ca_file else b"",
        proxy_authorities=read_file(args.requestheader_client_ca_file) if args.requestheader_client_ca_file else b"",
        kubeconfig=args.kubeconfig_out,
    )


def _settings(args: argparse.Namespace, serving: Serving) -> Settings:
    from simkit.engine.authn.config import Settings

    made = serving.identities()
    keys = args.service_account_key_file or ([args.tls_private_key_file] if args.tls_private_key_file else [])
    return Settings(
        anonymous_auth=args.anonymous_auth,
        client_authorities=serving.trusted_clients(made),
        proxy_authorities=serving.proxy_authorities,
        proxy_names=args.requestheader_allowed_names,
        token_auth_file=args.token_auth_file,
        enable_bootstrap_token_auth=args.enable_bootstrap_token_auth,
        service_account_issuer=args.service_account_issuer or (DEFAULT_ISSUER,),
        api_audiences=args.api_audiences,
        service_account_key_file=keys,
        service_account_signing_key_file=args.service_account_signing_key_file or made.token_key,
        service_account_lookup=args.service_account_lookup,
        service_account_max_token_expiration=int(args.service_account_max_token_expiration),
        service_account_jwks_uri=args.service_account_jwks_uri,
        oidc=_oidc(args),
        authentication_config=args.authentication_config,
        authentication_token_webhook_config_file=args.authentication_token_webhook_config_file,
        authentication_token_webhook_version=args.authentication_token_webhook_version,
        authentication_token_webhook_cache_ttl=args.authentication_token_webhook_cache_ttl,
        service_account_extend_token_expiration=args.service_account_extend_token_expiration,
    )


def _oidc(args: argparse.Namespace) -> Any:
    from simkit.engine.authn.config import read_file
    from simkit.engine.authn.oidcflags import Flags

    required = [item.partition("=") for item in args.oidc_required_claim]
    wrong = [claim for claim, equals, _ in required if not equals or not claim]
    if wrong:
        raise SimkitError(f"--oidc-required-claim: {wrong[0]!r} is not of the form key=value")
    return Flags(
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


def _options(args: argparse.Namespace) -> Options:
    """The options of the cluster. Raises SimkitError for a setting that differs from its default and has no effect."""
    from simkit.cluster.options import Options

    wanted: dict[str, tuple[Any, Any]] = {
        "release": (args.release, "1.30"),
        "storage": (args.storage, "memory"),
        **_authorization(args),
        "anonymous_auth": (args.anonymous_auth, True),
        "feature_gates": (args.feature_gates, {}),
        "runtime_config": (args.runtime_config, {}),
        "enable_admission_plugins": (args.enable_admission_plugins, ()),
        "disable_admission_plugins": (args.disable_admission_plugins, ()),
        "admission_control_config_file": (args.admission_control_config_file, None),
        "controllers": (args.controllers, ("*",)),
        "allow_privileged": (args.allow_privileged, None),
        "audit_policy": (args.audit_policy_file, None),
        "audit_memory": (0, 0),
        "audit_log_path": (args.audit_log_path, None),
        "audit_webhook_config_file": (args.audit_webhook_config_file, None),
        "max_requests_inflight": (args.max_requests_inflight, 0),
        "max_mutating_requests_inflight": (args.max_mutating_requests_inflight, 0),
        "service_cluster_ip_range": (args.service_cluster_ip_range, DEFAULT_RANGE),
        **outside.options(args),
    }
    known = {each.name for each in fields(Options)}
    for name, (value, default) in wanted.items():
        if name not in known and value != default:
            raise SimkitError(f"--{name.replace('_', '-')}: cannot be changed in this version")
    return Options(**{name: value for name, (value, _) in wanted.items() if name in known})


def _signing(args: argparse.Namespace, serving: Serving) -> dict[str, Any]:
    """The authority of certificate requests: the files that were given, else that of the server's own certificate."""
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


def _authorization(args: argparse.Namespace) -> dict[str, tuple[Any, Any]]:
    """What the flags of authorization say; those that were not given keep their defaults."""
    names = ("mode", "policy_file", "webhook_config_file", "webhook_version")
    ttls = ("webhook_cache_authorized_ttl", "webhook_cache_unauthorized_ttl")
    given = {f"authorization_{name}": getattr(args, f"authorization_{name}") for name in (*names, *ttls)}
    given = {name: value for name, value in given.items() if value is not None}
    if args.authorization_config is not None and given:
        flags = "--authorization-mode or --authorization-webhook-* flags are defined"
        raise SimkitError(f"--authorization-config can not be specified when {flags}")
    return {
        name: (value, None) for name, value in (*given.items(), ("authorization_config", args.authorization_config))
    }


def _assembled(options: Options, dump: Path | None) -> Assembled:
    from simkit.cluster import assembly

    if dump is None:
        return assembly.fresh(options)
    from simkit.snapshot.load import load

    read = load(dump, release=options.release)
    store = assembly.new_store(options)
    store.seed(read.keyed.items())
    return assembly.Assembled(options, store)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 0 to 65535")
    return int(text)


def _flag(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return _WORDS[text.lower()]


def _seconds(text: str) -> float:
    from simkit.meta.duration import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; write it like 30s or 1h30m") from None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _switches(text: str) -> dict[str, bool]:
    """``a=true,b=false`` as a mapping; a name without a value is on."""
    found = {}
    for item in _words(text):
        name, _, value = item.partition("=")
        found[name] = _flag(value or "true")
    return found


__all__: Sequence[str] = ("add_parser", "run")
