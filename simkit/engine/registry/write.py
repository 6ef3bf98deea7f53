"""Writes and deletions, as the verbs hand them to the registry, and their rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.kinds.parts.validation.object_meta import FOREGROUND, ORPHAN
from simkit.kinds.strategy import DeleteStrategy, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment, timestamp
from simkit.meta.domain import EXTENSIONS_GROUP, api_group
from simkit.meta.errors import StatusError, conflict
from simkit.meta.fielderror import FieldError
from simkit.meta.frozen_init import quickly_made
from simkit.meta.identity import Identity
from simkit.meta.names import GroupKind, GroupResource, Key
from simkit.meta.objects import Draft, Object
from simkit.meta.unreadable import path_of
from simkit.seams import Entry, Intent, Stale, Store

# Writes and deletions, as the verbs hand them to the registry.
# Upstream: k8s.io/apiserver/pkg/registry/rest/update.go, release 1.30.


def untracked(live: Object | None, wanted: Draft) -> Draft:
    """The default: nobody owns fields by the write."""
    return wanted


def _keep_all_fields(draft: Draft, old: Object | None, subresource: str) -> None:
    """The default: keep every field."""


def _same(obj: Object) -> Object:
    """The default: as it is stored."""
    return obj


def _unchanged(wanted: Draft, live: Object | None) -> Draft:
    return wanted


def _all_allowed(obj: Object, live: Object) -> Sequence[FieldError]:
    """The default: the user may change every part."""
    return ()


def _accepted(obj: Object, live: Object | None) -> None:
    """The default: no objection."""


@dataclass(frozen=True, slots=True)
class RegistryScope:
    """The resource of a write, and the strategy of its kind."""

    resource: GroupResource
    """The resource under which the objects are stored."""
    kind: GroupKind
    namespaced: bool
    strategy: Strategy
    has_status: bool
    """True if ``status`` is written through its own subresource only."""
    drop_disabled_fields: Callable[[Draft, Object | None, str], None] = _keep_all_fields
    """A function that drops disabled fields from a draft, given the stored object and the subresource of the write."""

    requested: GroupResource | None = None
    """The resource that the request names, where it is not the stored one."""
    as_read: Callable[[Object], Object] = _same
    """A function that completes a stored object which a dump gave, perhaps without what kube-apiserver adds."""

    @property
    def told_resource(self) -> GroupResource:
        """The resource as errors name it."""
        return self.requested or self.resource

    def key(self, namespace: str, name: str) -> Key:
        return Key(self.resource, namespace if self.namespaced else "", name)


@quickly_made
@dataclass(frozen=True, slots=True)
class Write:
    """One write: the intent, and the functions between the intent and the store.

    ``track`` keeps field ownership, ``mutate`` and ``validate`` are admission. They run against the object that is
    really stored, again for every try. ``permit_create`` says whether the caller may create where an update finds
    nothing; it raises the refusal.
    """

    scope: RegistryScope
    key: Key
    intent: Intent
    subresource: str = ""
    dry_run: bool = False
    uid: str = ""
    """The uid that the live object must have; empty: any."""
    creates: bool = False
    """True if the write makes the object where there is none."""
    track: Callable[[Object | None, Draft], Draft] = untracked
    mutate: Callable[[Draft, Object | None], Draft] = _unchanged
    validate: Callable[[Object, Object | None], None] = _accepted
    permit_create: Callable[[], None] = lambda: None
    refused_parts: Callable[[Object, Object], Sequence[FieldError]] = _all_allowed
    """The errors of parts that the user may not change, given the wanted and the live object; they come first."""
    identity: Identity | None = None
    """The user of the write, for kinds that store it."""
    whole: Callable[[Object], Object] = _same
    """The wanted object with the empty lists and maps that its client sent, which nothing stores."""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a deletion.

    The object must have the uid and the resourceVersion, unless they are None.
    """

    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str = ""
    """Foreground, Background, Orphan, or empty for the kind's default."""
    uid: str | None = None
    resource_version: str | None = None


_AS_USUAL: Final = DeleteOptions()


