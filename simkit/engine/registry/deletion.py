"""Two-phase deletion: marked and held by finalizers or a grace period, or gone at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.engine.registry.write import Outcome, RegistryScope
from simkit.engine.seams import Entry, Stale, Store
from simkit.kinds.parts.validation.object_meta import FOREGROUND, ORPHAN
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.errors import conflict, not_found
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object

_TRIES: Final = 64


@dataclass(frozen=True, slots=True)
class Deletion:
    """One delete. ``validate`` is admission, run against the object that is really stored."""

    scope: RegistryScope
    key: Key
    validate: Callable[[Object], None]
    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str = ""
    """Foreground, Background, Orphan, or empty for the kind's default."""
    uid: str | None = None
    resource_version: str | None = None
    """What the object must have, unless None."""


def delete(store: Store, clock: Clock, removal: Deletion) -> Outcome:
    """Remove an object or mark it for removal. Raises 404, and 409 for preconditions that do not hold."""
    for _ in range(_TRIES):
        live = store.get(removal.key)
        if live is None:
            raise not_found(removal.scope.resource, removal.key.name)
        _check_preconditions(removal, live.object)
        removal.validate(removal.scope.rules.seen(live.object))
        try:
            return _attempt(store, clock.now(), removal, live)
        except Stale:
            continue
    raise conflict(removal.scope.resource, removal.key.name)


def _check_preconditions(removal: Deletion, live: Object) -> None:
    uid, version = live["metadata"].get("uid", ""), live["metadata"].get("resourceVersion", "")
    if removal.uid is not None and removal.uid != uid:
        why = (
            f"the UID in the precondition ({removal.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(removal.scope.kind, removal.key.name, why)
    if removal.resource_version is not None and removal.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({removal.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified"
        )
        raise conflict(removal.scope.kind, removal.key.name, why)


def _attempt(store: Store, now: float, removal: Deletion, live: Entry) -> Outcome:
    deletion = removal.scope.rules.deletion
    metadata = live.object["metadata"]
    left, begun = metadata.get("deletionGracePeriodSeconds"), bool(metadata.get("deletionTimestamp"))
    terminating = deletion.grace is not None and begun and left is not None
    asked = None if removal.grace_seconds is None else removal.grace_seconds if removal.grace_seconds >= 0 else 1
    if terminating and (asked is None or asked >= left):
        return Outcome(live, finished=False)  # a grace period only shrinks, and finalizers stay as they were
    grace = deletion.grace(live.object, removal.grace_seconds) if deletion.grace else 0
    finalizers = wanted_finalizers(metadata.get("finalizers") or (), removal.propagation, deletion.orphans)
    draft: Draft = {**live.object, "metadata": {**metadata, "finalizers": finalizers}}
    if not finalizers:
        del draft["metadata"]["finalizers"]
    if terminating:
        grace = asked or 0
        end = moment(metadata["deletionTimestamp"]) - left + grace
        draft["metadata"] |= {"deletionTimestamp": timestamp(end), "deletionGracePeriodSeconds": grace}
    if not finalizers and not grace and not deletion.held(live.object):
        return _remove(store, removal, live)
    if not begun:
        _mark(draft, now, grace, plain=deletion.plain_mark)
        deletion.mark(draft)
    if draft == live.object:
        return Outcome(live, finished=False)
    if removal.dry_run:
        return Outcome(Entry(live.key, live.revision, draft), finished=False)
    return Outcome(store.put(live.key, draft, expect=live.revision), finished=False)


def _mark(draft: Draft, now: float, grace: int, *, plain: bool) -> None:
    metadata = draft["metadata"]
    metadata["deletionTimestamp"] = timestamp(now + grace)
    if not plain:
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1


def _remove(store: Store, removal: Deletion, live: Entry) -> Outcome:
    if removal.dry_run:
        return Outcome(live, removed=True)
    return Outcome(store.delete(live.key, expect=live.revision).entry, removed=True)


def expire(store: Store, key: Key) -> None:
    """Take out an object whose time is up, whatever holds it; nothing where it is gone already."""
    while (live := store.get(key)) is not None:
        try:
            store.delete(key, expect=live.revision)
        except Stale:
            continue


def wanted_finalizers(present: Sequence[str], propagation: str, orphans: bool) -> list[str]:
    """The finalizers of an object once its deletion is asked for with a propagation policy.

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
