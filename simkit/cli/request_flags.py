"""Flags of ``simkit serve`` for the number and duration of requests."""

from __future__ import annotations

import argparse
from typing import Any, Final

from simkit.cli.flag_types import flag, seconds
from simkit.meta.errors import SimkitError

_AMOUNTS: Final = (
    "livez-grace-period",
    "max-requests-inflight",
    "max-mutating-requests-inflight",
    "request-timeout",
    "min-request-timeout",
    "shutdown-delay-duration",
)
"""Flags that may be 0 but not negative."""


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument("--max-requests-inflight", type=int, default=400, metavar="N", help="default 400; 0: no limit")
    group.add_argument(
        "--max-mutating-requests-inflight", type=int, default=200, metavar="N", help="default 200; 0: no limit"
    )
    group.add_argument(
        "--enable-priority-and-fairness",
        type=flag,
        default=True,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="use API priority and fairness: flow schemas and priority levels (default true)",
    )
    group.add_argument("--request-timeout", type=seconds, default=60.0, metavar="DURATION", help="default 1m")
    group.add_argument(
        "--min-request-timeout",
        type=int,
        default=1800,
        metavar="SECONDS",
        help="the shortest time that a watch is kept open (default 1800)",
    )
    group.add_argument(
        "--livez-grace-period",
        type=seconds,
        default=0.0,
        metavar="DURATION",
        help="how long /livez waits for the start to finish",
    )
    group.add_argument(
        "--shutdown-delay-duration",
        type=seconds,
        default=0.0,
        metavar="DURATION",
        help="how long to serve on after the signal to stop, while /readyz fails",
    )


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags, by the name of the option. Raises SimkitError for negative numbers."""
    for name in _AMOUNTS:
        if getattr(args, name.replace("-", "_")) < 0:
            raise SimkitError(f"--{name} can not be negative value")
    return {
        "max_requests_inflight": args.max_requests_inflight,
        "max_mutating_requests_inflight": args.max_mutating_requests_inflight,
        "livez_grace_period": args.livez_grace_period,
        "enable_priority_and_fairness": args.enable_priority_and_fairness,
    }


def times(args: argparse.Namespace) -> dict[str, Any]:
    """The time limits of requests and of the end: arguments of ``ServingOptions``."""
    return {
        "request_timeout": args.request_timeout,
        "shortest_watch": args.min_request_timeout,
        "shutdown_delay": args.shutdown_delay_duration,
    }
