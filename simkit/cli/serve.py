"""``simkit serve``: an API server that kubectl, client libraries and controllers can talk to."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from simkit.cli import inert_flags
from simkit.cli.notes import complain_of, note
from simkit.cli.server_flags import add_server_flags
from simkit.cli.server_options import authentication_options, server_options, serving_options, signing_options
from simkit.cli.source import add_cloud, add_unpack, demo_path, standard_input
from simkit.meta.distribution import VERSION
from simkit.meta.errors import SimkitError
from simkit.schema.releases import BASE

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane
    from simkit.cluster.options import Options
    from simkit.engine.http.server import Server
    from simkit.snapshot.dump import Dump
import errno
import socket

DESCRIPTION: Final = (
    "Runs a Kubernetes API server in memory until you stop it with Ctrl-C. "
    "Its objects are lost then, unless --storage keeps them."
)
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command. Flags are named as those of kube-apiserver."""
    add_server_flags(parser)
    parser.add_argument(
        "objects", nargs="?", default="", metavar="PATH", help="start with the objects of a dump: a file or a folder"
    )
    start = parser.add_argument_group("objects to start with")
    start.add_argument("--demo", action="store_true", help="start with the objects of the demo cluster")
    add_cloud(start)
    add_unpack(start)
    parser.add_argument("--version", action="version", version=f"simkit {VERSION}", help="print the version of simkit")
    inert_flags.add_arguments(parser)


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
    from simkit.cluster.options import Options
    from simkit.cluster.parts import object_getter
    from simkit.engine.authn.options import build
    from simkit.engine.http.apiserver import APIServerHandler
    from simkit.engine.http.server import Server
    from simkit.engine.pipeline.request_context import log_to_standard_error
    from simkit.meta.clock import SystemClock

    inert_flags.tell(args)
    clock = SystemClock()
    serving = serving_options(args)
    dump = _dump(args)
    args.release = dump.release if dump is not None else args.release or BASE
    _tell_limits(args.release)
    made = _assembled(Options(**{**server_options(args), **signing_options(args, serving)}), dump)
    settings = authentication_options(args, serving, anonymous_auth=made.options.anonymous_auth)
    authentication = build(made.engine.behaviour, settings, object_getter(made.store), clock, made.engine.metrics)
    made.engine.authenticate_with(authentication)
    made.engine.verbosity = args.v
    log_to_standard_error()
    if not _loads(args):
        made.authentication_trust.publish()
    start_nodes(made, args)
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
    if not _wants_nodes(args):
        note("new pods stay Pending, since no node is simulated; add --nodes 3 to run them on simulated nodes")
    note("press Ctrl-C to stop it" + ("" if kept else "; its objects are lost then"))


def _dump(args: argparse.Namespace) -> Dump | None:
    """The dump to start with; what could not be read is reported on standard error."""
    if not _loads(args):
        return None
    from simkit.snapshot.load import load

    source = demo_path() if args.demo else standard_input() if args.objects == "-" else args.objects
    dump = load(source, release=args.release, limits=args.unpack)
    if args.cloud:
        from simkit.snapshot.cloud.exports import with_cloud

        dump = with_cloud(dump, args.cloud, args.unpack)
    complain_of(dump.warnings)
    return dump


def _assembled(options: Options, dump: Dump | None) -> ControlPlane:
    from simkit.cluster.control_plane import fresh, loaded

    if dump is None:
        return fresh(options)
    return loaded(options, dump, whole=True, calls=bool(options.services))


def _wants_nodes(args: argparse.Namespace) -> bool:
    return bool(args.nodes) or args.node_config is not None


def start_nodes(made: ControlPlane, args: argparse.Namespace) -> None:
    """Start the simulated nodes that the flags ask for. Raises SimkitError."""
    if args.host_program:
        _check_host_programs(args)
    if not _wants_nodes(args):
        return
    from simkit.cluster.bootstrap import ADDONS, add_addons
    from simkit.cluster.nodes import SimulationConfig, add_configured, read_config, simulation_of

    config = read_config(args.node_config) if args.node_config is not None else SimulationConfig()
    if not add_configured(made, config, args.nodes):
        raise SimkitError(f"{args.node_config} has no nodes; add some to it, or add --nodes 3")
    ordinary = () if _loads(args) else ADDONS
    add_addons(made, ordinary if args.addons is None else args.addons)
    if args.host_program:
        address = (args.bind_address, args.secure_port) if args.secure_port else None
        simulation_of(made).run_host_programs(args.host_program, address)


def _check_host_programs(args: argparse.Namespace) -> None:
    """Raise SimkitError where nobody runs programs, or somebody from elsewhere might."""
    from simkit.engine.http.listeners import is_loopback

    if not _wants_nodes(args):
        raise SimkitError("--host-program needs simulated nodes; add --nodes 3")
    if not is_loopback(args.bind_address):
        told = f"--bind-address {args.bind_address} lets other machines connect"
        raise SimkitError(f"--host-program is allowed only for clients on this machine, and {told}")


_TRIED: Final = 100
"""The number of following ports that are tried for a proposal."""


def check_ports(bind_address: str, secure_port: int, insecure_port: int) -> None:
    """Check that a server can listen on its ports; 0 means that it does not listen.

    Raises
    ------
    SimkitError
        Where it has no port at all, the same one twice, or one that is taken: with the flag and a free port.
    """
    if not (secure_port or insecure_port):
        raise SimkitError("a server needs a port: --secure-port PORT for HTTPS, --insecure-port PORT, or both")
    if secure_port == insecure_port:
        raise SimkitError(f"--secure-port and --insecure-port cannot both be {secure_port}")
    if secure_port:
        _check(bind_address, secure_port, "--secure-port")
    if insecure_port:
        _check("127.0.0.1", insecure_port, "--insecure-port")


def _check(host: str, port: int, flag: str) -> None:
    error = _refusal(host, port)
    if error is None:
        return
    if error.errno != errno.EADDRINUSE:
        raise SimkitError(f"cannot listen on {host} port {port}: {error.strerror or error}")
    free = next((each for each in range(port + 1, min(port + _TRIED, 65536)) if _refusal(host, each) is None), None)
    advice = f"use {flag} {free}, which is free" if free else f"choose another port with {flag}"
    raise SimkitError(f"port {port} on {host} is in use; stop the other program, or {advice}")


def _refusal(host: str, port: int) -> OSError | None:
    """The error of listening on an address, or None."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            if sys.platform != "win32":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            return error
    return None
