"""The collector of garbage at rest."""

from __future__ import annotations

import gc

import pytest

from simkit.meta.collector import resting_collector


def test_is_on_again_after_an_error() -> None:
    """What goes wrong within the block does not leave the collector off."""
    with pytest.raises(ValueError, match="wrong"), resting_collector():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_stays_off_where_it_was_off() -> None:
    """Blocks within blocks, and programs that run without the collector, keep it off."""
    with resting_collector():
        with resting_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
