"""Work in the thread of an event loop that is paused while it waits for something, and lets the loop go on.

The engine's code is synchronous: who writes into a store gets the result of the call. Where that store is a service
outside, such a call would need a thread for each request, and threads of Python get into each other's way. So a step
that an event loop runs (see ``simkit.engine.http.loop_turns``) may be paused instead.

A step that is paused must hold no lock: the next step in the same thread could take it again, or wait for it forever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")


class Waitable(Protocol):
    """Something that one waits for, and that any thread may set."""

    def set(self) -> object:
        """Let who waits go on."""
        ...

    def wait(self, timeout: float) -> bool:
        """Wait until it is set, at most some seconds; True if it is."""
        ...


class PausedStep(Protocol):
    """A step that may be paused."""

    shared: MutableMapping[object, Any]
    """Values that the steps of one event loop share."""
    kept: int
    """The number of contexts of ``unpaused`` that it has entered."""

    def result_of(self, awaitable: Awaitable[T]) -> T:
        """The result of an awaitable, for which the step is paused. Raises what the awaitable raises."""
        ...

    def event(self) -> Waitable:
        """A new event, for which the step is paused."""
        ...


STEP: Final[ContextVar[PausedStep | None]] = ContextVar("simkit-paused-step", default=None)
"""The step whose code runs now; None outside of steps."""


def pausable_step() -> PausedStep | None:
    """The step that the caller belongs to, if it may be paused now."""
    step = STEP.get()
    return None if step is None or step.kept else step


@contextmanager
def unpaused() -> Iterator[None]:
    """A context in which a step is not paused: what it waits for keeps its event loop from others."""
    step = STEP.get()
    if step is None:
        yield
        return
    step.kept += 1
    try:
        yield
    finally:
        step.kept -= 1
