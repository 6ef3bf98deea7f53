"""The settings of a server, from the flags of ``simkit serve`` or the arguments of ``Cluster``, and the stores that
they name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from simkit.client.controller import Controller
from simkit.client.reconciler import Reconciler
from simkit.engine.controllers.node_lifecycle import DEFAULT_RATES, EvictionRates
from simkit.meta.clock import Clock, SystemClock
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object
from simkit.meta.wrong_names import explains_wrong_calls
from simkit.seams import Authenticator, Authorizer, Plugin

if TYPE_CHECKING:
    from simkit.engine.authz.webhook import ReviewVersion
    from simkit.engine.pipeline.audit.policy import Policy
    from simkit.seams import Store


LATEST = "1.30"
Given = TypeVar("Given")


@explains_wrong_calls
@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one server. Names follow kube-apiserver's flags."""

    release: str = LATEST
    storage: str = "memory"
    """``memory``, ``sqlite:PATH`` for a file that outlasts the process, or ``etcd:URL[,URL]`` for an etcd."""
    etcd_prefix: str = "/registry"
    etcd_cafile: str | Path | None = None
    etcd_certfile: str | Path | None = None
    etcd_keyfile: str | Path | None = None
    """The address of etcd, the authority of its certificates, and the client certificate with its key."""
    encryption_provider_config: str | Path | None = None
    """The EncryptionConfiguration by which values in etcd are written and read."""
    clock: Clock | None = None
    """The clock; None: the machine's."""
    seed: int | None = None
    """The seed of uids and generated names."""
    authorization_mode: Sequence[str] | None = None
    """The authorizers in order. None: those of the loaded dump, as far as its objects show them, else RBAC."""
    authorizers: Mapping[str, Authorizer] = field(default_factory=dict)
    """Authorizers of your own, by the modes that name them in ``authorization_mode``. Forks share them."""
    authorization_config: str | Path | None = None
    """A configuration file in place of all other authorization options."""
    authorization_policy_file: str | Path | None = None
    """The policy file of the mode ABAC: one policy per line."""
    authorization_webhook_config_file: str | Path | None = None
    """The client configuration of the mode Webhook."""
    authorization_webhook_version: ReviewVersion = "v1beta1"
    authorization_webhook_cache_authorized_ttl: float = 300.0
    authorization_webhook_cache_unauthorized_ttl: float = 30.0
    """Seconds for which the service's answers are cached."""
    anonymous_auth: bool = True
    """True if who offers no credentials is ``system:anonymous``; never with the mode AlwaysAllow."""
    authenticators: Sequence[Authenticator] = ()
    """The authenticators in order; none are needed in process, where the caller gives the identity."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    enable_admission_plugins: Sequence[str] = ()
    disable_admission_plugins: Sequence[str] = ()
    admission_plugins: Sequence[Plugin] = ()
    """Admission plugins of your own, which are on. Forks share them."""
    admission_control_config_file: str | Path | None = None
    """Settings of admission plugins."""
    controllers: Sequence[str] = ("*",)
    reconcilers: Sequence[Reconciler | Controller] = ()
    """Controllers of your own, which run after those of simkit. Forks share reconcilers, each with a queue of its own.
    """
    use_service_account_credentials: bool = True
    """True if each controller acts as an account of its own, with a role of its own, or all as one user."""
    cluster_signing_cert_file: str | Path | None = None
    cluster_signing_key_file: str | Path | None = None
    """The authority that signs approved requests; by default it is generated."""
    root_ca_file: str | Path | None = None
    """The certificate of the server that every namespace gets; by default that of the signing authority."""
    audit_policy: Policy | str | Path | None = None
    """A policy, its file, or a level (``Metadata``) for all requests; None: nothing is recorded."""
    audit_memory: int = 100_000
    """The number of latest audit events that are kept in memory."""
    audit_log_path: str | Path | None = None
    """A file for audit events, one per line; ``-`` is the standard output."""
    audit_log_strict: bool = False
    """True if a request is refused whose coming cannot be written to that file."""
    max_requests_inflight: int = 0
    max_mutating_requests_inflight: int = 0
    """The number of requests in flight; 0 for no limit."""
    enable_priority_and_fairness: bool = True
    """True if those limits are shared out by flow schemas and priority levels, or each refuses what is above it."""
    livez_grace_period: float = 0.0
    """Seconds for which livez ignores the post-start checks."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Addresses of services that webhooks and APIServices name: ``{"ops/hook": "127.0.0.1:8443"}``."""
    proxy_client_cert_file: str | Path | None = None
    proxy_client_key_file: str | Path | None = None
    """The client certificate, with its key, for aggregated servers."""
    allow_privileged: bool | None = None
    """True if containers may be privileged. None: only in a loaded cluster, whose dump may hold such pods,
    and in one with simulated nodes, as kubeadm and kind set up clusters."""
    service_cluster_ip_range: str = "10.96.0.0/16"
    """Cluster IPs of Services: one range, or one of each family, separated by a comma."""
    show_hidden_metrics_for_version: str = ""
    """The previous release, whose deprecated metrics that are now hidden are shown."""
    service_node_port_range: tuple[int, int] = (30000, 32767)
    """Node ports of Services, both ends included."""
    event_ttl: float = 3600.0
    """Seconds for which events are kept after their last write; 0: forever."""
    eviction_rates: EvictionRates = DEFAULT_RATES
    """The rates at which pods are evicted from nodes that have failed, as flags of kube-controller-manager say them."""
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    """Seconds for which pods stay on nodes that are not ready, or unreachable, by default."""


