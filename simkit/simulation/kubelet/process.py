"""The program of a container: lines that it prints, time that it takes, and its exit code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from simkit.meta.foreign import described, judged_exit_code, judged_seconds, passes, running, shown
from simkit.meta.objects import Object
from simkit.simulation.shell.files import Files
from simkit.simulation.shell.machine import Command, Network, NoNetwork
from simkit.simulation.shell.signals import CODE, Interrupted, Signalled

STDOUT, STDERR = "stdout", "stderr"
_MOST_STEPS: Final = 10_000
"""The most steps of a program without a pause; then it has to wait a second."""
_MOST_PRINTED: Final = 10_000
"""Pieces of output that are kept."""
_MOST_KEPT: Final = 16 << 20
"""Bytes of output that are kept."""
_MOST_UNREAD: Final = 80 << 20
"""Bytes of input that a program need not have read; then it is killed, as for memory."""
_MUCH: Final = 1 << 20
_MOST_TOGETHER: Final = 256 << 20
"""Bytes of input that all programs together need not have read, of those that have more than a megabyte each."""
_HOLDING: Final = WeakSet["Process"]()
_COUNTING: Final = threading.Lock()
_MOST_BESIDE: Final = 256
"""Commands that run on beside one program."""
_AT_ONCE: Final = 1 << 17
"""Bytes of output after which whoever follows a program takes them first."""
SLICE: Final = 0.01
"""Seconds of real time for which a program runs before its output is taken, and others have their turn."""
KILLED: Final = 137
ERROR: Final = 1


class Output(NamedTuple):
    """Text that a program prints."""

    data: str | bytes
    stream: str = STDOUT


def _sends_nothing(name: str) -> bool:
    return False


def _ends(steps: Generator[Step, Any, Any]) -> None:
    steps.close()


@dataclass(frozen=True, slots=True)
class Container:
    """The information for a program about its container."""

    pod: Object
    spec: Object
    restarts: int = 0
    started: float = 0.0
    """The start time, in seconds since the epoch."""
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Files = field(default_factory=Files)
    network: Network = field(default_factory=NoNetwork)
    pid: int = 1
    """The number of the program's process; 1 for the one that the container is started with."""
    signal: Callable[[str], bool] = field(default=_sends_nothing)
    """Sends the first process of the container a signal, by name; gives back whether it runs. ``EXIT`` sends none."""
    leave: Callable[[Generator[Step, Any, Any]], None] = field(default=_ends)
    """Takes the commands in the background that run on after the program."""
    programs: Mapping[str, Command] = field(default_factory=dict)
    """Programs besides those of the built-in shell, by name."""

    @property
    def name(self) -> str:
        """The container's name."""
        return str(self.spec.get("name", ""))


class Input(NamedTuple):
    """A wish of a program for a line of its standard input, or for all there is; it is sent bytes, none at the end."""

    everything: bool = False
    within: float | None = None
    """The seconds after which the wish is over; none are sent then."""


class Now(NamedTuple):
    """A wish of a program for the time; it is sent seconds since the epoch."""


Step = str | float | Output | Input | Now
"""A line that is printed, seconds that pass, or a wish for input."""
Program = Callable[[Container], Generator[Step, Any, Any]]
"""Runs in a container. It yields lines and seconds, and returns its exit code; None is 0."""
Steps = Generator[Step, Any, Any] | int | None
"""The result of a program of a test: a generator, or at once its exit code."""


class Printed(NamedTuple):
    """Output that was printed at once."""

    time: float
    stream: str
    data: bytes


