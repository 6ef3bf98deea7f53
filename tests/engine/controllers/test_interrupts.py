"""Interrupts of the keyboard, at any step of writes and controllers: what was begun is done when they run again."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import simkit
from simkit.client.work_queue import WorkQueue
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.interrupts import interrupts_held
from simkit.meta.objects import at
from simkit.simulation.kubelet.process import Container
from tests.engine.controllers.worlds import job, names, obj
from tests.simulation.worlds import container, deployment, phase, pod, simulated

WITHIN = 15_000
"""Calls of functions within which an interrupt comes."""


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Tests that a shell has started in the background, as ``make test &``, ignore Ctrl-C otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    """Press Ctrl-C, of which Python learns in the main thread."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def pressed_at(call: int) -> Iterator[None]:
    """Press Ctrl-C at a call of a function in the block, if there are so many."""
    left = call

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        left -= event == "call"
        if left == 0 and event == "call":
            press()

    sys.setprofile(profile)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)


def steps(cluster: simkit.Cluster) -> Iterator[Callable[[], object]]:
    """What somebody does in a notebook, one cell each. Each may be run again."""
    yield lambda: cluster.apply(deployment("a", 2))
    yield lambda: cluster.apply(deployment("b", 2))
    yield lambda: cluster.apply(obj("v1", "Namespace", "x"))
    yield lambda: None if names(cluster, "jobs") else cluster.create(job("j"))
    yield lambda: cluster.apply(deployment("a", 3))
    yield lambda: cluster.delete("deployment", "b") if "b" in names(cluster, "deployments") else None


def world(seed: int | None, nodes: int) -> dict[str, Any]:
    """What is there after all steps, each with its settling interrupted once at random, and a last one in peace."""
    chance = random.Random(seed)
    cluster = simkit.Cluster(options=Options(seed=1, clock=simkit.SimulatedClock()))
    if nodes:
        cluster.add_nodes(nodes)
    cluster.settle()
    for step in steps(cluster):
        with pressed_at(0 if seed is None else chance.randrange(1, WITHIN)):
            step()
            cluster.settle()
        step()
    cluster.settle()
    cluster.advance(10)
    owned = sorted(each["metadata"]["ownerReferences"][0]["kind"] for each in cluster.list("pods"))
    return {
        "replicas": [at(each, "status", "readyReplicas") for each in cluster.list("deployments")],
        "replica sets": len(names(cluster, "replicasets")),
        "accounts": names(cluster, "serviceaccounts", "x"),
        "pods": (owned, sorted(each["status"]["phase"] for each in cluster.list("pods"))),
    }


@pytest.mark.parametrize("nodes", [0, 2])
def test_an_interrupt_at_any_step_loses_no_work(nodes: int) -> None:
    """Whatever is interrupted, the next settling finds it: the cluster comes to the same rest as in peace."""
    wanted = world(None, nodes)
    for seed in range(5):
        assert world(seed, nodes) == wanted, seed


def test_keys_leave_a_queue_when_they_are_done() -> None:
    """Those that an interrupt keeps from being processed are due again, in order; the done ones are not."""
    queue, done = WorkQueue[str]("test", SimulatedClock()), list[str]()

    def reconcile(key: str) -> None:
        if key == "b" and "again" not in done:
            done.append("again")
            raise KeyboardInterrupt
        done.append(key)

    with pytest.raises(KeyboardInterrupt):
        queue.process({"c", "a", "b"}, reconcile)
    assert queue.due() == {"b", "c"}
    queue.process(queue.due(), reconcile)
    assert done == ["a", "again", "b", "c"]
    assert not queue.due()


def test_a_function_of_a_test_is_interrupted_at_once() -> None:
    """A program that never comes back ends, as a failure, and everything else goes on."""
    cluster = simulated(1)

    def hangs(_: Container) -> Generator[Any, Any, Any]:
        yield "before"
        press()
        raise AssertionError("it goes on")

    cluster.behave(image="app:1", program=hangs)
    for name in ("a", "b"):
        cluster.create(pod(name, restartPolicy="Never", image="app:1" if name == "a" else "other:1"))
    with pytest.raises(KeyboardInterrupt):
        cluster.settle()
    cluster.settle()
    assert (phase(cluster, "a"), phase(cluster, "b")) == ("Failed", "Running")
    assert "raised KeyboardInterrupt" in container(cluster, "a")["state"]["terminated"]["message"]


def test_a_second_interrupt_does_not_wait() -> None:
    """What is held may never end."""
    with interrupts_held:
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_held_in_another_thread_does_not_concern_the_main_one() -> None:
    """Interrupts come to the main thread, whatever others write meanwhile."""
    inside, seen = threading.Event(), threading.Event()

    def write() -> None:
        with interrupts_held:
            inside.set()
            seen.wait(10)

    writer = threading.Thread(target=write)
    writer.start()
    inside.wait(10)
    with pytest.raises(KeyboardInterrupt):
        press()
    seen.set()
    writer.join()
