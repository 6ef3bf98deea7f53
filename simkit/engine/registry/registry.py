"""The only writer to the store: it defaults, validates and versions objects, and retries on conflicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

from simkit.client.resources import NAMESPACES, SERVICES
from simkit.engine.registry import metadata
from simkit.engine.registry.allocation import ServiceAllocation
from simkit.engine.registry.metadata import place, refuse_numbered, version_number
from simkit.engine.registry.write import (
    Deletion,
    Outcome,
    RegistryScope,
    Write,
    before_delete,
    check_preconditions,
    kind_in_errors,
    uid_conflict,
)
from simkit.kinds.strategy import MetadataCheck, Subresource, WriteContext
from simkit.language.merge.update import with_old_times
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, NameSource
from simkit.meta.deadline import check_deadline
from simkit.meta.errors import (
    STALE,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from simkit.meta.fielderror import CLUSTER_POLICY, FieldError, Shown, invalid_value, required
from simkit.meta.name_validation import any_name, path_segment
from simkit.meta.names import GroupKind, Key, Revision
from simkit.meta.objects import Draft, Object, labels_of, name_of
from simkit.seams import ABSENT, Entry, Stale, Store, Unstorable

_TRIES: Final = 64


class Registry:
    """Creates, updates and deletes objects.

    References
    ----------
    ``k8s.io/apiserver/pkg/registry/generic/registry/store.go``, release 1.30.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        name_source: NameSource,
        behaviour: ServedBehaviour,
        allocation: ServiceAllocation | None = None,
        *,
        allow_privileged: bool = False,
        loaded: int = 0,
    ) -> None:
        self.store, self.clock, self.name_source = store, clock, name_source
        self._behaviour = behaviour
        self.allow_privileged = allow_privileged
        self._loaded = loaded
        self.allocation = allocation or ServiceAllocation(store, name_source, behaviour)
        self._incomplete: dict[Key, Revision] = {}
        """New objects that are stored without some defaults, with their first revision."""

    def _held_against(self, errors: Sequence[FieldError]) -> list[FieldError]:
        """The errors of settings of this server: privileged containers."""
        if not self.allow_privileged:
            return list(errors)
        return [
            error for error in errors if not (isinstance(error.detail, str) and error.detail.endswith(CLUSTER_POLICY))
        ]

    def _allocated(self, write: Write, draft: Draft, live: Object | None) -> AbstractContextManager[None]:
        """A context that holds the allocated addresses of an object during validation and storage."""
        if not _allocates(write):
            return nullcontext()
        return self.allocation.reserved(draft, live, dry_run=write.dry_run)

    def create(self, write: Write) -> Outcome:
        """Store a new object. Raises 409 if it exists, 422 with every error, and the errors of admission."""
        draft = dict(write.intent(None))
        draft["metadata"] = dict(draft.get("metadata") or {})
        return self._create(write, draft)

    def _create(self, write: Write, draft: Draft) -> Outcome:
        draft = write.mutate(write.track(None, draft), None)
        draft["metadata"] = dict(draft["metadata"])
        place(draft["metadata"], write.key.namespace)
        if write.creates:
            version_number(draft["metadata"].get("resourceVersion", ""))
        metadata.stamp_new(self._behaviour, draft, self.name_source, self.clock.now(), by_update=write.creates)
        write.scope.drop_disabled_fields(draft, None, write.subresource)
        if not _allocates(write):
            return self._insert(write, draft)
        with self._allocated(write, draft, None):
            return self._insert(write, draft)

    def _insert(self, write: Write, draft: Draft) -> Outcome:
        scope = write.scope
        late = self._finish(write, draft, None)
        errors = self._new_errors(scope, draft)
        if errors:
            errors = _told_whole(write, draft, errors, partial(self._new_errors, scope))
            raise invalid(self._behaviour, kind_in_errors(self._behaviour, scope.kind), name_of(draft), errors)
        scope.strategy.canonicalize(draft)
        write.validate(draft, None)
        key = scope.key(draft["metadata"].get("namespace", ""), name_of(draft))
        generated = bool(draft["metadata"].get("generateName"))
        if write.dry_run:
            if self.store.get(key) is not None:
                raise already_exists(scope.told_resource, key.name, generated=generated)
            return Outcome(Entry(key, Revision(0), scope.strategy.to_storage(draft)), created=True)
        if not write.creates:
            refuse_numbered(draft)
        try:
            made = self._put(key, scope.strategy.to_storage(draft), ABSENT)
        except Stale:
            raise already_exists(scope.told_resource, key.name, generated=generated) from None
        if late:
            self._incomplete[key] = made.revision
        return Outcome(made, created=True)

    def _new_errors(self, scope: RegistryScope, draft: Object) -> Sequence[FieldError]:
        """The errors of a new object."""
        errors = self._own_errors(scope, draft)
        if scope.strategy.validate_in_namespace is None:
            return errors
        namespace = self.store.get(Key(NAMESPACES, "", draft["metadata"].get("namespace", "")))
        labels = labels_of(namespace.object) if namespace is not None else {}
        return [*scope.strategy.validate_in_namespace(self._behaviour, draft, labels), *errors]

    def _own_errors(self, scope: RegistryScope, draft: Object) -> list[FieldError]:
        """The errors of a new object by itself: those of its metadata where the kind looks at them."""
        strategy = scope.strategy
        own = list(strategy.validate(self._behaviour, draft, None))
        if own:
            own = self._held_against(own)
        if own and not strategy.checks_new_metadata:
            return list(own)
        check = partial(
            metadata.validate,
            self._behaviour,
            draft,
            namespaced=scope.namespaced,
            unqualified_finalizers=strategy.unqualified_finalizers,
        )
        errors = [
            *strategy.validate_first(self._behaviour, draft, None),
            *check(name_rule=strategy.name_rule(self._behaviour)),
            *own,
        ]
        if errors and not strategy.checks_new_once(self._behaviour):
            errors += errors
        if not errors and (strategy.validate_name is any_name or draft["metadata"].get("generateName")):
            return check(name_rule=path_segment)  # last, the name and its prefix are looked at as all kinds are
        return errors

    def _finish(self, write: Write, draft: Draft, live: Object | None) -> bool:
        """Complete an object before it is validated: status, generation, preparation, defaults.

        True if it is stored without its defaults.
        """
        strategy = write.scope.strategy
        if live is None:
            if (
                write.scope.has_status
                and not strategy.keeps_status_on_create
                and strategy.wipes_status(self._behaviour)
            ):
                draft.pop("status", None)
            if strategy.raises_generation is not None and strategy.has_generation(self._behaviour):
                draft["metadata"]["generation"] = 1
        strategy.prepare(self._behaviour, draft, live)
        if strategy.prepare_with_context is not None:
            strategy.prepare_with_context(
                self._behaviour, draft, live, WriteContext(self.clock.now(), write.identity, self.name_source.uid)
            )
        late = strategy.stores_defaults_late is not None and strategy.stores_defaults_late(draft)
        strategy.default(self._behaviour, draft)
        metadata.drop_empty(draft["metadata"])
        if live is None or write.subresource == "status" or strategy.raises_generation is None:
            return late
        wanted = write.whole(draft) if strategy.counts_empty_parts else draft
        if strategy.has_generation(self._behaviour) and strategy.raises_generation(wanted, live):
            draft["metadata"]["generation"] = (live["metadata"].get("generation") or 0) + 1
        return late

    def update(self, write: Write) -> Outcome:
        """Update an object from its live to its wanted state; with ``creates`` also create it.

        Raises 404, 409 for a resourceVersion or uid that is not the live one, 422 with every error, and whatever the
        intent and admission raise. An update that changes nothing stores nothing.
        """
        for _ in range(_TRIES):
            check_deadline()
            live = self.store.get(write.key)
            if live is None:
                if not write.creates:
                    if write.uid and not self._behaviour.applies("absent-before-precondition"):
                        raise uid_conflict(write, write.uid, "")
                    raise not_found(write.scope.told_resource, write.key.name)
                return self._create_by_update(write)
            try:
                return self._replace(write, live)
            except Stale:
                continue
        raise conflict(write.scope.told_resource, write.key.name)

    def _create_by_update(self, write: Write) -> Outcome:
        write.permit_create()
        draft = dict(write.intent(None))
        draft["metadata"] = dict(draft.get("metadata") or {})
        given = write.uid or draft["metadata"].get("uid")
        if given:
            raise uid_conflict(write, given, "")
        return self._create(write, draft)

    def _replace(self, write: Write, live: Entry) -> Outcome:
        scope = write.scope
        seen = self._seen(scope, live)
        draft = dict(write.intent(seen))
        draft["metadata"] = dict(draft.get("metadata") or {})
        if write.uid and write.uid != seen["metadata"].get("uid"):
            raise uid_conflict(write, write.uid, seen["metadata"].get("uid", ""))
        given = draft["metadata"].pop("resourceVersion", "")
        special = (scope.strategy.subresources or {}).get(write.subresource)
        late = bool(scope.strategy.version_annotations) and not write.subresource  # some stand for parts of the status
        if not late:
            self._confine(write, draft, seen, special)
        tracked = dict(write.track(seen, draft))
        if late:
            self._confine(write, tracked, seen, special)
        if given:  # admission sees what the client gave
            tracked["metadata"] = {**tracked["metadata"], "resourceVersion": given}
        draft = write.mutate(tracked, seen)
        self._check_version(write, given, live)
        draft["metadata"] = dict(draft["metadata"])
        draft["metadata"].pop("resourceVersion", None)
        metadata.keep_owned(draft, seen)
        if special is not None and special.owns_all:
            special.merge(self._behaviour, draft, seen)
        asked = draft.get("spec")
        write.scope.drop_disabled_fields(draft, seen, write.subresource)
        counted = scope.strategy.counts_dropped_fields and draft.get("spec") != asked
        with self._allocated(write, draft, seen):
            late = self._finish(write, draft, seen)
            if counted:
                draft["metadata"]["generation"] = (seen["metadata"].get("generation") or 0) + 1
            self._check(write, draft, seen)
            scope.strategy.canonicalize(draft)
            draft["metadata"]["resourceVersion"] = seen["metadata"].get("resourceVersion", "")
            write.validate(draft, seen)
            if (
                should_delete_during_update(draft)
                and not scope.strategy.delete_strategy.is_kept(draft)
                and not write.dry_run
            ):
                return self._remove(draft, live)
            return self._store(write, draft, live, late)

    def _seen(self, scope: RegistryScope, live: Entry) -> Object:
        """The stored object as a write sees it: one of a dump with the defaults that it may lack."""
        stored = live.object if live.revision > self._loaded else scope.as_read(live.object)
        return scope.strategy.from_storage(stored)

    def _remove(self, draft: Draft, live: Entry) -> Outcome:
        """Remove an object whose last finalizer was removed, and return the wanted object."""
        self._drop(live, live.revision)
        draft["metadata"]["resourceVersion"] = str(live.revision)
        return Outcome(Entry(live.key, live.revision, draft), removed=True)

    def _store(self, write: Write, draft: Draft, live: Entry, late: bool) -> Outcome:
        """Store a change; an equal object too if it, or what is stored, lacks its defaults (``late``)."""
        draft["metadata"]["resourceVersion"] = live.object["metadata"].get("resourceVersion", "")
        stored = write.scope.strategy.to_storage(draft)
        complete = not late and self._incomplete.get(live.key) != live.revision
        if complete and with_old_times(live.object, stored) == live.object:
            return Outcome(live)
        if write.dry_run:
            return Outcome(Entry(live.key, live.revision, stored))
        self._incomplete.pop(live.key, None)
        made = self._put(live.key, stored, live.revision)
        if late:
            self._incomplete[live.key] = made.revision
        return Outcome(made)

    def _put(self, key: Key, obj: Object, expect: Revision) -> Entry:
        """Store an object. Raises Stale, and the 400 of one that nests too deeply to be encoded."""
        try:
            return self.store.put(key, obj, expect=expect)
        except Unstorable as error:
            raise bad_request(str(error)) from None

    def _confine(self, write: Write, draft: Draft, live: Object, special: Subresource | None) -> None:
        """Limit a subresource to its part, and the main resource to all but the status."""
        part = write.subresource
        if special is not None and not special.owns_all:
            special.merge(self._behaviour, draft, live)
        elif part == "status" and special is None:
            keep_all_but_status(draft, live)
        elif not part and write.scope.has_status and write.scope.strategy.wipes_status(self._behaviour):
            if "status" in live:
                draft["status"] = live["status"]
            else:
                draft.pop("status", None)

    def _check_version(self, write: Write, given: str, live: Entry) -> None:
        if not version_number(given):
            if not write.scope.strategy.allow_unconditional_update:
                detail = "must be specified for an update"
                error = invalid_value("metadata.resourceVersion", Shown("0x0", 0), detail)
                group, plural = write.scope.resource  # kube-apiserver names the resource in place of the kind
                raise invalid(self._behaviour, GroupKind(group, plural), write.key.name, [error])
            return
        if version_number(given) != live.revision:
            raise conflict(write.scope.told_resource, write.key.name, STALE)

    def _check(self, write: Write, draft: Draft, live: Object) -> None:
        errors = self._changed_errors(write, draft, live)
        if errors:
            errors = _told_whole(write, draft, errors, lambda wanted: self._changed_errors(write, wanted, live))
            kind = kind_in_errors(self._behaviour, write.scope.kind)
            raise invalid(self._behaviour, kind, write.key.name, errors)

    def _changed_errors(self, write: Write, draft: Object, live: Object) -> Sequence[FieldError]:
        """The errors of a changed object."""
        scope = write.scope
        checks = scope.strategy.metadata_checks
        errors = [*self._metadata_errors(write, draft, live, ()), *write.refused_parts(draft, live)]
        errors += scope.strategy.validate_first(self._behaviour, draft, live) if not write.subresource else ()
        before = checks.part if write.subresource else checks.before
        errors += self._metadata_errors(write, draft, live, before, shared=False)
        special = (scope.strategy.subresources or {}).get(write.subresource)
        validate = special.validate if special is not None else scope.strategy.validate
        told = list(validate(self._behaviour, draft, live))
        errors += told
        if not write.subresource:
            for check in checks.after:
                if not check.kind:
                    errors += self._metadata_errors(write, draft, live, (check,), shared=False)
                elif check.asked(self._behaviour):
                    errors += told
            errors += scope.strategy.validate_last(self._behaviour, draft, live)
        if not name_of(draft):
            errors.insert(0, required("metadata.name", "name or generateName is required"))
        return self._held_against(errors)

    def _metadata_errors(
        self, write: Write, draft: Object, live: Object, checks: Sequence[MetadataCheck], *, shared: bool = True
    ) -> list[FieldError]:
        strategy = write.scope.strategy
        return metadata.validate_update(
            self._behaviour,
            draft,
            live,
            name_rule=strategy.name_rule(self._behaviour),
            unqualified_finalizers=strategy.unqualified_finalizers,
            checks=checks,
            shared=shared,
        )

    def delete(self, deletion: Deletion) -> Outcome:
        """Remove an object, or mark it for removal if something keeps it.

        Raises 403 for an object that the kind protects, 404, 409 for preconditions that do not hold, and whatever
        admission raises.
        """
        reason = deletion.strategy.protected.get(deletion.key.name)
        if reason:
            raise forbidden(deletion.scope.told_resource, deletion.key.name, reason)
        for _ in range(_TRIES):
            live = self.store.get(deletion.key)
            if live is None:
                raise not_found(deletion.scope.told_resource, deletion.key.name)
            check_preconditions(self._behaviour, deletion, live.object)
            deletion.validate(deletion.scope.strategy.from_storage(live.object))
            try:
                return self._delete(deletion, live)
            except Stale:
                continue
        raise conflict(deletion.scope.told_resource, deletion.key.name)

    def _delete(self, deletion: Deletion, live: Entry) -> Outcome:
        draft = before_delete(self._behaviour, deletion, live.object, self.clock.now())
        if draft is None:
            gone = live if deletion.options.dry_run else self._drop(live, live.revision)
            return Outcome(gone, removed=True)
        if draft == live.object:
            return Outcome(live, finished=False)
        if should_delete_during_update(draft) and not deletion.strategy.is_kept(draft):
            return self._delete_marked(deletion, live, draft)
        if deletion.options.dry_run:
            return Outcome(Entry(live.key, live.revision, draft), finished=False)
        return Outcome(self._put(live.key, draft, live.revision), finished=False)

    def _delete_marked(self, deletion: Deletion, live: Entry, draft: Draft) -> Outcome:
        """Remove an object that could have had a grace period: it is stored with its marks, and then goes."""
        if deletion.options.dry_run:
            return Outcome(Entry(live.key, live.revision, draft), removed=True)
        marked = self._put(live.key, draft, live.revision)
        return Outcome(self._drop(live, marked.revision), removed=True)

    def _drop(self, live: Entry, expect: Revision) -> Entry:
        """Take an object out of the store; its last state. Raises Stale."""
        change = self.store.delete(live.key, expect=expect)
        gone = (
            change.entry if self._behaviour.applies("revisions-of-deletions-told") else change.previous or change.entry
        )
        self._incomplete.pop(live.key, None)
        if live.key.resource == SERVICES:
            self.allocation.give_back(live.object)
        return gone


def _allocates(write: Write) -> bool:
    """True if a write may take numbers that are given out once only."""
    return write.scope.resource == SERVICES and not write.subresource


def should_delete_during_update(draft: Object) -> bool:
    """True if an object under deletion has nothing that holds it any more."""
    metadata = draft["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def keep_all_but_status(draft: Draft, live: Object) -> None:
    """Keep everything but the status of the live object in a draft."""
    for name in [name for name in draft if name not in ("status", "metadata", "apiVersion", "kind")]:
        if name not in live:
            del draft[name]
    for name, value in live.items():
        if name not in ("status", "metadata", "apiVersion", "kind"):
            draft[name] = value


def _told_whole(
    write: Write, draft: Object, errors: Sequence[FieldError], judge: Callable[[Object], Sequence[FieldError]]
) -> Sequence[FieldError]:
    """The errors of an object, with its values as the client sent them: Go prints an empty list otherwise than none."""
    whole = write.whole(draft)
    told = errors if whole is draft else judge(whole)
    causes, known = ([(each.kind, each.field) for each in listed] for listed in (told, errors))
    return told if causes == known else errors
