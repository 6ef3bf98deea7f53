"""Flags of ``simkit serve`` for the audit log."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simkit.cli.flag_types import seconds
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError

_VERSION: Final = f"{api_group('audit')}/v1"
_MODES: Final = ("batch", "blocking", "blocking-strict")
_USUAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "log": {"mode": "blocking", "size": 1, "wait": 0.0},
    "webhook": {"mode": "batch", "size": 400, "wait": 30.0},
}


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument(
        "--audit-policy-file", type=Path, metavar="FILE", help="the audit policy: what is recorded for which request"
    )
    group.add_argument(
        "--audit-log-path", metavar="FILE", help='the audit log, with one event on each line ("-": standard output)'
    )
    group.add_argument("--audit-webhook-config-file", type=Path, metavar="FILE", help="the kubeconfig of the webhook")
    group.add_argument("--audit-webhook-initial-backoff", type=seconds, default=10.0, metavar="DURATION")
    for prefix, usual in _USUAL.items():
        mode, batch = usual["mode"], f"--audit-{prefix}-batch"
        group.add_argument(f"--audit-{prefix}-mode", choices=_MODES, default=mode, help=f"default {mode}")
        group.add_argument(f"--audit-{prefix}-version", choices=(_VERSION,), default=_VERSION)
        group.add_argument(f"{batch}-buffer-size", type=int, default=10_000, metavar="N")
        group.add_argument(f"{batch}-max-size", type=int, default=usual["size"], metavar="N")
        group.add_argument(f"{batch}-max-wait", type=seconds, default=usual["wait"], metavar="DURATION")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags, by the name of the option. Raises SimkitError."""
    from simkit.engine.pipeline.audit.settings import LogSettings, WebhookSettings

    backoff = args.audit_webhook_initial_backoff
    return {
        "audit_policy": args.audit_policy_file,
        "audit_memory": 0,
        "audit_log_path": args.audit_log_path,
        "audit_log": LogSettings(args.audit_log_mode, _batching(args, "log")),
        "audit_webhook_config_file": args.audit_webhook_config_file,
        "audit_webhook": WebhookSettings(args.audit_webhook_mode, backoff, _batching(args, "webhook")),
    }


def _batching(args: argparse.Namespace, prefix: str) -> Any:
    """The limits of batches. Raises SimkitError for faults, worded as kube-apiserver words them."""
    from simkit.engine.pipeline.audit.settings import Batching

    names = {"buffer_size": "buffer size", "max_size": "max batch size", "max_wait": ""}
    given = {name: getattr(args, f"audit_{prefix}_batch_{name}") for name in names}
    for name, word in names.items() if getattr(args, f"audit_{prefix}_mode") == "batch" else ():
        if word and given[name] <= 0:
            why = f"invalid audit batch {word} {given[name]}, must be a positive number"
            raise SimkitError(f"--audit-{prefix}-batch: {why}")
    return Batching(**given)
