"""The limits within which an autoscaler follows its metrics: bounds, rates, and the memory of recent recommendations.

Upstream: pkg/controller/podautoscaler/horizontal.go, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

_DOWNSCALE_WINDOW: Final = 300.0
_UP_FACTOR, _UP_LEAST = 2.0, 4
"""Without rules a target at most doubles, or grows to four."""


class Told(NamedTuple):
    """The status, reason and message of a condition."""

    status: bool
    reason: str
    message: str


class Limited(NamedTuple):
    """The number of replicas that is set, and what the conditions AbleToScale and ScalingLimited say."""

    replicas: int
    able: Told
    limited: Told


_READY: Final = Told(True, "ReadyForNewScale", "recommended size matches current size")
_HIGHER: Final = "recent recommendations were higher than current one, applying the highest recent recommendation"
_LOWER: Final = "recent recommendations were lower than current one, applying the lowest recent recommendation"


@dataclass(slots=True)
class History:
    """The recommendations and changes of one autoscaler, with their times."""

    recommended: list[tuple[float, int]] = field(default_factory=list)
    grown: list[tuple[float, int]] = field(default_factory=list)
    shrunk: list[tuple[float, int]] = field(default_factory=list)

    def copy(self) -> History:
        """An independent copy."""
        return History(list(self.recommended), list(self.grown), list(self.shrunk))

    def scaled(self, spec: Mapping[str, Any], before: int, after: int, now: float) -> None:
        """Remember a change, for as long as rules look back."""
        rules = spec.get("behavior") or {}
        changes, side = (self.grown, "scaleUp") if after > before else (self.shrunk, "scaleDown")
        longest = max(
            (each.get("periodSeconds", 0) for each in (rules.get(side) or {}).get("policies") or ()), default=0
        )
        changes[:] = [each for each in changes if each[0] > now - longest]
        if rules:
            changes.append((now, abs(after - before)))

    def limited(self, spec: Mapping[str, Any], current: int, wanted: int, least: int, now: float) -> Limited:
        """The number of replicas that the rules of an autoscaler allow."""
        rules = spec.get("behavior")
        most = int(spec.get("maxReplicas") or 0)
        stable = self._stable(rules, current, wanted, now)
        if stable == wanted:
            able = _READY
        elif rules is not None and wanted >= current:
            able = Told(True, "ScaleUpStabilized", _LOWER)
        else:
            able = Told(True, "ScaleDownStabilized", _HIGHER)
        if rules is None:
            found, reason, message = _within(stable, least, most, max(int(_UP_FACTOR * current), _UP_LEAST), 0)
        else:
            found, reason, message = self._within_rates(rules, current, stable, least, most, now)
        return Limited(found, able, Told(found != stable, reason, message))

    def _stable(self, rules: Mapping[str, Any] | None, current: int, wanted: int, now: float) -> int:
        """The recommendation between the recent ones."""
        down, up = _DOWNSCALE_WINDOW, 0.0
        if rules is not None:
            down, up = (_window(rules, side, default) for side, default in (("scaleDown", down), ("scaleUp", up)))
        known = self.recommended
        lowest = min([wanted, *(count for when, count in known if when > now - up)])
        highest = max([wanted, *(count for when, count in known if when > now - down)])
        self.recommended = [each for each in known if each[0] > now - max(up, down)] + [(now, wanted)]
        if rules is None:
            return highest
        return min(max(current, lowest), highest)

    def _within_rates(
        self, rules: Mapping[str, Any], current: int, wanted: int, least: int, most: int, now: float
    ) -> tuple[int, str, str]:
        if wanted > current:
            limit = max(current, self._rate(rules.get("scaleUp") or {}, current, now, 1))
            return _within(wanted, 0, most, limit, 0)
        if wanted < current:
            limit = min(current, self._rate(rules.get("scaleDown") or {}, current, now, -1))
            return _within(wanted, least, math.inf, math.inf, limit)
        return _within(wanted, wanted, wanted, wanted, wanted)

    def _rate(self, rules: Mapping[str, Any], current: int, now: float, sign: int) -> int:
        """The farthest number of replicas that the policies of one direction allow."""
        policy = rules.get("selectPolicy") or "Max"
        if policy == "Disabled":
            return current
        found = []
        for each in rules.get("policies") or ():
            since = now - each.get("periodSeconds", 0)
            start = current - _sum(self.grown, since) + _sum(self.shrunk, since)
            share = start * (1 + sign * each.get("value", 0) / 100)
            plain = start + sign * each.get("value", 0)
            found.append(plain if each.get("type") == "Pods" else math.ceil(share) if sign > 0 else int(share))
        farthest = (policy != "Min") is (sign > 0)
        return (max if farthest else min)(found) if found else current


def _window(rules: Mapping[str, Any], side: str, default: float) -> float:
    told = (rules.get(side) or {}).get("stabilizationWindowSeconds")
    return default if told is None else float(told)


def _sum(changes: Sequence[tuple[float, int]], since: float) -> int:
    return sum(count for when, count in changes if when > since)


def _within(wanted: int, least: int, most: float, fastest: float, slowest: int) -> tuple[int, str, str]:
    """A number between bounds and rates, with the reason where one of them counts."""
    lower, upper = max(least, slowest), min(most, fastest)
    if wanted < lower:
        if slowest > least:
            text = "the desired replica count is decreasing faster than the maximum scale rate"
            return lower, "ScaleDownLimit", text
        return lower, "TooFewReplicas", "the desired replica count is less than the minimum replica count"
    if wanted > upper:
        if fastest < most:
            text = "the desired replica count is increasing faster than the maximum scale rate"
            return int(upper), "ScaleUpLimit", text
        return int(upper), "TooManyReplicas", "the desired replica count is more than the maximum replica count"
    return wanted, "DesiredWithinRange", "the desired count is within the acceptable range"