@quickly_made
@dataclass(frozen=True, slots=True)
class Deletion:
    """One deletion. ``validate`` is admission, called with the object that is really stored."""

    scope: RegistryScope
    key: Key
    validate: Callable[[Object], None]
    options: DeleteOptions = _AS_USUAL
    collection: bool = False
    """True if it is one of many: kube-apiserver's storage of a kind is then asked past what is special about it."""

    @property
    def strategy(self) -> DeleteStrategy:
        """The behaviour of the kind in this deletion."""
        strategy = self.scope.strategy.delete_strategy
        return strategy.of_collection or strategy if self.collection else strategy


@quickly_made
@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a write. On a dry run the entry is not stored."""

    entry: Entry
    created: bool = False
    removed: bool = False
    """True if the object is removed."""
    finished: bool = True
    """True if nothing keeps a deleted object any more."""
    extra: Any = None


# The kind that errors of validation name, where it is not the kind of the request.
# Follows ``k8s.io/apiserver/pkg/registry/rest/create.go``: it is the first one that the Go type is registered as.

_IN_EXTENSIONS: Final = frozenset(GroupKind(api_group("networking"), kind) for kind in ("Ingress", "NetworkPolicy"))
"""Kinds whose Go types belong to the group extensions too."""


def kind_in_errors(behaviour: ServedBehaviour, kind: GroupKind) -> GroupKind:
    """The kind that says what is wrong with an object: the group is the first one that has the Go type."""
    if kind not in _IN_EXTENSIONS or behaviour.applies("errors-name-own-groups"):
        return kind
    return GroupKind("extensions", kind.kind)


# The keys under which kube-apiserver stores objects, as a few of its errors name them.
# Upstream: k8s.io/apiserver/pkg/storage/errors.go and k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go.


def uid_conflict(write: Write, given: str, actual: str) -> StatusError:
    """The 409 of a write that asks for another uid than that of the object."""
    text = precondition_failed(write.key, given, actual, dry_run=write.dry_run)
    return conflict(write.scope.told_resource, write.key.name, text)


def precondition_failed(key: Key, given: str, actual: str, *, dry_run: bool = False, word: str = "UID") -> str:
    """The text of a wrong uid, with the key in kube-apiserver's storage, or below its prefix for a dry run."""
    where = "/".join(filter(None, ("" if dry_run else "registry", path_of(key))))
    return (
        f"StorageError: invalid object, Code: 4, Key: /{where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {word} in precondition: {given}, {word} in object meta: {actual}"
    )


# The rules of deletion: an object is marked and kept by finalizers or a grace period, or removed at once

_CHECKED_FIRST: Final = (
    GroupResource("", "namespaces"),
    GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions"),
)
"""Resources whose storage looks at preconditions itself, with words of its own."""


def check_preconditions(behaviour: ServedBehaviour, deletion: Deletion, live: Object) -> None:
    """Raise 409 if the object does not meet the preconditions."""
    options = deletion.options
    if deletion.scope.resource in _CHECKED_FIRST and not deletion.collection:
        uid, version = live["metadata"].get("uid", ""), live["metadata"].get("resourceVersion", "")
        wanted = (("UID", options.uid, uid), ("ResourceVersion", options.resource_version, version))
        for word, given, actual in wanted:
            if given is not None and given != actual:
                why = f"Precondition failed: {word} in precondition: {given}, {word} in object meta: {actual}"
                raise conflict(deletion.scope.resource, deletion.key.name, why)
    why = failed_precondition(options.uid, options.resource_version, live)
    if why:
        raise conflict(kind_in_errors(behaviour, deletion.scope.kind), deletion.key.name, why)


def failed_precondition(uid: str | None, resource_version: str | None, live: Object) -> str:
    """The precondition that an object does not meet, in words; empty if it meets both. None requires nothing."""
    actual_uid, version = live["metadata"].get("uid", ""), live["metadata"].get("resourceVersion", "")
    if uid is not None and uid != actual_uid:
        why = f"the UID in the precondition ({uid}) does not match the UID in record ({actual_uid})"
        return f"{why}. The object might have been deleted and then recreated"
    if resource_version is not None and resource_version != version:
        why = f"the ResourceVersion in the precondition ({resource_version}) does not match the ResourceVersion in"
        return f"{why} record ({version}). The object might have been modified"
    return ""


