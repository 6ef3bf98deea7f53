"""get and list: one entry, or several of one revision.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/get.go and k8s.io/apiserver/pkg/storage/etcd3/store.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import ListOptions
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.registry import paging
from simkit.meta import fields, labels
from simkit.meta.deadline import checked
from simkit.meta.errors import (
    bad_request,
    expired,
    future_revision,
    unexplained,
)
from simkit.meta.message import Response
from simkit.meta.names import Key, Revision
from simkit.meta.objects import labels_of
from simkit.seams import Compacted, Entry, Future, existing

# The selection of a list, watch or deletecollection by labels and fields


@dataclass(frozen=True, slots=True)
class Selection:
    """Compiled selectors. ``everything`` is true if they match every object."""

    labels: labels.LabelSelector
    fields: fields.FieldSelector
    values: Callable[[Entry], Mapping[str, str]]
    everything: bool
    name: str
    """The one name that can match, or the empty string."""

    def matches(self, entry: Entry) -> bool:
        if self.everything:
            return True
        if self.labels and not self.labels.matches(labels_of(entry.object)):
            return False
        return not self.fields or self.fields.matches(self.values(entry))

    def of(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return entries if self.everything else [entry for entry in checked(entries) if self.matches(entry)]


def selection(scope: RequestScope, options: ListOptions) -> Selection:
    """The selection of a request. Raises kube-apiserver's 400 for invalid selectors."""
    try:
        by_label = labels.parse(options.label_selector)
        by_field = scope.field_labels.checked(fields.parse(options.field_selector), scope.resource.kind)
    except labels.BadSelector as error:
        raise bad_request(error.told(scope.catalogue.behaviour)) from None
    except ValueError as error:
        raise bad_request(str(error)) from None
    everything = not by_label and not by_field
    return Selection(by_label, by_field, _values(scope), everything, by_field.exact("metadata.name"))


def _values(scope: RequestScope) -> Callable[[Entry], Mapping[str, str]]:
    plain, special = scope.field_labels.values, scope.strategy.selectable_fields

    def values(entry: Entry) -> Mapping[str, str]:
        common = {"metadata.name": entry.key.name, "metadata.namespace": entry.key.namespace}
        return {**plain(entry.object), **special(entry.object), **common}

    return values


