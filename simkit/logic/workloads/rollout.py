"""The sizes of a Deployment's replica sets during a rollout, its status and its conditions.

pkg/controller/deployment, util/deployment_util.go, rolling.go, sync.go and progress.go, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.pods import by_age, integer_or_percent
from simkit.logic.workloads.status_conditions import Condition, find
from simkit.meta.clock import moment, timestamp
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


_ENDLESS: Final = 2**31 - 1
_PAUSED: Final = "DeploymentPaused"
_LATE: Final = "ProgressDeadlineExceeded"


def status_of(
    deployment: Object, sets: Sequence[Object], new: Object | None, now: float, *, rolling: bool
) -> dict[str, Any]:
    """The status of a deployment with these replica sets; progress is judged only while it is ``rolling``."""
    counts = _counts(deployment, sets, new)
    conditions = [dict(each) for each in at(deployment, "status", "conditions") or ()]
    enough = counts["availableReplicas"] >= wanted_replicas(deployment) - may_lack(deployment)
    if enough:
        texts = "MinimumReplicasAvailable", "Deployment has minimum availability."
    else:
        texts = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    conditions = set_condition(conditions, "Available", enough, *texts, now)
    if rolling:
        conditions = _progress(deployment, conditions, counts, new, now)
        conditions = _failures(conditions, sets, new)
    status = {name: number for name, number in counts.items() if number}
    if at(deployment, "status", "collisionCount"):
        status["collisionCount"] = deployment["status"]["collisionCount"]
    return {**status, "conditions": conditions}


def _counts(deployment: Object, sets: Sequence[Object], new: Object | None) -> dict[str, int]:
    def total(name: str) -> int:
        return sum(at(each, "status", name) or 0 for each in sets)

    available = total("availableReplicas")
    return {
        "observedGeneration": metadata(deployment).get("generation") or 0,
        "replicas": total("replicas"),
        "updatedReplicas": (at(new, "status", "replicas") or 0) if new is not None else 0,
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(map(wanted_replicas, sets)) - available),
    }


def set_condition(
    conditions: Sequence[Condition],
    kind: str,
    true: bool | None,
    reason: str,
    message: str,
    now: float,
    *,
    renew: bool = False,
) -> list[dict[str, Any]]:
    """The conditions with one set; unless it is unchanged, it moves to the end (``renew``: always).

    ``true`` is None for what is not known.
    """
    present, status = find(conditions, kind), "Unknown" if true is None else str(true)
    if present is not None and present.get("status") == status and present.get("reason") == reason and not renew:
        return [dict(each) for each in conditions]
    since = timestamp(now)
    if present is not None and present.get("status") == status:
        since = present.get("lastTransitionTime") or since
    made = {
        "type": kind,
        "status": status,
        "lastUpdateTime": timestamp(now),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return [*(dict(each) for each in conditions if each.get("type") != kind), made]


def has_deadline(deployment: Object) -> bool:
    """True if the deployment has a progress deadline."""
    seconds = at(deployment, "spec", "progressDeadlineSeconds")
    return seconds is not None and seconds != _ENDLESS


def pause_conditions(deployment: Object, now: float) -> list[dict[str, Any]] | None:
    """The conditions of a deployment that was paused or resumed; None if they say so already."""
    present = at(deployment, "status", "conditions") or ()
    reason, paused = (find(present, "Progressing") or {}).get("reason"), bool(at(deployment, "spec", "paused"))
    if not has_deadline(deployment) or reason == _LATE or paused == (reason == _PAUSED):
        return None
    word = "paused" if paused else "resumed"
    return set_condition(present, "Progressing", None, f"Deployment{word.title()}", f"Deployment is {word}", now)


def is_complete(deployment: Object, counts: Mapping[str, int]) -> bool:
    """True if all pods are updated, existing and available."""
    wanted = wanted_replicas(deployment)
    same = all(counts.get(name, 0) == wanted for name in ("updatedReplicas", "replicas", "availableReplicas"))
    return same and counts.get("observedGeneration", 0) >= (metadata(deployment).get("generation") or 0)


def _progress(
    deployment: Object, conditions: list[dict[str, Any]], counts: Mapping[str, int], new: Object | None, now: float
) -> list[dict[str, Any]]:
    if not has_deadline(deployment):
        return [each for each in conditions if each.get("type") != "Progressing"]
    present = find(conditions, "Progressing")
    finished = present is not None and present.get("reason") == "NewReplicaSetAvailable"
    if finished and counts["replicas"] == counts["updatedReplicas"]:
        return conditions
    what = (
        f'ReplicaSet "{metadata(new)["name"]}"' if new is not None else f'Deployment "{metadata(deployment)["name"]}"'
    )
    renew = False
    if is_complete(deployment, counts):
        told = True, "NewReplicaSetAvailable", f"{what} has successfully progressed."
    elif _advances(deployment, counts):
        told, renew = (True, "ReplicaSetUpdated", f"{what} is progressing."), True
    elif present is None and new is not None:
        told = True, "FoundNewReplicaSet", f'Found new replica set "{metadata(new)["name"]}"'
    elif (deadline := deadline_of(deployment, conditions)) is not None and deadline <= now:
        told = False, _LATE, f"{what} has timed out progressing."
    else:
        return conditions
    return set_condition(conditions, "Progressing", *told, now, renew=renew)


def deadline_of(deployment: Object, conditions: Sequence[Condition]) -> float | None:
    """The time at which a rollout without progress counts as failed; None if no rollout is in progress."""
    present = find(conditions, "Progressing")
    if present is None or not has_deadline(deployment):
        return None
    if present.get("reason") in ("NewReplicaSetAvailable", _PAUSED, _LATE):
        return None
    return moment(present["lastUpdateTime"]) + float(at(deployment, "spec", "progressDeadlineSeconds"))


def _advances(deployment: Object, counts: Mapping[str, int]) -> bool:
    before: Mapping[str, Any] = deployment.get("status") or {}

    def more(name: str) -> bool:
        return counts[name] > (before.get(name) or 0)

    old_before = (before.get("replicas") or 0) - (before.get("updatedReplicas") or 0)
    fewer_old = counts["replicas"] - counts["updatedReplicas"] < old_before
    return more("updatedReplicas") or fewer_old or more("readyReplicas") or more("availableReplicas")


def _failures(conditions: list[dict[str, Any]], sets: Sequence[Object], new: Object | None) -> list[dict[str, Any]]:
    kept = [each for each in conditions if each.get("type") != "ReplicaFailure"]
    present = find(conditions, "ReplicaFailure") or {}
    for each in ([new] if new is not None else []) + list(sets):
        failed = find(at(each, "status", "conditions"), "ReplicaFailure")
        if failed is not None:
            known = all(failed.get(name) == present.get(name) for name in ("status", "reason"))
            return conditions if known else [*kept, {**failed, "lastUpdateTime": failed.get("lastTransitionTime")}]
    return kept
