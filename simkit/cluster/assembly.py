"""New servers: empty ones with default objects, and ones over the objects of a dump."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.cluster import bootstrap
from simkit.cluster.control_plane import ControlPlane
from simkit.cluster.options import Options
from simkit.cluster.stores import new_store
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.storage.memory import FIRST
from simkit.kinds.conversions import convert, versions
from simkit.meta.names import GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, copied, group_version_of, metadata
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.dump import Dump


def fresh(options: Options) -> ControlPlane:
    """A new server with its default objects, and its controllers settled.

    Watches begin with the server at the earliest, or where the history of a store begins that was there before.
    """
    store = new_store(options)
    is_new = store.revision == FIRST
    made = ControlPlane(options, store)
    made.engine.started = False
    bootstrap.fill(made.engine, made.snapshot)
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
