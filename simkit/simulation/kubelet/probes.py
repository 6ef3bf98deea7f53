"""Probes of containers: when they are tried, each try, and what follows from their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from simkit.client.lister import uid_of
from simkit.meta.objects import Object

# The times at which probes of containers are tried, and what follows from their results.
# Upstream: pkg/kubelet/prober/{prober,worker}.go, release 1.30. The first try is not put off by chance.

STARTUP, LIVENESS, READINESS = "startupProbe", "livenessProbe", "readinessProbe"
_PERIOD: Final = 10
_FAILURES: Final = 3


class Outcome(NamedTuple):
    """The result of one try."""

    passed: bool
    message: str = ""
    constant: bool = False
    """True if later tries have the same result, so that none is needed."""


class Verdict(NamedTuple):
    """The state of a probe after a look."""

    passed: bool
    due: float | None = None
    """The time of the next try."""
    told: str | None = None
    """The message of a try that has just failed, for the first ones in a row."""
    gives_up: bool = False
    """True if it has just failed too often in a row."""


@dataclass(slots=True)
class _Worker:
    """One probe of one container."""

    restarts: int
    due: float | None
    passed: bool
    last: bool | None = None
    streak: int = 0
    """The number of equal results in a row."""

    def take(self, outcome: Outcome, probe: Mapping[str, Any], kind: str, now: float) -> Verdict:
        self.streak = self.streak + 1 if self.last == outcome.passed else 1
        self.last = outcome.passed
        threshold = (probe.get("successThreshold") or 1) if outcome.passed else _most_failures(probe)
        reached = self.streak >= threshold
        if reached:
            self.passed = outcome.passed
        over = outcome.passed and reached and (outcome.constant or kind == STARTUP)
        self.due = None if over else now + float(probe.get("periodSeconds") or _PERIOD)
        told = outcome.message if not outcome.passed and self.streak <= threshold else None
        return Verdict(self.passed, self.due, told, reached and not outcome.passed)


class Probes:
    """The probes of all containers of a cluster.

    Examples
    --------
    >>> probes, pod = Probes(), {"metadata": {"uid": "1"}}
    >>> container = {"name": "main", "readinessProbe": {"successThreshold": 2, "periodSeconds": 5}}
    >>> probes.due(pod, container, READINESS, 0, 100.0, known=False)
    100.0
    >>> probes.take(pod, container, READINESS, Outcome(True), 100.0)
    Verdict(passed=False, due=105.0, told=None, gives_up=False)
    >>> probes.take(pod, container, READINESS, Outcome(True), 105.0).passed
    True
    """

    def __init__(self) -> None:
        self._workers: dict[str, dict[tuple[str, str], _Worker]] = {}

    def due(
        self, pod: Object, container: Mapping[str, Any], kind: str, restarts: int, started: float, *, known: bool
    ) -> float | None:
        """The time of the next try. ``known`` is the result before the first one."""
        own, key = self._workers.setdefault(uid_of(pod), {}), (str(container.get("name", "")), kind)
        worker = own.get(key)
        if worker is None or worker.restarts != restarts:
            delay = float(container[kind].get("initialDelaySeconds") or 0)
            worker = own[key] = _Worker(restarts, started + delay, known)
        return worker.due

    def passed(self, pod: Object, container: Mapping[str, Any], kind: str) -> bool:
        """The result of a probe so far."""
        return self._worker(pod, container, kind).passed

    def take(self, pod: Object, container: Mapping[str, Any], kind: str, outcome: Outcome, now: float) -> Verdict:
        """Take in the result of a try."""
        return self._worker(pod, container, kind).take(outcome, container[kind], kind, now)

    def _worker(self, pod: Object, container: Mapping[str, Any], kind: str) -> _Worker:
        return self._workers[uid_of(pod)][str(container.get("name", "")), kind]

    def forget(self, pod: Object) -> None:
        """Forget a pod that is gone."""
        self._workers.pop(uid_of(pod), None)

    def resume_from(self, other: Probes) -> None:
        """Know the results that another one's have, for a fork."""
        self._workers = {
            uid: {key: replace(worker) for key, worker in own.items()} for uid, own in other._workers.items()
        }


def _most_failures(probe: Mapping[str, Any]) -> int:
    return int(probe.get("failureThreshold") or _FAILURES)
