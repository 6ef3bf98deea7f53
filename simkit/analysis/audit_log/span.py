"""The moments of audit events, and the span of a log from its first to its last event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from simkit.meta.objects import Object


def seconds_of(text: Any) -> float | None:
    """A moment of an audit event or an object, in seconds since the epoch; UTC without a zone; None for no moment."""
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def event_time(event: Object) -> float | None:
    """The moment at which an event was written, in seconds since the epoch."""
    return seconds_of(event.get("stageTimestamp") or event.get("requestReceivedTimestamp"))


def moment_text(moment: float) -> str:
    """A moment in UTC to the second, as sentences name it."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S}"


def span_text(span: tuple[float, float]) -> str:
    """A span of time as sentences name it: ``from 2026-03-03 12:00:00 to 2026-03-03 13:00:00 UTC``."""
    return f"from {moment_text(span[0])} to {moment_text(span[1])} UTC"


class LogSpan:
    """The moments of the first and the last event of a log; ``moments`` is None as long as no event tells one."""

    moments: tuple[float, float] | None = None

    def noted(self, events: Iterable[Object]) -> Iterator[Object]:
        """The events, of which this notes the moments."""
        for event in events:
            time = event_time(event)
            if time is not None:
                first, last = self.moments or (time, time)
                self.moments = min(first, time), max(last, time)
            yield event
