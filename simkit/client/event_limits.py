"""Limits of Events before they are written: many alike are combined, and one object is not spoken of too often.

Upstream: ``EventCorrelator`` of k8s.io/client-go/tools/record/events_cache.go, release 1.30.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

REMEMBERED: Final = 4096
"""The number of different events, of groups of alike events and of objects that are remembered."""
_MOST_ALIKE: Final = 10
"""The number of different messages with one reason from which on they are combined."""
_ALIKE_WITHIN: Final = 600.0
"""Seconds without such an event after which messages are counted anew."""
_BURST: Final = 25.0
"""The number of events about one object that are written at once."""
_PER_SECOND: Final = 1 / 300
"""The events about one object that may be written in each second after that."""
_COMBINED: Final = "(combined from similar events): "


class News(NamedTuple):
    """The facts that make two events the same: the object's uid, type, reason, message and the part of the object."""

    uid: str
    kind: str
    reason: str
    message: str
    field_path: str


@dataclass(slots=True)
class _Alike:
    """The messages that were told with one reason about one object."""

    last: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Allowance:
    """The number of events about one object that may still be written."""

    tokens: float
    since: float


class EventLimits:
    """Combines alike events of one controller, and drops those beyond the limit for one object."""

    def __init__(self) -> None:
        self._alike: OrderedDict[News, _Alike] = OrderedDict()
        self._allowed: OrderedDict[str, _Allowance] = OrderedDict()

    def passed(self, news: News, now: float) -> tuple[News, News] | None:
        """The identity and the content of the event to write; None if it is one too many.

        Of ten different messages with one reason within ten minutes, the tenth and later ones are one event, whose
        message is the last one.
        """
        identity, content = self._combined(news, now)
        return (identity, content) if self._allows(news.uid, now) else None

    def _combined(self, news: News, now: float) -> tuple[News, News]:
        group = news._replace(message="", field_path="")
        alike = self._alike.pop(group, None)
        if alike is None or now - alike.last > _ALIKE_WITHIN:
            alike = _Alike(now)
        alike.last = now
        alike.messages.add(news.message)
        _remember(self._alike, group, alike)
        if len(alike.messages) < _MOST_ALIKE:
            return news, news
        alike.messages.pop()
        return group, news._replace(message=_COMBINED + news.message)

    def _allows(self, uid: str, now: float) -> bool:
        known = self._allowed.pop(uid, None) or _Allowance(_BURST, now)
        known.tokens = min(_BURST, known.tokens + max(0.0, now - known.since) * _PER_SECOND)
        known.since = now
        _remember(self._allowed, uid, known)
        if known.tokens < 1:
            return False
        known.tokens -= 1
        return True


def _remember(known: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    known[key] = value
    if len(known) > REMEMBERED:
        known.popitem(last=False)
