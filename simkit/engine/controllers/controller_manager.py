"""Runs controllers: to rest on demand, or in a thread of its own while a server runs.

A controller hears of changes, says which of them concern it, and then brings things in order by requests of its own
through the handler chain. It reads what is true from a snapshot and keeps no state that it could not find again.

Upstream: cmd/kube-controller-manager/app, release 1.30.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import Any, Final
from weakref import WeakSet

from simkit.client.controller import Controller, Perform
from simkit.client.resources import LEASES
from simkit.client.work_queue import WorkQueue
from simkit.meta.clock import Clock, SystemClock
from simkit.meta.deadline import Deadline, check_deadline, within
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.foreign import described, passes, running_in
from simkit.meta.identity import AUTHENTICATED, Identity, service_account
from simkit.meta.interrupts import interruption_point, interrupts_held
from simkit.meta.message import Request, Response
from simkit.meta.names import Revision
from simkit.meta.turns import TURNS
from simkit.seams import Change, ChangeLog, Compacted
from simkit.seams.snapshot import Snapshot

_LOG: Final = logging.getLogger("simkit.controllers")
_ROUNDS: Final = 1000
"""The number of rounds after which controllers are said to fight."""
_MOST_WRITES: Final = 50_000
"""The most writes of controllers before they settle: a user may request billions of pods. Leases do not count, since
thousands of nodes renew theirs without end."""
_GATHERING: Final = 0.02
"""Seconds for which the background thread lets changes gather before it looks at them."""
_LONG: Final = 5.0
"""Seconds of real time after which a function that does not come back is a problem of health."""
USER_AGENT: Final = "kube-controller-manager"
"""The user agent of controllers, and so the field manager of their writes."""


class _Account:
    """A controller's client: everything through the handler chain, as its own account."""

    def __init__(self, perform: Perform, account: str) -> None:
        self._perform, self._account = perform, account

    @cached_property
    def _identity(self) -> Identity:
        if ":" in self._account:
            return Identity(self._account, (AUTHENTICATED,))
        return service_account(SYSTEM_NAMESPACE, self._account)

    def perform(self, request: Request) -> Response:
        if not request.header("user-agent"):
            headers = {**request.headers, "user-agent": (USER_AGENT,)}
            request = Request(request.method, request.path, request.query, headers, request.body, value=request.value)
        check_deadline()
        return self._perform(request, self._identity)


