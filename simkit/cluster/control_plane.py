"""The API server with its controllers, as an ordered list of parts that are created or forked; and new servers: empty
ones with default objects, and ones over the objects of a dump.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simkit.client.leader_election import LeaderElection, Runner
from simkit.cluster import bootstrap
from simkit.cluster.access import Access, apply_authorization, with_modes
from simkit.cluster.extensions import Extensions, performing
from simkit.cluster.options import Options, new_store
from simkit.cluster.parts import PARTS
from simkit.cluster.releases import catalogue_of, migrate
from simkit.cluster.store_snapshot import StoreSnapshot
from simkit.engine.admission.candidates import LiveClusterReader
from simkit.engine.authn.serviceaccount import Issuer
from simkit.engine.authz.rbac import RBACAuthorizer
from simkit.engine.controllers.certificate_authority import CertificateAuthority, ClusterAuthenticationTrust
from simkit.engine.controllers.controller_manager import ControllerManager
from simkit.engine.controllers.status_writers import FlowSchemaStatusController
from simkit.engine.pipeline.api_services import APIServices
from simkit.engine.pipeline.custom_resources.definitions import CustomResources
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.registry.allocation import ServiceAllocation
from simkit.engine.storage.memory import FIRST
from simkit.kinds.conversions import convert, versions
from simkit.meta.clock import Clock, NameSource, SystemClock, fork_clock
from simkit.meta.names import GroupResource, GroupVersionKind, Key, Revision
from simkit.meta.objects import Object, copied, group_version_of, metadata
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Authorizer, Store
from simkit.seams.authorization import Authorization, stated
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump

if TYPE_CHECKING:
    from simkit.simulation.simulation import Simulation


class ControlPlane:
    """An API server and its controllers over a store.

    Parameters
    ----------
    options
        The settings.
    store
        The objects; no other server writes to it.
    captured
        The resources of which a loaded store holds all objects; None: all of them.
    rested
        Whether the controllers take what is stored for settled, as in a loaded store.
    calls
        Whether connections to the outside may be opened.
    dumped
        The authorizers of the cluster of which the store holds a dump; they count unless the options name others.
    origin
        The control plane that this one is a fork of, and from which it gets its parts.
    """

    options: Options
    store: Store
    dumped: Authorization | None
    captured: Collection[GroupResource] | None
    rested: bool
    calls: bool
    forked: bool
    loaded: Revision
    """The revision of the last object that a dump gave; 0 where there is no dump."""
    clock: Clock
    gates: Mapping[str, bool]
    base: Catalogue
    names: NameSource
    token_key: Issuer
    extensions: Extensions
    roles: RBACAuthorizer
    metrics: Metrics
    access: Access
    authorizer: Authorizer
    allocation: ServiceAllocation
    api_services: APIServices
    admission_settings: Mapping[str, Mapping[str, Any]]
    """The settings of admission plugins, by name."""
    engine: Engine
    custom: CustomResources
    flow_schemas: FlowSchemaStatusController
    authentication_trust: ClusterAuthenticationTrust
    authority: CertificateAuthority
    simulation: Simulation | None
    runner: ControllerManager
    latest: StoreSnapshot | None

    def __init__(
        self,
        options: Options,
        store: Store,
        *,
        captured: Collection[GroupResource] | None = None,
        rested: bool = False,
        calls: bool = True,
        dumped: Authorization | None = None,
        origin: ControlPlane | None = None,
    ) -> None:
        told = dumped if dumped is None or options.authorization_mode is None else replace(dumped, modes=())
        self.dumped = told if origin is None else origin.dumped
        self.options, self.store, self.captured = apply_authorization(with_modes(options, dumped)), store, captured
        self.rested, self.calls, self.forked = rested, calls, origin is not None
        self.loaded = origin.loaded if origin is not None else store.revision if rested else Revision(0)
        self.clock = options.clock or SystemClock()
        for part in PARTS:
            setattr(self, part.name, part.make(self) if origin is None else part.fork(self, origin))
        store.listen(self.engine.hear)

    @property
    def background(self) -> Runner:
        """The controllers, to be started with a server: of several servers over one store, those of the elected one."""
        if not self.store.leaves_process:
            return self.runner
        return LeaderElection(self.runner, performing(self.engine), self.clock)

    def fork(self, options: Options | None = None, *, clock: Clock | None = None, whole: bool = False) -> ControlPlane:
        """A control plane over a fork of the store, or with other options or another clock; it shares nothing that
        either of them writes to.

        ``whole`` says that resources which a dump did not capture are taken for empty.
        """
        wanted = replace(options or self.options, clock=clock or fork_clock(self.clock))
        captured, revision = None if whole else self.captured, None
        with self.runner.at_rest:
            while revision != self.store.revision:  # written meanwhile: the parts may know more than the store
                store = self.store.fork(clock=wanted.clock)
                revision = store.revision
                if wanted.release != self.options.release:
                    migrate(store, self.catalogue, catalogue_of(wanted))
                made = ControlPlane(wanted, store, captured=captured, calls=False, origin=self)
        if captured is not self.captured:  # the snapshot that analyses know has other resources
            made.latest = None
        return made

    @property
    def authorization(self) -> Authorization:
        """The authorizers that the cluster has, of which those of a dump may not all decide here."""
        if self.dumped is not None and self.dumped.modes:
            return self.dumped
        told = self.access.told(self.authorizer)
        known = self.dumped
        return replace(told, provider=known.provider, outside=known.outside, access=known.access) if known else told

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue of the served resources, custom ones included."""
        return self.engine.catalogue if hasattr(self, "engine") else self.base

    def snapshot(self) -> Snapshot:
        """The current objects; of a loaded server, only the resources that its dump captured.

        The same one is given out until something is written, since analyses remember what they made of it.
        """
        if self.latest is None:
            chain = self.authorization
            self.latest = StoreSnapshot(self.store, self.catalogue, self.captured, authorization=chain)
        elif self.latest.revision != self.store.revision or not self.latest.shows(self.store):
            self.latest = self.latest.successor(self.store, self.catalogue)
        return self.latest

    def everything(self) -> Snapshot:
        """The current objects of all resources; the server's own view."""
        access = self.dumped.access if self.dumped is not None else None
        chain = replace(stated(("RBAC",)), access=access)
        return StoreSnapshot(self.store, self.catalogue, authorization=chain)

    def reader(self) -> LiveClusterReader:
        """The stored objects for policies and webhooks."""

        def converted(obj: Object, resource: Resource) -> Object:
            return self.engine.request_scope(resource).from_storage(obj)

        return LiveClusterReader(self.store, self.authorizer, lambda: self.engine.catalogue, converted)


