"""The flags of ``simkit serve``, in the groups of its help page. They are named as those of kube-apiserver.

Upstream: pkg/kubeapiserver/options and cmd/kube-controller-manager/app/options, release 1.30.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from simkit.cli.flag_types import (
    Merging,
    count_of_nodes,
    flag,
    gate_switches,
    number,
    port,
    ports,
    rate,
    seconds,
    switches,
    words,
)
from simkit.cluster.options import STORES
from simkit.engine.controllers.node_lifecycle import DEFAULT_RATES

DEFAULT_ISSUER: Final = "https://kubernetes.default.svc"
_CLUSTER_RANGE: Final = "10.96.0.0/16"
_AUDIT_MODES: Final = ("batch", "blocking", "blocking-strict")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")


class ServerFlag(NamedTuple):
    """A flag with a value."""

    name: str
    """Its name without dashes; further names stand behind it, and short ones with a dash in front."""
    read: Callable[[str], Any] | None
    """The parser of its text; None keeps the text."""
    default: Any = None
    metavar: str | None = None
    help: str | None = None
    more: Mapping[str, Any] = {}
    """Further arguments of ``add_argument``."""

    @property
    def option(self) -> str:
        """The name under which its value is kept."""
        return next(word for word in self.name.split() if word[0] != "-").replace("-", "_")

    def add(self, group: Any) -> None:
        """Add it to a parser or a group of its options."""
        names = [word if word[0] == "-" else f"--{word}" for word in self.name.split()]
        group.add_argument(
            *names, type=self.read, default=self.default, metavar=self.metavar, help=self.help, **self.more
        )


def _file(name: str, text: str | None = None) -> ServerFlag:
    return ServerFlag(name, Path, None, "FILE", text)


def _text(name: str, default: str | None, metavar: str, text: str | None = None) -> ServerFlag:
    return ServerFlag(name, None, default, metavar, text)


def _list(name: str, default: Sequence[str] | None = (), text: str | None = None) -> ServerFlag:
    return ServerFlag(name, words, default, "A,B", text)


def _boolean(name: str, default: bool | None, text: str | None = None) -> ServerFlag:
    return ServerFlag(name, flag, default, "BOOL", text, {"nargs": "?", "const": True})


def _number(name: str, default: int, text: str | None = None) -> ServerFlag:
    return ServerFlag(name, int, default, "N", text)


def _duration(name: str, default: float | None, text: str | None = None) -> ServerFlag:
    return ServerFlag(name, seconds, default, "DURATION", text)


def _choice(name: str, among: Sequence[str], default: str | None, text: str | None = None) -> ServerFlag:
    return ServerFlag(name, None, default, None, text, {"choices": among})


def _switches(name: str, read: Callable[[str], Any], metavar: str) -> ServerFlag:
    return ServerFlag(name, read, {}, metavar, None, {"action": Merging})


def _several(name: str, read: Callable[[str], Any] | None, metavar: str, text: str) -> ServerFlag:
    return ServerFlag(name, read, [], metavar, text, {"action": "append"})


def _rate(name: str, read: Callable[[str], float], default: float, text: str) -> ServerFlag:
    return ServerFlag(name, read, default, "N", f"{text} (default {default})")


ETCD: Final = (
    _text("etcd-prefix", "/registry", "PREFIX", "the prefix of all keys (default /registry)"),
    _file("etcd-cafile", "the authority that signed etcd's certificates"),
    _file("etcd-certfile", "the client certificate for etcd"),
    _file("etcd-keyfile", "its key"),
    _file("encryption-provider-config", "the EncryptionConfiguration by which values in etcd are written and read"),
)
"""The flags for the connection to an etcd."""
GROUPS: Final[Mapping[str, Sequence[ServerFlag]]] = {
    "serving": (
        ServerFlag("secure-port port", port, 6443, "PORT", "the port for HTTPS (default 6443; 0: off)"),
        ServerFlag("insecure-port", port, 0, "PORT", "a port for plain HTTP on 127.0.0.1, for tests (default: off)"),
        _text("bind-address", "127.0.0.1", "IP", "the address for HTTPS (default 127.0.0.1; 0.0.0.0: all interfaces)"),
        ServerFlag("cert-dir", Path, None, "DIR", "the folder for generated certificates (default: one for each user)"),
        _file("tls-cert-file", "the serving certificate (default: a generated one)"),
        _file("tls-private-key-file", "the key of the certificate"),
        _file("kubeconfig-out", "write a kubeconfig with administrator rights"),
    ),
    "authentication and authorization": (
        _file("client-ca-file", "the CA certificates of client certificates (PEM)"),
        _file("requestheader-client-ca-file", "the CA certificates of front proxies"),
        _list("requestheader-allowed-names", (), "allowed common names of front proxies"),
        _list("requestheader-username-headers", ("X-Remote-User",), "default X-Remote-User"),
        _list("requestheader-group-headers", ("X-Remote-Group",), "default X-Remote-Group"),
        _list("requestheader-extra-headers-prefix", ("X-Remote-Extra-",), "default X-Remote-Extra-"),
        _list("requestheader-uid-headers", (), "such as X-Remote-Uid (from 1.32 on)"),
        _file("token-auth-file", "CSV: token, user, uid, groups"),
        _boolean("anonymous-auth", True, "default true"),
        _boolean("enable-bootstrap-token-auth", False),
        _list("authorization-mode", None, "default RBAC"),
        _file("authorization-config", "a configuration file instead of the other authorization flags"),
        _file("authorization-policy-file", "for ABAC: a file with one policy on each line"),
        _file("authorization-webhook-config-file", "the kubeconfig of the webhook"),
        _choice("authorization-webhook-version", _REVIEW_VERSIONS, None, "default v1beta1"),
        _duration("authorization-webhook-cache-authorized-ttl", None, "default 5m"),
        _duration("authorization-webhook-cache-unauthorized-ttl", None, "default 30s"),
        _several("service-account-issuer", None, "URL", f"default {DEFAULT_ISSUER}"),
        _several("service-account-key-file", Path, "FILE", "may be repeated"),
        _file("service-account-signing-key-file", "default: a generated key"),
        _boolean("service-account-lookup", True, "default true"),
        _duration("service-account-max-token-expiration", 0, "the longest lifetime of a token, such as 24h"),
        _boolean("service-account-extend-token-expiration", True, "default true"),
        _text("service-account-jwks-uri", "", "URL", "default: on this server"),
        _list("api-audiences", (), "default: the issuers"),
    ),
    "identity providers": (
        _text("oidc-issuer-url", "", "URL", "the https URL of the identity provider"),
        _text("oidc-client-id", "", "ID", "the client ID that tokens must be issued for"),
        _text("oidc-username-claim", "sub", "CLAIM", "default sub"),
        _text("oidc-username-prefix", "", "TEXT", 'default "<issuer>#"; "-": none'),
        _text("oidc-groups-claim", "", "CLAIM"),
        _text("oidc-groups-prefix", "", "TEXT"),
        _several("oidc-required-claim", None, "KEY=VALUE", "repeatable"),
        _file("oidc-ca-file", "the CA certificates of the provider (PEM)"),
        _list("oidc-signing-algs", ("RS256",), "default RS256"),
        _file("authentication-config", "a configuration file instead of the flags --oidc-*"),
        _file("authentication-token-webhook-config-file", "the kubeconfig of the webhook for tokens"),
        _choice("authentication-token-webhook-version", _REVIEW_VERSIONS, "v1beta1", "default v1beta1"),
        _duration("authentication-token-webhook-cache-ttl", 120.0, "default 2m"),
    ),
    "audit log": (
        _file("audit-policy-file", "the audit policy: what is recorded for which request"),
        _text("audit-log-path", None, "FILE", 'the audit log, with one event on each line ("-": standard output)'),
        _choice("audit-log-mode", _AUDIT_MODES, "blocking", "default blocking"),
    ),
    "requests": (
        _number("max-requests-inflight", 400, "default 400; 0: no limit"),
        _number("max-mutating-requests-inflight", 200, "default 200; 0: no limit"),
        _boolean(
            "enable-priority-and-fairness",
            True,
            "use API priority and fairness: flow schemas and priority levels (default true)",
        ),
        _duration("request-timeout", 60.0, "default 1m"),
        ServerFlag(
            "min-request-timeout", int, 1800, "SECONDS", "the shortest time that a watch is kept open (default 1800)"
        ),
        _duration("livez-grace-period", 0.0, "how long /livez waits for the start to finish"),
        _duration("shutdown-delay-duration", 0.0, "how long to serve on after the signal to stop, while /readyz fails"),
    ),
    "behaviour": (
        _text("release", None, "X.Y", "behave as this Kubernetes release (default: that of the dump, or 1.30)"),
        _text("storage", None, "WHERE", "; ".join(f"{each.form} ({each.help})" for each in STORES.values())),
        ServerFlag("etcd-servers", words, (), "URL,URL", "the same as --storage etcd:URL,URL"),
        *ETCD,
        _boolean("allow-privileged", None, "allow privileged containers (default: only with a dump and --nodes)"),
        ServerFlag(
            "controllers",
            words,
            ("*",),
            "A,-B",
            'the controllers to run (default "*": all; "": none; "*,-name": all but one)',
        ),
        _boolean(
            "use-service-account-credentials", True, "each controller uses its own service account (default true)"
        ),
        _number("-v v", 0, "the log level; 3 and above log each request (default 0)"),
        _file(
            "cluster-signing-cert-file",
            "the authority that signs approved certificate requests (default: a generated one)",
        ),
        _file("cluster-signing-key-file", "its key"),
        _file("root-ca-file", "root certificates to publish in every namespace (default: those of the authority)"),
        _list("enable-admission-plugins"),
        _list("disable-admission-plugins"),
        _file("admission-control-config-file", "a file with the configuration of admission plugins"),
        _text("show-hidden-metrics-for-version", "", "X.Y", "show metrics that the previous release still had"),
        _switches("feature-gates", gate_switches, "A=true,B=false"),
        _switches("runtime-config", switches, "GROUP/VERSION=true"),
    ),
    "simulated nodes": (
        ServerFlag("nodes", count_of_nodes, 0, "N", "run pods on N simulated nodes (default: none)"),
        _list(
            "addons",
            None,
            "workloads in kube-system (default coredns,kube-proxy; with a dump none)",
        ),
        _file("node-config", "nodes and behaviours of pods in YAML (docs/testing.md)"),
        _several(
            "host-program",
            None,
            "NAME[=PATH]",
            "let containers run a program of this machine in a sandbox (docs/testing.md); on loopback only",
        ),
        _rate(
            "node-eviction-rate",
            rate,
            DEFAULT_RATES.normal,
            "nodes per second whose pods are evicted after they failed",
        ),
        _rate(
            "secondary-node-eviction-rate", rate, DEFAULT_RATES.secondary, "the same in a big zone that is unhealthy"
        ),
        _rate(
            "unhealthy-zone-threshold",
            rate,
            DEFAULT_RATES.unhealthy,
            "the share of failed nodes that makes a zone unhealthy",
        ),
        _rate("large-cluster-size-threshold", number, DEFAULT_RATES.large, "zones with more nodes are big"),
    ),
    "objects": (
        _text("service-cluster-ip-range", _CLUSTER_RANGE, "CIDR", f"default {_CLUSTER_RANGE}"),
        ServerFlag("service-node-port-range", ports, (30000, 32767), "FIRST-LAST", "default 30000-32767"),
        _duration("event-ttl", 3600.0, "how long events are kept (default 1h)"),
        _number("default-not-ready-toleration-seconds", 300, "seconds that pods stay on such nodes (default 300)"),
        _number("default-unreachable-toleration-seconds", 300, "seconds that pods stay on such nodes (default 300)"),
    ),
    "servers that are called": (
        _several(
            "service-address",
            None,
            "NAMESPACE/NAME=HOST:PORT",
            "the address of a Service that webhooks or APIServices name; may be repeated",
        ),
        _file("proxy-client-cert-file", "the client certificate for calls to other servers (default: a generated one)"),
        _file("proxy-client-key-file", "the key of the client certificate"),
    ),
}
"""All flags, by the title of their group."""


def add_server_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags to a command."""
    for title, flags in GROUPS.items():
        group = parser.add_argument_group(title)
        for each in flags:
            each.add(group)
