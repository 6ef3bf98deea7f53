"""``simkit serve``: an API server that kubectl, client libraries and controllers can talk to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.cli import (
    access_flags,
    audit_flags,
    etcd_flags,
    inert_flags,
    node_flags,
    object_flags,
    outside,
    request_flags,
)
from simkit.cli.flag_types import Merging, flag, gate_switches, port, switches, words
from simkit.cli.free_ports import check_ports
from simkit.cli.notes import complain_of, note
from simkit.cli.source import add_unpack, demo_path, standard_input
from simkit.meta.distribution import VERSION
from simkit.meta.errors import SimkitError
from simkit.schema.releases import BASE

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane
    from simkit.cluster.options import Options
    from simkit.engine.http.server import Server, ServingOptions
    from simkit.snapshot.dump import Dump

EXAMPLES: Final = """\
examples:
  simkit serve --kubeconfig-out kubeconfig
  kubectl --kubeconfig kubeconfig get namespaces

  simkit serve dump.yaml --port 8443                  # start with the objects of a dump
  simkit serve --demo --nodes 3                       # the demo cluster, with simulated nodes that run pods
  simkit serve dump.yaml --token-auth-file tokens.csv --authorization-mode RBAC
  simkit serve --secure-port 0 --insecure-port 8080 --token-auth-file tokens.csv --controllers ""

tokens.csv has lines such as: s3cret,alice,alice-uid,"devs,ops"

