"""Addresses of pods, given out by node."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_network

from simkit.meta.errors import SimkitError


class PodAddresses:
    """The addresses of one node's range, the next free one after the last that was given out."""

    def __init__(self, cidr: str, taken: Iterable[str] = ()) -> None:
        network = ip_network(cidr)
        self._first, self._count = network.network_address + 1, max(1, network.num_addresses - 2)
        self._next = 0
        self._held: dict[str, str] = {}
        """Addresses by uid."""
        self._taken = set(taken)

    def fork(self) -> PodAddresses:
        """An independent copy."""
        copy = PodAddresses.__new__(PodAddresses)
        copy._first, copy._count, copy._next = self._first, self._count, self._next
        copy._held, copy._taken = dict(self._held), set(self._taken)
        return copy

    def of(self, uid: str, known: str = "") -> str:
        """The address of a pod, the one that it has already or a free one. Raises SimkitError where none is free."""
        found = self._held.get(uid)
        if found is None:
            found = known or self._free()
            self._held[uid] = found
            self._taken.add(found)
        return found

    def _free(self) -> str:
        for _ in range(self._count):
            found = str(self._first + self._next)
            self._next = (self._next + 1) % self._count
            if found not in self._taken:
                return found
        raise SimkitError("the node has no address left for a pod")

    def release(self, uid: str) -> None:
        """Let the address of a pod be given out again."""
        address = self._held.pop(uid, None)
        if address is not None:
            self._taken.discard(address)
