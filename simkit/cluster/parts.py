"""The parts of a control plane in the order of their creation: how each is made, and how a fork gets its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, get_args

from simkit.client.controller import Controller
from simkit.client.reconciler import ReconcilingController
from simkit.cluster import bootstrap
from simkit.cluster.access import Access
from simkit.cluster.controllers import controllers
from simkit.cluster.extensions import Extensions, performing
from simkit.cluster.options import Options
from simkit.cluster.plugins import plugins
from simkit.cluster.releases import catalogue_of
from simkit.cluster.store_snapshot import Indexers, StoreSnapshot
from simkit.engine.admission.chain import Chain
from simkit.engine.authn.options import in_process
from simkit.engine.authn.serviceaccount import Issuer
from simkit.engine.authn.token_sources import ObjectGetter
from simkit.engine.authz.rbac import RBACAuthorizer, RBACEscalationGuard
from simkit.engine.controllers.certificate_authority import (
    AUTHENTICATION,
    CertificateAuthority,
    ClusterAuthenticationTrust,
)
from simkit.engine.controllers.controller_manager import ControllerManager
from simkit.engine.controllers.lifetimes import EventExpiry
from simkit.engine.controllers.service_addresses import RepairIPAddress
from simkit.engine.controllers.status_writers import FOLLOWED, FlowSchemaStatusController
from simkit.engine.pipeline.api_services import APIServices
from simkit.engine.pipeline.custom_resources.definitions import CustomResources
from simkit.engine.pipeline.engine import Engine, EngineConfig
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.flow_schema import MaxInFlight
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.metrics.families import shown_hidden
from simkit.engine.pipeline.verbs.server_writes import record_addresses
from simkit.engine.registry.allocation import ServiceAllocation
from simkit.engine.registry.write import expire
from simkit.logic.rbac.index import RESOURCES, AccessIndex
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.schema.feature_gates import parse_feature_gates
from simkit.schema.runtimeconfig import gates_that_are_missing
from simkit.seams import Store

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane
    from simkit.engine.pipeline.audit.auditor import Auditor
    from simkit.engine.pipeline.audit.backends import Backend
    from simkit.engine.pipeline.audit.events import Event
    from simkit.engine.pipeline.audit.policy import Policy
    from simkit.engine.pipeline.metrics.counters import Metrics
    from simkit.simulation.simulation import Simulation

_LOG: Final = logging.getLogger("simkit.cluster")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a control plane: its creation, and its fork.

    Both are given the control plane under construction, in which the parts before this one are in place.
    There is no default for ``fork``: whoever adds a part says what a fork does with it.
    """

    name: str
    make: Callable[[ControlPlane], Any]
    fork: Callable[[ControlPlane, ControlPlane], Any]
    """Called with the fork and its origin."""

    @classmethod
    def anew(cls, name: str, make: Callable[[ControlPlane], Any]) -> Self:
        """A part without state for forks: a fork creates its own."""
        return cls(name, make, lambda fork, _: make(fork))

    @classmethod
    def shared(cls, name: str, make: Callable[[ControlPlane], Any]) -> Self:
        """A part that a control plane and all its forks share."""
        return cls(name, make, lambda _, origin: getattr(origin, name))


def object_getter(store: Store) -> ObjectGetter:
    """The function by which authenticators read a current object."""

    def lookup(resource: GroupResource, namespace: str, name: str) -> Object | None:
        entry = store.get(Key(resource, namespace, name))
        return entry.object if entry is not None else None

    return lookup


# Making


def _gates(server: ControlPlane) -> Mapping[str, bool]:
    gates = parse_feature_gates(server.options.feature_gates, server.options.release)
    for text in gates.warnings:
        _LOG.warning(text)
    return gates.values


def _base(server: ControlPlane) -> Catalogue:
    options = server.options
    for text in gates_that_are_missing(options.release, options.runtime_config, options.feature_gates):
        _LOG.warning(text)
    return catalogue_of(options)


def _following(server: ControlPlane, roles: RBACAuthorizer) -> RBACAuthorizer:
    server.store.listen(roles.follow, RESOURCES)
    return roles


def _metrics(server: ControlPlane) -> Metrics:
    options = server.options
    return Metrics(shown_hidden(options.show_hidden_metrics_for_version, options.release))


def _access(server: ControlPlane, origin: ControlPlane | None = None) -> Access:
    known = origin.access.graph if origin is not None else None
    graph = known.fork() if known is not None else None
    everything, clock = server.everything, server.clock
    return Access(
        server.options,
        server.base.behaviour,
        server.store,
        everything,
        clock,
        server.metrics,
        server.roles,
        graph,
        server.forked,
    )


def _allocation(server: ControlPlane) -> ServiceAllocation:
    options = server.options
    ranges = options.service_cluster_ip_range.split(",")
    return ServiceAllocation(server.store, server.names, server.base.behaviour, ranges, options.service_node_port_range)


