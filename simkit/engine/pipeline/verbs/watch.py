"""watch: changes as a stream of encoded events.

A stream keeps nothing but its place in the shared log; what it sends is joined from bytes that are kept with the
entries, so that a thousand watchers of one change share its encoding.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/watch.go and k8s.io/apiserver/pkg/storage/cacher/cacher.go, release
1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from time import perf_counter
from typing import Any, Final

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.metrics.counters import route
from simkit.engine.pipeline.representation import bodies, responses
from simkit.engine.pipeline.representation.negotiation import JSON, PROTOBUF, STREAMS, YAML, MediaTypeOptions
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import is_true
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.read import CacheDelegator, Selection, selection
from simkit.engine.watch.watcher import Watcher, WatchReader
from simkit.meta import go_json
from simkit.meta.domain import API_DOMAIN, LABEL_DOMAIN, META_GROUP
from simkit.meta.errors import StatusError, bad_request, expired, not_acceptable, unexplained
from simkit.meta.fielderror import quoted
from simkit.meta.message import Response
from simkit.meta.names import Revision
from simkit.meta.objects import Draft, Object, annotations_of, null_creation
from simkit.schema.decoding import decode
from simkit.seams import Change, Compacted, Entry

ROOM: Final = 64 * 1024
"""Bytes of frames that are taken at once for a client, which may not read them."""
_SLICE: Final = 0.004
"""Seconds after which frames that are ready are handed on, though there may be more."""
INITIAL_END = f"{META_GROUP.removeprefix('meta.')}/initial-events-end"
_EMPTY_LIST: Final = f"{LABEL_DOMAIN}/initial-events-list-blueprint"
_SCHEME: Final = f"{API_DOMAIN}/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


def watch(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """The stream of a collection, or of one object."""
    info = context.info
    said = not info.old_watch or is_true(context.request.query, "watch")  # else the options are those of a list
    options = opt.list_options(engine.behaviour, context.request, watch=said, watch_list=engine.gate("WatchList"))
    if context.output_media_type.media == YAML:
        raise not_acceptable(f"only the following media types are accepted: {STREAMS}")
    if info.old_watch and info.name and not options.field_selector:
        options = replace(options, field_selector=f"metadata.name={info.name}")
    chosen = selection(scope, options)
    if info.old_watch and info.name and chosen.name != info.name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    stream = WatchStream(engine, context, scope, options, chosen)
    way = route(context)
    engine.metrics.last(way, 1)
    stream.ended = partial(engine.metrics.last, way, -1)
    media = f"{PROTOBUF};stream=watch" if context.output_media_type.media == PROTOBUF else JSON
    return Response(200, content_type=media, stream=stream)


class NoSuchForm(Exception):
    """An event cannot be written in the form that was asked for: a single object is no list."""


class EventEncoder:
    """The encoding of events for a stream, in the requested representation."""

    def __init__(self, engine: Engine, scope: RequestScope, media_type: MediaTypeOptions) -> None:
        responses.check_include(media_type)
        self._engine, self._scope, self._media_type = engine, scope, media_type
        self._plain = not media_type.transform and media_type.media == JSON
        self._columns = True

    def entry(self, kind: str, entry: Entry) -> bytes:
        """The frame of a stored object, made of cached bytes if possible."""
        scope = self._scope
        if self._plain:
            tail = scope.kept_tail(entry)
            return (_shared_frame if len(tail) > ROOM else _joined_frame)(kind, scope.head, tail)
        return self.object(kind, scope.from_storage(entry.object))

    def object(self, kind: str, obj: Object) -> bytes:
        """The frame of an object in the version of the path."""
        return _frame(self._media_type, kind, self._made(obj))

    def empty_list(self) -> str:
        """An empty list in the representation, as text. Raises kube-apiserver's 500 where it cannot write one."""
        resource, media_type = self._scope.resource, self._media_type
        kind, version = resource.list_gvk.kind, resource.api_version
        if media_type.transform == "PartialObjectMetadataList":
            what = f'"{kind}" is registered for version "{version}"'
            what = what if resource.custom else f"is registered for the type {resource.list_gvk.version}.{kind}"
            raise unexplained(f"no kind {what} in scheme {quoted(_SCHEME)}")
        obj: Draft = {"kind": kind, "apiVersion": version, "metadata": {}, "items": None}
        if media_type.transform:
            obj |= {"kind": f"{media_type.transform}List", "apiVersion": f"{META_GROUP}/{media_type.version}"}
        elif resource.custom:
            obj = {"apiVersion": version, "items": [], "kind": kind}
        encoded = bodies.encode(obj) if media_type.media == PROTOBUF else go_json.encode(obj) + b"\n"
        return base64.b64encode(encoded).decode()

    def _made(self, obj: Object) -> Any:
        media_type = self._media_type
        if media_type.transform == "PartialObjectMetadataList":
            raise NoSuchForm
        if media_type.transform != "Table":
            return (
                responses.partial(self._scope, obj, media_type.version)
                if media_type.transform
                else self._scope.ordered(obj)
            )
        columns, self._columns = self._columns, False
        version = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return responses.as_table(self._scope, [obj], media_type, version, self._engine.clock.now(), columns=columns)


