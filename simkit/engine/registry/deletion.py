"""The rules of deletion: an object is marked and kept by finalizers or a grace period, or removed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.engine.registry.error_kinds import kind_in_errors
from simkit.engine.registry.write import Deletion
from simkit.engine.seams import Stale, Store
from simkit.kinds.parts.validation.object_meta import FOREGROUND, ORPHAN
from simkit.meta.behaviour import applies
from simkit.meta.clock import moment, timestamp
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.errors import conflict
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object

_CHECKED_FIRST: Final = (
    GroupResource("", "namespaces"),
    GroupResource(EXTENSIONS_GROUP, "customresourcedefinitions"),
)
"""Resources whose storage looks at preconditions itself, with words of its own."""


def check_preconditions(deletion: Deletion, live: Object) -> None:
    """Raise 409 if the object does not meet the preconditions."""
    uid, version = live["metadata"].get("uid", ""), live["metadata"].get("resourceVersion", "")
    if deletion.scope.resource in _CHECKED_FIRST and not deletion.collection:
        wanted = (("UID", deletion.uid, uid), ("ResourceVersion", deletion.resource_version, version))
        for word, given, actual in wanted:
            if given is not None and given != actual:
                why = f"Precondition failed: {word} in precondition: {given}, {word} in object meta: {actual}"
                raise conflict(deletion.scope.resource, deletion.key.name, why)
    if deletion.uid is not None and deletion.uid != uid:
        why = (
            f"the UID in the precondition ({deletion.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(kind_in_errors(deletion.scope.kind), deletion.key.name, why)
    if deletion.resource_version is not None and deletion.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({deletion.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified"
        )
        raise conflict(kind_in_errors(deletion.scope.kind), deletion.key.name, why)


def before_delete(deletion: Deletion, live: Object, now: float) -> Draft | None:
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
    asked = None if deletion.grace_seconds is None else deletion.grace_seconds if deletion.grace_seconds >= 0 else 1
    if terminating and (asked is None or asked >= left):
        return dict(live)  # a grace period only shrinks, and finalizers stay as they were
    grace = strategy.grace_period(live, deletion.grace_seconds) if strategy.grace_period else 0
    propagation = deletion.propagation if strategy.has_dependents else "Background"
    finalizers = list(metadata.get("finalizers") or ())
    if begun or not strategy.keeps_finalizers:
        finalizers = wanted_finalizers(finalizers, propagation, strategy.orphans_by_default)
    draft: Draft = {**live, "metadata": {**metadata, "finalizers": finalizers}}
    if not finalizers:
        del draft["metadata"]["finalizers"]
    if terminating:
        grace, end = _shortened(metadata, asked or 0, now)
        draft["metadata"] |= {"deletionTimestamp": timestamp(end), "deletionGracePeriodSeconds": grace}
    graceful = terminating or (strategy.grace_period is not None and not begun)
    if not graceful and not finalizers and not strategy.is_kept(live):
        return None
    if not begun:
        _mark(draft, now, grace, plain=strategy.timestamp_only)
        strategy.prepare_for_delete(draft)
    return draft


def _shortened(metadata: Mapping[str, Any], asked: int, now: float) -> tuple[int, float]:
    """The grace period of a deletion that has begun, once a shorter one is asked for, and when it ends."""
    begun = moment(metadata["deletionTimestamp"]) - _go_duration(metadata["deletionGracePeriodSeconds"])
    end = begun + _go_duration(asked)
    if end >= now or not applies("shortened-grace-ends-now"):
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
