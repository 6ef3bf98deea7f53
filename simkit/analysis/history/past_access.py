"""Access at a moment: what certainly was allowed, and what may have been."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from simkit.analysis.access.can import AccessDecision, can
from simkit.analysis.findings.audit import audit
from simkit.analysis.findings.check import Finding
from simkit.analysis.findings.suppress import fingerprint
from simkit.analysis.history.timeline import UNKNOWN, Timeline
from simkit.analysis.rbac.objects import RBAC, rbac_object
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLES
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.meta.warning import warnings_heard_by
from simkit.seams.authorization import Authorization
from simkit.seams.caveats import Caveat
from simkit.snapshot.memory import MemorySnapshot

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
            told.append(Caveat("not-covered", "The log does not cover this moment, so other changes are possible."))
        if self.unknown:
            count = f"{len(self.unknown):,} roles and bindings are" if len(self.unknown) > 1 else "1 object is"
            told.append(Caveat("unknown-objects", f"{count} not known at this moment."))
        return tuple(told)


@dataclass(frozen=True, slots=True)
class PastDecision:
    """Whether a subject could do something at a moment.

    ``yes`` and ``no`` are certain; ``unknown`` depends on objects that the log does not tell.
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
    if not moment.covered:
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
