"""The revision that etcd is at, asked once for all who want to know it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from simkit.meta.pausing import pausable_step


class LatestRevision:
    """Asks for the latest revision.

    A call that has begun already may miss a write that was made since. So whoever comes while one is under way takes
    the answer of the next one, together with all who came meanwhile.

    Parameters
    ----------
    ask
        Gives the revision that etcd is at, by agreement of its members.

    Notes
    -----
    kube-apiserver does the same for consistent lists of its watch cache (KEP 2340). The members of etcd do so among
    themselves with the reads of one moment.
    """

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self.waiting = 0
        """The number of callers that wait for the next call."""
        self._present: Future[int] | None = None
        self._next: Future[int] | None = None

    def get(self) -> int:
        """A revision that includes all that was written before this call. Raises what the call to etcd raises."""
        if pausable_step() is not None:  # others of its thread could not lead
            return self._ask()
        with self._lock:
            before, leads = self._present, True
            if before is None:
                wanted = self._present = Future[int]()
            elif self._next is None:
                wanted, self.waiting = Future[int](), 1
                self._next = wanted
            else:
                wanted, leads = self._next, False
                self.waiting += 1
        if leads:
            self._lead(wanted, before)
        return wanted.result()

    def _lead(self, mine: Future[int], before: Future[int] | None) -> None:
        """Make a call for all who wait for it, once the one before has ended."""
        if before is not None:
            before.exception()  # only its end is waited for
        try:
            with self._lock:
                if before is not None:
                    self._present, self._next, self.waiting = mine, None, 0
            mine.set_result(self._ask())
        except BaseException as error:
            mine.set_exception(error)
        finally:
            with self._lock:
                if self._present is mine and self._next is None:
                    self._present = None
