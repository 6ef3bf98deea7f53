"""The cheapest set that meets all sets, against every subset tried."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.analysis.escalation.cut.hitting_set import cheapest_hitting_set

ELEMENTS = "abcdefg"


def naive(sets: list[frozenset[str]], weights: dict[str, int]) -> int:
    """The least weight of any subset that meets all sets."""
    subsets = (some for size in range(len(ELEMENTS) + 1) for some in combinations(ELEMENTS, size))
    return min(sum(weights[one] for one in some) for some in subsets if all(set(some) & wanted for wanted in sets))


@settings(max_examples=150)
@given(
    st.lists(st.frozensets(st.sampled_from(ELEMENTS), min_size=1, max_size=4), max_size=9),
    st.fixed_dictionaries({one: st.integers(1, 9) for one in ELEMENTS}),
)
def test_no_cheaper_set_exists(sets: list[frozenset[str]], weights: dict[str, int]) -> None:
    """The found set meets all, and costs what the best of all subsets costs."""
    found, exact = cheapest_hitting_set(sets, weights)
    assert exact
    assert all(found & wanted for wanted in sets)
    assert sum(weights[one] for one in found) == naive(sets, weights)


def test_elements_that_cannot_be_taken_are_left() -> None:
    """A set without any element of a weight is not met; the others are."""
    found, exact = cheapest_hitting_set([{"a"}, {"b", "x"}], {"b": 1.0})
    assert (found, exact) == (frozenset({"b"}), True)
