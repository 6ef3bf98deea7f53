"""Uids of the source of names."""

from __future__ import annotations

import random
import uuid

from simkit.meta.clock import NameSource


def test_uids_are_random_uuids() -> None:
    """They are those of the standard library for the same bits."""
    source, bits = NameSource(7), random.Random(7)
    for _ in range(200):
        assert source.uid() == str(uuid.UUID(int=bits.getrandbits(128), version=4))
