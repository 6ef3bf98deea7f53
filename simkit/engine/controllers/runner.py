"""Runs controllers: to rest on demand, or in a thread of its own while a server runs.

A controller hears of changes, says which of them concern it, and then brings things in order by requests of its own
through the road. It reads what is true from a snapshot and keeps no state that it could not find again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from simkit.engine.seams import Change, Compacted, Store
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, service_account
from simkit.meta.message import Request, Response
from simkit.meta.names import Revision
from simkit.snapshot.protocol import Snapshot

_LOG: Final = logging.getLogger("simkit.controllers")
_ROUNDS: Final = 1000
"""How often controllers may answer each other before they are said to fight."""


class Client(Protocol):
    """Sends requests as one controller's service account."""

    def perform(self, request: Request) -> Response: ...


class Controller(Protocol):
    """One controller. ``sync`` must be safe to run at any time, again and again."""

    @property
    def name(self) -> str:
        """The name that ``--controllers`` uses."""
        ...

    def wants(self, change: Change) -> bool:
        """Whether a change concerns it."""
        ...

    def sync(self, client: Client, snapshot: Snapshot) -> None:
        """Bring everything in order."""
        ...


Perform = Callable[[Request, Identity], Response]


class _Account:
    """A controller's client: everything through the road, as its own service account."""

    def __init__(self, perform: Perform, name: str) -> None:
        self._perform = perform
        self._identity = service_account(SYSTEM_NAMESPACE, name)

    def perform(self, request: Request) -> Response:
        return self._perform(request, self._identity)


class Runner:
    """The controllers of one server."""

    def __init__(
        self, store: Store, controllers: Sequence[Controller], perform: Perform, snapshot: Callable[[], Snapshot]
    ) -> None:
        self._store, self._controllers, self._snapshot = store, tuple(controllers), snapshot
        self._clients = {controller.name: _Account(perform, controller.name) for controller in controllers}
        self._seen = Revision(0)
        self._first = True
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None
        self._unlisten: Callable[[], None] | None = None

    def settle(self) -> int:
        """Run controllers until nothing is left to do; gives back how many rounds it took.

        Raises SimkitError when they do not come to rest.
        """
        with self._running:
            for round_ in range(_ROUNDS):
                if not self._round():
                    return round_
        raise SimkitError(
            f"the controllers did not come to rest in {_ROUNDS} rounds; two of them undo each other's work"
        )

    def _round(self) -> bool:
        through = self._store.revision
        dirty = self._concerned()
        self._seen, self._first = through, False
        for controller in dirty:
            controller.sync(self._clients[controller.name], self._snapshot())
        return bool(dirty)

    def _concerned(self) -> list[Controller]:
        if self._first:
            return list(self._controllers)
        try:
            changes = list(self._store.changes(after=self._seen))
        except Compacted:
            return list(self._controllers)
        return [each for each in self._controllers if any(map(each.wants, changes))]

    def start(self) -> None:
        """Keep things in order in the background until ``stop``."""
        if self._thread is not None or not self._controllers:
            return
        self._unlisten = self._store.listen(self._heard)
        self._wake.set()
        self._thread = threading.Thread(target=self._run, name="simkit-controllers", daemon=True)
        self._thread.start()

    def _heard(self, changes: Sequence[Change]) -> None:
        self._wake.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait(1.0)
            self._wake.clear()
            try:
                self.settle()
            except SimkitError:
                _LOG.exception("controllers")

    def stop(self) -> None:
        """End the background work; what is under way is finished."""
        self._stopped.set()
        self._wake.set()
        if self._unlisten is not None:
            self._unlisten()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None


def chosen(flags: Sequence[str], known: Sequence[str], on_by_default: Sequence[str]) -> list[str]:
    """The names of the controllers that ``--controllers`` asks for, in the order in which they are known.

    ``*`` means all that are on by default, ``name`` adds one, ``-name`` takes one away. Raises SimkitError for a name
    that is not known.

    Examples
    --------
    >>> chosen(["*", "-b"], ["a", "b", "c"], ["a", "b"])
    ['a']
    """
    for flag in flags:
        if flag.removeprefix("-") not in (*known, "*"):
            raise SimkitError(f"--controllers: {flag!r} is not a controller; known are {', '.join(known)}")
    wanted = set(on_by_default) if "*" in flags else set()
    wanted |= {flag for flag in flags if flag in known}
    wanted -= {flag[1:] for flag in flags if flag.startswith("-")}
    return [name for name in known if name in wanted]
