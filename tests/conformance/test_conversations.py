"""Recorded conversations with kube-apiserver are repeated with a server in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.conversation import Outcome, hold, recorded
from tests.conformance.inprocess import serving
from tests.conformance.known import Known, read
from tests.conformance.replay import BUNDLES

KNOWN: Final = read()


@cache
def outcomes(bundle: str, area: str) -> Mapping[str, Sequence[Outcome]]:
    """The comparisons of all answers of an area, by case; one server for the area."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), bundle, area) as server:
        return {case.name: tuple(hold(server, case)) for case in recorded(bundle)[area]}


def known(bundle: str, area: str) -> Known:
    """The known differences of an area."""
    return KNOWN.get(bundle, {}).get(area, Known())


def areas() -> Iterator[tuple[str, str]]:
    """All recordings and their areas."""
    for bundle in BUNDLES:
        yield from ((bundle, area) for area in sorted(recorded(bundle)))


def cases_that_differ() -> Iterator[object]:
    """Each case with known differences, as a test that is expected to fail."""
    for bundle, area in areas():
        entry = known(bundle, area)
        for case in entry.cases:
            mark = pytest.mark.xfail(strict=True, reason=f"{bundle} {area}: {entry.reason}")
            yield pytest.param(bundle, area, case, marks=mark, id=f"{bundle}-{case}")


@pytest.mark.parametrize(("bundle", "area"), [*areas()])
def test_answers_agree_but_for_known_differences(bundle: str, area: str) -> None:
    """Exactly the steps that are known to differ do; ``python -m tests.conformance.replay --raise`` takes agreement in."""
    expected = {(case, step) for case, steps in known(bundle, area).cases.items() for step in steps}
    differing = {
        (case, outcome.step): outcome.differences
        for case, found in outcomes(bundle, area).items()
        for outcome in found
        if outcome.differences
    }
    new = [
        f"{case} step {step}: {text}"
        for (case, step), texts in differing.items()
        for text in texts[:3]
        if (case, step) not in expected
    ]
    assert new == []
    assert expected - differing.keys() == set(), "these agree now: take them out of known.json"


@pytest.mark.parametrize(("bundle", "area", "case"), [*cases_that_differ()])
def test_known_difference(bundle: str, area: str, case: str) -> None:
    """A gap: kube-apiserver answered otherwise."""
    assert [outcome.differences for outcome in outcomes(bundle, area)[case] if outcome.differences] == []
