"""Flags of ``simkit serve`` about requests: which are recorded, how many there may be, how long they may take."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from simkit.cli.flag_types import flag


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument("--audit-policy-file", type=Path, metavar="FILE", help="what is recorded of which request")
    group.add_argument("--audit-log-path", metavar="FILE", help='one event a line; "-": standard output')
    for name in ("maxage", "maxbackup", "maxsize"):
        group.add_argument(f"--audit-log-{name}", type=int, metavar="N", help="taken, without effect: no rotation")
    group.add_argument("--audit-webhook-config-file", type=Path, metavar="FILE", help="kubeconfig of a service")
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
        help="share out these limits by flow schemas and priority levels (default true)",
    )


def options(args: argparse.Namespace) -> dict[str, tuple[Any, Any]]:
    """What the flags say, each with its default, by the name of the option."""
    return {
        "audit_policy": (args.audit_policy_file, None),
        "audit_memory": (0, 0),
        "audit_log_path": (args.audit_log_path, None),
        "audit_webhook_config_file": (args.audit_webhook_config_file, None),
        "max_requests_inflight": (args.max_requests_inflight, 0),
        "max_mutating_requests_inflight": (args.max_mutating_requests_inflight, 0),
        "enable_priority_and_fairness": (args.enable_priority_and_fairness, True),
    }
