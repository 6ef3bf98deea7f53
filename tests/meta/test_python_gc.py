"""The collector of garbage at rest."""

from __future__ import annotations

import gc
import weakref

import pytest

from simkit.meta.python_gc import Rounds, collect_seldom, collection_paused


def test_is_on_again_after_an_error() -> None:
    """An error within the block does not leave the collector off."""
    with pytest.raises(ValueError, match="wrong"), collection_paused():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_stays_off_where_it_was_off() -> None:
    """Blocks within blocks, and programs that run without the collector, keep it off."""
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_seldom_collecting_leaves_what_is_there() -> None:
    """A server's process looks at young objects only, and less often; the collector stays on."""
    before = gc.get_threshold()
    try:
        collect_seldom()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() > before
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


class _Circle:
    """Something that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_rounds_find_new_garbage() -> None:
    """New garbage in circles is freed at once; kept objects are searched when there is a quarter more of them."""
    before = gc.get_threshold()
    try:
        collect_seldom()
        rounds = Rounds()
        young = weakref.ref(_Circle())
        assert not rounds.round()
        assert young() is None
        old = _Circle()
        gc.collect(1)
        assert not rounds.round()
        gone = weakref.ref(old)
        del old
        gc.collect(1)
        assert not rounds.round()
        assert gone() is not None
        many = [[number] for number in range(gc.get_freeze_count())]
        gc.collect(1)
        assert not rounds.round()  # it keeps them
        gc.collect(1)
        assert rounds.round()
        assert gone() is None
        assert many
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