def _joined_frame(kind: str, head: bytes, tail: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + head + tail + b"}\n"


_shared_frame: Final = lru_cache(maxsize=16)(_joined_frame)
"""The frames of the last large objects, of which all watches together hold one copy."""


def _frame(media_type: MediaTypeOptions, kind: str, obj: Any) -> bytes:
    if media_type.media == PROTOBUF:
        return bodies.event(kind, obj)
    return go_json.encode({"type": kind, "object": obj}) + b"\n"


class WatchStream:
    """Frames of one watch. ``poll`` never blocks; ``wait`` does; ``close`` ends it.

    Where it begins: at a revision, sending what changed after it; or without one (or 0), sending every present object
    as ADDED first.
    """

    def __init__(
        self,
        engine: Engine,
        context: RequestContext,
        scope: RequestScope,
        options: opt.ListOptions,
        chosen: Selection,
    ) -> None:
        requested, media_type = opt.revision(options.resource_version), context.output_media_type
        namespace = (context.info.namespace if scope.resource.namespaced else "") or None
        self._encoder = EventEncoder(engine, scope, media_type)
        self._engine, self._scope, self._chosen = engine, scope, chosen
        self._media_type, self._user = media_type, context.actor().user
        self._bookmarks, self._tells_list = options.bookmarks, engine.behaviour.applies("lists-in-bookmarks")
        self.deadline = options.timeout
        """Seconds after which the stream ends; None: the server decides."""
        self.blocks = scope.calls_out
        """True if taking frames may wait for a webhook."""
        self.computes = bool(media_type.transform) or media_type.media != JSON
        """True if each frame is encoded anew; those of plain JSON are cached."""
        self.behind = False
        """True if the last ``poll`` stopped early, with more to read."""
        self.closed = False
        self.ended: Callable[[], None] | None = None
        """Called once, when the stream ends."""
        self._first: Iterator[bytes] | None = None
        """The initial events, encoded on demand, since many watches may begin unread."""
        start = Revision(requested)
        initial = options.initial_events if options.initial_events is not None else not requested
        if initial:
            start = engine.store.revision
            self._first = self._present(namespace, start)
        elif not requested:
            start = engine.store.revision
        self._end: int | None = None
        """The revision of the bookmark that ends the initial events; None once it is sent."""
        if options.initial_events and options.bookmarks:
            self._end = max(requested, start)
            self._first = chain(self._first or (), self._after_initial(start))
        self._cursor = self._opened(namespace, start)

    def _opened(self, namespace: str | None, start: Revision) -> Watcher | None:
        """The watcher; None if the log does not reach back so far, which the first frame reports."""
        try:
            return self._engine.watch_cache.watch(
                self._scope.registry_scope.resource,
                namespace,
                self._chosen.name or None,
                after=start,
                reader=WatchReader(self._user, self._chosen.matches),
            )
        except Compacted as error:
            self._first = iter([self._expired(error)])
            return None

    def _present(self, namespace: str | None, revision: Revision) -> Iterator[bytes]:
        entries = self._chosen.of(self._engine.store.scan(self._scope.registry_scope.resource, namespace, at=revision))
        return (self._encoder.entry("ADDED", entry) for entry in entries)

    def _after_initial(self, revision: Revision) -> Iterator[bytes]:
        yield from self._ended(revision)

    def _ended(self, revision: Revision) -> list[bytes]:
        """The bookmark after the initial events, once the store has the requested revision."""
        if self._end is None or revision < self._end:
            return []
        self._end = None
        annotations = {INITIAL_END: "true"}
        if self._tells_list:
            try:
                annotations[_EMPTY_LIST] = self._encoder.empty_list()
            except StatusError as error:
                return [self._broken(error)]
        return [self._bookmark(revision, annotations)]

    def _bookmark(self, revision: Revision, annotations: dict[str, str] | None = None) -> bytes:
        resource = self._scope.resource
        empty = self._scope.strategy.empty
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        shown = {**annotations_of(empty), **(annotations or {})}
        if shown:
            metadata["annotations"] = shown
        obj: Draft = {**empty, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if not resource.custom:
            obj = decode(self._engine.behaviour, obj, self._scope.schema).object  # with the zero values of the kind
            metadata = {name: value for name, value in obj["metadata"].items() if name != "creationTimestamp"}
            obj["metadata"] = {**null_creation(self._engine.behaviour), **metadata}
        return self._encoder.object("BOOKMARK", obj)

    def poll(self, limit: int = 512) -> list[bytes]:
        """Frames that are ready, at most about ``limit``; the stream ends at an event that cannot be written."""
        if self.closed:
            return []
        try:
            return self._frames(limit)
        except NoSuchForm:
            self.close()
            return []

    def _frames(self, limit: int) -> list[bytes]:
        ready = self._beginning(limit)
        if ready:
            return ready
        if self._cursor is None:
            self.close()
            return []
        frames: list[bytes] = []
        self.behind, enough = False, perf_counter() + _SLICE
        while not frames:  # changes that the selectors hide are passed over, or the reader would wait behind them
            if perf_counter() > enough:
                self.behind = True
                return []
            try:
                changes = self._cursor.poll(limit, ROOM)
            except Compacted as error:
                return self._overtaken(error)
            if not changes:
                break
            for change in changes:
                try:
                    frame = self._event(change)
                except StatusError as error:
                    return [*frames, self._broken(error)]
                if frame is not None:
                    frames.append(frame)
        return frames + self._ended(self._cursor.revision)

    def _beginning(self, limit: int) -> list[bytes]:
        """The next frames of the initial events."""
        frames: list[bytes] = []
        if self._first is None:
            return frames
        enough, room = perf_counter() + _SLICE, ROOM
        try:
            for frame in islice(self._first, limit):
                frames.append(frame)
                room -= len(frame)
                if room < 0 or perf_counter() > enough:
                    return frames
        except StatusError as error:
            return [*frames, self._broken(error)]
        if len(frames) < limit:
            self._first = None
        return frames

    def _broken(self, error: StatusError) -> bytes:
        """The last frame, for an object that cannot be converted."""
        self.close()
        status = StatusError(500, "InternalError", error.message).status()
        return _frame(self._media_type, "ERROR", {name: value for name, value in status.items() if name != "details"})

    def _overtaken(self, error: Compacted) -> list[bytes]:
        self.close()
        return [self._expired(error)]

    def _expired(self, error: Compacted) -> bytes:
        text = f"too old resource version: {error.requested} ({error.oldest})"
        if not CacheDelegator(self._engine, self._scope).cached:
            text = "The resourceVersion for the provided watch is too old."
        status = expired(text).status()
        return _frame(self._media_type, "ERROR", status)

    def _event(self, change: Change) -> bytes | None:
        """The frame of a change under the selection: an object may begin or cease to match."""
        chosen = self._chosen
        if chosen.everything:
            return self._encoder.entry(change.type, change.entry)
        now = change.type != "DELETED" and chosen.matches(change.entry)
        before = change.previous is not None and chosen.matches(change.previous)
        if now:
            return self._encoder.entry("MODIFIED" if before else "ADDED", change.entry)
        if before:
            return self._encoder.entry("DELETED", _as_it_was(change))
        return None

    def bookmark(self) -> list[bytes]:
        """A bookmark of the current revision, if the client allows them."""
        if self.closed or not self._bookmarks or self._cursor is None:
            return []
        revision = self._cursor.revision
        try:
            frames = self._ended(revision) if self._end is not None else [self._bookmark(revision)]
        except NoSuchForm:
            self.close()
            return []
        return frames

    def wait(self, timeout: float | None = None) -> bool:
        """True if something came within some seconds."""
        return self._first is not None or self._cursor is None or self._cursor.wait(timeout)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Register a callback, called in the writer's thread, for when there may be something to poll."""
        if self._cursor is not None:
            self._cursor.on_change(callback)

    def close(self) -> None:
        """End the stream."""
        self.closed = True
        ended, self.ended = self.ended, None
        if ended is not None:
            ended()
        if self._cursor is not None:
            self._cursor.close()


def _as_it_was(change: Change) -> Entry:
    """The object of a DELETED event for a selector: as it last matched, with the revision of the change."""
    if change.type == "DELETED" or change.previous is None:
        return change.entry
    obj = change.previous.object
    moved = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(change.revision)}}
    return Entry(change.entry.key, change.revision, moved)
