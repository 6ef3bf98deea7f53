"""A work queue of keys: each is processed at its time, and a failed one again with exponential back-off.

Upstream: k8s.io/client-go/util/workqueue (``RateLimitingInterface``, ``ItemExponentialFailureRateLimiter``) and
k8s.io/apimachinery/pkg/util/runtime (``HandleCrash``), release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

from simkit.meta.clock import Clock
from simkit.meta.foreign import passes, shown
from simkit.meta.interrupts import interruption_point

_FIRST_RETRY: Final = 0.5
"""Half of the seconds before the first retry."""
_LONGEST_RETRY: Final = 60.0
"""Seconds before a retry at most."""
_MOST_DOUBLINGS: Final = 10
"""The number of failures after which the delay no longer grows."""
_LOG: Final = logging.getLogger("simkit.controllers")


class _Sortable(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=_Sortable)


class RequeueError(Exception):
    """An object could not be reconciled now; it is enqueued again with back-off."""


class WorkQueue(Generic[K]):
    """Keys with the times at which they are due, and with the failures of each in a row.

    Parameters
    ----------
    name
        The name of the controller in the log.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self.name, self._clock = name, clock
        self._times: dict[K, float] = {}
        self._failures: dict[K, int] = {}

    @property
    def next_time(self) -> float | None:
        """The time at which the next key is due; None if there is none."""
        return min(self._times.values(), default=None)

    def __contains__(self, key: K) -> bool:
        return key in self._times

    def due(self) -> set[K]:
        """The keys whose time has come. They stay in the queue until they are processed."""
        now = self._clock.now()
        return {key for key, when in self._times.items() if when <= now}

    def add(self, keys: Iterable[K]) -> None:
        """Enqueue keys for now. They stay until they are processed, so that an interrupt loses none of them."""
        self._times |= dict.fromkeys(keys, 0.0)

    def add_at(self, key: K, when: float) -> None:
        """Enqueue a key for a time in seconds since the epoch, in place of an earlier one."""
        self._times[key] = when

    def add_rate_limited(self, key: K) -> None:
        """Enqueue a key that failed: each failure in a row doubles the delay."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._times[key] = self._clock.now() + min(_FIRST_RETRY * 2.0 ** min(failures, _MOST_DOUBLINGS), _LONGEST_RETRY)

    def forget(self, key: K) -> None:
        """Remove a key from the queue, and its failures."""
        self._times.pop(key, None)
        self._failures.pop(key, None)

    def retry_now(self) -> None:
        """Make all failed keys due, as if they had not failed."""
        for key in self._failures:
            self._times[key] = 0.0
        self._failures.clear()

    def all_now(self) -> None:
        """Make all keys due."""
        self._times = dict.fromkeys(self._times, 0.0)
        self._failures.clear()

    def copy_from(self, other: WorkQueue[K]) -> None:
        """Take over the keys and failures of another queue."""
        self._times, self._failures = dict(other._times), dict(other._failures)

    def process(
        self,
        keys: Iterable[K],
        reconcile: Callable[[K], float | None],
        report: Callable[[K, BaseException], None] | None = None,
    ) -> None:
        """Reconcile keys in order, each once.

        An error concerns its key only: it is logged and reported, and the key is enqueued with back-off while the
        others are reconciled. A RequeueError does the same without a report. A key that was not done, since somebody
        interrupted the work on it or on one before it, is due again at once.

        Parameters
        ----------
        reconcile
            Returns the time at which the key is due again without a change, or None.
        report
            Called after an error of a key.
        """
        ordered = sorted(keys)
        self.add(ordered)
        for key in ordered:
            interruption_point()
            try:
                again = _judged(reconcile(key))
            except RequeueError:
                self.add_rate_limited(key)
            except BaseException as error:
                if passes(error):
                    raise
                if isinstance(error, ModuleNotFoundError):
                    library = str(error.name).partition(".")[0]
                    _LOG.error("%s: %s needs %s, which is not installed", self.name, key, library)
                else:
                    _LOG.exception("%s: %s", self.name, key)
                self.add_rate_limited(key)
                if report is not None:
                    report(key, error)
            else:
                if again is None:
                    self.forget(key)
                else:
                    self._failures.pop(key, None)
                    self._times[key] = again


def _judged(given: Any) -> float | None:
    """The time of the next look at a key. Raises TypeError for what is none, which no comparison would survive."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int | float) or given != given):
        raise TypeError(f"reconcile gave {shown(given)}: it returns a time in seconds since the epoch, or None")
    return given
