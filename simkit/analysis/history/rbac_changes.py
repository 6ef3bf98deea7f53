"""What changes of roles and bindings over time, for all subjects and for one, without a new index for each moment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from simkit.analysis.access.compare import changed_grants
from simkit.analysis.history.past_access import Moment
from simkit.analysis.history.timeline import UNKNOWN, State, Timeline
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import RBAC
from simkit.analysis.rbac.subject import normalize_subject
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, Binding, Subject
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.identity import Identity
from simkit.meta.names import Key
from simkit.snapshot.resources import DEFINITIONS

INSTANT: Final = 1e-6
"""Seconds before a write at which it has not happened."""
_BINDINGS: Final = (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)


def permission_changes(timeline: Timeline, moment: Callable[[float], Moment]) -> Iterator[tuple[float, int, int]]:
    """Each moment at which roles or bindings are known anew, with the permissions that subjects gained and lost.

    Notes
    -----
    O(bindings of the subjects of what was written) for each moment, within the time that the log covers.
    """
    touched: dict[float, set[Key]] = {}
    for key, points in timeline.points.items():
        if key.resource in RBAC:
            for point in points:
                touched.setdefault(point.time, set()).add(key)
    index, previous = AccessIndex(), None
    for time in sorted(touched):
        if previous is None or not timeline.holds_all_between(previous, time):
            index = index_of(moment(time - INSTANT).certain).fork()
        previous, keys = time, touched[time]
        states = {key: timeline.state(key, time) for key in keys}
        subjects = {*_subjects(index, keys, {key: timeline.state(key, time - INSTANT) for key in keys})}
        subjects |= {*_subjects(index, keys, states)}
        before = [grant for one in subjects for grant in index.grants_of_subject(one)]
        for key, state in states.items():
            index.remove(key) if state is None or state is UNKNOWN else index.put(key, state)
        rows = changed_grants(before, (grant for one in subjects for grant in index.grants_of_subject(one)))
        gained = sum(row[0] == "gained" for row in rows)
        yield time, gained, len(rows) - gained


def _subjects(index: AccessIndex, keys: Iterable[Key], states: Mapping[Key, State]) -> Iterator[Subject]:
    """The subjects whose grants depend on objects."""
    for key in keys:
        state = states[key]
        if key.resource not in _BINDINGS:
            yield from (normalize_subject(one) for binding in index.bindings_of(key) for one in binding.subjects)
        elif state is not None and state is not UNKNOWN:
            yield from map(normalize_subject, Binding.of(key, state).subjects)


def about_identity(timeline: Timeline, identity: Identity) -> Timeline:
    """A timeline without the roles and bindings on which no decision about an identity depends.

    Bindings are kept that name it at some time, or whose content is not known at some time, with their roles.
    """
    kept, roles = set[Key](), set[Key]()
    for key, points in timeline.points.items():
        if key.resource in _BINDINGS:
            states = [state for point in points for state in (point.before, point.after)]
            bound = [Binding.of(key, state) for state in states if state is not None and state is not UNKNOWN]
            if UNKNOWN in states or any(one.names(identity.user, identity.groups) for one in bound):
                kept.add(key)
                roles.update(one.role for one in bound)
    kept |= roles
    narrowed = {key: found for key, found in timeline.points.items() if key.resource not in RBAC or key in kept}
    return replace(timeline, points=narrowed, _times={})


def state_for(timeline: Timeline, identity: Identity, time: float) -> Hashable:
    """What decisions about an identity depend on at a moment: they are the same where this is the same."""
    objects = {key: timeline.state(key, time) for key in timeline.points if key.resource in (*RBAC, DEFINITIONS)}
    found = {(key, id(state)) for key, state in objects.items() if state is UNKNOWN or key.resource == DEFINITIONS}
    for key, state in objects.items():
        if key.resource in _BINDINGS and state is not None and state is not UNKNOWN:
            binding = Binding.of(key, state)
            if binding.names(identity.user, identity.groups):
                found |= {(key, id(state)), (binding.role, id(objects.get(binding.role)))}
    complete = tuple(timeline.is_complete(resource, time) for resource in RBAC)
    return frozenset(found), complete, timeline.is_covered(time)
