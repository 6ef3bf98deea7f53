"""The flags of ``simkit serve`` about simulated nodes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.cli.flag_types import number, rate, words
from simkit.engine.controllers.node_lifecycle import EvictionRates
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane

_MOST: int = 20_000


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes from 0 to {_MOST:,}")
    return number


def add_arguments(group: Any) -> None:
    """Add the flags to a group of arguments."""
    group.add_argument(
        "--nodes", type=_count, default=0, metavar="N", help="run pods on N simulated nodes (default: none)"
    )
    group.add_argument(
        "--addons",
        type=words,
        default=None,
        metavar="A,B",
        help="workloads in kube-system (default coredns,kube-proxy,metrics-server; with a dump none); a list without "
        "metrics-server leaves out its group of metrics too",
    )
    group.add_argument(
        "--node-config", type=Path, metavar="FILE", help="nodes and behaviours of pods in YAML (docs/testing.md)"
    )
    group.add_argument(
        "--scheduler-config",
        type=Path,
        metavar="FILE",
        help="a KubeSchedulerConfiguration: profiles, plugins and their arguments (docs/testing.md)",
    )
    group.add_argument(
        "--host-program",
        action="append",
        default=[],
        metavar="NAME[=PATH]",
        help="let containers run a program of this machine in a sandbox (docs/testing.md); on loopback only",
    )
    rates = EvictionRates()
    flags: tuple[tuple[str, Callable[[str], float], float, str], ...] = (
        ("node-eviction-rate", rate, rates.normal, "nodes per second whose pods are evicted after they failed"),
        ("secondary-node-eviction-rate", rate, rates.secondary, "the same in a big zone that is unhealthy"),
        ("unhealthy-zone-threshold", rate, rates.unhealthy, "the share of failed nodes that makes a zone unhealthy"),
        ("large-cluster-size-threshold", number, rates.large, "zones with more nodes are big"),
    )
    for name, kind, default, text in flags:
        group.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{text} (default {default})")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags that are options of the cluster."""
    rates = EvictionRates(
        args.node_eviction_rate,
        args.secondary_node_eviction_rate,
        args.unhealthy_zone_threshold,
        args.large_cluster_size_threshold,
    )
    return {"eviction_rates": rates}


def start(made: ControlPlane, args: argparse.Namespace) -> None:
    """Start the simulated nodes that the flags ask for. Raises SimkitError."""
    if args.host_program:
        _check_host_programs(args)
    if not wanted(args):
        if args.scheduler_config is not None:
            raise SimkitError("--scheduler-config needs simulated nodes; add --nodes 3")
        return
    from simkit.cluster.nodes import SimulationConfig, add_configured, configure_scheduler, read_config

    if args.scheduler_config is not None:
        configure_scheduler(made, args.scheduler_config)

    from simkit.cluster.addons import ADDONS, METRICS_SERVER, add_addons

    config = read_config(args.node_config) if args.node_config is not None else SimulationConfig()
    metrics = args.addons is None or METRICS_SERVER in args.addons
    if not add_configured(made, config, args.nodes, metrics=metrics):
        raise SimkitError(f"{args.node_config} has no nodes; add some to it, or add --nodes 3")
    ordinary = () if args.objects or args.demo else ADDONS
    add_addons(made, ordinary if args.addons is None else args.addons)
    if args.host_program:
        from simkit.cluster.nodes import simulation_of

        address = (args.bind_address, args.secure_port) if args.secure_port else None
        simulation_of(made).run_host_programs(args.host_program, address)


def _check_host_programs(args: argparse.Namespace) -> None:
    """Raise SimkitError where nobody runs programs, or somebody from elsewhere might."""
    from simkit.engine.http.listeners import is_loopback

    if not wanted(args):
        raise SimkitError("--host-program needs simulated nodes; add --nodes 3")
    if not is_loopback(args.bind_address):
        told = f"--bind-address {args.bind_address} lets other machines connect"
        raise SimkitError(f"--host-program is allowed only for clients on this machine, and {told}")


def wanted(args: argparse.Namespace) -> bool:
    """True if there are to be nodes."""
    return bool(args.nodes) or args.node_config is not None
