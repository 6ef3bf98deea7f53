"""Conversions of deployments, daemon sets, stateful sets and replica sets: older versions have more defaults.

Follows ``pkg/apis/apps/v1beta1/conversion.go``, ``pkg/apis/apps/v1beta2/conversion.go`` and
``pkg/apis/apps/v1beta1/defaults.go``, release 1.30.
"""

from __future__ import annotations

from typing import Any, Final

from simkit.kinds.conversions.family import (
    SAME_FIELDS,
    ConversionError,
    Family,
    Spoke,
    Step,
    annotate,
    default,
    entries,
    peek,
    section,
    take_annotation,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import quoted
from simkit.meta.integers import parse_int, saturating_int
from simkit.meta.objects import Draft, annotations_of, copied

ROLLBACK: Final = "deprecated.deployment.rollback.to"
GENERATION: Final = "deprecated.daemonset.template.generation"
UNLIMITED: Final = 2**31 - 1
_OLDEST, _OLD, _NEXT, _HUB = "extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "apps/v1"


def _named_by_template(draft: Draft) -> None:
    """Copy labels and selector from the pod template, if the object has none."""
    spec = section(draft, "spec")
    labels = peek(spec, "template", "metadata").get("labels")
    if not labels:
        return
    if spec.get("selector") is None:
        spec["selector"] = {"matchLabels": dict(labels)}
    metadata = section(draft, "metadata")
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _on_delete(draft: Draft) -> None:
    """Set the update strategy OnDelete by default."""
    _named_by_template(draft)
    default(section(draft, "spec", "updateStrategy"), "type", "OnDelete")


def _fill(part: Draft, values: dict[str, Any]) -> None:
    for name, value in values.items():
        default(part, name, copied(value))


# Deployments


def _deployment_defaults(bound: int | str, deadline: int, history: int) -> Step:
    def apply(draft: Draft) -> None:
        _named_by_template(draft)
        spec = section(draft, "spec")
        _fill(spec, {"progressDeadlineSeconds": deadline, "revisionHistoryLimit": history})
        strategy = section(spec, "strategy")
        default(strategy, "type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            _fill(section(strategy, "rollingUpdate"), {"maxUnavailable": bound, "maxSurge": bound})

    return apply


def _number(draft: Draft, key: str) -> int | None:
    """The number in an annotation. Raises ConversionError if it is none, as kube-apiserver does."""
    text = annotations_of(draft).get(key)
    if text is None:
        return None
    number = parse_int(text)
    if number is None:
        error = "invalid syntax" if saturating_int(text) is None else "value out of range"
        why = f"strconv.ParseInt: parsing {quoted(text)}: {error}"
        raise ConversionError(f"failed to parse annotation[{key}]={text} as int64: {why}")
    return number


def _check_rollback(draft: Draft) -> None:
    _number(draft, ROLLBACK)


def _rollback_to_hub(draft: Draft) -> None:
    wanted = peek(draft, "spec").pop("rollbackTo", None)
    if wanted is not None:
        annotate(draft, ROLLBACK, str(wanted.get("revision") or 0))


def _rollback_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    revision = _number(draft, ROLLBACK)
    if revision is not None:
        take_annotation(draft, ROLLBACK)
        section(draft, "spec")["rollbackTo"] = {"revision": revision} if revision else {}


# Daemon sets


def _generation_to_hub(draft: Draft) -> None:
    annotate(draft, GENERATION, str(peek(draft, "spec").pop("templateGeneration", 0) or 0))


def _generation_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    generation = _number(draft, GENERATION)
    take_annotation(draft, GENERATION)
    if generation:
        section(draft, "spec")["templateGeneration"] = generation


def _check_generation(draft: Draft) -> None:
    annotate(draft, GENERATION, str(_number(draft, GENERATION) or 0))


# Stateful sets


def _typed_claims(draft: Draft) -> None:
    """Set kind and apiVersion of claims in a template."""
    for claim in entries(peek(draft, "spec"), "volumeClaimTemplates"):
        _fill(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"})


FAMILIES: Final = {
    "Deployment": Family(
        "Deployment",
        _HUB,
        {
            _OLDEST: Spoke(_rollback_to_hub, _rollback_from_hub, _deployment_defaults(1, UNLIMITED, UNLIMITED)),
            _OLD: Spoke(_rollback_to_hub, _rollback_from_hub, _deployment_defaults("25%", 600, 2)),
            _NEXT: Spoke(_check_rollback),
        },
        Spoke(_check_rollback),
    ),
    "DaemonSet": Family(
        "DaemonSet",
        _HUB,
        {
            _OLDEST: Spoke(_generation_to_hub, _generation_from_hub, _on_delete),
            _NEXT: Spoke(_check_generation),
        },
        Spoke(_check_generation),
    ),
    "StatefulSet": Family(
        "StatefulSet",
        _HUB,
        {_OLD: Spoke(_typed_claims, default=_on_delete), _NEXT: Spoke(_typed_claims)},
        Spoke(_typed_claims),
    ),
    "ReplicaSet": Family("ReplicaSet", _HUB, {_OLDEST: Spoke(default=_named_by_template), _NEXT: SAME_FIELDS}),
}
