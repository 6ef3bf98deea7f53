"""The number of pods that a metric asks for.

Upstream: pkg/controller/podautoscaler/{replica_calculator,metrics/utilization}.go, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import moment
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.meta.quantity import Quantity, parse

TOLERANCE: Final = 0.1
_CPU_INITIALIZATION: Final = 300.0
_INITIAL_READINESS: Final = 30.0
_NANO_PER_MILLI: Final = 10**6


class NoReplicaCount(Exception):
    """A number that cannot be calculated; the text says why."""


class Sample(NamedTuple):
    """The usage of one pod, in thousandths of the resource's unit, measured over a window of seconds."""

    value: int
    time: float
    window: float


class Tolerances(NamedTuple):
    """The share by which usage may be above or below the target before the number of pods changes."""

    up: float = TOLERANCE
    down: float = TOLERANCE

    def covers(self, ratio: float) -> bool:
        """True if usage over target is as good as one."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


_USUAL: Final = Tolerances()


def tolerances_of(behavior: Mapping[str, Any] | None) -> Tolerances:
    """The tolerances that the rules of an autoscaler say, or those of the controller.

    Examples
    --------
    >>> tolerances_of({"scaleUp": {"tolerance": "0.05"}})
    Tolerances(up=0.05, down=0.1)
    """
    told = [at(behavior, field, "tolerance") for field in ("scaleUp", "scaleDown")]
    return Tolerances(*(TOLERANCE if each is None else parse(str(each)).nano / 10**9 for each in told))


class Target(NamedTuple):
    """The wanted average: a share of the requests in percent, or an amount in thousandths."""

    utilization: int | None = None
    average: int | None = None


class Proposal(NamedTuple):
    """A number of pods, with the averages that it was calculated from."""

    replicas: int
    average: int
    utilization: int | None = None


@dataclass(slots=True)
class _Groups:
    """The pods by what is known of them."""

    ready: int
    unready: set[str]
    missing: set[str]
    ignored: set[str]


def milli(text: object) -> int:
    """An amount in thousandths, rounded up.

    Examples
    --------
    >>> milli("0.5"), milli("1Ki")
    (500, 1024000)
    """
    return -(-parse(str(text)).nano // _NANO_PER_MILLI)


def milli_text(amount: int) -> str:
    """An amount in thousandths as a quantity.

    Examples
    --------
    >>> milli_text(1500)
    '1500m'
    """
    return str(Quantity(amount * _NANO_PER_MILLI))


def proposed(
    pods: Sequence[Object],
    samples: Mapping[str, Sample],
    resource: str,
    target: Target,
    *,
    current: int,
    now: float,
    container: str = "",
    tolerances: Tolerances = _USUAL,
) -> Proposal:
    """The number of pods at which their average usage would be as wanted.

    Parameters
    ----------
    pods
        The pods of the scaled object.
    samples
        Their usage, by name.
    resource
        ``cpu``, ``memory`` or another one.
    current
        The present number of replicas.
    container
        The container that is meant; all if empty.
    tolerances
        How far usage may be from the target before the number changes.

    Raises
    ------
    NoReplicaCount
        Where nothing was measured, or a container that counts requests nothing.
    """
    if not pods:
        raise NoReplicaCount("no pods returned by selector while calculating replica count")
    groups = _grouped(pods, samples, resource, now)
    counted = {name: each.value for name, each in samples.items() if name not in groups.ignored | groups.unready}
    if not counted:
        raise NoReplicaCount("did not receive metrics for targeted pods (pods might be unready)")
    usage = _Usage(target, _requests(pods, resource, container) if target.utilization is not None else {})
    ratio, average, share = usage.ratio(counted)
    with_unready = bool(groups.unready) and ratio > 1.0
    if not with_unready and not groups.missing:
        wanted = current if tolerances.covers(ratio) else math.ceil(ratio * groups.ready)
        return Proposal(wanted, average, share)
    if ratio != 1.0:
        counted |= {name: usage.assumed(name) if ratio < 1.0 else 0 for name in groups.missing}
    if with_unready:
        counted |= dict.fromkeys(groups.unready, 0)
    return Proposal(_careful(usage.ratio(counted)[0], ratio, len(counted), current, tolerances), average, share)


def _careful(ratio: float, before: float, pods: int, current: int, tolerances: Tolerances) -> int:
    """The number with assumptions about pods of which nothing is known; it never turns the direction."""
    if tolerances.covers(ratio) or (before < 1.0 < ratio) or (before > 1.0 > ratio):
        return current
    wanted = math.ceil(ratio * pods)
    turned = (ratio < 1.0 and wanted > current) or (ratio > 1.0 and wanted < current)
    return current if turned else wanted


class _Usage:
    """The comparison of usage with a target."""

    def __init__(self, target: Target, requests: Mapping[str, int]) -> None:
        self._target, self._requests = target, requests

    def ratio(self, values: Mapping[str, int]) -> tuple[float, int, int | None]:
        """Usage over target, the average in thousandths, and the share of the requests in percent."""
        if self._target.utilization is None:
            average = sum(values.values()) // len(values)
            return average / (self._target.average or 1), average, None
        known = {name: value for name, value in values.items() if name in self._requests}
        requested = sum(self._requests[name] for name in known)
        if not requested:
            raise NoReplicaCount("no metrics returned matched known pods")
        share = sum(known.values()) * 100 // requested
        return share / self._target.utilization, sum(known.values()) // len(known), share

    def assumed(self, name: str) -> int:
        """The usage of a pod that nothing is known of, where the others ask for fewer pods."""
        if self._target.utilization is None:
            return self._target.average or 0
        return self._requests.get(name, 0) * max(100, self._target.utilization) // 100


def _grouped(pods: Sequence[Object], samples: Mapping[str, Sample], resource: str, now: float) -> _Groups:
    found = _Groups(0, set(), set(), set())
    for pod in pods:
        name, phase = name_of(pod), at(pod, "status", "phase")
        if metadata(pod).get("deletionTimestamp") or phase == "Failed":
            found.ignored.add(name)
        elif phase == "Pending":
            found.unready.add(name)
        elif name not in samples:
            found.missing.add(name)
        elif resource == "cpu" and _is_starting(pod, samples[name], now):
            found.unready.add(name)
        else:
            found.ready += 1
    return found


def _is_starting(pod: Object, sample: Sample, now: float) -> bool:
    """True if the CPU that a pod uses says nothing yet."""
    condition, start = find(at(pod, "status", "conditions"), "Ready"), at(pod, "status", "startTime")
    if condition is None or not start:
        return True
    started, unready = moment(start), condition.get("status") == "False"
    since = moment(condition.get("lastTransitionTime") or start)
    if started + _CPU_INITIALIZATION > now:
        return unready or sample.time < since + sample.window
    return unready and started + _INITIAL_READINESS > since


def _requests(pods: Sequence[Object], resource: str, container: str) -> dict[str, int]:
    found = {}
    for pod in pods:
        total = 0
        for each in _running(pod):
            if container and each.get("name") != container:
                continue
            amount = at(each, "resources", "requests", resource)
            if amount is None:
                raise NoReplicaCount(
                    f"missing request for {resource} in container {each.get('name')} of Pod {name_of(pod)}"
                )
            total += milli(amount)
        found[name_of(pod)] = total
    return found


def _running(pod: Object) -> Iterator[Mapping[str, Any]]:
    """The containers that run all along: sidecars among the init containers, and the others."""
    yield from at(pod, "spec", "containers") or ()
    yield from (each for each in at(pod, "spec", "initContainers") or () if each.get("restartPolicy") == "Always")