def constantly(part: Given) -> Callable[[object], Given]:
    """The constructor of a part that is made already."""
    return lambda _: part


class StoreKind(NamedTuple):
    """One sort of store. Its modules are imported when one is opened."""

    form: str
    """Its form in ``--storage``; only stores with a path or an address last."""
    help: str
    open: Callable[[Options, Clock, str], Store]
    """Opens a store, given the options, the clock, and the path or address."""


def new_store(options: Options) -> Store:
    """The store that the options name.

    Raises
    ------
    SimkitError
        For one that is unknown or cannot be opened.
    """
    kind, _, place = options.storage.partition(":")
    found = STORES.get(kind)
    if found is None or (":" in found.form) != bool(place):
        forms = [each.form for each in STORES.values()]
        raise SimkitError(f"--storage {options.storage!r} is not known; use {', '.join(forms[:-1])} or {forms[-1]}")
    return found.open(options, options.clock or SystemClock(), place)


def lasting_forms() -> str:
    """The forms of the stores that last."""
    return " or ".join(each.form for each in STORES.values() if ":" in each.form)


def is_lasting(storage: str) -> bool:
    """True if a text names a store that lasts."""
    kind, _, place = storage.partition(":")
    return kind in STORES and bool(place)


def _memory(options: Options, clock: Clock, place: str) -> Store:
    from simkit.engine.storage.memory import MemoryStore

    return MemoryStore(clock)


def _sqlite(options: Options, clock: Clock, place: str) -> Store:
    from simkit.engine.storage.sqlite import open_store

    if options.encryption_provider_config is not None:
        raise SimkitError("an encryption configuration is for an etcd; a SQLite file holds values as they are")
    return open_store(place, clock, check=lambda obj: _wrong_type(obj, options.release))


def _wrong_type(obj: Object, release: str) -> str:
    """The first field of a stored object that has a wrong type, with which it would stop whoever reads it."""
    from simkit.snapshot.field_types import first_mismatch

    if not isinstance(obj.get("apiVersion"), str) or not isinstance(obj.get("kind"), str):
        return "it has no kind"
    found = first_mismatch(obj, release)
    return "" if found is None else str(found)


def _etcd(options: Options, clock: Clock, place: str) -> Store:
    """The store in an etcd that is running."""
    try:
        from simkit.engine.storage.etcd import open_store  # gRPC only where it is asked for
        from simkit.snapshot.etcd.encryption import read_encryption
        from simkit.snapshot.etcd.endpoints import EtcdEndpoints
        from simkit.snapshot.etcd.layout import Layout
        from simkit.snapshot.etcd.values import Values
    except ModuleNotFoundError as error:
        raise SimkitError(f"a store in etcd needs {error.name}: {install_hint('etcd')}") from error
    from simkit.schema.catalogue import Catalogue

    if not isinstance(clock, SystemClock):
        raise SimkitError("a store in etcd runs on the machine's clock, since others use it too; leave the clock out")
    endpoints = EtcdEndpoints(
        place.split(","), options.etcd_prefix, options.etcd_cafile, options.etcd_certfile, options.etcd_keyfile
    )
    catalogue = Catalogue.for_release(options.release, everything=True)
    configuration = options.encryption_provider_config
    values = Values(catalogue, read_encryption(configuration) if configuration is not None else None)
    leases = {catalogue.lookup("events").storage: options.event_ttl}
    return open_store(endpoints, Layout.of(endpoints.root, catalogue), values, clock, leases)


STORES: Final[Mapping[str, StoreKind]] = {
    "memory": StoreKind("memory", "the default", _memory),
    "sqlite": StoreKind("sqlite:PATH", "a file that lasts", _sqlite),
    "etcd": StoreKind("etcd:URL[,URL]", "which several servers may share", _etcd),
}
"""The stores by the first word of ``--storage``."""
