"""The sizes of a Deployment's replica sets during a rollout.

pkg/controller/deployment/util/deployment_util.go, rolling.go and sync.go, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.pods import by_age, integer_or_percent
from simkit.meta.domain import LAST_APPLIED, label
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = label("revision", "deployment")
DESIRED: Final = label("desired-replicas", "deployment")
MAXIMUM: Final = label("max-replicas", "deployment")
HISTORY: Final = label("revision-history", "deployment")
_LONGEST_HISTORY: Final = 2000
_NOT_COPIED: Final = frozenset({REVISION, DESIRED, MAXIMUM, HISTORY, "deprecated.deployment.rollback.to"})


def wanted_replicas(obj: Object) -> int:
    """The number ``spec.replicas`` of a workload."""
    return at(obj, "spec", "replicas") or 0


def bare_template(obj: Object) -> dict[str, Any]:
    """An object's pod template without the label pod-template-hash."""
    template = at(obj, "spec", "template") or {}
    meta = {name: value for name, value in (template.get("metadata") or {}).items() if name != "creationTimestamp"}
    labels = {name: value for name, value in (meta.get("labels") or {}).items() if name != HASH_LABEL}
    return {**template, "metadata": {**meta, "labels": labels}}


def newest(deployment: Object, sets: Sequence[Object]) -> Object | None:
    """The replica set with the deployment's present template, the oldest if there are several."""
    template = bare_template(deployment)
    return next((each for each in by_age(sets) if bare_template(each) == template), None)


def surge(deployment: Object) -> int:
    """The number of pods that may exist above the desired ones."""
    if at(deployment, "spec", "strategy", "type") != "RollingUpdate":
        return 0
    value = at(deployment, "spec", "strategy", "rollingUpdate", "maxSurge")
    return integer_or_percent(value, wanted_replicas(deployment), up=True)


def may_lack(deployment: Object) -> int:
    """The number of desired pods that may be unavailable."""
    total = wanted_replicas(deployment)
    if at(deployment, "spec", "strategy", "type") != "RollingUpdate" or not total:
        return 0
    value = at(deployment, "spec", "strategy", "rollingUpdate", "maxUnavailable")
    lacking = integer_or_percent(value, total, up=False)
    if not surge(deployment) and not lacking:
        return 1
    return min(lacking, total)


def new_size(deployment: Object, sets: Sequence[Object], new: Object | None) -> int:
    """The number of replicas that the newest set should have."""
    total, present = wanted_replicas(deployment), wanted_replicas(new) if new is not None else 0
    if at(deployment, "spec", "strategy", "type") != "RollingUpdate" or present >= total:
        return total
    room = total + surge(deployment) - sum(map(wanted_replicas, sets))
    return present if room <= 0 else min(total, present + room)


def old_sizes(deployment: Object, new: Object, old: Sequence[Object]) -> dict[str, int]:
    """The number of replicas that old sets should have, by name; unchanged sets are left out.

    Pods that do not serve go first, whatever happens; then as many as the new ones make superfluous.
    """
    floor = wanted_replicas(deployment) - may_lack(deployment)
    alive = sum(map(wanted_replicas, old)) + wanted_replicas(new)
    lacking_new = wanted_replicas(new) - (at(new, "status", "availableReplicas") or 0)
    most = alive - floor - lacking_new
    if most <= 0 or not any(map(wanted_replicas, old)):
        return {}
    sizes = {metadata(each)["name"]: wanted_replicas(each) for each in by_age(old)}
    before = dict(sizes)
    left = most
    for each in by_age(old):
        name = metadata(each)["name"]
        idle = min(left, sizes[name] - (at(each, "status", "availableReplicas") or 0))
        if idle > 0:
            sizes[name] -= idle
            left -= idle
    serving = sum(at(each, "status", "availableReplicas") or 0 for each in (*old, new))
    spare = min(left, serving - floor)
    for name in sizes:
        taken = max(0, min(spare, sizes[name]))
        sizes[name] -= taken
        spare -= taken
    return {name: size for name, size in sizes.items() if size != before[name]}