class Process:
    """A program that runs, brought up to the present when somebody looks.

    Examples
    --------
    >>> def program(container):
    ...     yield "ready"
    ...     yield 5.0
    ...     return 3
    >>> process = Process(program(Container({}, {})), 100.0)
    >>> process.advance(101.0)
    >>> process.printed[0].data, process.ended, process.next_time
    (b'ready\\n', None, 105.0)
    >>> process.advance(110.0)
    >>> process.ended
    (105.0, 3)
    """

    def __init__(
        self,
        steps: Generator[Step, Any, Any],
        started: float,
        *,
        takes_input: bool = False,
        what: str = "the program",
    ) -> None:
        self._steps, self._now, self._what = steps, started, what
        self.fault = ""
        """The reason why it failed, if it raised an error or gave what a program must not give; then its code is 1."""
        self._takes_input, self._given = takes_input, bytearray()
        self._lock = threading.RLock()
        """Held by whoever lets the program run: the kubelet, or a connection."""
        self._searched = 0
        """Bytes of the input in which there is no end of a line."""
        self._kept = 0
        self._wish: Input | None = None
        self._deadline: float | None = None
        """The time at which the present wish is over."""
        self._file_ended = False
        self._answer: bytes | float | None = None
        self.printed: list[Printed] = []
        self.dropped = 0
        """The number of early outputs that are no longer kept."""
        self.ended: tuple[float, int] | None = None
        """The time of its end, and its exit code."""
        self.gave_in = False
        """True if a signal has ended it that it did not expect."""
        self.last: float | None = None
        """The time at which it is killed, once it was told to end."""
        self._listeners: list[Callable[[], None]] = []
        self._beside: list[Process] = []

    @property
    def next_time(self) -> float | None:
        """The time of its next step, or of one beside it; None if it has ended or only waits."""
        if self.ended:
            return None
        if not self._beside:
            return self._own_time
        times = (self._own_time, *(each.next_time for each in self._beside))
        return min((each for each in times if each is not None), default=None)

    @property
    def _own_time(self) -> float | None:
        following = self._deadline if self._blocked else self._now
        return following if self.last is None or (following is not None and following < self.last) else self.last

    @property
    def latest(self) -> float:
        """The time that its program has reached."""
        return self._now

    def keep(self, steps: Generator[Step, Any, Any], now: float) -> None:
        """Let commands run on beside it until they end, or it does."""
        if self.ended is None and len(self._beside) < _MOST_BESIDE:
            self._beside.append(Process(steps, now))
        else:
            steps.close()

    def _advance_beside(self, now: float, within: float | None) -> None:
        for each in tuple(self._beside):
            if self.ended is None:
                each.advance(now, within=within)
            else:
                each.kill(self.ended[0], KILLED)
            if each.ended is not None:
                self._beside.remove(each)

    @property
    def _blocked(self) -> bool:
        """True if it waits for input that may still come."""
        return self._wish is not None and self._takes_input and not self._line() and not self._file_ended

    def _line(self) -> int:
        """The number of bytes that fulfil the present wish, which are not taken away yet."""
        if self._wish is None or self._wish.everything:
            return len(self._given)
        end = self._given.find(b"\n", self._searched) + 1
        if not end:
            self._searched = len(self._given)
        return end if end or self._takes_input else len(self._given)

    def feed(self, data: bytes, now: float) -> None:
        """Give it input, and let it go on."""
        with self._lock:
            if self.ended is not None:
                return
            self._given += data
            unread = len(self._given)
            if unread > _MUCH and (unread > _MOST_UNREAD or self._held_with_others() > _MOST_TOGETHER):
                self.kill(now, KILLED)
            self.advance(now, within=SLICE)

    def _held_with_others(self) -> int:
        """The bytes of input that this program and all others that hold much have not read."""
        with _COUNTING:
            _HOLDING.add(self)
            return sum(len(each._given) for each in _HOLDING)

    def end_input(self, now: float) -> None:
        """Tell it that no more input comes."""
        with self._lock:
            self._takes_input = False
            self.advance(now, within=SLICE)

    def end_file(self, now: float) -> None:
        """Tell whoever reads next that no more input comes; those who read later get some again."""
        with self._lock:
            self._file_ended = True
            self.advance(now, within=SLICE)

    def interrupt(self, now: float) -> None:
        """End what it does at the moment."""
        with self._lock:
            if self.ended is None:
                self._given.clear()
                self._searched = 0
                self._throw(Interrupted(), now)

    def signal(self, name: str, now: float) -> None:
        """Send it a signal. A program that knows nothing of signals ends by it."""
        with self._lock:
            if self.ended is None:
                self._throw(Signalled(name), now)

    def terminate(self, now: float, last: float) -> None:
        """Tell it to end, and kill it at the last moment. One that a signal ends by itself counts as killed."""
        with self._lock:
            if self.ended is None and self.last is None:
                self.signal("TERM", now)
                self.last = last
                if self.gave_in:
                    self.ended = (now, KILLED)
                self.advance(now, within=SLICE)

    def _throw(self, problem: Interrupted | Signalled, now: float) -> None:
        """Have it go on now with something that has happened."""
        self._now, self._wish, self._deadline, self._answer = min(self._now, now), None, None, None
        self._go_on(lambda: self._steps.throw(problem))
        self.advance(now, within=SLICE)

    def advance(self, now: float, *, within: float | None = None) -> None:
        """Let it run until the present.

        Parameters
        ----------
        now
            The present, in seconds since the epoch.
        within
            Seconds of real time after which it stops before, or after much output; ``next_time`` is not later than the
            present then.
        """
        with self._lock:
            last = now if self.last is None else min(now, self.last)
            self._advance(last, None if within is None else time.perf_counter() + within)
            if self.last is not None and self.last <= now:
                self.kill(self.last, KILLED)
            self._advance_beside(last, within)

    def _advance(self, now: float, until: float | None) -> None:
        steps, before = 0, self.dropped + len(self.printed)
        printed = self._kept
        if self._wish is not None:
            over = self._blocked and self._deadline is not None and self._deadline <= now
            self._now = max(self._now, self._deadline if over and self._deadline is not None else now)
            if over:
                self._answer, self._wish, self._deadline = b"", None, None
        with running(self._what):
            while self.ended is None and self._now <= now and not self._blocked:
                self._step()
                steps += 1
                if steps >= _MOST_STEPS:
                    self._now, steps = self._now + 1.0, 0
                    break
                if until is not None and (time.perf_counter() > until or self._kept - printed > _AT_ONCE):
                    break
        if self.dropped + len(self.printed) != before or self.ended is not None:
            self._tell()

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a listener called when something was printed, or the program has ended."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Call a listener no longer."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _step(self) -> None:
        if self._wish is not None:
            end = self._line()
            self._answer, self._wish, self._deadline = bytes(self._given[:end]), None, None
            del self._given[:end]
            self._searched = 0
            self._file_ended = self._file_ended and bool(self._answer)
        self._go_on(lambda: self._steps.send(self._answer))

    def _go_on(self, following: Callable[[], Step]) -> None:
        """Do what the next step of the program says."""
        try:
            step = following()
        except StopIteration as end:
            self._end(end.value)
            return
        except Interrupted:
            self.ended = (self._now, CODE)
            return
        except Signalled as problem:
            self.gave_in = True
            self.ended = (self._now, problem.code)
            return
        except BaseException as error:
            self._fail(described(error))  # an interrupt ends the program, too: its generator cannot go on
            if passes(error):
                raise
            return
        self._answer = None
        try:
            self._take(step)
        except (ValueError, TypeError, AttributeError) as error:
            self._fail(f"yielded {shown(step)}: {error}")

    def _take(self, step: Step) -> None:
        """Do what a step says. Raises ValueError, TypeError or AttributeError for what is no step."""
        if isinstance(step, Input):
            self._wish = step
            self._deadline = None if step.within is None else self._now + judged_seconds(step.within)
        elif isinstance(step, Now):
            self._answer = self._now
        elif isinstance(step, Output):
            if step.stream not in (STDOUT, STDERR):
                raise ValueError(f"a stream is {STDOUT} or {STDERR}")
            self._print(step.data if isinstance(step.data, bytes) else step.data.encode(), step.stream)
        elif isinstance(step, str):
            self._print(f"{step}\n".encode(), STDOUT)
        else:
            self._now += judged_seconds(step)

    def _end(self, given: object) -> None:
        """End with what the program returns, which has to be an exit code."""
        try:
            self.ended = (self._now, judged_exit_code(given))
        except ValueError as error:
            self._fail(f"returned {shown(given)}: {error}")

    def _fail(self, why: str) -> None:
        """End because of a fault of the program, which is told on its standard error."""
        self.fault = f"{self._what} {why}"
        self._print(f"simkit: {self.fault}\n".encode(), STDERR)
        self._wish, self.ended = None, (self._now, ERROR)
        self._close()

    def _close(self) -> None:
        """Close the program, whatever it does about it."""
        try:
            self._steps.close()
        except BaseException as error:  # it is at work, or does not heed its end
            if passes(error):
                raise

    def _print(self, data: bytes, stream: str) -> None:
        self.printed.append(Printed(self._now, stream, data))
        self._kept += len(data)
        if len(self.printed) > _MOST_PRINTED or (self._kept > _MOST_KEPT and len(self.printed) > 1):
            half = len(self.printed) // 2
            self.dropped += half
            self._kept -= sum(len(each.data) for each in self.printed[:half])
            del self.printed[:half]

    def take(self) -> list[Printed]:
        """The output since the last call, for the only one who reads it."""
        with self._lock:
            taken, self.printed = self.printed, []
            self.dropped += len(taken)
            self._kept = 0
        return taken

    def kill(self, now: float, code: int) -> None:
        """End it from outside."""
        with self._lock:
            if self.ended is None:
                self.ended = (now, code)
                self._given.clear()
                self._close()
                self._advance_beside(now, None)
                self._tell()


def steps_of(program: Callable[..., Steps], *arguments: Any) -> Generator[Step, Any, Any]:
    """The steps of a program that a test provides: those of its generator, or its exit code at once."""
    given = program(*arguments)
    return (yield from given) if isinstance(given, Generator) else given


def forever(container: Container) -> Generator[Step, Any, Any]:
    """A program that waits until it is stopped."""
    try:
        while True:
            yield 1e12
    except Signalled as signal:
        return 0 if signal.name in ("TERM", "QUIT", "INT") else signal.code


def completes(container: Container) -> Generator[Step, Any, Any]:
    """A program that ends well after a second."""
    yield 1.0
