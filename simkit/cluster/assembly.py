"""The one place where concrete parts are put together into a server."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from simkit.cluster import bootstrap
from simkit.cluster.access import Access, apply_authorization
from simkit.cluster.controllers import Means, controllers
from simkit.cluster.extensions import Extensions, performing
from simkit.cluster.options import Options
from simkit.cluster.plugin_settings import read_settings
from simkit.cluster.plugins import Needs, plugins
from simkit.cluster.recording import audit_of
from simkit.cluster.releases import catalogue_of, migrate
from simkit.cluster.view import StoreSnapshot
from simkit.engine.admission.chain import Chain, Plugin
from simkit.engine.admission.review_attributes import LiveClusterReader
from simkit.engine.authn.generated_key import GeneratedKey
from simkit.engine.authn.getter import ObjectGetter
from simkit.engine.authn.options import Authentication, in_process
from simkit.engine.authz.escalation_check import RoleGuard
from simkit.engine.authz.node_graph import NodeGraph
from simkit.engine.authz.rbac import RBACAuthorizer
from simkit.engine.controllers.certificate_authority import CertificateAuthority
from simkit.engine.controllers.controller_manager import ControllerManager
from simkit.engine.controllers.event_expiry import EventExpiry
from simkit.engine.controllers.flow_schema_status import FlowSchemaStatusController
from simkit.engine.pipeline.api_services import APIServices
from simkit.engine.pipeline.custom_resources.definitions import CustomResources
from simkit.engine.pipeline.engine import Engine, EngineConfig
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.max_in_flight import ConcurrencyLimiter, MaxInFlight
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.metrics.stability import shown_hidden
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.quota_status import charge_quota
from simkit.engine.pipeline.verbs.webhook_objects import stored_form
from simkit.engine.registry.allocation import ServiceAllocation
from simkit.engine.registry.deletion import expire
from simkit.engine.seams import Authorizer, Store
from simkit.engine.storage.memory import MemoryStore
from simkit.kinds.conversions import convert, versions
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.clock import Clock, NameSource, SystemClock, fork_clock
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, copied, group_version_of, metadata
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.feature_gates import parse_feature_gates as chosen_gates
from simkit.snapshot.dump import Dump
from simkit.snapshot.protocol import Snapshot

_LOG: Final = logging.getLogger("simkit.cluster")


class Assembled:
    """A server and what belongs to it: the engine, the controllers, the index that follows the store."""

    def __init__(
        self,
        options: Options,
        store: Store,
        *,
        index: AccessIndex | None = None,
        chance: NameSource | None = None,
        captured: Collection[GroupResource] | None = None,
        allocation: ServiceAllocation | None = None,
        token_key: GeneratedKey | None = None,
        graph: NodeGraph | None = None,
        extensions: Extensions | None = None,
        registered: APIServices | None = None,
        custom: CustomResources | None = None,
        authority: CertificateAuthority | None = None,
        forked: bool = False,
        rested: bool = False,
    ) -> None:
        options = apply_authorization(options)
        self.options, self.store, self.captured = options, store, captured
        self._snapshot: StoreSnapshot | None = None
        self.clock = options.clock or SystemClock()
        self._base = catalogue_of(options)
        gates = chosen_gates(options.feature_gates, options.release)
        for text in gates.warnings:
            _LOG.warning(text)
        chance = chance or NameSource(options.seed)
        self.token_key = token_key or GeneratedKey()
        self.extensions = extensions or Extensions.of(options, store)
        self.roles = RBACAuthorizer(index or AccessIndex.of(self._everything()))
        store.listen(self.roles.follow)
        metrics = Metrics(shown_hidden(options.show_hidden_metrics_for_version, options.release))
        self.access = Access(options, store, self._everything, self.clock, metrics, self.roles, graph, forked)
        authorizer = self.access.authorizer()
        self.engine = Engine(
            EngineConfig(
                store=store,
                catalogue=self._base,
                authentication=self._authentication(),
                authorizer=authorizer,
                guard=RoleGuard(self.roles.index, authorizer),
                admission=Chain(self._plugins(authorizer, chance, gates.values)),
                clock=self.clock,
                chance=chance,
                allocation=allocation or _allocation(options, store, chance),
                registered=registered,
                allow_privileged=captured is not None if options.allow_privileged is None else options.allow_privileged,
                gates=gates.values,
                metrics=metrics,
                limits=_room(options, store, self.clock),
                audit=audit_of(options, self.clock, metrics, forked=forked),
                grace=options.livez_grace_period,
                remote=self.extensions.forwarder,
                hooked=lambda request: self.extensions.calls_webhooks(request, self._reader(authorizer)),
                conversion=self.extensions.conversions(chance),
            )
        )
        self.custom = CustomResources(self.engine, self._base, origin=custom)
        self._follow_flow()
        self.authority = authority or _authority(options, self.clock)
        self.runner = ControllerManager(
            store,
            [
                *self.extensions.upkeep(lambda: self.engine.catalogue, self.clock),
                *controllers(self._means(), options.controllers),
                *self._expiry(),
            ],
            performing(self.engine, as_one=not options.use_service_account_credentials),
            self._everything,
            clock=self.clock,
            rested=rested,
        )

    def _follow_flow(self) -> None:
        """Keep the statuses of flow schemas right from one request to the next, as the server itself does it."""
        perform, others = performing(self.engine), self.engine.upkeep
        status = FlowSchemaStatusController(
            lambda: self.engine.catalogue,
            self._everything,
            lambda request: perform(request, bootstrap.SERVER),
            self.clock,
        )
        self.store.listen(status.follow)

        def both() -> None:
            others()
            status.settle()

        self.engine.upkeep = both

    @property
    def catalogue(self) -> Catalogue:
        """What is served now, custom resources among it."""
        return self.engine.catalogue if hasattr(self, "engine") else self._base

    def _authentication(self) -> Authentication:
        known, anonymous = self.options.authenticators, self.options.anonymous_auth
        return in_process(known, self.token_key, live(self.store), self.clock, anonymous=anonymous)

    def snapshot(self) -> Snapshot:
        """The stored objects as they are now; of a loaded server, only what its dump held all of.

        The same one is given out until something is written, since analyses remember what they made of it.
        """
        if self._snapshot is None:
            self._snapshot = StoreSnapshot(self.store, self.catalogue, self.captured)
        elif self._snapshot.revision != self.store.revision or not self._snapshot.shows(self.store):
            self._snapshot = self._snapshot.successor(self.store, self.catalogue)
        return self._snapshot

    def _plugins(self, authorizer: Authorizer, chance: NameSource, gates: Mapping[str, bool]) -> list[Plugin]:
        settings = self.options.admission_control_config_file
        needs = Needs(
            self.store,
            authorizer,
            self.clock,
            chance,
            lambda: self.engine.catalogue,
            lambda obj, resource: self.engine.request_scope(resource).from_storage(obj),
            lambda obj, resource: stored_form(self.engine.request_scope(resource), obj),
            self.extensions,
            lambda quota, used: charge_quota(self.engine, quota, used),
            lambda name: bootstrap.provide(self.engine, name),
            read_settings(settings) if settings is not None else {},
            Path(settings).parent if settings is not None else Path(),
            (self.options.default_not_ready_toleration_seconds, self.options.default_unreachable_toleration_seconds),
        )
        on, off = self.options.enable_admission_plugins, self.options.disable_admission_plugins
        return plugins(needs, self.options.release, gates, on, off)

    def _means(self) -> Means:
        def issue(claims: Mapping[str, Any]) -> str:
            issuer = self.engine.authentication.issuer or self.token_key
            return issuer.issue(claims)

        return Means(self.clock, lambda: self.engine.catalogue, self.authority, issue, self.captured)

    def _expiry(self) -> list[EventExpiry]:
        seconds = self.options.event_ttl
        present = self.options.storage != "memory"
        return [EventExpiry(partial(expire, self.store), self.clock, seconds, present=present)] if seconds else []

    def _reader(self, authorizer: Authorizer) -> LiveClusterReader:
        def convert(obj: Object, resource: Resource) -> Object:
            return self.engine.request_scope(resource).from_storage(obj)

        return LiveClusterReader(self.store, authorizer, lambda: self.engine.catalogue, convert)

    def _everything(self) -> Snapshot:
        return StoreSnapshot(self.store, self.catalogue)

    def fork(self, options: Options | None = None) -> Assembled:
        """The same server over a fork of the store, or one with other options; what is derived from it forks too."""
        clock = fork_clock(self.clock)
        store, chance = self.store.fork(clock=clock), self.engine.chance.child()
        if options is not None and options.release != self.options.release:
            migrate(store, self.catalogue, catalogue_of(options))
        forked = Assembled(
            replace(options or self.options, clock=clock),
            store,
            index=self.roles.index.fork(),
            chance=chance,
            allocation=self.engine.registry.allocation.fork(store, chance),
            captured=self.captured,
            token_key=self.token_key,
            graph=self.access.graph.fork() if self.access.graph is not None else None,
            extensions=self.extensions.fork(store),
            registered=self.engine.registered.fork(store),
            custom=self.custom,
            authority=self.authority.fork(clock),
            forked=True,
        )
        forked.runner.resume_from(self.runner)
        if self._snapshot is not None and self._snapshot.revision == store.oldest:
            forked._snapshot = self._snapshot  # its own will start from it
        return forked


def _room(options: Options, store: Store, clock: Clock) -> ConcurrencyLimiter:
    """Who says whether there is room for a request."""
    reading, changing = options.max_requests_inflight, options.max_mutating_requests_inflight
    if options.enable_priority_and_fairness and (reading or changing):
        return FlowControl(store, reading + changing, clock)
    return MaxInFlight(reading, changing)


def live(store: Store) -> ObjectGetter:
    """How authenticators read an object as it is now."""

    def lookup(resource: GroupResource, namespace: str, name: str) -> Object | None:
        entry = store.get(Key(resource, namespace, name))
        return entry.object if entry is not None else None

    return lookup


def _allocation(options: Options, store: Store, chance: NameSource) -> ServiceAllocation:
    ranges = options.service_cluster_ip_range.split(",")
    return ServiceAllocation(store, chance, ranges, options.service_node_port_range)


def new_store(options: Options) -> Store:
    """The store that the options ask for. Raises SimkitError for one that is not known or cannot be opened."""
    clock = options.clock or SystemClock()
    kind, _, path = options.storage.partition(":")
    if kind == "sqlite" and path:
        from simkit.engine.storage.sqlite import open_store  # and the database only where it is asked for

        return open_store(path, clock)
    if options.storage != "memory":
        raise SimkitError(f"--storage {options.storage!r} is not known; use memory or sqlite:PATH")
    return MemoryStore(clock)


def fresh(options: Options) -> Assembled:
    """A new server with its default objects in place and its controllers at rest."""
    made = Assembled(options, new_store(options))
    made.engine.started = False
    bootstrap.fill(made.engine, made.snapshot)
    made.engine.started = True
    made.runner.settle()
    made.store.compact(through=made.store.revision)
    return made


def loaded(options: Options, dump: Dump, *, whole: bool = False, calls: bool = False) -> Assembled:
    """A server over the objects of a dump, just as they are: nothing is created, defaulted or reconciled.

    Parameters
    ----------
    whole
        Whether the dump is all there is: resources of which it holds nothing are taken for empty, unless an object
        names one of them as its owner.
    calls
        Whether the webhooks and backing servers that the dump names may be called.
    """
    store, catalogue = new_store(options), Catalogue.for_release(options.release, everything=True)
    store.seed((key, _stored(catalogue, obj)) for key, obj in dump.keyed.items())
    captured = {dump.index.stored(resource) for resource in dump.captured}
    if whole:
        captured |= {each.storage for each in catalogue.stored()} - set(_owners(catalogue, dump))
    extensions = Extensions.of(options, store, calls=calls)
    return Assembled(options, store, captured=captured, extensions=extensions, rested=True)


def _owners(catalogue: Catalogue, dump: Dump) -> Iterator[GroupResource]:
    """The resources that objects of a dump name as their owners."""
    for obj in dump.keyed.values():
        for owner in metadata(obj).get("ownerReferences") or ():
            resource = catalogue.kind(GroupVersionKind(*group_version_of(owner), owner.get("kind", "")))
            if resource is not None:
                yield resource.storage


def _stored(catalogue: Catalogue, obj: Object) -> Object:
    """An object in the version that is stored."""
    resource = catalogue.kind(GroupVersionKind(*group_version_of(obj), obj.get("kind", "")))
    if resource is None:  # of another release: in the version that everything is kept in, if there is a way
        old, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        return convert(obj, versions(old, kind)[0])
    if resource.gvk == resource.storage_gvk:
        return obj
    return RequestScope(catalogue, resource).to_storage(copied(obj))


def _authority(options: Options, clock: Clock) -> CertificateAuthority:
    files = options.cluster_signing_cert_file, options.cluster_signing_key_file
    return CertificateAuthority(clock, NameSource(options.seed), *files, options.root_ca_file)
