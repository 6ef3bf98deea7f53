"""A controller as its runner knows it, and the client through which it sends its requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.seams import Change

Perform = Callable[[Request, Identity], Response]
"""Performs a request as somebody."""


class Client(Protocol):
    """Sends requests as one controller's service account."""

    def perform(self, request: Request) -> Response: ...


class Controller(Protocol):
    """One controller. ``sync`` must be safe to run at any time, again and again."""

    @property
    def name(self) -> str:
        """The name that ``--controllers`` uses."""
        ...

    @property
    def account(self) -> str:
        """The service account in the system's namespace that it acts as, or a whole user name with a colon."""
        ...

    @property
    def next_time(self) -> float | None:
        """The time of the next run without changes, in seconds since the epoch."""
        ...

    def concerns(self, change: Change) -> bool:
        """True if a change concerns it."""
        ...

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Bring in order what these changes concern; None: everything."""
        ...

    def reset_backoff(self) -> None:
        """Try again at once what failed, instead of waiting."""
        ...

    def resume_from(self, other: Any) -> None:
        """Know what another one of the same kind knows, in the store that this one's is a fork of."""
        ...
