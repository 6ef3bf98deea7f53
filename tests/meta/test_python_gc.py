"""The collector of garbage at rest."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from simkit.meta.python_gc import (
    Rounds,
    collect_seldom,
    collection_paused,
    collection_rarer,
    freeze_survivors,
    will_pass,
)

ROOT = Path(__file__).parents[2]
_USUAL = gc.get_threshold()


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


def test_rarer_collections_end_with_the_last_block() -> None:
    """Blocks of several threads end in any order: the settings of before come back with the last one."""
    first, second = collection_rarer(), collection_rarer()
    first.__enter__()
    rarer = gc.get_threshold()
    second.__enter__()
    first.__exit__(None, None, None)
    assert rarer[2] > _USUAL[2]
    assert gc.get_threshold() == rarer
    second.__exit__(None, None, None)
    assert gc.get_threshold() == _USUAL


@pytest.fixture
def seldom() -> Iterator[None]:
    """The settings of a server process, for one test."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.callbacks.remove(freeze_survivors)
        gc.unfreeze()
        gc.set_threshold(*before)


@pytest.mark.usefixtures("seldom")
def test_seldom_collecting_leaves_what_is_there() -> None:
    """A server's process looks at young objects only, and less often; the collector stays on."""
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    own = gc.get_threshold()
    assert own[0] > _USUAL[0]
    with collection_rarer():
        assert gc.get_threshold() == own


def much_that_stays() -> None:
    """However much a server makes and keeps, the garbage collector holds it for a few milliseconds at once."""
    collect_seldom()
    examined = list[int]()

    def look(phase: str, info: Mapping[str, int]) -> None:
        if phase == "start":
            examined.append(sum(len(gc.get_objects(number)) for number in range(info["generation"] + 1)))

    gc.callbacks.append(look)
    many = [[number] for number in range(200_000)]
    gc.callbacks.remove(look)
    assert len(many) == 200_000
    assert len(examined) > 20
    assert max(examined) < 40_000


