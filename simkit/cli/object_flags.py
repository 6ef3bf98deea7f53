"""Flags of ``simkit serve`` for addresses and ports of objects, and for defaults of objects."""

from __future__ import annotations

import argparse
from typing import Any, Final

from simkit.cli.flag_types import ports, seconds

CLUSTER_RANGE: Final = "10.96.0.0/16"
NODE_PORTS: Final = (30000, 32767)
TOLERATION: Final = 300
EVENT_TTL: Final = 3600.0


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument(
        "--service-cluster-ip-range", default=CLUSTER_RANGE, metavar="CIDR", help=f"default {CLUSTER_RANGE}"
    )
    group.add_argument(
        "--service-node-port-range", type=ports, default=NODE_PORTS, metavar="FIRST-LAST", help="default 30000-32767"
    )
    group.add_argument(
        "--event-ttl", type=seconds, default=EVENT_TTL, metavar="DURATION", help="how long events are kept (default 1h)"
    )
    for taint in ("not-ready", "unreachable"):
        group.add_argument(
            f"--default-{taint}-toleration-seconds",
            type=int,
            default=TOLERATION,
            metavar="N",
            help=f"seconds that pods stay on such nodes (default {TOLERATION})",
        )


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags, by the name of the option."""
    return {
        "service_cluster_ip_range": args.service_cluster_ip_range,
        "service_node_port_range": args.service_node_port_range,
        "event_ttl": args.event_ttl,
        "default_not_ready_toleration_seconds": args.default_not_ready_toleration_seconds,
        "default_unreachable_toleration_seconds": args.default_unreachable_toleration_seconds,
    }
