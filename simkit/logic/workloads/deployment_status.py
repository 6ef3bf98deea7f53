"""The status and the conditions of a Deployment.

pkg/controller/deployment/progress.go and sync.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.rollout import may_lack, wanted_replicas
from simkit.logic.workloads.status_conditions import Condition, find
from simkit.meta.clock import moment, timestamp
from simkit.meta.objects import Object, at, metadata

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
    if is_complete(deployment, counts):
        text = f"{what} has successfully progressed."
        return set_condition(conditions, "Progressing", True, "NewReplicaSetAvailable", text, now)
    if _advances(deployment, counts):
        text = f"{what} is progressing."
        return set_condition(conditions, "Progressing", True, "ReplicaSetUpdated", text, now, renew=True)
    if present is None and new is not None:
        text = f'Found new replica set "{metadata(new)["name"]}"'
        return set_condition(conditions, "Progressing", True, "FoundNewReplicaSet", text, now)
    deadline = deadline_of(deployment, conditions)
    if deadline is not None and deadline <= now:
        text = f"{what} has timed out progressing."
        return set_condition(conditions, "Progressing", False, _LATE, text, now)
    return conditions


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