class ControllerManager:
    """The controllers of one server.

    Parameters
    ----------
    controllers
        Creates them.
    rested
        Whether everything is in order already, as in a store that was loaded: only later changes count.
    origin
        The controllers of the store that this one's is a fork of: these go on where those are now.

    Notes
    -----
    Most forks never run their controllers. So those of a fork are created, and learn what the origin's know, when
    either of the two runs for the first time after the fork.
    """

    def __init__(
        self,
        store: ChangeLog,
        controllers: Callable[[], Sequence[Controller]],
        perform: Perform,
        snapshot: Callable[[], Snapshot],
        *,
        clock: Clock | None = None,
        rested: bool = False,
        origin: ControllerManager | None = None,
    ) -> None:
        self._store, self._make, self._snapshot = store, controllers, snapshot
        self._clock, self._perform = clock or SystemClock(), perform
        self._made: tuple[Controller, ...] = ()
        self._clients: dict[str, _Account] = {}
        self._failed: dict[str, str] = {}
        """Controllers that failed as a whole the last time, with the reason."""
        self._retries = WorkQueue[str]("controllers", self._clock)
        """Controllers that failed as a whole; they are run for everything next time."""
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._running = threading.RLock()
        self._written = 0
        self._thread: threading.Thread | None = None
        self._unlisten: Callable[[], None] | None = None
        self._origin = origin
        self._heirs = WeakSet[ControllerManager]()
        """The controllers of forks that have not been created yet."""
        self._owed: deque[tuple[str, Sequence[Change] | None]] = deque()
        """The rest of a round: controllers that have not looked at their changes, or were interrupted meanwhile."""
        if origin is None:
            self._seen, self._first = store.revision if rested else Revision(0), not rested
            self._create(())
            return
        with origin._running:
            self._seen, self._first, self._owed = origin._seen, origin._first, origin._owed.copy()
            self._retries.copy_from(origin._retries)
            origin._heirs.add(self)

    @property
    def _controllers(self) -> tuple[Controller, ...]:
        origin = self._origin
        if origin is not None:
            with origin._running:
                self._inherit(origin)
        return self._made

    def _inherit(self, origin: ControllerManager) -> None:
        """Create the controllers with the knowledge of an origin that does not run meanwhile."""
        if self._origin is not None:
            self._create(origin._controllers)
            origin._heirs.discard(self)
            self._origin = None

    def _create(self, known: Sequence[Controller]) -> None:
        made, others = tuple(self._make()), {controller.name: controller for controller in known}
        for controller in made:
            if controller.name in others:
                controller.resume_from(others[controller.name])
        self._clients = {each.name: _Account(self._perform, each.account) for each in made}
        self._made = made

    def look_at_everything(self, *, only: Collection[str]) -> None:
        """Have some controllers look at everything when they run next; those of a loaded store never did."""
        with self._running:
            self._hand_over()
            for controller in self._controllers:
                if controller.name in only:
                    self._retries.add_at(controller.name, 0.0)

    @property
    def at_rest(self) -> AbstractContextManager[Any]:
        """Keeps the controllers from their work while it lasts."""
        return self._running

    def take_over(self) -> None:
        """Create the controllers of a fork now, with the knowledge of its origin's."""
        _ = self._controllers

    def hand_over(self) -> None:
        """Have the controllers of forks learn what these know, before something changes that is not stored."""
        with self._running:
            self._hand_over()

    def _hand_over(self) -> None:
        """Let the controllers of forks learn what these know, before these go on."""
        for heir in list(self._heirs):
            heir._inherit(self)

    def add(self, controllers: Sequence[Controller], perform: Perform) -> None:
        """Run more controllers from now on; they look at everything first."""
        with self._running:
            self._made = (*self._controllers, *controllers)
            self._clients |= {each.name: _Account(perform, each.account) for each in controllers}
            for each in controllers:
                self._retries.add_at(each.name, 0.0)
        self._wake.set()

    def informed_of(self, change: Change) -> list[str]:
        """The names of the controllers that a change concerns."""
        return [controller.name for controller in self._controllers if controller.concerns(change)]

    def settle(self) -> int:
        """Run controllers until nothing is left to do; gives back how many rounds it took.

        An error that concerns one object is logged and told as an Event. Raises the first error of a controller that
        failed as a whole, after the others have come to rest, and SimkitError when they do not come to rest. An
        interrupt of the keyboard takes effect between two objects, and the next call goes on there; a second one, or
        one while a function of a test runs, takes effect at once.
        """
        with self._running:
            self._hand_over()
            for controller in self._controllers:
                controller.reset_backoff()
            self._retries.all_now()
        return self.run_due()

    def run_due(self) -> int:
        """The same as ``settle``, but who waits before the next try goes on waiting."""
        failures: list[BaseException] = []
        with self._running, interrupts_held:
            for round_ in range(_ROUNDS):
                if not self._round(failures, counted=round_ > 0):  # what the first sees is the work of others
                    if failures:
                        raise failures[0]
                    return round_
        raise SimkitError(
            f"the controllers did not come to rest in {_ROUNDS} rounds; two of them undo each other's work"
        )

    def _round(self, failures: list[BaseException], *, counted: bool = False) -> bool:
        """True if anybody had something to do; who fails is tried again with back-off."""
        self._hand_over()
        if not self._owed:
            through = self._store.revision
            changes = self._changes()
            self._count(changes, through, counted=counted)
            self._owed.extend(self._concerned(changes))
            self._seen, self._first = through, False
        busy = bool(self._owed)
        controllers = {controller.name: controller for controller in self._controllers}
        while self._owed:
            interruption_point()
            name, own = self._owed[0]
            if name in controllers:
                self._sync(controllers[name], own, failures)
            self._owed.popleft()
        return busy

    def _sync(self, controller: Controller, own: Sequence[Change] | None, failures: list[BaseException]) -> None:
        try:
            controller.sync(self._clients[controller.name], self._snapshot(), own)
        except BaseException as error:
            if passes(error):
                self._retries.add_at(controller.name, 0.0)
                raise
            _LOG.exception("%s", controller.name)
            failures.append(error)
            self._failed[controller.name] = described(error)
            self._retries.add_rate_limited(controller.name)
        else:
            self._failed.pop(controller.name, None)
            if own is None:
                self._retries.forget(controller.name)

    def _changes(self) -> list[Change] | None:
        """The changes since the last round; None if they are not known."""
        try:
            return None if self._first else list(self._store.changes(after=self._seen))
        except Compacted:
            return None

    def _count(self, changes: Sequence[Change] | None, through: Revision, *, counted: bool) -> None:
        """Count the writes of the last round. Raises SimkitError where they are too many."""
        if not counted:
            self._written = 0
        elif changes is None:
            self._written += through - self._seen
        else:
            self._written += sum(change.entry.key.resource != LEASES for change in changes)
        if self._written > _MOST_WRITES:
            raise SimkitError(
                f"the controllers wrote {_MOST_WRITES:,} times and are not at rest; settle again to go on"
            )

    def _concerned(self, changes: Sequence[Change] | None) -> list[tuple[str, Sequence[Change] | None]]:
        if changes is None:
            return [(controller.name, None) for controller in self._controllers]
        now, due = self._clock.now(), self._retries.due()
        found: list[tuple[str, Sequence[Change] | None]] = []
        for controller in self._controllers:
            if controller.name in self._retries:
                if controller.name in due:
                    found.append((controller.name, None))
                continue
            own = list(filter(controller.concerns, changes))
            when = controller.next_time
            if own or (when is not None and when <= now):
                found.append((controller.name, own))
        return found

    def start(self) -> None:
        """Keep things in order in the background until ``stop``."""
        if self._thread is not None or not self._controllers:
            return
        self._stopped.clear()
        self._unlisten = self._store.listen(self._heard)
        self._wake.set()
        self._thread = threading.Thread(target=self._run, name="simkit-controllers", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Have the background thread look at once whether a controller wants to be run."""
        self._wake.set()

    def _heard(self, changes: Sequence[Change]) -> None:
        self._wake.set()

    def _run(self) -> None:
        rounds = 0
        while not self._stopped.is_set():
            if not 0 < rounds < _ROUNDS:
                self._wake.wait(self._pause())
                self._stopped.wait(_GATHERING)
                rounds = 0
            self._wake.clear()
            try:
                with self._running:
                    busy = within(Deadline(), partial(TURNS.within, partial(self._round, [])))
            except BaseException:  # the thread is everybody's
                _LOG.exception("controllers")
                busy = False
            rounds = rounds + 1 if busy else 0

    def problem(self) -> str:
        """The reason why controllers or simulated kubelets do not work; empty if they do.

        A function that somebody provides and that does not come back is named. May be called from any thread.
        """
        if self._thread is not None and not self._thread.is_alive():
            return "the thread of the controllers has ended"
        found = running_in(self._thread.ident if self._thread is not None else None)
        if found is not None and time.monotonic() - found.since > _LONG:
            return f"{found.what} has not come back for {time.monotonic() - found.since:.0f}s of real time"
        return "; ".join(f"{name} {why}, and is tried again" for name, why in sorted(self._failed.items()))

    @property
    def next_time(self) -> float | None:
        """The time at which a controller is due even without changes."""
        times = [controller.next_time for controller in self._controllers if controller.name not in self._retries]
        times.append(self._retries.next_time)
        return min((when for when in times if when is not None), default=None)

    def _pause(self) -> float:
        """Seconds until a controller wants to be run, at most one."""
        wanted = self.next_time
        return 1.0 if wanted is None else max(0.0, min(1.0, wanted - self._clock.now()))

    def stop(self) -> None:
        """End the background work; what is under way is finished."""
        self._stopped.set()
        self._wake.set()
        if self._unlisten is not None:
            self._unlisten()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None


def select_controllers(
    flags: Sequence[str],
    known: Sequence[str],
    on_by_default: Sequence[str],
    *,
    aliases: Mapping[str, str] | None = None,
    foreign: Sequence[str] = (),
) -> list[str]:
    """The names of the controllers that ``--controllers`` asks for, in the order in which they are known.

    ``*`` means all that are on by default, ``name`` adds one, ``-name`` takes one away. ``aliases`` are other names
    for the same; ``foreign`` ones exist in kube-apiserver but not here, and can only be taken away. Raises
    SimkitError for a name that is not known.

    Examples
    --------
    >>> select_controllers(["*", "-b"], ["a", "b", "c"], ["a", "b"])
    ['a']
    """
    called = aliases or {}
    wanted: set[str] = set(on_by_default) if "*" in flags else set()
    for flag in sorted(flags, key=lambda flag: flag.startswith("-")):
        name = called.get(flag.removeprefix("-"), flag.removeprefix("-"))
        if name == "*":
            continue
        if name not in known and not (name in foreign and flag.startswith("-")):
            raise SimkitError(f"--controllers: {flag!r} is not a controller; known are {', '.join(known)}")
        (wanted.discard if flag.startswith("-") else wanted.add)(name)
    return [name for name in known if name in wanted]
