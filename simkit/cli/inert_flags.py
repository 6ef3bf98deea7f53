"""Flags of kube-apiserver that have no effect here. They are accepted, so that its command lines work, and reported."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from simkit.cli.notes import note

_STORE: Final = "objects are kept in memory, or in the file of --storage"
_NODES: Final = "there are no nodes to connect to"
_ALONE: Final = "this server is the only one of its cluster"
_LOGS: Final = "there is no such log"
_PROCESS: Final = "the process is not looked into"
_CONNECTIONS: Final = "connections are not counted or shared"
_AUDIT: Final = "audit events are written as JSON, whole and at once, to one file"
_TLS: Final = "one certificate is served, with TLS 1.2 and later and the cipher suites of the TLS library"
_END: Final = "a server that is told to stop ends its watches at once, and its requests within some seconds"
_BACKENDS: Final = ("log", "webhook")
_TRUNCATION: Final = ("enabled", "max-batch-size", "max-event-size")
_METRICS: Final = "all metrics are shown with all their labels"

INERT: Final[Mapping[str, Sequence[str]]] = {
    _STORE: (
        "delete-collection-workers",
        "encryption-provider-config-automatic-reload",
        "etcd-compaction-interval",
        "etcd-count-metric-poll-period",
        "etcd-db-metric-poll-interval",
        "etcd-healthcheck-timeout",
        "etcd-readycheck-timeout",
        "etcd-servers-overrides",
        "lease-reuse-duration-seconds",
        "storage-backend",
        "storage-media-type",
        "watch-cache",
        "watch-cache-sizes",
    ),
    _NODES: (
        "egress-selector-config-file",
        "enable-aggregator-routing",
        "kubelet-certificate-authority",
        "kubelet-client-certificate",
        "kubelet-client-key",
        "kubelet-preferred-address-types",
        "kubelet-timeout",
        "max-connection-bytes-per-sec",
    ),
    _ALONE: (
        "advertise-address",
        "endpoint-reconciler-type",
        "external-hostname",
        "kubernetes-service-node-port",
        "peer-advertise-ip",
        "peer-advertise-port",
        "peer-ca-file",
    ),
    _LOGS: (
        "log-flush-frequency",
        "log-text-info-buffer-size",
        "log-text-split-stream",
        "logging-format",
        "vmodule",
    ),
    _PROCESS: ("contention-profiling", "debug-socket-path", "profiling", "tracing-config-file"),
    _CONNECTIONS: (
        "goaway-chance",
        "http2-max-streams-per-connection",
        "permit-address-sharing",
        "permit-port-sharing",
    ),
    _AUDIT: (
        *(f"audit-log-{name}" for name in ("compress", "format", "maxage", "maxbackup", "maxsize", "version")),
        *(f"audit-webhook-{name}" for name in ("config-file", "initial-backoff", "mode", "version")),
        *(f"audit-{backend}-batch-{name}" for backend in _BACKENDS for name in ("buffer-size", "max-size", "max-wait")),
        *(f"audit-{backend}-batch-throttle-{name}" for backend in _BACKENDS for name in ("burst", "enable", "qps")),
        *(f"audit-{backend}-truncate-{name}" for backend in _BACKENDS for name in _TRUNCATION),
    ),
    _METRICS: ("allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics"),
    _TLS: (
        "strict-transport-security-directives",
        "tls-cipher-suites",
        "tls-min-version",
        "tls-sni-cert-key",
    ),
    _END: (
        "shutdown-send-retry-after",
        "shutdown-watch-termination-grace-period",
    ),
    "pages of other origins are not answered": ("cors-allowed-origins",),
    "redirects of other servers are never followed": ("aggregator-reject-forwarding-redirect",),
    "use --enable-admission-plugins and --disable-admission-plugins": ("admission-control",),
    "use --controllers=*,-garbage-collector-controller": ("enable-garbage-collector",),
}
"""Names of flags without effect, with the reason."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags; the help does not list them."""
    for names in INERT.values():
        for name in names:
            parser.add_argument(f"--{name}", nargs="?", dest=name, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def tell(args: argparse.Namespace) -> None:
    """Report each used flag that has no effect, with the reason."""
    for reason, names in INERT.items():
        for name in names:
            if hasattr(args, name):
                note(f"--{name} has no effect: {reason}")
