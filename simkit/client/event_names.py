"""Creates Events under names of their own: the name of an object and a moment.

Upstream: ``makeEvent`` of k8s.io/client-go/tools/record and tools/events, release 1.30.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_limits import REMEMBERED
from simkit.client.requests import create
from simkit.client.resources import EVENTS
from simkit.meta.clock import Clock

_LOG: Final = logging.getLogger("simkit.controllers")
_TRIES: Final = 1000
"""The number of events of an object that may have the same moment in their names."""
_NANOS: Final = 1_000_000_000


class EventNames:
    """The moments in the names of events: while the clock stands still, names do not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: OrderedDict[tuple[str, str], int] = OrderedDict()

    def create(self, client: Client, namespace: str, about: str, event: Mapping[str, Any]) -> str | None:
        """The name under which an event about an object was created, None if it could not be."""
        whose = (namespace, about)
        first = max(int(self._clock.now() * _NANOS), self._last.pop(whose, -1) + 1)
        for moment in range(first, first + _TRIES):
            name = f"{about}.{moment:x}"
            made = {**event, "metadata": {"name": name, "namespace": namespace}}
            response = create(client, EVENTS, namespace, made)
            if response.succeeded:
                self._last[whose] = moment
                if len(self._last) > REMEMBERED:
                    self._last.popitem(last=False)
                return name
            if response.status != 409:
                _LOG.debug("event %s in %s: %s", name, namespace, response.body)
                return None
        return None
