"""Thresholds of what has to be free on a node, and what was observed there.

Upstream: pkg/kubelet/eviction/helpers.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from simkit.meta.quantity import Quantity, parse
from simkit.simulation.kubelet.eviction_settings import INODES, PROCESS_NUMBERS, SIGNALS, EvictionSettings, percentage
from simkit.simulation.scheduler.resource_amounts import MEMORY, STORAGE, ResourceAmounts

PIDS: Final = "pids"
FILES: Final = "inodes"
CONDITIONS: Final[Mapping[str, str]] = {
    MEMORY: "MemoryPressure",
    STORAGE: "DiskPressure",
    FILES: "DiskPressure",
    PIDS: "PIDPressure",
}
"""The condition of a node that has too little of a resource."""


class Threshold(NamedTuple):
    """The amount of a resource that has to be free.

    Attributes
    ----------
    text
        A quantity, or a percentage of the capacity.
    grace
        The seconds for which less has to be free before pods are evicted; 0 for a hard threshold.
    reclaim
        The amount that has to be free besides once pods were evicted for it, or an empty text.
    """

    resource: str
    text: str
    grace: float = 0.0
    reclaim: str = ""

    def amount(self, capacity: int, *, reclaiming: bool = False) -> int:
        """The amount in whole units.

        Examples
        --------
        >>> Threshold("memory", "100Mi").amount(0), Threshold("pids", "5%").amount(1000)
        (104857600, 50)
        """
        return _amount(self.text, capacity) + (_amount(self.reclaim, capacity) if reclaiming and self.reclaim else 0)


def _amount(text: str, capacity: int) -> int:
    share = percentage(text)
    return parse(text).whole if share is None else int(capacity * share)


class Met(NamedTuple):
    """A threshold that is met: its amount, and what is available."""

    threshold: Threshold
    amount: int
    available: int

    @property
    def resource(self) -> str:
        """The resource that is short."""
        return self.threshold.resource

    @property
    def text(self) -> str:
        """The sentence of messages."""
        least, left = shown(self.resource, self.amount), shown(self.resource, self.available)
        return f"Threshold quantity: {least}, available: {left}. "


def shown(resource: str, amount: int) -> str:
    """An amount as messages show it: bytes with binary suffixes.

    Examples
    --------
    >>> shown("memory", 3 * 1024 * 1024), shown("pids", 2000)
    ('3Mi', '2k')
    """
    return str(Quantity(amount * 10**9, "DecimalSI" if resource in (PIDS, FILES) else "BinarySI"))


def thresholds(given: EvictionSettings) -> list[Threshold]:
    """The thresholds that a kubelet is given, with those of memory first, as they are told of."""
    hard = [Threshold(SIGNALS[signal], text, 0.0, given.reclaim.get(signal, "")) for signal, text in given.hard.items()]
    soft = [
        Threshold(SIGNALS[signal], text, given.grace.get(signal, 0.0), given.reclaim.get(signal, ""))
        for signal, text in given.soft.items()
    ]
    return sorted([*hard, *soft], key=lambda each: each.resource != MEMORY)


def capacities(told: Mapping[str, str]) -> ResourceAmounts:
    """The amounts that a node has of the resources that are watched; nothing is known of the disk of some."""
    found = {name: parse(str(told[name])).whole for name in (MEMORY, STORAGE) if told.get(name)}
    return {**found, PIDS: PROCESS_NUMBERS, **({FILES: INODES} if STORAGE in found else {})}


def met(
    given: Iterable[Threshold], capacity: ResourceAmounts, used: ResourceAmounts, *, reclaiming: bool = False
) -> list[Met]:
    """The thresholds that are met; with ``reclaiming`` as long as there is not free what is to be reclaimed."""
    found = []
    for each in given:
        if each.resource in capacity:
            most = capacity[each.resource]
            available = max(0, most - used.get(each.resource, 0))
            if available < each.amount(most, reclaiming=reclaiming):
                found.append(Met(each, each.amount(most), available))
    return found
