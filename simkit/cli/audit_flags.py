"""Flags of ``simkit serve`` for the audit log."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simkit.cli.flag_types import flag, seconds
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError

_SIZES: Final = {
    "max-age": ("maxage", "days for which old files are kept (default: for ever)"),
    "max-backup": ("maxbackup", "old files that are kept (default: all)"),
    "max-size": ("maxsize", "megabytes after which a new file begins (default 100)"),
}
_VERSION: Final = f"{api_group('audit')}/v1"
_MODES: Final = ("batch", "blocking", "blocking-strict")
_USUAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "log": {"mode": "blocking", "size": 1, "wait": 0.0, "throttle": False, "qps": 0.0, "burst": 0},
    "webhook": {"mode": "batch", "size": 400, "wait": 30.0, "throttle": True, "qps": 10.0, "burst": 15},
}
_LARGEST: Final = {"event": 102_400, "batch": 10_485_760}


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument(
        "--audit-policy-file", type=Path, metavar="FILE", help="the audit policy: what is recorded for which request"
    )
    group.add_argument(
        "--audit-log-path", metavar="FILE", help='the audit log, with one event on each line ("-": standard output)'
    )
    for name, text in _SIZES.values():
        group.add_argument(f"--audit-log-{name}", type=int, default=0, metavar="N", help=text)
    _add_flag(group, "--audit-log-compress", help="compress rotated files with gzip")
    group.add_argument("--audit-log-format", choices=("json", "legacy"), default="json")
    group.add_argument("--audit-webhook-config-file", type=Path, metavar="FILE", help="the kubeconfig of the webhook")
    group.add_argument("--audit-webhook-initial-backoff", type=seconds, default=10.0, metavar="DURATION")
    for prefix, usual in _USUAL.items():
        mode = usual["mode"]
        group.add_argument(f"--audit-{prefix}-mode", choices=_MODES, default=mode, help=f"default {mode}")
        group.add_argument(f"--audit-{prefix}-version", choices=(_VERSION,), default=_VERSION)
        _add_batching(group, f"--audit-{prefix}-batch", usual)
        _add_flag(group, f"--audit-{prefix}-truncate-enabled", help="truncate events that are too large")
        for name, largest in _LARGEST.items():
            flag_name = f"--audit-{prefix}-truncate-max-{name}-size"
            group.add_argument(flag_name, type=int, default=largest, metavar="BYTES")


def _add_flag(group: Any, name: str, *, default: bool = False, help: str | None = None) -> None:
    group.add_argument(name, type=flag, default=default, nargs="?", const=True, metavar="BOOL", help=help)


def _add_batching(group: Any, prefix: str, usual: Mapping[str, Any]) -> None:
    group.add_argument(f"{prefix}-buffer-size", type=int, default=10_000, metavar="N")
    group.add_argument(f"{prefix}-max-size", type=int, default=usual["size"], metavar="N")
    group.add_argument(f"{prefix}-max-wait", type=seconds, default=usual["wait"], metavar="DURATION")
    _add_flag(group, f"{prefix}-throttle-enable", default=usual["throttle"])
    group.add_argument(f"{prefix}-throttle-qps", type=float, default=usual["qps"], metavar="N")
    group.add_argument(f"{prefix}-throttle-burst", type=int, default=usual["burst"], metavar="N")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags, by the name of the option. Raises SimkitError."""
    from simkit.engine.pipeline.audit.settings import LogSettings, WebhookSettings

    sizes = [getattr(args, f"audit_log_{name}") for name, _ in _SIZES.values()]
    for (name, _), value in zip(_SIZES.values(), sizes, strict=True):
        if value < 0:
            raise SimkitError(f"--audit-log-{name} {value} can't be a negative number")
    age, backup, size = sizes
    common = (_batching(args, "log"), _truncation(args, "log"))
    log = LogSettings(args.audit_log_mode, args.audit_log_format, age, backup, size, args.audit_log_compress, *common)
    webhook = WebhookSettings(
        args.audit_webhook_mode,
        args.audit_webhook_initial_backoff,
        _batching(args, "webhook"),
        _truncation(args, "webhook"),
    )
    return {
        "audit_policy": args.audit_policy_file,
        "audit_memory": 0,
        "audit_log_path": args.audit_log_path,
        "audit_log": log,
        "audit_webhook_config_file": args.audit_webhook_config_file,
        "audit_webhook": webhook,
    }


def _batching(args: argparse.Namespace, prefix: str) -> Any:
    from simkit.engine.pipeline.audit.settings import Batching

    def given(name: str) -> Any:
        return getattr(args, f"audit_{prefix}_batch_{name}")

    found = Batching(
        given("buffer_size"),
        given("max_size"),
        given("max_wait"),
        given("throttle_enable"),
        given("throttle_qps"),
        given("throttle_burst"),
    )
    mode = getattr(args, f"audit_{prefix}_mode")
    faults = _faults(found, f"--audit-{prefix}-batch") if mode == "batch" else []
    if faults:
        raise SimkitError(faults[0])
    return found


def _faults(batching: Any, prefix: str) -> list[str]:
    """The faults of the flags, worded as kube-apiserver words them."""
    found = []
    if batching.buffer_size <= 0:
        found.append(f"invalid audit batch buffer size {batching.buffer_size}, must be a positive number")
    if batching.max_size <= 0:
        found.append(f"invalid audit batch max batch size {batching.max_size}, must be a positive number")
    if batching.throttle and batching.qps <= 0:
        found.append(f"invalid audit batch throttle QPS {batching.qps:g}, must be a positive number")
    if batching.throttle and batching.burst <= 0:
        found.append(f"invalid audit batch throttle burst {batching.burst}, must be a positive number")
    return [f"{prefix}: {text}" for text in found]


def _truncation(args: argparse.Namespace, prefix: str) -> Any:
    from simkit.engine.pipeline.audit.settings import Truncation

    enabled, event, batch = (
        getattr(args, f"audit_{prefix}_truncate_{name}") for name in ("enabled", "max_event_size", "max_batch_size")
    )
    if batch < event:
        raise SimkitError(f"audit event ({event}) can't be larger than the batch ({batch})")
    return Truncation(enabled, event, batch)
