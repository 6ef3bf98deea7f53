"""Priority levels keep a zero of shares through the version that cannot tell it from nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.kinds.conversions import convert
from simkit.kinds.strategy import strategy_of
from simkit.meta.names import GroupKind
from simkit.meta.objects import Draft
from simkit.schema.behaviour import default_behaviour
from tests.releases import BASE

GROUP = "flowcontrol.apiserver.k8s.io"
OLDER, STORED = f"{GROUP}/v1beta3", f"{GROUP}/v1"
KEY = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
RULES = strategy_of(GroupKind(GROUP, "PriorityLevelConfiguration"))


def level(shares: int | None, notes: dict[str, str] | None = None) -> Draft:
    limited = {"limitResponse": {"type": "Reject"}, **({} if shares is None else {"nominalConcurrencyShares": shares})}
    metadata = {"name": "a", **({"annotations": notes} if notes else {})}
    head = {"apiVersion": STORED, "kind": "PriorityLevelConfiguration"}
    return {**head, "metadata": metadata, "spec": {"type": "Limited", "limited": limited}}


@settings(max_examples=50)
@given(st.integers(0, 50), st.dictionaries(st.sampled_from(["a", KEY]), st.just(""), max_size=2))
def test_there_and_back(shares: int, notes: dict[str, str]) -> None:
    """An object read in the older version and written back is the same, but for the annotation itself."""
    stored = level(shares, notes)
    RULES.default(BASE, stored)
    shown = convert(stored, OLDER, default_behaviour("1.30"))
    back = convert(shown, STORED, default_behaviour("1.30"))
    assert back["spec"] == stored["spec"]
    kept = {key: text for key, text in notes.items() if key != KEY}
    assert (back["metadata"].get("annotations") or {}) == kept


@pytest.mark.parametrize(("notes", "expected"), [({}, 30), ({KEY: ""}, 0)])
def test_zero_written_in_the_older_version(notes: dict[str, str], expected: int) -> None:
    """A zero is nothing, unless the annotation says that it is meant."""
    draft = convert({**level(0, notes), "apiVersion": OLDER}, STORED, default_behaviour("1.30"))
    assert draft["spec"]["limited"]["nominalConcurrencyShares"] == expected


@pytest.mark.parametrize(("shares", "expected"), [(None, 30), (0, 0), (7, 7)])
def test_zero_written_in_the_newer_version(shares: int | None, expected: int) -> None:
    """Only what is left out is filled in."""
    draft = level(shares)
    RULES.default(BASE, draft)
    assert draft["spec"]["limited"]["nominalConcurrencyShares"] == expected
