"""The CPU time of reading input from outside."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from simkit.meta.python_gc import collection_paused

LINEAR = 3.2
"""More than the noise of a linear price, less than a quadratic one."""
_ATTEMPTS = 6
_ROUNDS = 5
_LEAST = 0.002
"""Seconds below which a price is noise."""


def price(act: Callable[[], Any]) -> float:
    """The median of the CPU seconds that something takes."""
    taken = []
    with collection_paused():
        for _ in range(_ROUNDS):
            start = time.process_time()
            act()
            taken.append(time.process_time() - start)
    return max(statistics.median(taken), _LEAST)


def quick_price(act: Callable[[], Any]) -> float:
    """The least of the CPU seconds that something takes, tried a few times: for what is dear to measure often."""
    taken = []
    with collection_paused():
        for _ in range(3):
            start = time.process_time()
            act()
            taken.append(time.process_time() - start)
    return max(min(taken), _LEAST)


def growth(read: Callable[[Any], Any], make: Callable[[int], Any], size: int) -> float:
    """The factor by which twice the input costs more: about 2 for a linear price, 4 for a quadratic one.

    A busy machine makes one of the two dearer now and then, but not six times in a row: the least of up to six
    measurements counts.
    """
    small, large = make(size), make(2 * size)
    found = float("inf")
    for _ in range(_ATTEMPTS):
        found = min(found, price(lambda: read(large)) / price(lambda: read(small)))
        if found < LINEAR:
            break
    return found


def growth_of_fresh(act: Callable[[Any], Any], make: Callable[[int], Any], size: int) -> float:
    """The same for what can be done only once with what was made, such as to bring a cluster to rest."""

    def taken(count: int) -> float:
        made = make(count)
        with collection_paused():
            start = time.process_time()
            act(made)
            return max(time.process_time() - start, _LEAST)

    found = float("inf")
    for _ in range(_ATTEMPTS):
        found = min(found, taken(2 * size) / taken(size))
        if found < LINEAR:
            break
    return found
