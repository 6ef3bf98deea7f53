"""Who is lost when steps are barred and ends are gone, against a search from nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simkit.analysis.plan.open_paths import Reach, Steps

PLACES = 9
places = st.integers(0, PLACES - 1)


def reaching(steps: list[tuple[int, int]], ends: set[int]) -> set[int]:
    """All places from which an end can be reached, found the plain way."""
    found = set(ends)
    while True:
        more = {source for source, target in steps if target in found} - found
        if not more:
            return found
        found |= more


@given(st.lists(st.tuples(places, places), max_size=30), st.sets(places, max_size=4), st.data())
def test_lost_places_are_those_that_a_search_misses(
    steps: list[tuple[int, int]], ends: set[int], data: st.DataObject
) -> None:
    """For any steps that are barred and any ends that are gone, asked twice about one graph."""
    graph = Steps(PLACES)
    numbers = [graph.add(source, target) for source, target in steps]
    some = st.sets(st.sampled_from(numbers)) if numbers else st.just(set[int]())
    never = data.draw(some, label="never taken")
    reach = Reach(graph, ends, never)

    def without(barred: set[int]) -> list[tuple[int, int]]:
        return [step for number, step in zip(numbers, steps, strict=True) if number not in barred | never]

    found = reaching(without(set()), ends)
    assert {place for place in range(PLACES) if place in reach} == found
    for _ in range(2):
        barred, gone = data.draw(some, label="barred"), data.draw(st.sets(places), label="gone")
        assert reach.lost(barred, gone) == found - reaching(without(barred), ends - gone)
