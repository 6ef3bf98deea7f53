"""The release at which examples and tests of parts are asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.doctest import DoctestItem

from simkit.meta.behaviour import serving
from simkit.schema.behaviour import default_behaviour


@pytest.fixture(autouse=True)
def _examples_at_1_30(request: pytest.FixtureRequest) -> None:
    """The rules of 1.30 hold in examples of functions that are asked within a request."""
    if isinstance(request.node, DoctestItem):
        request.getfixturevalue("at_1_30")


@pytest.fixture
def at_1_30() -> Iterator[None]:
    """The rules of 1.30 hold, for tests of parts that are asked within a request."""
    with serving(default_behaviour("1.30")):
        yield
