"""Answers about all requests are those that asking for each request gives."""

from __future__ import annotations

from simkit.analysis import no_new_access
from tests.analysis.prove.random_pairs import new_request, random_pair

PAIRS = range(40)


def wrong_answers(seeds: range) -> list[int]:
    """The seeds of pairs for which the answer and the comparison of all requests differ."""
    wrong = []
    for seed in seeds:
        before, after = random_pair(seed)
        expected = "PASS" if new_request(before, after) is None else "FAIL"
        if no_new_access(before, after).verdict != expected:
            wrong.append(seed)
    return wrong


def test_no_answer_about_random_pairs_is_wrong() -> None:
    """PASS exactly if no request of anybody is allowed after and was not before."""
    assert wrong_answers(PAIRS) == []