def get(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The current object. Raises 404; 504 for a future revision that does not come."""
    info = context.info
    CacheDelegator(engine, scope).await_revision(context.request.option("resourceVersion"))
    key = scope.registry_scope.key(info.namespace, info.name)
    entry = existing(engine.store, key, scope.resource.group_resource)
    return responses.object_response(scope, entry, context.output_media_type, now=engine.clock.now())


def list_(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The objects of a collection at one revision, in chunks on request."""
    options = opt.list_options(engine.behaviour, context.request, watch=False)
    chosen = selection(scope, options)
    chunk = ListChunk(engine, scope, context.info.namespace or None, options, chosen)
    entries, metadata = chunk.read()
    return responses.list_response(scope, entries, metadata, context.output_media_type, now=engine.clock.now())


class CacheDelegator:
    """The reads of a resource that kube-apiserver serves from its cache, and those from its store.

    That shows: the cache waits for a revision that is to come and takes no notice of limits, the store does neither.
    Events are not cached there.
    """

    def __init__(self, engine: Engine, scope: RequestScope) -> None:
        self._engine = engine
        self.cached = scope.registry_scope.resource.resource != "events"

    def cached_list(self, options: opt.ListOptions) -> bool:
        """True if a list is one of the cache."""
        version = options.resource_version
        if not self.cached or not version or options.token or options.match == "Exact":
            return False
        if options.limit <= 0 or version == "0":
            return True
        return options.match == "NotOlderThan" and self._engine.behaviour.applies("pages-from-cache")

    def await_revision(self, version: str, *, cached: bool = True) -> None:
        """Wait for a revision. Raises 504 if it does not come, or the error of an invalid one."""
        if cached and self.cached:
            self._engine.await_revision(opt.revision(version))
            return
        current = self._engine.store.revision
        requested = opt.stored_revision(version)
        if requested > current:
            raise future_revision(requested, current, again=0)


class ListChunk:
    """One chunk of one list."""

    def __init__(
        self, engine: Engine, scope: RequestScope, namespace: str | None, options: opt.ListOptions, chosen: Selection
    ) -> None:
        self._engine, self._scope, self._namespace = engine, scope, namespace
        self._chosen, self._delegator = chosen, CacheDelegator(engine, scope)
        self._resource = scope.registry_scope.resource
        one_key = bool(namespace or not scope.resource.namespaced) and not options.token
        self._single = bool(chosen.name) and one_key
        """True for a read of a single key, which has no chunks."""
        self._options = replace(options, limit=0) if self._single else options
        self._cached = self._delegator.cached_list(options)

    def read(self) -> tuple[Sequence[Entry], dict[str, Any]]:
        """The entries of the chunk and the metadata of the list."""
        options = self._options
        if self._cached:
            if self._engine.behaviour.applies("bad-revisions-of-lists"):
                opt.stored_revision(options.resource_version)
            self._delegator.await_revision(options.resource_version)
            return self._chunk(None, None, 0 if options.resource_version == "0" else options.limit)
        if options.token and self._engine.behaviour.applies("tokens-before-revisions"):
            return self._continue()
        requested = opt.stored_revision(options.resource_version)
        if options.token:
            return self._continue()
        if options.match == "Exact" or (requested and options.limit > 0 and not options.match):
            if self._delegator.cached and self._engine.behaviour.applies("lists-of-snapshots"):
                self._delegator.await_revision(options.resource_version)
            return self._chunk(Revision(requested), None, options.limit)
        self._delegator.await_revision(options.resource_version, cached=False)
        return self._chunk(None, None, options.limit)

    def _continue(self) -> tuple[Sequence[Entry], dict[str, Any]]:
        options = self._options
        token = paging.decode(options.token)
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        after = token.key(self._resource, self._namespace)
        if token.revision <= paging.INCONSISTENT:
            return self._chunk(None, after, options.limit)
        unlimited = options.resource_version == "0" and self._delegator.cached
        limit = 0 if unlimited and self._engine.behaviour.applies("lists-continued-in-snapshots") else options.limit
        try:
            return self._chunk(token.revision, after, limit)
        except Compacted:
            raise paging.too_old(token) from None

    def _chunk(self, at: Revision | None, after: Key | None, limit: int) -> tuple[Sequence[Entry], dict[str, Any]]:
        store = self._engine.store
        revision = at if at is not None else store.revision
        continued = bool(self._options.token)
        try:
            if limit <= 0:
                found = self._chosen.of(self._scan(at, after))
                return found, {"resourceVersion": str(revision)}
            return self._limited(at, after, revision, limit)
        except Compacted as error:
            if continued:
                raise
            raise expired("The resourceVersion for the provided list is too old.") from error
        except Future as error:
            raise unexplained("etcdserver: mvcc: required revision is a future revision") from error

    @property
    def _from_cache(self) -> bool:
        """True if kube-apiserver takes the chunk from its watch cache."""
        if not self._delegator.cached:
            return False
        if self._options.token or self._options.match == "Exact" or self._options.resource_version:
            return self._engine.behaviour.applies("lists-of-snapshots")
        return self._engine.behaviour.applies("consistent-lists-from-cache")

    def _scan(self, at: Revision | None, after: Key | None) -> Sequence[Entry]:
        store = self._engine.store
        if self._single:
            key = self._scope.registry_scope.key(self._namespace or "", self._chosen.name)
            entry = store.get(key, at=at)
            found: Sequence[Entry] = [entry] if entry is not None and (after is None or entry.key > after) else []
        else:
            found = store.scan(self._resource, self._namespace, at=at, after=after)
        return found

    def _limited(
        self, at: Revision | None, after: Key | None, revision: Revision, limit: int
    ) -> tuple[Sequence[Entry], dict[str, Any]]:
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        found: list[Entry] = []
        everything = self._scan(at if at is not None else revision, after)
        for position, entry in enumerate(everything):
            if not self._chosen.matches(entry):
                continue
            found.append(entry)
            if len(found) == limit:
                remaining = len(everything) - position - 1
                if remaining:
                    metadata["continue"] = paging.encode(revision, entry.key, self._namespace, rooted=self._from_cache)
                    if self._chosen.everything:
                        metadata["remainingItemCount"] = remaining
                break
        return found, metadata
