"""The settings of a server, from the flags of ``simkit serve`` or the arguments of ``Cluster``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from simkit.engine.pipeline.audit.settings import LogSettings, WebhookSettings
from simkit.engine.seams import Authenticator
from simkit.meta.clock import Clock

if TYPE_CHECKING:
    from simkit.engine.authz.webhook import ReviewVersion
    from simkit.engine.pipeline.audit.policy import Policy

LATEST = "1.30"


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one server. Names follow kube-apiserver's flags."""

    release: str = LATEST
    storage: str = "memory"
    """``memory``, or ``sqlite:PATH`` for a file that outlasts the process."""
    clock: Clock | None = None
    """None: the machine's."""
    seed: int | None = None
    """For uids and generated names that repeat."""
    authorization_mode: Sequence[str] = ("RBAC",)
    authorization_config: str | Path | None = None
    """A configuration file that says what all other authorization options would say."""
    authorization_policy_file: str | Path | None = None
    """For the mode ABAC: one policy a line."""
    authorization_webhook_config_file: str | Path | None = None
    """For the mode Webhook: the client configuration of the service."""
    authorization_webhook_version: ReviewVersion = "v1beta1"
    authorization_webhook_cache_authorized_ttl: float = 300.0
    authorization_webhook_cache_unauthorized_ttl: float = 30.0
    """Seconds for which the service's answers are remembered."""
    anonymous_auth: bool = True
    """True if who offers no credentials is ``system:anonymous``; never with the mode AlwaysAllow."""
    authenticators: Sequence[Authenticator] = ()
    """Asked in order; none are needed in process, where the caller says who it is."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    enable_admission_plugins: Sequence[str] = ()
    disable_admission_plugins: Sequence[str] = ()
    admission_control_config_file: str | Path | None = None
    """Settings of admission plugins."""
    controllers: Sequence[str] = ("*",)
    use_service_account_credentials: bool = True
    """True if each controller acts as an account of its own, with a role of its own, or all as one user."""
    cluster_signing_cert_file: str | Path | None = None
    cluster_signing_key_file: str | Path | None = None
    """The authority that signs approved requests; without files one is made."""
    root_ca_file: str | Path | None = None
    """The certificate of the server that every namespace gets; by default that of the signing authority."""
    audit_policy: Policy | str | Path | None = None
    """A policy, its file, or a level (``Metadata``) at which every request is recorded; None: nothing is."""
    audit_memory: int = 100_000
    """The number of latest audit events that are kept in memory."""
    audit_log_path: str | Path | None = None
    """A file for audit events, one a line; ``-`` is the standard output."""
    audit_webhook_config_file: str | Path | None = None
    """The client configuration of a service that takes audit events."""
    audit_log: LogSettings = field(default_factory=LogSettings)
    audit_webhook: WebhookSettings = field(default_factory=WebhookSettings)
    """The delivery of events: at once or in batches, their size and their format."""
    max_requests_inflight: int = 0
    max_mutating_requests_inflight: int = 0
    """The number of requests that may be under way at once; 0 for no limit."""
    enable_priority_and_fairness: bool = True
    """True if those limits are shared out by flow schemas and priority levels, or each refuses what is above it."""
    livez_grace_period: float = 0.0
    """Seconds for which livez takes for done what is done after the start."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Addresses of services that webhooks and APIServices name: ``{"ops/hook": "127.0.0.1:8443"}``."""
    proxy_client_cert_file: str | Path | None = None
    proxy_client_key_file: str | Path | None = None
    """The certificate, with its key, by which servers behind registered group versions know this one."""
    allow_privileged: bool | None = None
    """True if containers may be privileged. None: only in a loaded cluster, whose dump may hold such pods."""
    service_cluster_ip_range: str = "10.96.0.0/16"
    """Addresses of Services: one range, or one of each family with a comma between them."""
    show_hidden_metrics_for_version: str = ""
    """The release before the served one: what deprecated metrics it still had that are hidden now is shown."""
    service_node_port_range: tuple[int, int] = (30000, 32767)
    """Ports of Services on nodes, both ends included."""
    event_ttl: float = 3600.0
    """For how many seconds after their last write events are kept; 0: for good."""
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    """Seconds for which pods stay on nodes that are not ready, or unreachable, unless they tolerate it for longer."""
