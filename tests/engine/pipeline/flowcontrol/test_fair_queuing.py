"""Queues of several flows: what waits comes out fairly, and nothing is lost."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.engine.pipeline.flowcontrol.priority_level import FairQueues

OFFERS = st.lists(st.tuples(st.sampled_from(["ann", "bob", "eve"]), st.integers(1, 5)), max_size=40)


@given(OFFERS, st.integers(1, 16), st.integers(1, 4))
def test_every_request_is_dispatched_once(offers: list[tuple[str, int]], queues: int, hand: int) -> None:
    """Whatever was taken in comes out once, in the order of its flow where that has one queue."""
    waiting = FairQueues[tuple[str, int]](queues, 1 if hand > queues else hand, 10)
    taken = [
        (flow, number) for number, (flow, seats) in enumerate(offers) if waiting.offer(flow, (flow, number), seats)
    ]
    assert len(waiting) == len(taken)
    found = [waiting.take() for _ in range(len(waiting))]
    assert sorted(found) == sorted(taken)
    assert waiting.first() is None
    with pytest.raises(LookupError):
        waiting.take()


def two_flows() -> tuple[FairQueues[str], str]:
    """Queues, and a flow whose queue is another than ann's."""
    waiting = FairQueues[str](16, 1, 100)
    other = next(name for name in map(str, range(99)) if waiting.dealt(name) != waiting.dealt("ann"))
    return waiting, other


def test_turns_are_taken() -> None:
    """A flow that sends ten times as much gets no more turns than another, as long as both have something."""
    waiting, other = two_flows()
    for _ in range(50):
        waiting.offer("ann", "ann")
    for _ in range(5):
        waiting.offer(other, other)
    assert Counter(waiting.take() for _ in range(10)) == {"ann": 5, other: 5}


def test_wide_requests_count_more() -> None:
    """Turns are measured in seats: lists of four seats come a quarter as often."""
    waiting, other = two_flows()
    for _ in range(20):
        waiting.offer("ann", "ann", 4)
        waiting.offer(other, other, 1)
    counted = Counter(waiting.take() for _ in range(15))
    assert counted[other] == 4 * counted["ann"]


def test_a_full_queue() -> None:
    """A flow that fills its hand is refused; others are not."""
    waiting, other = two_flows()
    assert sum(waiting.offer("ann", "x") for _ in range(150)) == 100
    assert waiting.offer(other, "y")


def test_requests_whose_client_goes_away() -> None:
    """A request that is given up leaves its place; to give up twice does nothing."""
    waiting = FairQueues[list[int]](4, 2, 10)
    first, second = [1], [1]
    waiting.offer("ann", first)
    waiting.offer("ann", second)
    waiting.discard(first)
    waiting.discard(first)
    assert len(waiting) == 1
    assert waiting.take() is second


@given(st.text(max_size=20), st.integers(1, 128), st.integers(1, 10))
def test_hands(flow: str, queues: int, hand: int) -> None:
    """A hand holds as many different queues as asked for, or all there are."""
    dealt = FairQueues[str](queues, hand, 1).dealt(flow)
    assert len(set(dealt)) == len(dealt) == min(hand, queues)
    assert all(0 <= each < queues for each in dealt)