class _Circle:
    """Something that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def new_garbage() -> None:
    """New garbage in circles is freed at once; kept objects are searched when memory has grown."""
    collect_seldom()
    rounds = Rounds(lambda: 0.0, lambda: 0.0)
    young = weakref.ref(_Circle())
    assert not rounds.round()
    assert young() is None
    old = _Circle()
    gc.collect()
    assert not rounds.round()
    gone = weakref.ref(old)
    del old
    gc.collect()
    assert not rounds.round()
    assert gone() is not None
    many = grown(0.3)
    assert rounds.round()
    assert gone() is None
    assert many


def grown(part: float) -> list[list[int]]:
    """Objects that make memory grow by a part of it, and have survived a collection of young ones."""
    made = [list[int]() for _ in range(round(sys.getallocatedblocks() * part))]
    gc.collect(1)
    return made


def nothing_to_find() -> None:
    """Objects that are all in use are not searched again until memory has grown by more and more."""
    collect_seldom()
    rounds = Rounds(lambda: 0.0, lambda: 0.0)
    kept = [grown(0.2)]
    assert not rounds.round()
    kept += [grown(0.1)]
    assert rounds.round()
    kept += [grown(0.3)]
    assert not rounds.round()
    kept += [grown(0.3)]
    assert rounds.round()
    kept += [grown(0.8)]
    assert not rounds.round()
    kept += [grown(0.3)]
    assert rounds.round()


def something_to_find() -> None:
    """After garbage was found, a little more memory is a reason to search again."""
    collect_seldom()
    rounds = Rounds(lambda: 0.0, lambda: 0.0)
    made = [_Circle() for _ in range(sys.getallocatedblocks() // 3)]
    gc.collect()
    made.clear()
    assert rounds.round()
    kept = [grown(0.05)]
    assert not rounds.round()
    kept += [grown(0.05)]
    assert rounds.round()


def long_examination() -> None:
    """After an examination of a tenth of a second the next one waits for half a minute, or until memory has doubled."""
    collect_seldom()
    moments, spent = iter([0.0, 0.0, 0.5, 29.0, 31.0, 31.5, 32.0, 32.5]), iter([7.0, 7.1, 8.0, 9.0, 9.1, 10.0, 10.1])
    rounds = Rounds(lambda: next(moments), lambda: next(spent))
    kept = [grown(0.3)]
    assert rounds.round()
    kept += [grown(0.6)]
    assert not rounds.round()
    kept += [[[]]]
    gc.collect(1)
    assert rounds.round()
    kept += [grown(1.2)]
    assert rounds.round()


def much_to_do() -> None:
    """A process that computes all the time is not held by an examination before its memory has doubled."""
    collect_seldom()
    moments, used = iter([0.0, 20.0, 40.0, 40.0, 60.0, 80.0, 80.0]), iter([0.0, 19.0, 38.0, 57.0, 58.0])
    rounds = Rounds(lambda: next(moments), lambda: 0.0, lambda: next(used), allowed=0)
    kept = [grown(0.3)]
    assert not rounds.round()
    kept += [grown(0.7)]
    assert rounds.round()
    kept += [grown(0.7)]
    assert not rounds.round()
    kept += [[[]]]
    gc.collect(1)
    assert rounds.round()
    assert kept


def put_off() -> None:
    """Whoever has much to do for long is held by an examination after five minutes."""
    collect_seldom()
    clock, found = 0.0, list[bool]()
    rounds = Rounds(lambda: clock, lambda: 0.0, lambda: clock)
    kept = [grown(0.3)]
    for _ in range(17):
        clock += 20
        kept += [[[]]]
        gc.collect(1)
        found.append(rounds.round())
    assert found.index(True) == 15


def what_will_pass() -> None:
    """Garbage in circles that was in use while the collector looked is freed with the next look, if it was announced."""
    collect_seldom()
    passing = _Circle()
    will_pass(passing)
    gc.collect()
    gone = weakref.ref(passing)
    del passing
    gc.collect()
    assert gone() is None
    usual = _Circle()
    gc.collect()
    stays = weakref.ref(usual)
    del usual
    gc.collect()
    assert stays() is not None
    passing = _Circle()
    will_pass(passing)
    frozen = gc.get_freeze_count()
    many = [[number] for number in range(150_000)]
    gc.collect()
    assert gc.get_freeze_count() - frozen > len(many) / 2


def what_did_not_pass() -> None:
    """Objects that should have passed, and were in use when so much else survived, are searched before memory grew."""
    collect_seldom()
    rounds = Rounds(lambda: 0.0, lambda: 0.0)
    gone = list[weakref.ref[_Circle]]()
    for _ in range(8):
        assert not rounds.round()
        passing = _Circle()
        will_pass(passing)
        gc.freeze()
        gone.append(weakref.ref(passing))
        del passing
        gc.collect(1)
    assert all(each() for each in gone)
    assert rounds.round()
    assert not any(each() for each in gone)


def a_fork() -> None:
    """What a fork was made of goes soon after its use, though the collector looked meanwhile."""
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.options import Options

    cluster = Cluster(options=Options(seed=1))
    collect_seldom()
    with cluster.what_if() as trial:
        engine = weakref.ref(trial.engine)
        gc.collect()
        gc.collect()
    del trial
    gc.collect()
    assert engine() is None


@pytest.mark.parametrize(
    "scene",
    [
        much_that_stays,
        new_garbage,
        nothing_to_find,
        something_to_find,
        long_examination,
        much_to_do,
        put_off,
        what_will_pass,
        what_did_not_pass,
        a_fork,
    ],
)
def test_rounds_in_a_process_of_their_own(scene: Callable[[], None]) -> None:
    """They look at all objects of the process, of which a process with many tests has millions."""
    run = f"from tests.meta.test_python_gc import {scene.__name__}; {scene.__name__}()"
    subprocess.run([sys.executable, "-c", run], cwd=ROOT, check=True)