def _engine(server: ControlPlane) -> Engine:
    options, store, clock, authorizer = server.options, server.store, server.clock, server.authorizer
    privileged = server.captured is not None if options.allow_privileged is None else options.allow_privileged
    authenticators, anonymous = options.authenticators, options.anonymous_auth
    known = (authenticators, server.token_key, object_getter(store), clock)
    engine = Engine(
        EngineConfig(
            store=store,
            catalogue=server.base,
            authentication=in_process(*known, anonymous=anonymous),
            authorizer=authorizer,
            guard=RBACEscalationGuard(server.base.behaviour, server.roles.index, authorizer),
            admission=Chain(plugins(server)),
            clock=clock,
            name_source=server.names,
            allocation=server.allocation,
            api_services=server.api_services,
            allow_privileged=privileged,
            loaded=server.loaded,
            gates=server.gates,
            metrics=server.metrics,
            limits=_limits(server),
            audit=audit_of(options, clock, server.metrics, forked=server.forked),
            grace=options.livez_grace_period,
            remote=server.extensions.forwarder,
            calls_webhooks=lambda request: server.extensions.calls_webhooks(request, server.reader()),
            conversion=server.extensions.conversions(server.names),
        )
    )
    record_addresses(engine)
    return engine


def _admission_settings(server: ControlPlane) -> Mapping[str, Mapping[str, Any]]:
    file = server.options.admission_control_config_file
    if file is None:
        return {}
    from simkit.cluster.plugin_settings import read_settings

    return read_settings(file)


def _limits(server: ControlPlane) -> MaxInFlight | FlowControl:
    options = server.options
    reading, changing = options.max_requests_inflight, options.max_mutating_requests_inflight
    if options.enable_priority_and_fairness and (reading or changing):
        return FlowControl(server.store, reading + changing)
    return MaxInFlight(reading, changing)


def _flow_schemas(server: ControlPlane) -> FlowSchemaStatusController:
    """Keeps the statuses of flow schemas current from one request to the next, as kube-apiserver itself does."""
    perform = performing(server.engine)
    status = FlowSchemaStatusController(
        lambda: server.engine.catalogue,
        server.everything,
        lambda request: perform(request, bootstrap.SERVER),
        server.clock,
    )
    server.store.listen(status.follow, FOLLOWED)

    _settle_after_writes(server, status.settle)
    return status


def _trust(server: ControlPlane) -> ClusterAuthenticationTrust:
    """Restores the published authorities after a request; a loaded store has none of its own."""
    perform = performing(server.engine)
    trust = ClusterAuthenticationTrust(
        server.store,
        lambda: server.engine.authentication.published if server.captured is None else {},
        lambda request: perform(request, bootstrap.SERVER),
        server.clock,
    )
    server.store.listen(trust.follow, (AUTHENTICATION.resource,))

    _settle_after_writes(server, trust.settle)
    return trust


def _settle_after_writes(server: ControlPlane, settle: Callable[[], object]) -> None:
    others = server.engine.after_write

    def both() -> None:
        others()
        settle()

    server.engine.after_write = both


def _authority(server: ControlPlane) -> CertificateAuthority:
    options = server.options
    files = options.cluster_signing_cert_file, options.cluster_signing_key_file
    return CertificateAuthority(server.clock, NameSource(options.seed), *files, options.root_ca_file)


def _runner(server: ControlPlane, origin: ControllerManager | None = None) -> ControllerManager:
    options, simulation = server.options, server.simulation

    def create() -> list[Controller]:
        return [
            *server.extensions.server_controllers(lambda: server.engine.catalogue, server.clock),
            *controllers(server),
            *_expiry(server),
            *_address_repair(server),
            *(simulation.controllers if simulation is not None else ()),
        ]

    made = ControllerManager(
        server.store,
        create,
        performing(server.engine, as_one=not options.use_service_account_credentials),
        Indexers(server.store, lambda: server.catalogue).snapshot,
        clock=server.clock,
        rested=server.rested,
        origin=origin,
    )
    server.engine.own_checks["simkit-controllers"] = made.problem
    return made


def _address_repair(server: ControlPlane) -> list[Controller]:
    """The repair of IPAddress objects, where the server keeps them and knows them all."""
    if not server.engine.behaviour.applies("addresses-of-service-ranges"):
        return []
    repair = RepairIPAddress(lambda: server.engine.catalogue, server.clock)
    if server.captured is not None and not repair.watches <= set(server.captured):
        return []
    return [ReconcilingController(repair, server.clock, lambda *_: None)]


def _expiry(server: ControlPlane) -> list[EventExpiry]:
    seconds, present = server.options.event_ttl, server.options.storage != "memory"
    if server.store.leaves_process:  # there a lease ends
        return []
    return [EventExpiry(partial(expire, server.store), server.clock, seconds, present=present)] if seconds else []


# Forking


def _gates_of_fork(server: ControlPlane, origin: ControlPlane) -> Mapping[str, bool]:
    """The origin's, unless the fork is of another release or has other settings."""
    return origin.gates if _has_gates_of(server, origin) else _gates(server)


