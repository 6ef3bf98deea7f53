"""Settings of Python's garbage collector."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from simkit.meta.python_gc import collection_paused

ROOT = Path(__file__).parents[2]
SERVER = """
import gc, weakref
import simkit
from simkit.meta.python_gc import collect_seldom

cluster = simkit.Cluster(seed=1)
collect_seldom()
with cluster.what_if() as trial:
    engine = weakref.ref(trial.engine)
del trial
gc.collect()
assert engine() is None
assert gc.get_freeze_count() > 10_000
"""


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


@pytest.mark.slow
def test_a_server_examines_what_it_made_alone() -> None:
    """A fork that nobody uses is found; what the start made is not looked at."""
    subprocess.run([sys.executable, "-c", SERVER], cwd=ROOT, check=True)


@pytest.mark.parametrize(("arguments", "frozen"), [("", True), ("['releases']", False)])
def test_a_command_that_ends_its_process_leaves_no_search_for_garbage(arguments: str, frozen: bool) -> None:
    """What is left is looked at no more, unless a program goes on after the command."""
    command = (
        f"import gc; from simkit.cli import main; main({arguments}); assert bool(gc.get_freeze_count()) is {frozen}"
    )
    subprocess.run([sys.executable, "-c", command, "releases"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
