"""Access at a moment, what certainly was allowed and what may have been, and what changes it over time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from simkit.analysis.access.can import AccessDecision, can
from simkit.analysis.access.compare import changed_grants
from simkit.analysis.findings.audit import audit
from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.suppress import fingerprint
from simkit.analysis.history.timeline import UNKNOWN, State, Timeline
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import RBAC, rbac_object
from simkit.analysis.rbac.subject import normalize_subject
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Binding, Subject
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.identity import Identity
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.meta.warning import warnings_heard_by
from simkit.seams.authorization import Authorization
from simkit.seams.caveats import Caveat
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.resources import DEFINITIONS

Verdict = Literal["yes", "no", "unknown"]
ANY: Final = "(not captured)"
"""The name that stands for all objects of a resource that no dump tells of."""
_ANY: Final = "simkit:unknown"
"""The role that stands for one whose rules are not known."""
_RULES: Final = {
    "rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
}


@dataclass(frozen=True, slots=True)
class Moment:
    """A cluster at one moment.

    Attributes
    ----------
    time
        In seconds since the epoch.
    certain
        The objects that certainly existed as they are.
    possible
        The same with everything that unknown roles and bindings may have granted.
    unknown
        The objects of which it is not known how they were, or whether they existed.
    covered
        False at a moment that is neither that of a dump nor within the log.
    """

    time: float
    certain: MemorySnapshot
    possible: MemorySnapshot
    unknown: tuple[Key, ...]
    covered: bool

    @property
    def objects(self) -> list[Object]:
        """The objects that certainly existed, from which ``simkit.load`` makes a cluster of that time."""
        return [obj for resource in sorted(self.certain.captured()) for obj in self.certain.scan(resource)]

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """The limits of answers about the moment."""
        told = []
        if not self.covered:
            told.append(Caveat("not-covered", "No dump and no audit log covers this moment, so it is unknown."))
        if self.unknown:
            count = f"{len(self.unknown):,} roles and bindings are" if len(self.unknown) > 1 else "1 object is"
            told.append(Caveat("unknown-objects", f"{count} not known at this moment."))
        return tuple(told)


@dataclass(frozen=True, slots=True)
class PastDecision:
    """Whether a subject could do something at a moment.

    ``yes`` and ``no`` are certain; ``unknown`` depends on objects that the log does not tell, or on statements of a
    provider that may or may not count.
    """

    verdict: Verdict
    decision: AccessDecision
    moment: Moment


def moment_of(timeline: Timeline, time: float, release: str, authorization: Authorization) -> Moment:
    """The cluster at a moment, with these authorizers."""
    certain: list[Object] = []
    unknown: list[Key] = []
    for key in timeline.points:
        state = timeline.state(key, time)
        if state is UNKNOWN:
            unknown.append(key)
        elif state is not None:
            certain.append(state)
    captured = {*RBAC, *(resource for dump in timeline.dumps for resource in dump.captured)}
    known = captured - {key.resource for key in unknown if key.resource not in RBAC}
    missing = [Key(resource, "", ANY) for resource in RBAC if not timeline.is_complete(resource, time)]
    of_access = (*missing, *(key for key in unknown if key.resource in RBAC))
    possible = [*certain, *_stand_ins(of_access)]
    return Moment(
        time,
        MemorySnapshot(certain, release, known, authorization=authorization),
        MemorySnapshot(possible, release, captured, authorization=authorization),
        of_access,
        timeline.is_covered(time),
    )


def decided(moment: Moment, subject: Any, verb: str, resource: str, **asked: Any) -> PastDecision:
    """The decision of a moment about one request."""
    sure = can(moment.certain, subject, verb, resource, **asked)
    if not moment.covered or sure.unknown:
        return PastDecision("unknown", sure, moment)
    if sure.allowed:
        return PastDecision("yes", sure, moment)
    with warnings_heard_by(lambda _: None):  # they were told of what is certain
        perhaps = bool(moment.unknown) and can(moment.possible, subject, verb, resource, **asked).allowed
    return PastDecision("unknown" if perhaps else "no", sure, moment)


def held(moment: Moment, finding: Finding) -> Verdict:
    """Whether a finding of an audit held at a moment.

    What is not known may add a grant or take one away, so both clusters have to say the same, and an object that the
    finding names has to be known.
    """
    named = {key for key in (finding.binding, finding.role) if key is not None}
    if not moment.covered or named & set(moment.unknown):
        return "unknown"
    snapshots = (moment.certain, moment.possible) if moment.unknown else (moment.certain,)
    marks = [set(map(fingerprint, audit(one, checks=[finding.check]).findings)) for one in snapshots]
    found = {fingerprint(finding) in some for some in marks}
    return "unknown" if len(found) > 1 else "yes" if found == {True} else "no"


def _stand_ins(unknown: Iterable[Key]) -> Iterator[Object]:
    """Objects that grant the most that unknown ones can: roles with all rules, bindings of everybody."""
    everybody = [
        {"kind": "Group", "apiGroup": RBAC_GROUP, "name": f"system:{name}"}
        for name in ("authenticated", "unauthenticated")
    ]
    yield rbac_object(Key(CLUSTER_ROLES, "", _ANY), _RULES)
    for key in unknown:
        if key.resource in (ROLES, CLUSTER_ROLES) and key.name != ANY:
            yield rbac_object(key, _RULES)
        else:
            place = Key(CLUSTER_ROLE_BINDINGS, "", _ANY) if key.name == ANY else key
            reference = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": _ANY}
            yield rbac_object(place, {"roleRef": reference, "subjects": everybody})


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