def fresh(options: Options) -> ControlPlane:
    """A new server with its default objects, and its controllers settled.

    Watches begin with the server at the earliest, or where the history of a store begins that was there before.
    """
    store = new_store(options)
    is_new = store.revision == FIRST
    made = ControlPlane(options, store)
    made.engine.started = False
    bootstrap.fill(made.engine, made.snapshot)
    made.custom.resume()
    made.engine.started = True
    if not made.store.leaves_process:  # in one that is shared, the elected controllers do it
        made.runner.settle()
    if is_new:
        made.engine.watch_cache.begin(made.store.revision)
    return made


def loaded(options: Options, dump: Dump, *, whole: bool = False, calls: bool = False) -> ControlPlane:
    """A server over the objects of a dump, unchanged: nothing is created, defaulted or reconciled.

    Parameters
    ----------
    whole
        Whether the dump is all there is: resources of which it holds nothing are taken for empty, unless an object
        names one of them as its owner.
    calls
        Whether the webhooks and backing servers that the dump names may be called.
    """
    store, catalogue = new_store(options), Catalogue.for_release(options.release, everything=True)
    store.seed(stored_objects(options.release, dump))
    captured = {dump.index.stored(resource) for resource in dump.captured}
    if whole:
        captured |= {each.storage for each in catalogue.stored()} - set(_owners(catalogue, dump))
    dumped = dump.authorization
    return ControlPlane(options, store, captured=captured, calls=calls, rested=True, dumped=dumped)


def stored_objects(release: str, dump: Dump) -> Iterator[tuple[Key, Object]]:
    """The objects of a dump in the version that a store keeps."""
    catalogue = Catalogue.for_release(release, everything=True)
    return ((key, _stored(catalogue, obj)) for key, obj in dump.keyed.items())


def _owners(catalogue: Catalogue, dump: Dump) -> Iterator[GroupResource]:
    """The resources that objects of a dump name as their owners."""
    for obj in dump.keyed.values():
        for owner in metadata(obj).get("ownerReferences") or ():
            resource = catalogue.kind(GroupVersionKind(*group_version_of(owner), owner.get("kind", "")))
            if resource is not None:
                yield resource.storage


def _stored(catalogue: Catalogue, obj: Object) -> Object:
    """An object in its storage version."""
    resource = catalogue.kind(GroupVersionKind(*group_version_of(obj), obj.get("kind", "")))
    if resource is None:  # of another release: in the version that everything is kept in, if there is a way
        old, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        return convert(obj, versions(old, kind)[0], catalogue.behaviour)
    if resource.gvk == resource.storage_gvk:
        return obj
    return RequestScope(catalogue, resource).to_storage(copied(obj))