def _base_of_fork(server: ControlPlane, origin: ControlPlane) -> Catalogue:
    """The origin's, unless the fork is of another release or has other settings."""
    same = _has_gates_of(server, origin) and server.options.runtime_config == origin.options.runtime_config
    return origin.base if same else _base(server)


def _has_gates_of(server: ControlPlane, origin: ControlPlane) -> bool:
    own, others = server.options, origin.options
    return own.release == others.release and own.feature_gates == others.feature_gates


def _resumed(server: ControlPlane, origin: ControlPlane) -> ControllerManager:
    runner = _runner(server, origin.runner)
    if server.simulation is not None:
        server.simulation.kubelets.woken, server.simulation.kubelets.origin = runner.wake, runner.take_over
    return runner


def _simulated(server: ControlPlane, origin: ControlPlane) -> Simulation | None:
    """The nodes of a fork, which it goes on running by itself."""
    if origin.simulation is None:
        return None
    made = origin.simulation.fork(
        server.clock,
        performing(server.engine),
        lambda: server.engine.catalogue,
    )
    server.engine.connections = made.connections
    from simkit.cluster.nodes import allow_privileged  # a cluster without nodes does not load it

    allow_privileged(server)
    return made


def _start_of_snapshots(server: ControlPlane, origin: ControlPlane) -> StoreSnapshot | None:
    """The origin's latest snapshot, from which the fork's own starts, if nothing was written since."""
    latest = origin.latest
    return latest if latest is not None and latest.revision == server.store.oldest else None


PARTS: Final[tuple[Part, ...]] = (
    Part("gates", _gates, _gates_of_fork),
    Part("base", _base, _base_of_fork),
    Part("names", lambda server: NameSource(server.options.seed), lambda _, origin: origin.names.child()),
    Part.shared("token_key", lambda _: Issuer()),
    Part(
        "extensions",
        lambda server: Extensions.of(server.options, server.store, server.base.behaviour, calls=server.calls),
        lambda fork, origin: origin.extensions.fork(fork.store, fork.base.behaviour),
    ),
    Part(
        "roles",
        lambda server: _following(server, RBACAuthorizer(AccessIndex.of(server.everything()))),
        lambda fork, origin: _following(fork, origin.roles.fork()),
    ),
    Part.anew("metrics", _metrics),
    Part("access", _access, _access),
    Part.anew("authorizer", lambda server: server.access.authorizer()),
    Part(
        "allocation",
        _allocation,
        lambda fork, origin: origin.allocation.fork(fork.store, fork.names, fork.base.behaviour),
    ),
    Part(
        "api_services",
        lambda server: APIServices(server.store),
        lambda fork, origin: origin.api_services.fork(fork.store),
    ),
    Part.anew("admission_settings", _admission_settings),
    Part.anew("engine", _engine),
    Part(
        "custom",
        lambda server: CustomResources(server.engine, server.base),
        lambda fork, origin: CustomResources(fork.engine, fork.base, origin.custom),
    ),
    Part.anew("flow_schemas", _flow_schemas),
    Part.anew("authentication_trust", _trust),
    Part("authority", _authority, lambda fork, origin: origin.authority.fork(fork.clock)),
    Part("simulation", lambda _: None, _simulated),
    Part("runner", _runner, _resumed),
    Part("latest", lambda _: None, _start_of_snapshots),
)
"""The parts of a control plane in the order of their creation."""


def audit_of(options: Options, clock: Clock, metrics: Metrics, *, forked: bool = False) -> Auditor | None:
    """The auditor; None if the options name no policy, in which case kube-apiserver records nothing.

    A fork records in memory alone, so that what is tried there does not reach the file.
    """
    if options.audit_policy is None:
        return None
    from simkit.engine.pipeline.audit.auditor import Auditor
    from simkit.engine.pipeline.audit.backends import MemoryBackend

    sinks: list[Backend] = [MemoryBackend(options.audit_memory)] if options.audit_memory else []
    if not forked:
        sinks += _outside(options)
    return Auditor(_policy(options.audit_policy), sinks, clock, NameSource(options.seed), metrics)


def _policy(given: Policy | str | Path) -> Policy:
    """The policy in a file, or one that records everything at a level."""
    from simkit.engine.pipeline.audit.policy import Level, Policy, everything, load

    if isinstance(given, Policy):
        return given
    for level in get_args(Level):
        if given == level:
            return everything(level)
    return load(given)


def _outside(options: Options) -> list[Backend]:
    """The file of the log, if there is one."""
    from simkit.engine.pipeline.audit.backends import LogBackend

    if not options.audit_log_path:
        return []
    return [LogBackend(options.audit_log_path, strict=options.audit_log_strict)]


def recorded(audit: Auditor | None) -> list[Event]:
    """The events in memory, oldest first. Raises SimkitError if none are kept there."""
    from simkit.engine.pipeline.audit.backends import MemoryBackend

    for sink in audit.sinks if audit is not None else ():
        if isinstance(sink, MemoryBackend):
            return sink.events
    raise SimkitError("nothing is recorded; make the cluster with Options(audit_policy='Metadata') or a policy file")
