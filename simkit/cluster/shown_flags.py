"""The settings of a server in the form of kube-apiserver's flags, as ``/flagz`` tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from simkit.cluster.options import Options
from simkit.meta.duration import written

_OTHER: Final = frozenset(
    (
        "release",
        "storage",
        "clock",
        "seed",
        "authenticators",
        "authorizers",
        "admission_plugins",
        "reconcilers",
        "controllers",
        "eviction_rates",
        "use_service_account_credentials",
        "cluster_signing_cert_file",
        "cluster_signing_key_file",
        "root_ca_file",
        "audit_policy",
        "audit_memory",
        "audit_log",
        "audit_webhook",
        "services",
    )
)
"""Settings that are no flags of kube-apiserver, or not one flag."""
_DURATIONS: Final = frozenset(
    (
        "authorization_webhook_cache_authorized_ttl",
        "authorization_webhook_cache_unauthorized_ttl",
        "event_ttl",
        "livez_grace_period",
    )
)


def shown_flags(options: Options) -> Mapping[str, str]:
    """The flags of a server by name, as Go writes their values.

    Examples
    --------
    >>> shown = shown_flags(Options(authorization_mode=("RBAC",)))
    >>> shown["authorization-mode"], shown["event-ttl"], shown["service-node-port-range"]
    ('[RBAC]', '1h0m0s', '30000-32767')
    """
    named = {each.name: getattr(options, each.name) for each in fields(options) if each.name not in _OTHER}
    return {name.replace("_", "-"): _shown(name, value) for name, value in named.items()}


def _shown(name: str, value: Any) -> str:
    if name in _DURATIONS:
        return written(value)
    if isinstance(value, bool) or value is None:
        return str(bool(value)).lower() if isinstance(value, bool) or name == "allow_privileged" else ""
    if isinstance(value, str | Path | int):
        return str(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={str(each).lower()}" for key, each in sorted(value.items()))
    if name == "service_node_port_range":
        return "-".join(map(str, value))
    assert isinstance(value, Sequence), f"{name} has no form: {value!r}"
    return f"[{','.join(map(str, value))}]"