def shares(deployment: Object, sets: Sequence[Object]) -> dict[str, int]:
    """The sizes of replica sets after a deployment was scaled during a rollout: proportional, the rest to the
    largest; of equal sets the newer grow and the older shrink first."""
    total = sum(map(wanted_replicas, sets))
    to_add = (wanted_replicas(deployment) + surge(deployment) if wanted_replicas(deployment) else 0) - total
    active, added = by_age(list(filter(wanted_replicas, sets))), 0
    if to_add > 0:
        active.reverse()
    active.sort(key=lambda each: -wanted_replicas(each))
    sizes: dict[str, int] = {}
    for each in active:
        part = _share(each, deployment, to_add, added) if to_add else 0
        sizes[metadata(each)["name"]] = wanted_replicas(each) + part
        added += part
    if active and to_add - added:
        first = metadata(active[0])["name"]
        sizes[first] = max(0, sizes[first] + to_add - added)
    return sizes


def _share(each: Object, deployment: Object, to_add: int, added: int) -> int:
    size = wanted_replicas(each)
    most = wanted_replicas(deployment) + surge(deployment)
    annotated = annotations_of(each).get(MAXIMUM, "")
    whole = parse_int(annotated, bits=32) or at(deployment, "status", "replicas") or 1
    part = math.floor(size * most / whole + 0.5) - size if wanted_replicas(deployment) else -size
    allowed = to_add - added
    return min(part, allowed) if to_add > 0 else max(part, allowed)


def is_saturated(deployment: Object, new: Object | None) -> bool:
    """True if the newest set has all replicas of its deployment, all of them available."""
    wanted = wanted_replicas(deployment)
    if new is None or annotations_of(new).get(DESIRED) != str(wanted):
        return False
    return wanted_replicas(new) == wanted == (at(new, "status", "availableReplicas") or 0)


def history_with(new: Object) -> dict[str, str]:
    """The annotation of a set's earlier revisions; the oldest are dropped if it would become too long."""
    past = annotations_of(new).get(REVISION)
    if past is None:
        return {}
    parts = [*filter(None, annotations_of(new).get(HISTORY, "").split(",")), past]
    while len(",".join(parts)) > _LONGEST_HISTORY and len(parts) > 1:
        del parts[0]
    return {HISTORY: ",".join(parts)}


def was_scaled(deployment: Object, sets: Sequence[Object]) -> bool:
    """True if the deployment was scaled since its sets were last resized."""
    desired = str(wanted_replicas(deployment))
    return any(annotations_of(each).get(DESIRED, desired) != desired for each in sets if wanted_replicas(each))


def next_revision(old: Sequence[Object]) -> str:
    """The next revision number: one more than the highest of all sets."""
    return str(max((revision_of(each) for each in old), default=0) + 1)


def revision_of(obj: Object) -> int:
    """The revision number of an object."""
    return parse_int(annotations_of(obj).get(REVISION, "")) or 0


def copied_annotations(deployment: Object) -> dict[str, str]:
    """The annotations that a deployment's sets copy."""
    skipped = _NOT_COPIED | {LAST_APPLIED}
    return {name: value for name, value in annotations_of(deployment).items() if name not in skipped}


def superfluous(deployment: Object, old: Sequence[Object]) -> list[Object]:
    """Old sets beyond the revision history limit."""
    limit = at(deployment, "spec", "revisionHistoryLimit")
    if limit is None:
        return []
    kept = [each for each in old if not metadata(each).get("deletionTimestamp")]
    ordered = sorted(kept, key=lambda each: (revision_of(each), metadata(each).get("creationTimestamp") or ""))
    return [
        each
        for each in ordered[: max(0, len(kept) - limit)]
        if not (at(each, "status", "replicas") or wanted_replicas(each))
        and (metadata(each).get("generation") or 0) <= (at(each, "status", "observedGeneration") or 0)
    ]


def labelled(selector: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A label selector that also requires the pod-template-hash."""
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: name}}


def template_with(deployment: Object, name: str) -> dict[str, Any]:
    """The deployment's template with the pod-template-hash."""
    template = at(deployment, "spec", "template") or {}
    meta = dict(template.get("metadata") or {})
    return {**template, "metadata": {**meta, "labels": {**labels_of(template), HASH_LABEL: name}}}
