"""Some seconds of fuzzing without a coverage guide: random bytes for every target, the same ones in each run of CI."""

from __future__ import annotations

import time
from random import Random

import pytest

from tests.fuzz.targets import TARGETS, read

pytestmark = pytest.mark.slow

SECONDS = 1.0
"""CPU time for each target: a quarter of a minute for all."""
MOST = 200


@pytest.mark.parametrize("name", TARGETS)
def test_random_bytes(name: str) -> None:
    """Whatever the bytes are, the reader takes or refuses them."""
    chance = Random(name)
    read(name, b"")
    end = time.process_time() + SECONDS
    for _ in range(MOST):
        read(name, chance.randbytes(chance.randrange(1, 160)))
        if time.process_time() > end:
            break
