"""Thresholds of what has to be free on a node, and what was observed there.

Upstream: pkg/kubelet/eviction/helpers.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from simkit.meta.quantity import Quantity, parse
from simkit.simulation.kubelet.eviction_settings import PROCESS_NUMBERS, SIGNALS, percentage
from simkit.simulation.scheduler.resource_amounts import MEMORY, STORAGE, ResourceAmounts

PIDS: Final = "pids"
CONDITIONS: Final[Mapping[str, str]] = {
    MEMORY: "MemoryPressure",
    STORAGE: "DiskPressure",
    PIDS: "PIDPressure",
}
"""The condition of a node that has too little of a resource."""


class Threshold(NamedTuple):
    """The amount of a resource that has to be free.

    Attributes
    ----------
    text
        A quantity, or a percentage of the capacity.
    """

    resource: str
    text: str

    def amount(self, capacity: int) -> int:
        """The amount in whole units.

        Examples
        --------
        >>> Threshold("memory", "100Mi").amount(0), Threshold("pids", "5%").amount(1000)
        (104857600, 50)
        """
        share = percentage(self.text)
        return parse(self.text).whole if share is None else int(capacity * share)


class Met(NamedTuple):
    """A threshold that is met: its amount, and what is available."""

    resource: str
    amount: int
    available: int

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
    return str(Quantity(amount * 10**9, "DecimalSI" if resource == PIDS else "BinarySI"))


def thresholds(given: Mapping[str, str]) -> list[Threshold]:
    """The thresholds that a kubelet is given, with those of memory first, as they are told of."""
    found = [Threshold(SIGNALS[signal], text) for signal, text in given.items()]
    return sorted(found, key=lambda each: each.resource != MEMORY)


def capacities(told: Mapping[str, str]) -> ResourceAmounts:
    """The amounts that a node has of the resources that are watched; nothing is known of the disk of some."""
    found = {name: parse(str(told[name])).whole for name in (MEMORY, STORAGE) if told.get(name)}
    return {**found, PIDS: PROCESS_NUMBERS}


def met(given: Iterable[Threshold], capacity: ResourceAmounts, used: ResourceAmounts) -> list[Met]:
    """The thresholds that are met."""
    found = []
    for each in given:
        if each.resource in capacity:
            most = capacity[each.resource]
            amount, available = each.amount(most), max(0, most - used.get(each.resource, 0))
            if available < amount:
                found.append(Met(each.resource, amount, available))
    return found
