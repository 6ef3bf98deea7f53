"""LimitRanger applies the defaults and bounds of LimitRanges to pods and claims.

Upstream: plugin/pkg/admission/limitranger, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.client.resources import CLAIMS, PODS
from simkit.engine.admission.plugin_attributes import (
    LIMIT_RANGES,
    WRITES,
    StoreHandler,
    admission_forbidden,
    with_spec,
    written,
)
from simkit.kinds.parts.pod.qos import pod_limits, pod_requests
from simkit.meta.deadline import checked
from simkit.meta.domain import label
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.objects import Object, annotations_of, at, metadata, with_metadata
from simkit.meta.podspec import NON_EPHEMERAL
from simkit.meta.quantity import NANO, Quantity
from simkit.meta.resource_list import ResourceList, resource_list_of
from simkit.seams import Review

_NOTE: Final = label("limit-ranger")
_POD_LEVEL: Final = ("cpu", "memory")
"""Resources that may be set for a pod as a whole."""
_LARGEST_MILLI: Final = (2**63 - 1) // 1000


class LimitRanger(StoreHandler, operations=WRITES, resources={PODS, CLAIMS}):
    """Admits new pods, and new and updated claims."""

    def _ranges(self, review: Review) -> Iterator[Sequence[Object]]:
        """The limits of each range that apply to the write."""
        going = review.old is not None and metadata(review.old).get("deletionTimestamp")
        if review.subresource or going or (review.resource == PODS and review.operation == "UPDATE"):
            return
        for entry in checked(self._store.scan(LIMIT_RANGES, review.namespace)):
            yield at(entry.object, "spec", "limits") or ()

    def mutate(self, review: Review) -> Object:
        """A pod with default requests and limits."""
        obj = written(review)
        if review.resource == PODS:
            for limits in self._ranges(review):
                obj = _defaulted(obj, limits)
        return obj

    def validate(self, review: Review) -> None:
        """Raises 403 with all violations of the first range that is exceeded."""
        for limits in self._ranges(review):
            problems = _pod_problems(written(review), limits) if review.resource == PODS else ()
            if review.resource == CLAIMS:
                problems = list(_claim_problems(written(review), limits))
            told = aggregate_errors(problems)
            if told:
                raise admission_forbidden(review, told)


def _defaulted(pod: Object, limits: Sequence[Object]) -> Object:
    requests: dict[str, str] = {}
    maxima: dict[str, str] = {}
    for limit in limits:
        if limit.get("type") == "Container":
            requests |= limit.get("defaultRequest") or {}
            maxima |= limit.get("default") or {}
    notes: list[str] = []
    changed: dict[str, Any] = {}
    for field, word in zip(NON_EPHEMERAL, ("container", "init container")):
        present = at(pod, "spec", field)
        if present:
            changed[field] = [_filled(each, requests, maxima, word, notes) for each in present]
    if not notes:
        return pod
    annotations = {**annotations_of(pod), _NOTE: f"LimitRanger plugin set: {'; '.join(notes)}"}
    return with_spec(with_metadata(pod, annotations=annotations), **changed)


def _filled(
    container: Mapping[str, Any], requests: Mapping[str, str], limits: Mapping[str, str], word: str, notes: list[str]
) -> Mapping[str, Any]:
    resources = dict(container.get("resources") or {})
    for part, field, defaults in (("request", "requests", requests), ("limit", "limits", limits)):
        present = resources.get(field) or {}
        missing = {name: value for name, value in defaults.items() if name not in present}
        if missing:
            resources[field] = {**present, **missing}
            notes.append(f"{', '.join(sorted(missing))} {part} for {word} {container['name']}")
    return {**container, "resources": resources}


def _claim_problems(claim: Object, limits: Sequence[Object]) -> Iterator[str]:
    requests = resource_list_of(at(claim, "spec", "resources", "requests"))
    for limit in limits:
        kind = limit.get("type", "")
        if kind == "PersistentVolumeClaim":
            for name, bound in resource_list_of(limit.get("min")).items():
                yield from _below(kind, name, bound, requests, {})
            for name, bound in resource_list_of(limit.get("max")).items():
                yield from _request_above(kind, name, bound, requests)


def _pod_problems(pod: Object, limits: Sequence[Object]) -> list[str]:
    problems: list[str] = []
    for limit in limits:
        kind = limit.get("type", "")
        if kind == "Container":
            for field in NON_EPHEMERAL:
                for container in at(pod, "spec", field) or ():
                    resources = container.get("resources") or {}
                    requests, maxima = (
                        resource_list_of(resources.get("requests")),
                        resource_list_of(resources.get("limits")),
                    )
                    problems += _problems(kind, limit, requests, maxima)
        elif kind == "Pod":
            problems += _problems(kind, limit, _of_pod(pod, "requests"), _of_pod(pod, "limits"))
    return problems


def _of_pod(pod: Object, side: str) -> ResourceList:
    """The requests or limits of a whole pod: what is set for the pod itself counts before those of its containers."""
    whole = resource_list_of(at(pod, "spec", "resources", side))
    own = {name: amount for name, amount in whole.items() if name in _POD_LEVEL}
    return {**(pod_requests(pod) if side == "requests" else pod_limits(pod)), **own}


def _problems(kind: str, limit: Object, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    for name, bound in resource_list_of(limit.get("min")).items():
        yield from _below(kind, name, bound, requests, limits)
    for name, bound in resource_list_of(limit.get("max")).items():
        yield from _above(kind, name, bound, requests, limits)
    for name, bound in resource_list_of(limit.get("maxLimitRequestRatio")).items():
        yield from _ratio(kind, name, bound, requests, limits)


def _below(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    request, limit, start = requests.get(name), limits.get(name), f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{start}.  No request is specified"
    elif request.nano < bound.nano:
        yield f"{start}, but request is {request}"
    elif limit is not None and limit.nano < bound.nano:
        yield f"{start}, but limit is {limit}"


def _above(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    request, limit, start = requests.get(name), limits.get(name), f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        yield f"{start}.  No limit is specified"
    elif limit.nano > bound.nano:
        yield f"{start}, but limit is {limit}"
    elif request is not None and request.nano > bound.nano:
        yield f"{start}, but request is {request}"


def _request_above(kind: str, name: str, bound: Quantity, requests: ResourceList) -> Iterator[str]:
    request, start = requests.get(name), f"maximum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{start}.  No request is specified"
    elif request.nano > bound.nano:
        yield f"{start}, but request is {request}"


def _ratio(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or not request.nano:
        yield f"{start}, but no request is specified or request is 0"
    elif limit is None or not limit.nano:
        yield f"{start}, but no limit is specified or limit is 0"
    else:
        ratio = limit.nano / request.nano
        most = bound.nano / NANO if bound.whole <= _LARGEST_MILLI else float(bound.whole)
        if ratio > most:
            yield f"{start}, but provided ratio is {ratio:.6f}"
