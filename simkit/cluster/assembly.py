"""New servers: empty ones with default objects, and ones over the objects of a dump."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simkit.cluster import bootstrap
from simkit.cluster.control_plane import ControlPlane
from simkit.cluster.options import Options
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.seams import Store
from simkit.engine.storage.memory import MemoryStore
from simkit.kinds.conversions import convert, versions
from simkit.meta.clock import Clock, SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, copied, group_version_of, metadata
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.dump import Dump


def new_store(options: Options) -> Store:
    """The store of the options. Raises SimkitError for one that is unknown or cannot be opened."""
    clock = options.clock or SystemClock()
    kind, _, path = options.storage.partition(":")
    if kind == "sqlite" and path:
        from simkit.engine.storage.sqlite import open_store  # and the database only where it is asked for

        return open_store(path, clock)
    if kind == "etcd" and path:
        return _etcd(options, clock, path.split(","))
    if options.storage != "memory":
        raise SimkitError(f"--storage {options.storage!r} is not known; use memory, sqlite:PATH or etcd:URL[,URL]")
    return MemoryStore(clock)


def _etcd(options: Options, clock: Clock, servers: Sequence[str]) -> Store:
    """The store in an etcd that is there already."""
    try:
        from simkit.engine.storage.etcd import open_store  # gRPC only where it is asked for
        from simkit.snapshot.etcd.encryption import read_encryption
        from simkit.snapshot.etcd.endpoints import EtcdEndpoints
        from simkit.snapshot.etcd.layout import Layout
        from simkit.snapshot.etcd.values import Values
    except ModuleNotFoundError as error:
        raise SimkitError(f"a store in etcd needs {error.name}: pip install 'simkit[etcd]'") from error
    if not isinstance(clock, SystemClock):
        raise SimkitError("a store in etcd runs on the machine's clock, since others use it too; leave the clock out")
    endpoints = EtcdEndpoints(
        servers, options.etcd_prefix, options.etcd_cafile, options.etcd_certfile, options.etcd_keyfile
    )
    catalogue = Catalogue.for_release(options.release, everything=True)
    configuration = options.encryption_provider_config
    values = Values(catalogue, read_encryption(configuration) if configuration is not None else None)
    leases = {catalogue.lookup("events").storage: options.event_ttl}
    return open_store(endpoints, Layout.of(endpoints.root, catalogue), values, clock, leases)


def fresh(options: Options) -> ControlPlane:
    """A new server with its default objects, and its controllers settled."""
    made = ControlPlane(options, new_store(options))
    made.engine.started = False
    bootstrap.fill(made.engine, made.snapshot)
    made.engine.started = True
    if not made.store.leaves_process:  # in one that is shared, the elected controllers do it
        made.runner.settle()
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
    return ControlPlane(options, store, captured=captured, calls=calls, rested=True)


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
        return convert(obj, versions(old, kind)[0])
    if resource.gvk == resource.storage_gvk:
        return obj
    return RequestScope(catalogue, resource).to_storage(copied(obj))
