"""Processes at the other end of a connection: one that exec starts, and one that attach finds.

Upstream: k8s.io/kubelet/pkg/cri/streaming, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simkit.meta.clock import Clock, SimulatedClock
from simkit.simulation.kubelet.process import SLICE, Process

_FOREVER = 1e11


class ExecProcess:
    """A process of its own beside that of the container. On a simulated clock its pauses take no time."""

    runs_by_itself = False

    def __init__(self, process: Process, clock: Clock, failure: str = "") -> None:
        self._process, self._clock, self.failure = process, clock, failure
        self._skipped = 0.0

    def _now(self) -> float:
        return self._clock.now() + self._skipped

    @property
    def exit_code(self) -> int | None:
        ended = self._process.ended
        return ended[1] if ended is not None and not self._process.printed else None

    def feed(self, data: bytes) -> None:
        self._process.feed(data, self._now())

    def end_input(self) -> None:
        self._process.end_input(self._now())

    def end_file(self) -> None:
        """End the input of what reads at the moment."""
        self._process.end_file(self._now())

    def interrupt(self) -> None:
        """End what it does at the moment."""
        self._process.interrupt(self._now())

    def poll(self) -> Sequence[tuple[str, bytes]]:
        due = self._process.next_time
        if due is not None and due < _FOREVER and isinstance(self._clock, SimulatedClock):
            self._skipped = max(self._skipped, due - self._clock.now())
        self._process.advance(self._now(), within=SLICE)
        return [(each.stream, each.data) for each in self._process.take()]

    def pause(self) -> float | None:
        due = self._process.next_time
        return None if due is None or due > _FOREVER else max(0.0, due - self._now())

    def on_change(self, callback: Callable[[], None]) -> None:
        """Ignore the callback: the one who drives the process polls it."""


class AttachedProcess(ExecProcess):
    """The process of a container, from now on. Its output is told by whoever runs it.

    ``once`` says that its input ends when the first client that sent some has no more.
    """

    runs_by_itself = True

    def __init__(self, process: Process, clock: Clock, *, once: bool) -> None:
        super().__init__(process, clock)
        self._once, self._seen = once, process.dropped + len(process.printed)

    @property
    def exit_code(self) -> int | None:
        ended = self._process.ended
        done = self._seen >= self._process.dropped + len(self._process.printed)
        return 0 if ended is not None and done else None

    def end_input(self) -> None:
        if self._once:
            super().end_input()

    def poll(self) -> Sequence[tuple[str, bytes]]:
        self._process.advance(self._now(), within=SLICE)
        fresh = self._process.printed[max(0, self._seen - self._process.dropped) :]
        self._seen = self._process.dropped + len(self._process.printed)
        return [(each.stream, each.data) for each in fresh]

    def on_change(self, callback: Callable[[], None]) -> None:
        self._process.listen(callback)