Flags of kube-apiserver that have no effect here, such as --watch-cache, are accepted with a note.
"""
_SIGNING: Final = {
    "cluster-signing-cert-file": "the authority that signs approved certificate requests (default: a generated one)",
    "cluster-signing-key-file": "its key",
    "root-ca-file": "root certificates to publish in every namespace (default: those of the authority)",
}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others. Flags are named as those of kube-apiserver."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        help="run a Kubernetes API server in memory",
        description="Runs a Kubernetes API server in memory until you stop it with Ctrl-C. "
        "Its objects are lost then, unless --storage keeps them.",
        epilog=EXAMPLES,
    )
    _add_serving(parser.add_argument_group("serving"))
    access_flags.add_arguments(parser)
    audit_flags.add_arguments(parser.add_argument_group("audit log"))
    request_flags.add_arguments(parser.add_argument_group("requests"))
    _add_behaviour(parser.add_argument_group("behaviour"))
    node_flags.add_arguments(parser.add_argument_group("simulated nodes"))
    object_flags.add_arguments(parser.add_argument_group("objects"))
    outside.add_arguments(parser.add_argument_group("servers that are called"))
    parser.add_argument(
        "objects", nargs="?", default="", metavar="PATH", help="start with the objects of a dump: a file or a folder"
    )
    parser.add_argument("--version", action="version", version=f"simkit {VERSION}", help="print the version of simkit")
    inert_flags.add_arguments(parser)
    return parser


def _add_serving(group: Any) -> None:
    group.add_argument(
        "--secure-port",
        "--port",
        type=port,
        default=6443,
        metavar="PORT",
        help="the port for HTTPS (default 6443; 0: off)",
    )
    group.add_argument(
        "--insecure-port",
        type=port,
        default=0,
        metavar="PORT",
        help="a port for plain HTTP on 127.0.0.1, for tests (default: off)",
    )
    group.add_argument(
        "--bind-address",
        default="127.0.0.1",
        metavar="IP",
        help="the address for HTTPS (default 127.0.0.1; 0.0.0.0: all interfaces)",
    )
    group.add_argument(
        "--cert-dir",
        type=Path,
        metavar="DIR",
        help="the folder for generated certificates (default: one for each user)",
    )
    group.add_argument(
        "--tls-cert-file", type=Path, metavar="FILE", help="the serving certificate (default: a generated one)"
    )
    group.add_argument("--tls-private-key-file", type=Path, metavar="FILE", help="the key of the certificate")
    group.add_argument(
        "--kubeconfig-out", type=Path, metavar="FILE", help="write a kubeconfig with administrator rights"
    )


def _add_behaviour(group: Any) -> None:
    told = "behave as this Kubernetes release (default: that of the dump, or 1.30)"
    group.add_argument("--release", metavar="X.Y", help=told)
    etcd_flags.add_arguments(group)
    group.add_argument("--demo", action="store_true", help="start with the objects of the demo cluster")
    add_unpack(group)
    group.add_argument(
        "--allow-privileged",
        type=flag,
        default=None,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="allow privileged containers (default: only with a dump and --nodes)",
    )
    group.add_argument(
        "--controllers",
        type=words,
        default=("*",),
        metavar="A,-B",
        help='the controllers to run (default "*": all; "": none; "*,-name": all but one)',
    )
    group.add_argument(
        "--use-service-account-credentials",
        type=flag,
        default=True,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="each controller uses its own service account (default true)",
    )
    group.add_argument(
        "-v",
        "--v",
        type=int,
        default=0,
        metavar="N",
        help="the log level; 3 and above log each request (default 0)",
    )
    for name, text in _SIGNING.items():
        group.add_argument(f"--{name}", type=Path, metavar="FILE", help=text)
    group.add_argument("--enable-admission-plugins", type=words, default=(), metavar="A,B")
    group.add_argument("--disable-admission-plugins", type=words, default=(), metavar="A,B")
    group.add_argument(
        "--admission-control-config-file",
        type=Path,
        metavar="FILE",
        help="a file with the configuration of admission plugins",
    )
    group.add_argument(
        "--show-hidden-metrics-for-version",
        default="",
        metavar="X.Y",
        help="show metrics that the previous release still had",
    )
    for name, read, shown in (
        ("feature-gates", gate_switches, "A=true,B=false"),
        ("runtime-config", switches, "GROUP/VERSION=true"),
    ):
        group.add_argument(f"--{name}", type=read, action=Merging, default={}, metavar=shown)


def run(args: argparse.Namespace) -> int:
    """Serve until stopped, and return the exit code."""
    from simkit.meta.python_gc import collect_seldom, collection_paused

    if args.demo and args.objects:
        raise SimkitError(f"use either --demo or the path of a dump, not both: {args.objects}")
    check_ports(args.bind_address, args.secure_port, args.insecure_port)
    with collection_paused():  # nothing of what a start makes is garbage, the modules included
        server, made = _made(args)
        collect_seldom()
    try:
        server.run(lambda: _announce(server, args, kept=made.options.storage != "memory"))
        note("the server has stopped")
    finally:
        if made.engine.audit is not None:
            made.engine.audit.close()
        made.store.close()
    return 0


def _made(args: argparse.Namespace) -> tuple[Server, ControlPlane]:
    """The server, not yet running, and its control plane."""
    from simkit.cluster.bootstrap import publish
    from simkit.cluster.parts import object_getter
    from simkit.engine.authn.options import build
    from simkit.engine.http.apiserver import APIServerHandler
    from simkit.engine.http.server import Server
    from simkit.engine.pipeline.request_context import log_to_standard_error
    from simkit.meta.clock import SystemClock

    inert_flags.tell(args)
    clock = SystemClock()
    serving = _serving(args)
    dump = _dump(args)
    args.release = dump.release if dump is not None else args.release or BASE
    _tell_limits(args.release)
    made = _assembled(replace(_options(args), **_signing(args, serving)), dump)
    settings = access_flags.settings(args, serving, anonymous_auth=made.options.anonymous_auth)
    authentication = build(made.engine.behaviour, settings, object_getter(made.store), clock, made.engine.metrics)
    made.engine.authenticate_with(authentication)
    made.engine.verbosity = args.v
    log_to_standard_error()
    if not _loads(args):
        publish(made.engine)
    node_flags.start(made, args)
    compress = made.engine.gate("APIResponseCompression")
    handler = APIServerHandler(made.engine)
    return Server(
        handler,
        serving,
        clock=clock,
        compress=compress,
        controllers=made.background,
        prepare_to_stop=handler.prepare_to_stop,
    ), made


def _loads(args: argparse.Namespace) -> bool:
    """True if the server starts with the objects of a dump."""
    return bool(args.objects or args.demo)


def _tell_limits(release: str) -> None:
    """Report on standard error that the release differs in places from kube-apiserver."""
    from simkit.cluster.releases import limits

    if limits(release):
        text = f"how this differs from kube-apiserver {release}: simkit releases {release} --limits"
        print(f"simkit: {text}", file=sys.stderr)


def _announce(server: Server, args: argparse.Namespace, *, kept: bool) -> None:
    """Report that the server is ready, how to use it, what does not run, and how to stop it."""
    at = " and ".join(dict.fromkeys(filter(None, (server.url, server.insecure_url))))
    print(f"Kubernetes API server {args.release} is ready at {at}", flush=True)
    if server.kubeconfig is not None:
        print(f"Try: kubectl --kubeconfig {server.kubeconfig} get namespaces", flush=True)
    if _loads(args):
        origin = "the demo cluster" if args.demo else args.objects
        note(f"it serves a copy of {origin}; changes are not written back")
    if not node_flags.wanted(args):
        note("without nodes, new pods stay Pending; add --nodes 3 to run them on simulated nodes")
    note("press Ctrl-C to stop it" + ("" if kept else "; its objects are lost then"))


def _serving(args: argparse.Namespace) -> ServingOptions:
    from simkit.engine.authn.options import read_file
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
        **request_flags.times(args),
    )


def _options(args: argparse.Namespace) -> Options:
    """The options of the cluster."""
    from simkit.cluster.options import Options

    wanted: dict[str, Any] = {
        "release": args.release,
        **etcd_flags.options(args),
        **access_flags.options(args),
        "anonymous_auth": args.anonymous_auth,
        "feature_gates": args.feature_gates,
        "runtime_config": args.runtime_config,
        "show_hidden_metrics_for_version": args.show_hidden_metrics_for_version,
        "enable_admission_plugins": args.enable_admission_plugins,
        "disable_admission_plugins": args.disable_admission_plugins,
        "admission_control_config_file": args.admission_control_config_file,
        "controllers": args.controllers,
        "use_service_account_credentials": args.use_service_account_credentials,
        "allow_privileged": args.allow_privileged,
        **audit_flags.options(args),
        **request_flags.options(args),
        **object_flags.options(args),
        **node_flags.options(args),
        **outside.options(args),
    }
    return Options(**wanted)


def _signing(args: argparse.Namespace, serving: ServingOptions) -> dict[str, Any]:
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


def _dump(args: argparse.Namespace) -> Dump | None:
    """The dump to start with; what could not be read is reported on standard error."""
    if not _loads(args):
        return None
    from simkit.snapshot.load import load

    source = demo_path() if args.demo else standard_input() if args.objects == "-" else args.objects
    dump = load(source, release=args.release, limits=args.unpack)
    complain_of(dump.lost)
    return dump


def _assembled(options: Options, dump: Dump | None) -> ControlPlane:
    from simkit.cluster import assembly

    if dump is None:
        return assembly.fresh(options)
    return assembly.loaded(options, dump, whole=True, calls=bool(options.services))


__all__: Sequence[str] = ("add_parser", "run")