def before_delete(behaviour: ServedBehaviour, deletion: Deletion, live: Object, now: float) -> Draft | None:
    """The object with its deletion timestamp, or None if nothing keeps it, so that it is removed at once.

    Returns
    -------
    The object itself where the deletion changes nothing: a grace period only becomes shorter.

    References
    ----------
    ``BeforeDelete`` of ``k8s.io/apiserver/pkg/registry/rest/delete.go``, release 1.30.
    """
    strategy = deletion.strategy
    metadata = live["metadata"]
    left, begun = metadata.get("deletionGracePeriodSeconds"), bool(metadata.get("deletionTimestamp"))
    if begun and strategy.is_kept(live):
        return dict(live)
    terminating = strategy.grace_period is not None and begun and bool(left)
    seconds = deletion.options.grace_seconds
    asked = None if seconds is None else seconds if seconds >= 0 else 1
    if terminating and (asked is None or asked >= left):
        return dict(live)  # a grace period only shrinks, and finalizers stay as they were
    grace = strategy.grace_period(live, seconds) if strategy.grace_period else 0
    propagation = deletion.options.propagation if strategy.has_dependents else "Background"
    finalizers = list(metadata.get("finalizers") or ())
    if begun or not strategy.keeps_finalizers:
        finalizers = wanted_finalizers(finalizers, propagation, strategy.orphans_by_default)
    draft: Draft = {**live, "metadata": {**metadata, "finalizers": finalizers}}
    if not finalizers:
        del draft["metadata"]["finalizers"]
    if terminating:
        grace, end = _shortened(behaviour, metadata, asked or 0, now)
        draft["metadata"] |= {"deletionTimestamp": timestamp(end), "deletionGracePeriodSeconds": grace}
    graceful = terminating or (strategy.grace_period is not None and not begun)
    if not graceful and not finalizers and not strategy.is_kept(live):
        return None
    if not begun:
        _mark(draft, now, grace, plain=strategy.timestamp_only)
        strategy.prepare_for_delete(draft)
    return draft


def _shortened(behaviour: ServedBehaviour, metadata: Mapping[str, Any], asked: int, now: float) -> tuple[int, float]:
    """The grace period of a deletion that has begun, once a shorter one is asked for, and when it ends."""
    begun = moment(metadata["deletionTimestamp"]) - _go_duration(metadata["deletionGracePeriodSeconds"])
    end = begun + _go_duration(asked)
    if end >= now or not behaviour.applies("shortened-grace-ends-now"):
        return asked, end
    return min(asked, 1), now


def _go_duration(seconds: int) -> float:
    """So many seconds as a Go duration has them: nanoseconds in 64 bits, which wrap around after 292 years.

    Examples
    --------
    >>> _go_duration(30), _go_duration(2**63 - 1)
    (30.0, -1.0)
    """
    return ((seconds * 10**9 + 2**63) % 2**64 - 2**63) / 10**9


def _mark(draft: Draft, now: float, grace: int, *, plain: bool) -> None:
    metadata = draft["metadata"]
    metadata["deletionTimestamp"] = timestamp(now + _go_duration(grace))
    if not plain:
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1


def expire(store: Store, key: Key) -> None:
    """Remove an object at the end of its time, whatever keeps it; no error if it is gone already."""
    while (live := store.get(key)) is not None:
        try:
            store.delete(key, expect=live.revision)
        except Stale:
            continue


def wanted_finalizers(present: Sequence[str], propagation: str, orphans: bool) -> list[str]:
    """The finalizers of an object after a delete request with a propagation policy.

    Examples
    --------
    >>> wanted_finalizers(["example.com/hold"], "Foreground", False)
    ['example.com/hold', 'foregroundDeletion']
    """
    if not propagation:
        if ORPHAN in present or FOREGROUND in present:
            return list(present)
        propagation = "Orphan" if orphans else "Background"
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    added = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(propagation, [])
    return kept + added
