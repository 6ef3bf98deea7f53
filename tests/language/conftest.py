"""The rules of 1.30, where a test of a room does not say at which release it asks."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _at_1_30(at_1_30: None) -> None:
    pass
